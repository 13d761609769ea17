"""A result that stands in a file or comes from a system, in place of a query."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from msgspec import Struct

from assay.model.cell_json import cell_from_json, cell_to_json
from assay.model.failure import Failure
from assay.model.result import Cell, CellTypes, Execution, Result


class GivenResult(Struct, frozen=True, kw_only=True):
    """A result without a query: an accepted answer of a case, or what a system answered.

    Its rows are one text, so that a case with a large table is hashed, stored and sent to a worker like any other.
    """

    columns: tuple[str, ...] = ()
    """Empty where the source names none."""
    content: str = "[]"
    """The rows as a JSON list of lists, their cells as in `assay.model.cell_json`."""
    row_count: int = 0
    cells: CellTypes = "typed"
    source: str = "rows"
    """Where it comes from, for people: ``gold/q7.csv`` or ``cases.jsonl, line 3``."""
    failure: Failure | None = None
    """Why there are no rows: the file is missing, too large, or no table."""

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
        """Number of columns: that of the names, else of the first row; 0 where nothing tells."""
        return len(self.columns) or (self.result().column_count if self.row_count else 0)

    def result(self) -> Result:
        """The rows as an engine would have given them. Each call reads them anew."""
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
