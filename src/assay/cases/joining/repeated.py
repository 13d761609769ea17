"""Find the columns in which predictions repeat their questions and databases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.cases.fields import normal
from assay.cases.joining.candidates import DATABASES, QUESTIONS, same_name
from assay.platform.spool import parts_of
from assay.ports import Column, LoadedCases, LoadedPredictions


def echo_of(questions: LoadedCases, loaded: LoadedPredictions) -> tuple[Column, Sequence[object]] | None:
    """The column in which predictions repeat the question, and the expected value for each case."""
    if not loaded.beside:
        return None
    own = next((use.column for use in questions.columns if use.field == "question"), None)
    asked: Sequence[object] = [case.question for case in parts_of(questions.cases, "question")]
    if own is not None and (same := column_named(loaded.beside, own)) is not None:
        return same, asked
    for column in loaded.beside:
        if normal(column.name) in QUESTIONS:
            beside = column_named(questions.beside, column.name)
            return column, asked if beside is None else beside.values
    return None


def database_echo_of(questions: LoadedCases, loaded: LoadedPredictions) -> Column | None:
    """The column in which predictions repeat the database's name."""
    own = next((normal(use.column) for use in questions.columns if use.field == "database"), None)
    return next((column for column in loaded.beside if normal(column.name) in {*DATABASES, own}), None)


def column_named(columns: Iterable[Column], name: str) -> Column | None:
    """The column of that name, in any spelling that counts as the same."""
    return next((column for column in columns if same_name(column.name, name)), None)
