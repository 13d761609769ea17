"""What one query gave, as the report shows and counts it."""

from __future__ import annotations

from msgspec import Struct

from assay.model import Execution, Row

SHOWN_ROWS = 1_000
"""How many rows of a result a mismatch in the package's report shows."""


class QueryResult(Struct, frozen=True, kw_only=True):
    """What one query gave."""

    row_count: int | None = None
    """None if there is no whole result."""
    head: tuple[Row, ...] = ()
    """The first rows, as they came; none of a query of an output that matches, unless the result is a single NULL."""
    error: str | None = None
    """Why there is no whole result; None if there is one."""

    @classmethod
    def of(cls, execution: Execution, head: tuple[Row, ...]) -> QueryResult:
        """The result of an execution, with these first rows."""
        if execution.succeeded:
            return cls(row_count=execution.row_count or 0, head=head)
        return cls(error=execution.failure.message if execution.failure is not None else "no result")

    @property
    def is_null(self) -> bool:
        """Whether it is one row with one NULL."""
        return self.row_count == 1 and self.head == ((None,),)
