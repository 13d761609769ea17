"""Questions and predictions in memory: their rows, the index of pandas, and layouts that are not plain tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec.structs import replace

from assay import registry
from assay.api.frames import column_cells, frame_index, frame_records
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

    They are the key of predictions without ids if the index is named, if the labels are the questions' ids, or if they
    are the labels of the questions' own index; and of questions without ids if the predictions' ids are these labels.
    A default index only counts rows.
    """
    own, other = _labels(cases), _labels(predictions)
    if loaded.by_position and not loaded.chosen and other is not None and len(other) == len(loaded.predictions):
        ids = [case.id for case in parts_of(questions.cases, "id")]
        index = frame_index(predictions)
        by_label = questions.by_position and own is not None and set(own) == set(other) and len(own) == len(ids)
        if by_label and own is not None:
            places = {label: place for place, label in enumerate(own)}
            keys = [ids[places[label]] for label in other] if own != other else []
        elif set(other) == set(ids) or (index is not None and index.name is not None and not _is_field(index.name)):
            keys = other
        else:
            keys = []
        if keys:
            rows = zip(loaded.predictions, keys, strict=True)
            named = spooled((replace(one, case_id=key) for one, key in rows), type(loaded.predictions[0]))
            loaded = replace(loaded, predictions=named, by_position=False, stated=False)
            questions = replace(questions, stated=True) if by_label else questions
    elif not loaded.by_position and questions.by_position and not questions.stated and own is not None:
        given = {one.case_id for one in parts_of(loaded.predictions, "case_id")}
        if len(own) == len(questions.cases) and given and given <= set(own):
            pairs = zip(questions.cases, own, strict=True)
            renamed = spooled((replace(case, id=label) for case, label in pairs), Case)
            questions = replace(questions, cases=renamed, by_position=False)
    return questions, loaded


def _labels(values: Any) -> list[str] | None:
    """The labels of a pandas index as ids; None if there is none, it only counts rows, or a label cannot be an id."""
    index = frame_index(values)
    if index is None:
        return None
    try:
        labels = [name_of(label, "") for label in index.labels]
    except UnusableValue:
        return None
    names = [label for label in labels if label is not None]
    counted = [str(number) for number in range(len(labels))]
    if len(names) != len(labels) or len(set(names)) != len(names) or (index.name is None and names == counted):
        return None
    return names


def _is_field(name: str) -> bool:
    """Whether a name is a usual one for a field other than the id."""
    return any(normal(name) in map(normal, tier) for field, tiers in ALIASES.items() if field != "id" for tier in tiers)
