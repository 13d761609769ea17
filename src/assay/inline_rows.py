"""Rows as files, systems and callers write them: lists of lists, lists of objects, single values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.model import Cell, CellTypes, GivenResult

MOST_ROWS = 1_000_000
MOST_BYTES = 64 << 20


class NotRows(Exception):
    """A value that is no result. The message says why."""


def inline_result(
    rows: Sequence[object], columns: Sequence[str] = (), *, cells: CellTypes = "json", source: str = "rows"
) -> GivenResult:
    """The result of a list of rows. Each is a list of cells, or an object by column, or, if all are, a single cell.

    Raises NotRows.
    """
    if len(rows) > MOST_ROWS:
        raise NotRows(f"has {len(rows):,} rows, and at most {MOST_ROWS:,} are read")
    names, table = tuple(columns), rows
    if rows and all(isinstance(row, Mapping) for row in rows):
        names, table = _of_objects([row for row in rows if isinstance(row, Mapping)], names)
    elif not any(isinstance(row, (list, tuple, Mapping)) for row in rows):
        table = [(row,) for row in rows]
    found = _listed(table, len(names))
    for row in found:
        for cell in row:
            if isinstance(cell, str) and not cell.isascii() and not _is_whole(cell):
                raise NotRows("holds half of a surrogate pair in a cell: write the character whole")
    result = GivenResult.of(found, columns=names, cells=cells, source=source)
    if len(result.content) > MOST_BYTES:
        raise NotRows(f"takes {len(result.content) >> 20:,} MiB, and at most {MOST_BYTES >> 20} are read")
    return result


def _listed(rows: Sequence[object], width: int) -> list[Sequence[Cell]]:
    found: list[Sequence[Cell]] = []
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, (list, tuple)):
            raise NotRows(f"has the {type(row).__name__} {str(row)[:60]!r} as row {number}: expected a list of cells")
        width = width or len(row)
        if len(row) != width or not row:
            cells = "1 cell" if len(row) == 1 else f"{len(row)} cells"
            raise NotRows(f"has {cells} in row {number}: expected {width or 'at least one'}, as elsewhere")
        found.append(row)
    return found


def _of_objects(
    rows: Sequence[Mapping[object, object]], names: tuple[str, ...]
) -> tuple[tuple[str, ...], list[object]]:
    names = names or tuple(map(str, rows[0]))
    table: list[object] = []
    for number, row in enumerate(rows, start=1):
        told = {str(name): cell for name, cell in row.items()}
        if set(told) != set(names):
            there = ", ".join(told) or "none"
            raise NotRows(f"has in row {number} the columns {there}: expected {', '.join(names)}, as elsewhere")
        table.append([told[name] for name in names])
    return names, table


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def answered_rows(value: object) -> GivenResult | None:
    """The rows that a system's answer is: a list of them, or an object with ``rows`` and perhaps ``columns``.

    None where it is something else. Raises NotRows where it is rows, but not of one shape.
    """
    columns: object = ()
    if isinstance(value, GivenResult):
        return value
    if isinstance(value, Mapping):
        told: dict[object, object] = dict(value)
        if "rows" not in told:
            return inline_result([[told["value"]]]) if set(told) == {"value"} else None
        value, columns = told["rows"], told.get("columns") or ()
    if not isinstance(value, (list, tuple)):
        return None
    if (
        isinstance(columns, str)
        or not isinstance(columns, (list, tuple))
        or not all(isinstance(n, str) for n in columns)
    ):
        raise NotRows("has columns that are no list of names")
    return inline_result(value, columns)
