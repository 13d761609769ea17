"""The result of one query, as the report shows and counts it."""

from __future__ import annotations

from msgspec import Struct

from assay.model import Execution, Row

SHOWN_ROWS = 1_000
"""Number of rows of a result in a mismatch of the package's report."""


class QueryResult(Struct, frozen=True, kw_only=True):
    """The result of one query."""

    row_count: int | None = None
    """None if the result is not complete."""
    head: tuple[Row, ...] = ()
    """The first rows, in their order; none for an output that matches, unless the result is a single NULL."""
    error: str | None = None
    """Why the result is not complete; None if it is."""

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
