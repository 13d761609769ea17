"""Questions and predictions in one file: whether it is the same file, and whether it truly contains both."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from assay.api.frames import frame_records
from assay.cases import POSITION
from assay.cases.fields import ALIASES, BOTH_SIDES, is_row_number, normal
from assay.errors import InputError, UsageError, plural
from assay.model import Case, ColumnUse, FieldNames, Prediction
from assay.platform.surface import argument, option
from assay.ports import LoadedCases, LoadedPredictions


def share_file(cases: Any, predictions: Any, *, one_sheet: bool) -> bool:
    """Whether both sides are one file, or one sheet of it: by its path, its links, or byte by byte."""
    if predictions is None:
        if not isinstance(cases, (str, PathLike)) and not _has_rows(cases):
            raise UsageError(
                "no predictions are given, and the cases contain none: give them as the second argument, or as a "
                "column predicted_sql of the cases"
            )
        return True
    if not (isinstance(cases, (str, PathLike)) and isinstance(predictions, (str, PathLike))):
        return cases is predictions
    if not one_sheet:
        return False
    first, second = Path(cases), Path(predictions)
    try:
        if first.is_dir() or second.is_dir():
            return first.samefile(second)
        return first.samefile(second) or (
            first.stat().st_size == second.stat().st_size and first.read_bytes() == second.read_bytes()
        )
    except OSError:
        return False  # one of them does not exist, which its reader reports


def _has_rows(cases: Any) -> bool:
    """Whether values in memory are rows with columns, one of which may hold the predictions."""
    return frame_records(cases) is not None or (
        isinstance(cases, Sequence) and bool(cases) and all(isinstance(row, Mapping) for row in cases)
    )


def fields_for_predictions(
    own: FieldNames, other: FieldNames, uses: Sequence[ColumnUse], *, shared: bool
) -> FieldNames:
    """The field names for predictions, completed by those of ``other``, the questions', that hold for both files.

    ``uses``: the questions' columns. If their id is a column of row numbers, it may be the predictions' id, too.
    """
    number = next((use.column for use in uses if use.field == "id" and is_row_number(use.column)), None)
    fields = replace(own, shared_id=None if other.id == POSITION else other.id or number)
    if not shared:
        return fields
    return replace(
        fields,
        id=own.id or (POSITION if other.id == POSITION else None),
        gold=own.gold or other.gold,
        sheet=own.sheet or other.sheet,
        header_row=other.header_row if own.header_row is None else own.header_row,
        encoding=own.encoding or other.encoding,
    )


def check_own_predictions(name: str, questions: LoadedCases, loaded: LoadedPredictions, fields: FieldNames) -> None:
    """Raise if one file has both sides and the column read as predictions has, or may have, the gold queries."""
    taken = {use.column for use in loaded.columns if use.field == "prediction"}
    golds = {use.column for use in questions.columns if use.field == "gold"}
    if taken & golds or (not (taken and golds) and _all_golds(questions, loaded)):
        what = f'the column "{sorted(taken & golds)[0]}"' if taken & golds else "it"
        raise InputError(
            f"{name}: {what} has the gold queries of the question set and cannot have the predictions, too: "
            f"name the predictions' file ({option('--predictions')}), or the column of the predicted queries in this "
            f"file ({option('--prediction-column')})"
        )
    doubtful = {column for column in taken if normal(column) in (*BOTH_SIDES, "answer")}
    plain_gold = not any(normal(column) in BOTH_SIDES for column in golds)
    if fields.prediction is None and doubtful and not (plain_gold and doubtful <= _queries(taken)):
        raise InputError(
            f'{name}: no column is clearly the prediction; is it "{sorted(doubtful)[0]}"? '
            f"Name it ({option('--prediction-column')}), or the predictions' file ({option('--predictions')})"
        )


def check_not_copied(
    name: str, cases: Sequence[Case], answers: Sequence[Prediction], columns: Iterable[ColumnUse]
) -> None:
    """Warn if nearly all predictions repeat their gold queries, unless their column is named as one of predictions."""
    known = {normal(alias) for tier in ALIASES["prediction"][:3] for alias in tier}
    column = next((use.column for use in columns if use.field == "prediction"), "")
    if not column or normal(column) in known:
        return
    pairs = [(case.golds, one.query) for case, one in zip(cases, answers, strict=True) if one.query is not None]
    copied = sum(query in golds for golds, query in pairs)
    if copied < max(_LEAST_COPIED, _NEARLY_ALL * len(pairs)):
        return
    warnings.warn(
        f"{name}: {copied} of {plural(len(pairs), 'prediction')} repeat their gold query letter for letter. Is "
        f'"{column}" the column of the predicted queries ({argument("--prediction-column")})?',
        UserWarning,
        stacklevel=2,
    )


_LEAST_COPIED = 5
_NEARLY_ALL = 0.9


def _queries(columns: Iterable[str]) -> set[str]:
    return {column for column in columns if normal(column) in BOTH_SIDES}


def _all_golds(questions: LoadedCases, loaded: LoadedPredictions) -> bool:
    """Whether every prediction is the exact text of a gold of the case in its place; selections are not compared."""
    pairs = list(zip(questions.cases, loaded.predictions, strict=False))
    if any(case.turns for case in questions.cases):
        return True  # a file of conversations with targets also has the shape of answers
    return all(one.query in case.golds for case, one in pairs)
