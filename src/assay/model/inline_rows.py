"""Rows as files, systems and callers write them: lists of lists, lists of objects, single values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from assay.model import Cell, CellTypes, GivenResult
from assay.model.cell_json import is_well_formed

_MOST_INTEGER = 10**4000
"""Python prints no integer of more than 4300 digits. A larger one becomes a Decimal, as engines give it."""
MOST_ROWS = 1_000_000
MOST_BYTES = 64 << 20


class InvalidRows(Exception):
    """A value that is no result. The message says why."""


def result_from_rows(rows: Sequence[object], columns: Sequence[str] = (), *, cells: CellTypes = "json") -> GivenResult:
    """The result of a list of rows. Each is a list of cells, or an object by column, or, if all are, a single cell.

    Raises InvalidRows.
    """
    if len(rows) > MOST_ROWS:
        raise InvalidRows(f"has {len(rows):,} rows, and at most {MOST_ROWS:,} are read")
    names, width = tuple(columns), len(columns)
    are_objects = all(isinstance(row, Mapping) for row in rows)
    are_cells = not any(isinstance(row, (list, tuple, Mapping)) for row in rows)
    table: list[Sequence[Cell]] = []
    for number, written in enumerate(rows, start=1):
        row: Sequence[Cell]
        if are_cells:
            row = (written,)
        elif are_objects and isinstance(written, Mapping):
            cell_of = {str(name): cell for name, cell in written.items()}
            names = names or tuple(map(str, written))
            if set(cell_of) != set(names):
                there = ", ".join(cell_of) or "none"
                raise InvalidRows(f"has in row {number} the columns {there}: expected {', '.join(names)}, as elsewhere")
            row = [cell_of[name] for name in names]
        elif isinstance(written, (list, tuple)):
            row = written
        else:
            kind = type(written).__name__
            raise InvalidRows(f"has the {kind} {str(written)[:60]!r} as row {number}: expected a list of cells")
        width = width or len(row)
        if len(row) != width or not row:
            count = "1 cell" if len(row) == 1 else f"{len(row)} cells"
            raise InvalidRows(f"has {count} in row {number}: expected {width or 'at least one'}, as elsewhere")
        row = [Decimal(cell) if isinstance(cell, int) and abs(cell) > _MOST_INTEGER else cell for cell in row]
        if not all(is_well_formed(cell) for cell in row if isinstance(cell, str)):
            raise InvalidRows("holds half of a surrogate pair in a cell: write the character whole")
        table.append(row)
    result = GivenResult.of(table, columns=names, cells=cells)
    if len(result.content) > MOST_BYTES:
        raise InvalidRows(f"takes {len(result.content) >> 20:,} MiB, and at most {MOST_BYTES >> 20} are read")
    return result


def answered_rows(value: object) -> GivenResult | None:
    """The rows that a system's answer is: a list of them, or an object with ``rows`` and perhaps ``columns``.

    None where it is something else. Raises InvalidRows where it is rows, but not of one shape.
    """
    if isinstance(value, GivenResult):
        return value
    columns: object = ()
    if isinstance(value, Mapping):
        if "rows" in value:
            columns, value = value.get("columns") or (), value["rows"]
        elif set(value) == {"value"}:
            value = [[value["value"]]]
    if not isinstance(value, (list, tuple)):
        return None
    if not isinstance(columns, (list, tuple)) or not all(isinstance(name, str) for name in columns):
        raise InvalidRows("has columns that are no list of names")
    return result_from_rows(value, columns)
