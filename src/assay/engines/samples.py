"""Sample values of a table, as SQL literals: limited in number and length, and reproducible."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from itertools import chain
from typing import Protocol
from uuid import UUID

from msgspec.structs import replace

from assay.errors import DatabaseError
from assay.model import Cell, Execution, Row, TableSchema, quoted

ROWS_LOOKED_AT = 50
_MOST_VALUES = 3
_MOST_CHARACTERS = 40
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


class Executes(Protocol):
    """The part of an engine that is needed here."""

    def execute(self, query: str) -> Execution:
        """Like `assay.ports.Engine.execute`."""
        ...


def rows_of(engine: Executes, query: str) -> tuple[Row, ...]:
    """The rows of one of Assay's own queries, within the limits. Raises DatabaseError if it fails."""
    execution = engine.execute(query)
    if execution.result is None or execution.status == "truncated":  # half a list would look complete
        why = "it returned no rows" if execution.failure is None else execution.failure.message
        raise DatabaseError(f"the tables cannot be read: {why}")
    return tuple(execution.result.rows)


def text_literal(text: str) -> str:
    """A text as a SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def with_samples(
    engine: Executes, table: TableSchema, *, by_key: bool = False, most: str = f"LIMIT {ROWS_LOOKED_AT}"
) -> TableSchema:
    """The table with its first row and a few values per column; unchanged if these cannot be read.

    Only the first `ROWS_LOOKED_AT` rows are read, in stored order. A server may read them in any order, so ``by_key``
    sorts by the primary key, if there is one.
    """
    if table.kind == "view" or not table.columns:
        return table
    # The columns are named explicitly, so that none hidden from `*` is missed and their order is known.
    columns = ", ".join(quoted(column.name, table.quote) for column in table.columns)
    keys = ", ".join(quoted(name, table.quote) for name in table.primary_key) if by_key else ""
    order = f" ORDER BY {keys}" if keys else ""
    try:
        rows = rows_of(engine, f"SELECT {columns} FROM {table.quoted_name}{order} {most}")
    except DatabaseError:
        return table  # a query may still name a broken or locked table
    return sampled(table, rows)


def sampled(table: TableSchema, rows: Sequence[Row]) -> TableSchema:
    """The table with its first row and a few values per column, from its first rows."""
    if not rows:
        return table
    columns = tuple(
        replace(column, values=_distinct([row[index] for row in rows])) for index, column in enumerate(table.columns)
    )
    return replace(table, columns=columns, first_row=tuple(_literal(cell) or "…" for cell in rows[0]))


def _distinct(cells: Sequence[Cell]) -> tuple[str, ...]:
    shown: dict[str, None] = {}
    for cell in cells:
        literal = None if cell is None else _literal(cell)
        if literal is not None:
            shown[literal] = None
            if len(shown) == _MOST_VALUES:
                break
    return tuple(shown)


def _literal(cell: Cell) -> str | None:
    """The value as a SQL literal, a long text truncated and marked; None for a value without a short literal."""
    match cell:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if cell else "FALSE"
        case int() | float() | Decimal():
            number = str(cell)
            return number if len(number) <= _MOST_CHARACTERS else number[:_MOST_CHARACTERS] + "…"
        case str():
            # Truncate first: a cell may hold megabytes.
            text = _CONTROL.sub(" ", cell[: _MOST_CHARACTERS + 1])
            return text_literal(text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS] + "…")
        case datetime() | date() | time() | UUID():
            return text_literal(str(cell))
        case list() | tuple():
            few = [literal for one in cell[:_MOST_VALUES] if (literal := _literal(one)) is not None]
            return "[" + ", ".join(chain(few, ["…"] if len(cell) > len(few) else [])) + "]"
        case _:
            return None  # bytes, intervals, structs
