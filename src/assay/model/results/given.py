"""A result that stands in a file or comes from a system, in place of a query.

Files, systems and callers write its rows as lists of lists, lists of objects or single values.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from assay.model.failure import Failure
from assay.model.results.cell_json import cell_from_json, cell_to_json, is_well_formed
from assay.model.results.result import Cell, CellTypes, Execution, Result


class GivenResult(Struct, frozen=True, kw_only=True):
    """A result without a query: an accepted answer of a case, or what a system answered.

    Its rows are one text, so that a case with a large table is hashed, stored and sent to a worker like any other.
    """

    columns: tuple[str, ...] = ()
    """Empty if the source names none."""
    content: str = "[]"
    """The rows as a JSON list of lists, their cells as in `assay.model.results.cell_json`."""
    row_count: int = 0
    cells: CellTypes = "typed"
    source: str = "rows"
    """Where it comes from, for people: ``gold/q7.csv`` or ``cases.jsonl, line 3``."""
    failure: Failure | None = None
    """Why there are no rows: the file is missing, too large, or no table."""
    note: str | None = None
    """What is doubtful about the rows."""

    @classmethod
    def of(
        cls,
        rows: Iterable[Sequence[Cell]],
        *,
        columns: Sequence[str] = (),
        cells: CellTypes = "typed",
        source: str = "rows",
    ) -> GivenResult:
        """A given result from its rows, all of one length."""
        written = [list(map(cell_to_json, row)) for row in rows]
        content = json.dumps(written, ensure_ascii=False, separators=(",", ":"))
        return cls(columns=tuple(columns), content=content, row_count=len(written), cells=cells, source=source)

    @property
    def column_count(self) -> int:
        """Number of columns: that of the names, else of the first row; 0 if nothing tells."""
        return len(self.columns) or (self.result().column_count if self.row_count else 0)

    def result(self) -> Result:
        """The rows as an engine would have given them. Each call reads them again."""
        rows = [tuple(map(cell_from_json, row)) for row in json.loads(self.content)]
        return Result.of(rows, columns=self.columns or None)

    def execution(self) -> Execution:
        """The result as if it had been executed: no query and no time, but rows or a failure."""
        if self.failure is not None:
            return Execution(query="", status="error", failure=self.failure, given=self.source)
        found = self.result()
        return Execution(
            query="",
            status="rows" if found.rows else "empty",
            result=found,
            row_count=len(found.rows),
            columns=found.columns,
            given=self.source,
            cells=self.cells,
        )


_MOST_INTEGER = 10**4000
"""Python prints no integer of more than 4300 digits. A larger one becomes a Decimal, as engines give it."""
MOST_ROWS = 1_000_000
MOST_BYTES = 64 << 20


class InvalidRows(Exception):
    """A value that is not a result. The message says why."""


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
            raise InvalidRows("contains half of a surrogate pair in a cell: write the character whole")
        table.append(row)
    result = GivenResult.of(table, columns=names, cells=cells)
    if len(result.content) > MOST_BYTES:
        raise InvalidRows(f"takes {len(result.content) >> 20:,} MiB, and at most {MOST_BYTES >> 20} are read")
    return result


def answered_rows(value: object) -> GivenResult | None:
    """The rows that a system's answer is: a list of them, or an object with ``rows`` and perhaps ``columns``.

    None if it is something else. Raises InvalidRows if it is rows, but not of one shape.
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
        raise InvalidRows("has columns that are not a list of names")
    return result_from_rows(value, columns)
