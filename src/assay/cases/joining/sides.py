"""The two sides of a join: the questions and the predictions, with what rules and messages ask of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from msgspec import Struct

from assay.cases.fields import ALIASES, normal
from assay.cases.paths import leaf_columns
from assay.model import ColumnUse
from assay.platform.spool import parts_of
from assay.ports import Column, LoadedCases, LoadedPredictions

QUESTIONS = frozenset(normal(name) for tier in ALIASES["question"][:2] for name in tier)
"""Names under which a prediction repeats its question, without names for prompts, which contain more."""
DATABASES = frozenset({"dbid", "databaseid"})
"""Names under which a prediction repeats the database's name; others may contain a path or a URL."""


class Sides(Struct, frozen=True, dict=True):
    """Questions and predictions that are joined."""

    questions: LoadedCases
    loaded: LoadedPredictions

    @property
    def count(self) -> int:
        """The number of cases."""
        return len(self.questions.cases)

    @cached_property
    def case_ids(self) -> list[str]:
        """The ids of the cases, or their positions."""
        return [case.id for case in parts_of(self.questions.cases, "id")]

    @cached_property
    def prediction_ids(self) -> list[str]:
        """The ids of the predictions, or their positions."""
        return [prediction.case_id for prediction in parts_of(self.loaded.predictions, "case_id")]

    @cached_property
    def asked(self) -> list[str]:
        """The questions of the cases."""
        return [case.question for case in parts_of(self.questions.cases, "question")]

    @cached_property
    def databases(self) -> list[str | None]:
        """The databases of the cases."""
        return [case.database for case in parts_of(self.questions.cases, "database")]

    @cached_property
    def case_columns(self) -> tuple[Column, ...]:
        """The unused columns of the questions, with objects and lists replaced by the values inside."""
        return leaf_columns(self.questions.beside)

    @cached_property
    def prediction_columns(self) -> tuple[Column, ...]:
        """The unused columns of the predictions, with objects and lists replaced by the values inside."""
        return leaf_columns(self.loaded.beside)

    @cached_property
    def question_echo(self) -> tuple[Column, Sequence[object]] | None:
        """The column in which predictions repeat the question, and the expected value for each case."""
        own = column_of("question", self.questions.columns)
        if own is not None and (same := column_named(self.loaded.beside, own)) is not None:
            return same, self.asked
        for column in self.loaded.beside:
            if normal(column.name) in QUESTIONS:
                beside = column_named(self.questions.beside, column.name)
                return column, self.asked if beside is None else beside.values
        return None

    @cached_property
    def database_echo(self) -> Column | None:
        """The column in which predictions repeat the database's name."""
        own = column_of("database", self.questions.columns)
        names = DATABASES if own is None else {*DATABASES, normal(own)}
        return next((column for column in self.loaded.beside if normal(column.name) in names), None)


def first_number(ids: Iterable[str], count: int) -> int | None:
    """0 or 1 if ids are all the numbers of ``count`` rows from there on, in any order; None if they are not."""
    numbers = set(ids)
    return next((first for first in (0, 1) if numbers == {str(first + row) for row in range(count)}), None)


def column_of(field: str, columns: Iterable[ColumnUse]) -> str | None:
    """The first column that was taken for a field."""
    return next((use.column for use in columns if use.field == field), None)


def column_named(columns: Iterable[Column], name: str) -> Column | None:
    """The column of that name, in any spelling that counts as the same."""
    return next((column for column in columns if same_name(column.name, name)), None)


def same_name(first: str, second: str) -> bool:
    """Whether two columns have the same name."""
    return normal(first) == normal(second)


def repeats_case(column: Column) -> bool:
    """Whether a column's name says that it repeats the question or the database, so that it agrees with itself."""
    return normal(column.name) in QUESTIONS | DATABASES
