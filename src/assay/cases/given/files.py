"""Read a result from a CSV, Parquet or Excel file.

What is wrong with such a file concerns only the case that names it: the result then has a failure in place of
rows, and everything else is scored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from assay.cases.fields import did_you_mean
from assay.cases.text.decoding import check_size
from assay.errors import InputError
from assay.model import Cell, CellTypes, Failure, GivenResult
from assay.model.results.given import MOST_BYTES, MOST_ROWS

if TYPE_CHECKING:
    from assay.cases.tables.workbook import Sheet

MOST_IN_ALL = 1 << 30
"""What all results of one question set or prediction file may take together."""

CSV = frozenset({".csv", ".tsv"})
PARQUET = frozenset({".parquet", ".pq"})
SHEETS = frozenset({".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"})
SUFFIXES = CSV | PARQUET | SHEETS

_RANGE = re.compile(r"\$?([A-Za-z]{1,3})\$?(\d{1,7})(?::\$?([A-Za-z]{1,3})\$?(\d{1,7}))?")
_SMALL = "a result that is compared is small: omit what is not needed"


class UnusableFile(Exception):
    """A file without a result. The message says why."""


Fail = Callable[[str], Failure]


def of_gold(message: str) -> Failure:
    """The failure of a gold result whose file cannot be used."""
    return Failure(stage="load", kind="unusable_gold", blame="gold", message=message)


def of_answer(message: str) -> Failure:
    """The failure of an answer whose file cannot be used."""
    return Failure(stage="read", kind="unreadable_answer", blame="system", message=message)


class ResultFiles:
    """Reads the results that one question set or prediction file names; a workbook is opened once."""

    def __init__(self, folder: Path, fail: Fail, *, encoding: str | None = None, like_pandas: bool = False) -> None:
        """``like_pandas``: read CSV as pandas does, see `_like_pandas`; ``encoding``: of that CSV."""
        self._folder = folder
        self._fail = fail
        self._encoding = encoding
        self._like_pandas = like_pandas
        self._sheets: dict[Path, list[Sheet] | str] = {}
        self._taken = 0

    def read(self, name: str, *, sheet: str | None = None, cells: str | None = None) -> GivenResult:
        """The result in a file, whose name is relative to the folder. ``cells``: a range, for example ``A1:C9``."""
        path = self._folder / name
        shown = name if sheet is None and cells is None else f"{name}#{'!'.join(filter(None, (sheet, cells)))}"
        try:
            if self._like_pandas and path.suffix.lower() == ".csv":
                _check(path)
                columns, rows, fault, note = _like_pandas(path, self._encoding)
                found = self.kept(GivenResult.of(rows, columns=columns, cells="text", source=shown))
                failure = None if fault is None else self._fail(f"{shown}: {fault}")
                return replace(found, failure=failure, note=None if note is None else f"{shown}: {note}")
            columns, rows, kind = self._table(path, sheet, cells)
            found = self.kept(GivenResult.of(rows, columns=columns, cells=kind, source=shown))
        except UnusableFile as error:
            return GivenResult(source=shown, failure=self._fail(f"{shown}: {error}"))
        except InputError as error:
            said = str(error).removeprefix(f"{path}").lstrip(": ,")
            return GivenResult(source=shown, failure=self._fail(f"{shown}: {said}"))
        return found

    def kept(self, result: GivenResult) -> GivenResult:
        """The result. Raises UnusableFile if it, or all results together, are more than is kept."""
        size = len(result.content)
        if result.row_count > MOST_ROWS or size > MOST_BYTES:
            most = f"at most {MOST_ROWS:,} rows and {MOST_BYTES >> 20} MiB are read: {_SMALL}"
            raise UnusableFile(f"has {result.row_count:,} rows of {size >> 20:,} MiB, and {most}")
        self._taken += size
        if self._taken > MOST_IN_ALL:
            raise UnusableFile(f"all results together are more than the {MOST_IN_ALL >> 20:,} MiB that are read")
        return result

    def _table(
        self, path: Path, sheet: str | None, cells: str | None
    ) -> tuple[Sequence[str], Sequence[Sequence[Cell]], CellTypes]:
        suffix = path.suffix.lower()
        _check(path)
        if suffix not in SHEETS and (sheet is not None or cells is not None):
            raise UnusableFile("only a workbook has sheets and ranges")
        if suffix in CSV:
            return (*_delimited(path), "text")
        if suffix in PARQUET:
            from assay.cases.tables.parquet import parquet_rows

            return (*parquet_rows(path), "typed")
        if suffix in SHEETS:
            return (*self._range(path, sheet, cells), "sheet")
        known = ", ".join(sorted(SUFFIXES))
        raise UnusableFile(f'has the suffix "{path.suffix}": a result is read from one of {known}')

    def _range(
        self, path: Path, sheet: str | None, cells: str | None
    ) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
        if path not in self._sheets:
            from assay.cases.tables.workbook import UnreadableWorkbook, read_sheets  # few results are in workbooks

            try:
                self._sheets[path] = read_sheets(path)
            except UnreadableWorkbook as error:
                self._sheets[path] = str(error)
        sheets = self._sheets[path]
        if isinstance(sheets, str):
            raise UnusableFile(sheets)
        chosen = [one for one in sheets if one.name == sheet]
        if sheet is None:
            chosen = [one for one in sheets if one.visible]
        names = [one.name for one in sheets]
        if len(chosen) != 1:
            what = (
                f'has no sheet "{sheet}"{did_you_mean(sheet, names)}'
                if sheet is not None
                else "has several sheets, and none is named"
            )
            raise UnusableFile(f"{what}; " + (f"the sheets are {', '.join(names)}" if names else "all are empty"))
        return _within(chosen[0], cells)


def _check(path: Path) -> None:
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise UnusableFile("is a pipe or a device, not a file: write its output to a file")
        if path.is_symlink() and not path.exists():
            raise UnusableFile(f"is a link to {path.readlink()}, and this file does not exist")
        if not path.is_file():
            if path.is_dir():
                raise UnusableFile("is a folder: name a file in it")
            if not path.parent.is_dir():
                raise UnusableFile("this folder does not exist")
            hint = did_you_mean(path.name, sorted(entry.name for entry in path.parent.iterdir()))
            raise UnusableFile(f"this file does not exist{hint}")
    except (OSError, ValueError) as error:  # a name too long, or with a zero byte
        raise UnusableFile(f"cannot be read: {error}") from error
    check_size(path, MOST_BYTES, hint=_SMALL)


def _delimited(path: Path) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """The first line that is not blank names the columns.

    A blank line is a row only if there is one column. Its cell is NULL, while that of ``""`` is
    the empty text: verdicts take both as one, but readers that skip blank lines keep the latter.
    """
    from assay.cases.tables.delimited import delimited_rows

    lines = delimited_rows(path)
    following = iter(lines)
    columns = next((row for _, row in following if row), None)
    if columns is None:
        raise UnusableFile("is empty: its first line names the columns")
    rows: list[list[Cell]] = []
    for line, row in following:
        if not row and len(columns) > 1:
            continue
        cells: list[Cell] = list(row) or [None]
        if len(cells) != len(columns):
            raise UnusableFile(f"line {line} has {len(cells)} cells, but the header has {len(columns)}")
        rows.append(cells)
    return columns, rows


def _like_pandas(
    path: Path, encoding: str | None
) -> tuple[Sequence[str], Sequence[Sequence[Cell]], str | None, str | None]:
    """The columns and rows as pandas reads them, why they are unusable nevertheless, and what is doubtful about them.

    Commas separate the cells, in UTF-8. A line of blanks is not a row, and a short row lacks its last cells. If the
    first row is longer than the header, pandas takes the first cells of every row for its label. That is a fault here.
    """
    from assay.cases.tables.delimited import delimited_rows

    following = iter(
        (line, row)
        for line, row in delimited_rows(path, encoding=encoding or "utf-8", delimiter=",", strict=False)
        if len(row) != 1 or not row[0] or row[0].strip(" \t")
    )
    columns = next((row for _, row in following if row), None)
    if columns is None:
        raise UnusableFile("is empty: its first line names the columns")
    rows: list[list[Cell]] = []
    note: str | None = None
    width = surplus = 0
    for line, row in following:
        if not row and len(columns) > 1:
            continue
        if row and not width:
            width, surplus = max(len(columns), len(row)), max(0, len(row) - len(columns))
        if len(row) > (width or len(columns)):
            raise UnusableFile(f"line {line} has {len(row)} cells, but the header has {len(columns)}")
        if row and len(row) < width and note is None:
            note = f"line {line} has {len(row)} cells, but the header has {len(columns)}; those that lack are NULL"
        cells: list[Cell] = [*row, *[None] * (len(columns) + surplus - len(row))]
        rows.append(cells[surplus:])
    fault = f"its rows have {width} cells, but the header has {len(columns)}" if surplus else None
    return columns, rows, fault, note


def _within(sheet: Sheet, cells: str | None) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """The cells of a sheet or of a range in it; their first row names the columns."""
    rows = sheet.rows
    if cells is not None:
        match = _RANGE.fullmatch(cells.strip())
        if match is None:
            raise UnusableFile(f'"{cells}" is not a range of cells: write one, for example A1:C9')
        from assay.cases.tables.invalid_cells import column_number

        left, top = column_number(match[1]), int(match[2]) - 1
        right, bottom = (left, top) if match[3] is None else (column_number(match[3]), int(match[4]) - 1)
        if right < left or bottom < top:
            raise UnusableFile(f'"{cells}" is not a range of cells: it ends before it begins')
        if (bottom - top) * (right - left + 1) > MOST_ROWS:
            raise UnusableFile(f'"{cells}" has more than {MOST_ROWS:,} cells: {_SMALL}')
        rows = [[_at(sheet, row, column) for column in range(left, right + 1)] for row in range(top, bottom + 1)]
    invalid = next((cell[0] for row in rows for cell in row if isinstance(cell, tuple)), None)
    if invalid is not None:
        raise UnusableFile(f"a cell contains {invalid}: correct it in Excel and save")
    if not rows:
        raise UnusableFile("is empty: the first row must name the columns")
    return [str(name) for name in rows[0]], [list(map(_sheet_cell, row)) for row in rows[1:]]


def _at(sheet: Sheet, row: int, column: int) -> Cell:
    at, place = row - sheet.first_row, column - sheet.first_column
    if 0 <= at < len(sheet.rows) and 0 <= place < len(sheet.rows[at]):
        return sheet.rows[at][place]
    return ""


def _sheet_cell(cell: Cell) -> Cell:
    """A sheet has one type of number: a whole one is an integer."""
    return int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53 else cell
