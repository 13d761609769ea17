"""Read the F1 part and the VES part of an evaluation, and merge their rows by question.

The parts are those that `assay denodo --f1-output` and ``--ves-output`` write, or those of Denodo's own evaluator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from assay.cases.fields import listed, normal
from assay.cases.load import check_file
from assay.cases.records import Record
from assay.cases.tables.excel import excel_table
from assay.cases.values import UnusableValue, name_of, number_of, text_of, usable
from assay.errors import CaseFileError, InputError
from assay.model import FieldNames
from assay.reports.excel.columns import GUIDE, IN_SQL, TIMINGS
from assay.reports.excel.merged import COLUMNS, MergedParts

Value: TypeAlias = "str | float | None"
_Key: TypeAlias = tuple[str, int]
_Rows: TypeAlias = dict[_Key, dict[str, Value]]

_ID, _REPEAT, _VES = "Question ID", "Repeat", "VES Score"
_OF_F1: Final = ("Subsetting Percentage", "Percent Overlap", "Bird Standard F1")
"""The shares of the F1 part. Denodo's own evaluator may write them as percentages."""
_NUMBERS: Final = frozenset({*GUIDE, *TIMINGS, "Have Same Column Count", _REPEAT})
_SAME: Final = ("Difficulty", "VQL Generated", "Ground Truth VQL", "Results Match")
"""The columns that must not differ between the parts."""
_ALIASES: Final = {
    "sol_sql": "Ground Truth VQL",
    **{name: title for title, name in IN_SQL.items()},
    "precision": "Percent Overlap",
    "set_precision": "Subsetting Percentage",
    "f1score": "Bird Standard F1",
    "same_row_count": "Have Same Row Count",
    "same_column_count": "Have Same Column Count",
    "reward": _VES,
}
"""The names of columns in the parts of Denodo's own evaluator."""
_TITLES: Final = {normal(name): name for name in COLUMNS} | {normal(name): title for name, title in _ALIASES.items()}
_SHOWN = 5


def read_parts(first: Path, second: Path, *, difficulty_names: Mapping[str, str]) -> MergedParts:
    """The merged rows of an F1 part and a VES part, given in either order.

    ``difficulty_names`` says what each difficulty is called, if all difficulties are among these.

    Raises InputError if a file is not such a part, or if the questions or what both parts say of them differ.
    """
    parts = [_rows_of(path) for path in (first, second)]
    _check_kinds((first, second), parts)
    one, other = parts
    # Check that both parts have the same questions.
    paths = (first, second)
    only = [
        f"only {path} has {listed(names[:_SHOWN])}{f' and {len(names) - _SHOWN} more' if len(names) > _SHOWN else ''}"
        for path, mine, theirs in ((paths[0], one, other), (paths[1], other, one))
        if (names := list(dict.fromkeys(name for name, repeat in mine if (name, repeat) not in theirs)))
    ]
    if only:
        raise _unfit(paths[0], paths[1], f"their questions differ: {'; '.join(only)}")
    merged = []
    for key, row in one.items():
        twin = other[key]
        for title in _SAME:
            said = row.get(title), twin.get(title)
            if None not in said and said[0] != said[1]:
                raise _unfit(first, second, f'"{title}" of question "{key[0]}" differs between them')
        merged.append({title: row.get(title) if row.get(title) is not None else twin.get(title) for title in COLUMNS})
    _as_shares(merged)
    if {row["Difficulty"] for row in merged} <= {None, *difficulty_names}:
        for row in merged:
            row["Difficulty"] = difficulty_names.get(str(row["Difficulty"]))
    held = {title for part in parts for row in part.values() for title in row}
    titles = tuple(title for title in COLUMNS if title in held or title in GUIDE)
    return MergedParts(titles=titles, rows=tuple(tuple(row[title] for title in titles) for row in merged))


def _rows_of(path: Path) -> _Rows:
    """The rows of a part by question and repeat, with the columns that `COLUMNS` names."""
    check_file(path)
    table = excel_table(path, FieldNames(), ("id",))
    columns = {name: title for name in table.columns if (title := _TITLES.get(normal(name))) is not None}
    if _ID not in columns.values():
        raise CaseFileError(
            f"is not an F1 part or a VES part: the column {_ID} is missing; the columns are {listed(table.columns)}",
            path=str(path),
        )
    records = [record for record in table.records if not record.blank]
    if len(records) > 1 and _describes(records[0], columns) and not _describes(records[1], columns):
        records = records[1:]
    rows: _Rows = {}
    for record in records:
        row = {title: _value(path, record, name, title) for name, title in columns.items()}
        name = row[_ID]
        if not isinstance(name, str):
            raise CaseFileError(f"{_ID} is blank", path=str(path), place=record.place)
        key = (name, int(float(row.get(_REPEAT) or 1)))
        if key in rows:
            raise CaseFileError(f'the question "{name}" occurs twice', path=str(path), place=record.place)
        rows[key] = row
    if not rows:
        raise CaseFileError("contains no question", path=str(path))
    return rows


def _describes(record: Record, columns: Mapping[str, str]) -> bool:
    """Whether a row has a text of several words in a column of numbers, as a row does that describes columns."""
    values = (record.values.get(name) for name, title in columns.items() if title in _NUMBERS)
    return any(isinstance(value, str) and len(value.split()) > 1 for value in values)


def _value(path: Path, record: Record, column: str, title: str) -> Value:
    try:
        value = usable(record.values.get(column))
        if title in _NUMBERS:
            return number_of(value, f'"{column}"')
        if title in (_ID, "Difficulty"):
            return name_of(value, f'"{column}"')
        return text_of(value, f'"{column}"')
    except UnusableValue as error:
        raise CaseFileError(error.message, path=str(path), place=record.place) from error


def _check_kinds(paths: Sequence[Path], parts: Sequence[_Rows]) -> None:
    """Check that one part has F1 columns and the other VES Score."""
    held = [{title for row in part.values() for title in row} for part in parts]
    for wanted, what in ((set(_OF_F1), "an F1 part (--f1-output)"), ({_VES}, "a VES part (--ves-output)")):
        if not any(wanted & titles for titles in held):
            columns = " or ".join(sorted(wanted))
            raise InputError(f"neither {paths[0]} nor {paths[1]} has the column {columns}: one of them must be {what}")


def _unfit(first: Path, second: Path, why: str) -> InputError:
    return InputError(
        f"{first} and {second} cannot be merged, since {why}. Write both parts from one workbook of generated queries"
    )


def _as_shares(rows: Sequence[dict[str, Value]]) -> None:
    """Turn columns of percentages (0 to 100) into shares."""
    for title in _OF_F1:
        if any(isinstance(value := row[title], float) and value > 1.0 for row in rows):
            for row in rows:
                if isinstance(value := row[title], float):
                    row[title] = value / 100.0
