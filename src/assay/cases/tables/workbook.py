"""Read the sheets of a workbook in a separate process, with limits of memory and time.

A workbook is an archive: a few kilobytes may contain gigabytes, or one cell in the last row and column, for which a
reader allocates all cells before it, and crashes if memory is short. So this file is run as a program that reads the
workbook, imports only its neighbour `invalid_cells` and `assay.platform.safeguards`, and writes to its standard output.
"""

from __future__ import annotations

import os
import pickle
import runpy
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

_MEMORY_BYTES = 2 << 30
_CPU_S = 60
_WALL_S = 180.0
_INFLATED_BYTES = 512 << 20

Cells = list[list[Any]]


class UnreadableWorkbook(Exception):
    """The workbook cannot be read. The message says why."""


class Sheet(Struct, frozen=True, kw_only=True):
    """One sheet: its rows from ``first_row`` and ``first_column`` on, both counted from 0."""

    name: str
    number: int
    """Its zero-based place among the workbook's worksheets, including empty and hidden ones."""
    visible: bool
    rows: Cells
    """A cell with an error, or a formula without a value, is a tuple of one text that says so."""
    first_row: int
    first_column: int
    merged: tuple[tuple[int, int, int, int], ...]
    """Merged cells as first row, first column, last row, last column of the sheet."""


def read_sheets(path: Path) -> list[Sheet]:
    """The worksheets of a workbook that are not empty, including hidden ones. Raises UnreadableWorkbook."""
    _check_size(path)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    try:
        done = subprocess.run(
            [sys.executable, "-P", os.path.abspath(__file__), os.path.abspath(path)],
            capture_output=True,
            env=environment,
            timeout=_WALL_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise _too_large() from None
    if done.returncode != 0 or not done.stdout:
        raise _too_large()
    # Written by Assay's own program: a pickle of lists, texts, numbers and dates.
    read = pickle.loads(done.stdout)
    if isinstance(read, str):
        raise UnreadableWorkbook(f"is not a readable Excel file ({read}): save it as .xlsx, or give its format")
    return [
        Sheet(name=name, number=number, visible=visible, rows=rows, first_row=row, first_column=column, merged=merged)
        for name, number, visible, rows, row, column, merged in read
    ]


def _check_size(path: Path) -> None:
    """Raise if the archive's own sizes are too large. If these are wrong, the process's limits apply."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return  # .xls is no archive; for a broken archive the reader has a better message
    if size > _INFLATED_BYTES:
        raise UnreadableWorkbook(
            f"has {size >> 20:,} MiB once unpacked; the limit is {_INFLATED_BYTES >> 20} MiB: "
            "save the sheet alone, or as CSV"
        )


def _too_large() -> UnreadableWorkbook:
    return UnreadableWorkbook(
        f"cannot be read within {_MEMORY_BYTES >> 30} GiB of memory and {_CPU_S} seconds: a cell far below or to the "
        "right of the table makes the sheet too large (Ctrl+End shows the last cell). Delete what is around the "
        "table, or save the sheet as CSV"
    )


def _limit_own_process() -> None:
    from assay.platform.safeguards import caps_address_space

    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    limits = [(resource.RLIMIT_CPU, _CPU_S), (resource.RLIMIT_CORE, 0)]
    if caps_address_space():
        limits.append((resource.RLIMIT_AS, _MEMORY_BYTES))
    for kind, most in limits:
        _, hard = resource.getrlimit(kind)
        wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)  # a hard limit cannot be raised
        resource.setrlimit(kind, (wanted, wanted))


def _read(path: str) -> list[tuple[Any, ...]] | str:
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    # By its path: its package imports all readers, which takes longer than to read a small workbook.
    neighbour = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "invalid_cells.py"))
    cell_name, invalid_cells = neighbour["cell_name"], neighbour["invalid_cells"]
    sheets: list[tuple[Any, ...]] = []
    invalid: Mapping[str, Mapping[tuple[int, int], str]] = {}
    try:
        invalid = invalid_cells(path)
        with CalamineWorkbook.from_path(path) as workbook:
            worksheets = (about for about in workbook.sheets_metadata if about.typ is SheetTypeEnum.WorkSheet)
            for number, about in enumerate(worksheets):
                sheet = workbook.get_sheet_by_name(about.name)
                rows = sheet.to_python(skip_empty_area=True)
                while rows and all(_is_empty(cell) for cell in rows[-1]):
                    rows.pop()
                row, column = sheet.start or (0, 0)
                rows, row, column = _with_invalid(rows, row, column, invalid.get(about.name, {}))
                if rows:
                    merged = tuple((*start, *end) for start, end in sheet.merged_cell_ranges or ())
                    visible = about.visible is SheetVisibleEnum.Visible
                    sheets.append((about.name, number, visible, rows, row, column, merged))
    except (CalamineError, ValueError) as error:
        # Newer kinds of errors, for example #SPILL!, make the reader fail for the whole workbook.
        cells = [
            f"{name}!{cell_name(*at)} contains {what}" for name, one in invalid.items() for at, what in one.items()
        ]
        return "; ".join([str(error), *cells[:3]])
    return sheets


def _with_invalid(
    rows: Cells, first_row: int, first_column: int, invalid: Mapping[tuple[int, int], str]
) -> tuple[Cells, int, int]:
    """The rows, with each invalid cell replaced by a tuple that says what is wrong; extended to cells outside."""
    if not invalid:
        return rows, first_row, first_column
    if not rows:
        first_row, first_column = min(row for row, _ in invalid), min(column for _, column in invalid)
    top = min(first_row, *(row for row, _ in invalid)) if rows else first_row
    left = min(first_column, *(column for _, column in invalid))
    bottom = max(first_row + len(rows), *(row + 1 for row, _ in invalid))
    right = max(first_column + len(rows[0]) if rows else 0, *(column + 1 for _, column in invalid))
    blank: list[list[Any]] = [[] for _ in range(first_row - top)]
    below: list[list[Any]] = [[] for _ in range(bottom - first_row - len(rows))]
    wider = [[""] * (first_column - left) + row if row else row for row in (*blank, *rows, *below)]
    for row in wider:
        row.extend([""] * (right - left - len(row)))
    for (at_row, at_column), what in invalid.items():
        wider[at_row - top][at_column - left] = (what,)
    return wider, top, left


def _is_empty(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


if __name__ == "__main__":
    _limit_own_process()
    read_here = _read(sys.argv[1])
    sys.stdout.buffer.write(pickle.dumps(read_here, protocol=pickle.HIGHEST_PROTOCOL))
