"""Questions and predictions in memory: their rows, the index of pandas, and layouts that are not plain tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec.structs import replace

from assay import registry
from assay.api.frames import FrameIndex, column_cells, frame_index, frame_records
from assay.cases.fields import ALIASES, columns_of, normal
from assay.cases.records import Table, record_of
from assay.cases.values import UnusableValue, name_of
from assay.errors import InputError, UsageError, did_you_mean
from assay.model import Case, FieldNames
from assay.platform.spool import parts_of, spooled
from assay.ports import LoadedCases, LoadedPredictions

CASES: Final = Path("the cases in memory")
PREDICTIONS: Final = Path("the predictions in memory")
BOTH: Final = Path("the rows in memory")
"""Rows that contain both sides."""
_LABELS_SHOWN = 3


class _RowFormat(Protocol):
    """A format that also reads rows in memory."""

    name: str

    def holds(self, columns: Sequence[str]) -> bool:
        """Whether rows with these columns have this layout."""
        ...

    def cases_of(self, table: Table, fields: FieldNames) -> LoadedCases:
        """The cases of rows, as of a file."""
        ...


def items_of(values: Any, what: str) -> list[Any]:
    """Values in memory as a list: rows of a data frame by column, the cells of a column, or what an iterable yields."""
    for read in (frame_records, column_cells):
        if (found := read(values)) is not None:
            return found
    if not isinstance(values, Iterable):
        raise UsageError(
            f"the {what} are {type(values).__name__}: "
            "give a file, a list, a DataFrame of pandas or polars, or an Arrow table"
        )
    return list(values)


def table_of(path: Path, items: Iterable[object], keys: Sequence[str | None] | None = None) -> Table:
    """Values in memory as a table for the readers of files, with the same names and the same error messages."""
    records = [
        record_of(
            path,
            f"item {number}",
            dict(item) if isinstance(item, Mapping) else item,
            key=None if keys is None else keys[number],
        )
        for number, item in enumerate(items)
    ]
    return Table.of(path, records)


def row_format(name: str | None, columns: Sequence[str], *, argument: str) -> _RowFormat | None:
    """The format that reads rows in memory: the named one, or the one whose columns these are; None: a plain table.

    Raises UsageError for a format that reads only files.
    """
    formats = registry.case_formats()
    able: list[Any] = [one for one in formats if hasattr(one, "cases_of")]
    if name is None:
        return next((one for one in able if one.holds(columns)), None)
    if (chosen := next((one for one in able if one.name == name), None)) is not None:
        return chosen  # type: ignore[no-any-return]
    known = [one.name for one in formats]
    if name not in known:
        raise InputError(f"{argument} is {name!r}{did_you_mean(name, known)}; known: {', '.join(known)}")
    raise UsageError(
        f"{argument} is {name!r}, a layout of files, and rows in memory are given: leave {argument} out, or give the "
        f"path of the file. Layouts of rows in memory: {', '.join(one.name for one in able)}"
    )


def named_index(values: Any, fields: FieldNames, *, columns: Sequence[str]) -> FieldNames:
    """The fields of a frame, with its named index as the id, unless an id is named or a column is called like one.

    An index called like another field, for example ``db_id``, contains that field.
    """
    index = frame_index(values)
    if index is None or index.name is None or fields.id is not None or index.name not in columns:
        return fields
    if columns_of("id", None, columns, path="") or _is_field(index.name):
        return fields
    return replace(fields, id=index.name)


def keyed_by_index(
    cases: Any, predictions: Any, questions: LoadedCases, loaded: LoadedPredictions
) -> tuple[LoadedCases, LoadedPredictions]:
    """Both sides, with the labels of a pandas index as ids if they are the key.

    They are the key of predictions without ids if they are the labels of the questions' own index or the questions'
    ids, or if the index is named; and of questions without ids if the predictions' ids are these labels. Raises
    InputError if the labels fit the questions' index and their ids, but not the same cases. Positions that no label
    confirms are refused by `check_positions`, after the join.
    """
    own, other = frame_index(cases), frame_index(predictions)
    if loaded.by_position and not loaded.chosen and other is not None and len(other.labels) == len(loaded.predictions):
        keys = _keys(own, other, questions)
        if keys:
            rows = zip(loaded.predictions, keys, strict=True)
            named = spooled((replace(one, case_id=key) for one, key in rows), type(loaded.predictions[0]))
            loaded = replace(loaded, predictions=named, by_position=False, stated=False)
            questions = replace(questions, stated=questions.by_position)
    elif not loaded.by_position and questions.by_position and not questions.stated and own is not None:
        given = {one.case_id for one in parts_of(loaded.predictions, "case_id")}
        labels = _unique_labels(own)
        if labels is not None and len(labels) == len(questions.cases) and given and given <= set(labels):
            pairs = zip(questions.cases, labels, strict=True)
            renamed = spooled((replace(case, id=label) for case, label in pairs), Case)
            questions = replace(questions, cases=renamed, by_position=False)
    return questions, loaded


def check_positions(cases: Any, predictions: Any) -> None:
    """Raise InputError if an index of pandas contradicts a join by position: it does not count the rows from 0."""
    other = frame_index(predictions)
    if other is None:
        return
    for index, side in ((other, "predictions"), (frame_index(cases), "questions")):
        if index is None or _counts_rows(index):
            continue
        labels = [str(label) for label in index.labels]
        twice = next((label for label, count in Counter(labels).items() if count > 1), None)
        shown = ", ".join(labels[:_LABELS_SHOWN]) + (", …" if len(labels) > _LABELS_SHOWN else "")
        wrong = "does not count the rows from 0" if twice is None else f"has the label {twice} more than once"
        raise InputError(
            f"rows would be joined by position, but the index of the {side} ({shown}) {wrong}, and it does not match "
            "the other side's labels or ids. Set the ids of the questions as the index of the predictions; or, if the "
            f"n-th prediction answers the n-th question, drop the index of the {side}:  .reset_index(drop=True)"
        )


def _keys(own: FrameIndex | None, other: FrameIndex, cases: LoadedCases) -> list[str]:
    """The ids of the predictions' cases by their index; empty if it does not say them."""
    if _counts_rows(other) and (own is None or _counts_rows(own)):
        return []
    labels, questions = _unique_labels(other), None if own is None else _unique_labels(own)
    if labels is None:
        return []
    ids = [case.id for case in parts_of(cases.cases, "id")]
    is_key = other.name is not None and not _is_field(other.name)
    are_ids = set(labels) == set(ids)
    if questions is None or len(questions) != len(ids) or set(questions) != set(labels):
        return labels if (are_ids or is_key) and not _counts_rows(other) else []
    case_ids = dict(zip(questions, ids, strict=True))
    by_label = [case_ids[label] for label in labels]
    same_name = own is not None and own.name == other.name is not None
    if cases.by_position or not are_ids or labels == by_label or _counts_rows(other) or same_name:
        return by_label
    if is_key:
        return labels
    row = next(row for row, pair in enumerate(zip(labels, by_label, strict=True)) if pair[0] != pair[1])
    raise InputError(
        "the labels of the predictions' index are the questions' ids and also the labels of their index, in another "
        f"order: {labels[row]} is the id of one case and the label of the case {by_label[row]!r}. If they are ids, "
        'name the index:  .rename_axis("id")  ; if they are labels, add a column with the ids of the questions'
    )


def _counts_rows(index: FrameIndex) -> bool:
    """Whether this is the index that pandas makes: the numbers of the rows, from 0, without a name."""
    return index.name is None and index.labels == list(range(len(index.labels)))


def _unique_labels(index: FrameIndex) -> list[str] | None:
    """The labels as ids; None if one occurs twice or is missing."""
    labels = [_label(label) for label in index.labels]
    names = [label for label in labels if label is not None]
    return names if len(set(names)) == len(labels) else None


def _label(label: object) -> str | None:
    try:
        return name_of(label, "")
    except UnusableValue:  # a date, or the levels of a MultiIndex: not an id, but the questions may have the same
        return repr(label)


def _is_field(name: str) -> bool:
    """Whether a name is a usual one for a field other than the id."""
    return any(normal(name) in map(normal, tier) for field, tiers in ALIASES.items() if field != "id" for tier in tiers)
