"""Read Excel files."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from assay.cases.fields import WITHOUT_GOLD, Field, columns_of, describe, did_you_mean, listed, sheet_option
from assay.cases.records import InvalidCell, Record, Table, header_of, without_end
from assay.cases.tables.header import SEARCHED_ROWS, check_header_row, has_columns, header_row_of, other_header
from assay.cases.tables.invalid_cells import cell_name
from assay.cases.tables.workbook import Sheet, UnreadableWorkbook, read_sheets
from assay.cases.text.decoding import empty, unreadable
from assay.errors import CaseFileError
from assay.model import FieldNames

_LEAST_DESCRIBED = 2
"""How many texts a row has at least that describes columns."""
_QUERY = re.compile(
    r"(?:\s|\(|```\w*|--[^\n]*\n|/\*.*?\*/)*(?:select|with|values|call|show|describe|desc|explain|from|table|pragma)\b",
    re.IGNORECASE | re.DOTALL,
)
"""The beginning of a query."""
_WORDS = re.compile(r"[^\W\d_]+(?: [^\W\d_]+){2,}[.:]?")
_OF_QUERIES = re.compile(r"\b(?:as|from)\b", re.IGNORECASE)
"""Words that a query without any signs has, and few descriptions do."""


def excel_table(path: Path, fields: FieldNames, wanted: Sequence[Field]) -> Table:
    """The records of one sheet of an Excel file: the named one, or the only visible one with the ``wanted`` fields.

    The first row that has the wanted fields names the columns, usually the first that is not blank; a row below it that
    describes the columns is left out. Formulas give their saved value; cells that are merged downwards
    all have the value of the first. Raises CaseFileError, also if several sheets have the fields.
    """
    try:
        with path.open("rb") as file:
            if not file.read(1):
                raise empty(path)
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        sheets = read_sheets(path)
    except UnreadableWorkbook as error:
        raise CaseFileError(str(error), path=str(path)) from error
    if fields.header_row is not None:
        whole = {sheet.name: sheet for sheet in sheets}
        sheets = [_from_row(sheet, fields.header_row) for sheet in sheets]
    else:
        sheets = [_from_header(path, sheet, fields, wanted) for sheet in sheets]
    sheet = _chosen(path, sheets, fields, wanted)
    if fields.header_row is not None:
        texts = [_texts(row) for row in whole[sheet.name].rows[:SEARCHED_ROWS]]
        first = whole[sheet.name].first_row
        check_header_row(texts, fields.header_row, fields, wanted, path=str(path), first=first)
    if not sheet.rows:
        option = sheet_option("header-row", wanted, sheet.first_row)
        raise CaseFileError(
            f'the sheet "{sheet.name}" is blank in row {sheet.first_row + 1}, which was given as the header row '
            f"({option}, counted from 0): name another, or leave it out",
            path=str(path),
        )
    others = tuple(one.name for one in sheets if one.visible and one is not sheet)
    called = f'sheet "{sheet.name}", ' if others or fields.sheet is not None else ""
    columns, repeated = _header(sheet)
    rows = _filled(path, sheet, columns, called)
    records = [
        Record(
            place=f"{called}row {number}",
            blank=_is_blank(row),
            values={name: None if cell == "" else cell for name, cell in zip(columns, row, strict=True) if name},
        )
        for number, row in enumerate(rows[1:], start=sheet.first_row + 2)
    ]
    table = Table(
        path=path,
        records=without_end(records),
        columns=tuple(dict.fromkeys(name for name in columns if name)),
        repeated=repeated,
        golds_in_text=True,
        blank_is_absent=True,
        left_out=others,
        header_hint=other_header(sheet.first_row, wanted),
    )
    return _without_description(path, table, fields)


def _from_row(sheet: Sheet, row: int) -> Sheet:
    """The sheet from that row on, counted from 0; without rows if that row is blank or beyond the last."""
    place = row - sheet.first_row
    rows = sheet.rows[place:] if place >= 0 else []
    return replace(sheet, rows=[] if not rows or _is_blank(rows[0]) else rows, first_row=row)


def _chosen(path: Path, sheets: Sequence[Sheet], fields: FieldNames, wanted: Sequence[Field]) -> Sheet:
    if fields.sheet is not None:
        named = next((sheet for sheet in sheets if sheet.name == fields.sheet), None)
        if named is None and fields.sheet.isdecimal():
            named = next((sheet for sheet in sheets if sheet.number == int(fields.sheet)), None)
        if named is None:
            hint = did_you_mean(fields.sheet, [sheet.name for sheet in sheets], form="; {}")
            there = (
                f"the sheets with content are {listed([sheet.name for sheet in sheets])}" if sheets else "all are empty"
            )
            raise CaseFileError(f'no sheet "{fields.sheet}" with content; {there}{hint}', path=str(path))
        return named
    visible = [sheet for sheet in sheets if sheet.visible]
    if not visible:
        raise CaseFileError("no visible sheet has content", path=str(path))
    visible = [sheet for sheet in visible if sheet.rows] or visible[:1]
    if len(visible) == 1:
        return visible[0]
    fitting = [sheet for sheet in visible if _has(path, sheet, fields, wanted)]
    what = " and ".join(map(describe, wanted))
    option = sheet_option("sheet", wanted)
    if len(fitting) > 1:
        raise CaseFileError(
            f"the sheets {listed([sheet.name for sheet in fitting])} all have {what}: name the one to read ({option})",
            path=str(path),
        )
    return fitting[0] if fitting else _nearest(path, visible, fields, wanted)


def _nearest(path: Path, sheets: Sequence[Sheet], fields: FieldNames, wanted: Sequence[Field]) -> Sheet:
    """The only sheet with the most of the wanted fields: what it lacks is told as of a workbook with one sheet.

    Raises CaseFileError if there are several, or if none has any.
    """
    columns = {sheet.name: [name for name in _header(sheet)[0] if name] for sheet in sheets}
    for field in wanted:
        name = getattr(fields, field)
        if name is not None and name != WITHOUT_GOLD and not any(name in own for own in columns.values()):
            every = list(dict.fromkeys(column for own in columns.values() for column in own))
            hint = did_you_mean(name, every, form="; {}")
            raise CaseFileError(
                f'unknown column "{name}" for {describe(field)}; the columns of the sheets {listed(list(columns))} are '
                f"{listed(every)}{hint}",
                path=str(path),
            )
    recognised = {sheet.name: [field for field in wanted if _has(path, sheet, fields, (field,))] for sheet in sheets}
    most = max(map(len, recognised.values()))
    nearest = [sheet for sheet in sheets if len(recognised[sheet.name]) == most]
    if most and len(nearest) == 1:
        return nearest[0]
    held = "; ".join(
        f'"{name}" has {listed(own, most=6)}'
        + (f", and so {' and '.join(map(describe, recognised[name]))}" if recognised[name] else "")
        for name, own in columns.items()
    )
    raise CaseFileError(
        f"no sheet has {' and '.join(map(describe, wanted))}: {held}. Name the sheet "
        f"({sheet_option('sheet', wanted)}) and its columns",
        path=str(path),
    )


def _from_header(path: Path, sheet: Sheet, fields: FieldNames, wanted: Sequence[Field]) -> Sheet:
    """The sheet from its header on, if a title stands above it."""
    rows = [_texts(row) for row in sheet.rows[:SEARCHED_ROWS]]
    return _from_row(sheet, sheet.first_row + header_row_of(rows, fields, wanted, path=str(path)))


def _without_description(path: Path, table: Table, fields: FieldNames) -> Table:
    """The table without a row below its header that describes the columns.

    It is the first row, holds only texts, and has no query in the column of gold queries, unlike all other rows.
    "SELECT statement that is right" is not a query: it has only words.
    """
    golds = columns_of("gold", fields.gold, table.columns, path=str(path))
    first, *others = table.records or (None,)
    if first is None or not golds or not others:
        return table
    held = [value for value in first.values.values() if value is not None]
    queries = [record.values.get(golds[0]) for record in others if record.values.get(golds[0]) is not None]
    if len(held) < _LEAST_DESCRIBED or not all(isinstance(value, str) for value in held) or not queries:
        return table
    gold = first.values.get(golds[0])
    if not isinstance(gold, str) or not all(map(_is_query, queries)):
        return table
    if _is_query(gold) and not (_WORDS.fullmatch(gold.strip()) and not _OF_QUERIES.search(gold)):
        return table
    warnings.warn(f"{path}, {first.place}: the row describes the columns and is not a case", UserWarning, stacklevel=2)
    return replace(table, records=tuple(others))


def _is_query(value: object) -> bool:
    return isinstance(value, str) and _QUERY.match(value) is not None


def _has(path: Path, sheet: Sheet, fields: FieldNames, wanted: Sequence[Field]) -> bool:
    return has_columns(_header(sheet)[0], fields, wanted, path=str(path))


def _header(sheet: Sheet) -> tuple[tuple[str, ...], frozenset[str]]:
    return header_of(_texts(sheet.rows[0]))


def _texts(row: Sequence[object]) -> list[str]:
    return ["" if cell is None else str(cell[0] if isinstance(cell, tuple) else cell) for cell in row]


def _filled(path: Path, sheet: Sheet, columns: Sequence[str], called: str) -> list[list[object]]:
    """The rows, with the value of cells merged downwards repeated in each row.

    Raises CaseFileError if cells of several columns are merged: the value could belong to any of them.
    """
    rows = [[_value(sheet, row, at) for at in range(len(cells))] for row, cells in enumerate(sheet.rows)]
    for first_row, first_column, last_row, last_column in sheet.merged:
        top, left = first_row - sheet.first_row, first_column - sheet.first_column
        bottom, right = last_row - sheet.first_row, last_column - sheet.first_column
        if top < 1 or left < 0 or top >= len(rows) or left >= len(columns):
            continue
        value = rows[top][left]
        if value in ("", None):
            continue
        if any(columns[left + 1 : right + 1]) or (right > left and columns[left]):
            cells = f"{cell_name(first_row, first_column)}:{cell_name(last_row, last_column)}"
            raise CaseFileError(
                f"the cells {cells} are merged over several columns: unmerge them, so that each text is in one column",
                path=str(path),
                place=f"{called}row {first_row + 1}",
            )
        rows += [[""] * len(columns) for _ in range(bottom + 1 - len(rows))] if bottom - len(rows) < 10_000 else []
        for row in rows[top + 1 : bottom + 1]:
            row[left] = value
    return rows


def _value(sheet: Sheet, row: int, column: int) -> object:
    value = sheet.rows[row][column]
    if isinstance(value, tuple):
        return InvalidCell(f"{sheet.name}!{cell_name(sheet.first_row + row, sheet.first_column + column)}", value[0])
    return value


def _is_blank(row: Sequence[object]) -> bool:
    return all(cell is None or (isinstance(cell, str) and not cell.strip()) for cell in row)
