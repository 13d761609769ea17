"""The results of queries, and the result of executing a query."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from assay.errors import UsageError
from assay.model.failure import Failure
from assay.model.results.cells import SettledRows, settled_rows

Cell: TypeAlias = object
"""One value as the driver gave it: None, int, float, Decimal, str, bytes, bool, date, ..."""

Row: TypeAlias = tuple[Cell, ...]

CellTypes = Literal["typed", "engine", "dateless", "json", "sheet", "text"]
"""What the cells of a source can say. ``typed``: every type (engines, Parquet, values in memory). ``json``: no dates,
times or decimals, which it writes as texts. ``sheet``: likewise, and an empty cell is NULL or the empty text (Excel).
``text``: nothing but text, and an empty cell is NULL or the empty text (CSV). ``engine``: what an engine has next to a
given result, if another engine has lists, objects or times of day; ``dateless``: likewise for an engine without
dates."""

ExecutionStatus = Literal["rows", "empty", "error", "timeout", "refused", "truncated"]


class Result(Struct, frozen=True, kw_only=True):
    """The columns and rows that a query returned, immutable.

    Rows are plain tuples of one length, in the order in which they came; duplicate and empty
    column names are kept as they came. A moment of a time zone has its offset in place of the zone.
    ``columns`` is empty if a source gives no names with an empty result.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        """Give moments their offset in place of their zone: see `assay.model.results.cells`."""
        if type(self.rows) is SettledRows or not isinstance(self.rows, tuple | list):
            return
        rows = settled_rows(self.rows)
        if rows is not self.rows:
            force_setattr(self, "rows", rows)

    @classmethod
    def of(cls, rows: Iterable[Sequence[Cell]], *, columns: Sequence[str] | None = None) -> Result:
        """A Result from any rows; columns are named ``c0``, ``c1``, ... if no names are given."""
        tuples = tuple(map(tuple, rows))
        if columns is None:
            columns = [f"c{index}" for index in range(len(tuples[0]) if tuples else 0)]
        return cls(columns=tuple(columns), rows=tuples)

    @property
    def column_count(self) -> int:
        """Number of columns: the first row's, else that of the names."""
        return len(self.rows[0]) if self.rows else len(self.columns)

    def fingerprint(self) -> str:
        """A short hash of names, types, values and row order: equal results have equal fingerprints."""
        digest = hashlib.blake2b(digest_size=12)
        for part in chain([self.columns], self.rows):
            digest.update(repr(part).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


class Cost(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What a warehouse says that queries cost."""

    queries: int = 1
    """How many queries the service ran."""
    bytes_billed: int | None = None
    credits: float | None = None
    query_id: str | None = None
    """The service's own name of the query, where it is one."""

    def plus(self, other: Cost | None) -> Cost:
        """Both together. A number that one of them lacks is the other's."""
        if other is None:
            return self

        def add(mine: Any, theirs: Any) -> Any:
            return theirs if mine is None else mine if theirs is None else mine + theirs

        return Cost(
            queries=self.queries + other.queries,
            bytes_billed=add(self.bytes_billed, other.bytes_billed),
            credits=add(self.credits, other.credits),
        )


class Execution(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The result of executing one query.

    With the status ``rows`` or ``empty`` it contains a whole Result; with ``truncated`` one that a cap cut
    (``failure`` says which cap); with any other none, and ``failure`` says why. ``result`` is also None
    if only the evidence was kept.
    """

    query: str
    status: ExecutionStatus
    result: Result | None = None
    failure: Failure | None = None
    wall_time_s: float | None = None
    """What it took in this run; None if it was not executed in it."""
    row_count: int | None = None
    """Rows returned; None if none were (``error``, ``timeout``, ``refused``)."""
    columns: tuple[str, ...] = ()
    undecodable_text: bool = False
    """Some text was not valid UTF-8: its bad bytes are in the result as surrogate escapes."""
    head: tuple[Row, ...] = ()
    """The first rows as they came: kept for a case that is not correct, in place of the whole result."""
    earlier_time_s: float | None = None
    """What it took when it was executed: set if the result came from a cache of earlier executions."""
    given: str | None = None
    """The source of a result that was given in place of a query, which is then empty; None: it was executed."""
    cells: CellTypes = "typed"
    """What the cells of a given result can say."""
    cost: Cost | None = None
    """What the execution cost, where the service tells."""

    @property
    def took_s(self) -> float | None:
        """What it took, in this run or in an earlier one."""
        return self.earlier_time_s if self.wall_time_s is None else self.wall_time_s

    @property
    def succeeded(self) -> bool:
        """Whether the query ran to its end, rows or not."""
        return self.status in ("rows", "empty")

    def without_rows(self, *, head: tuple[Row, ...] = ()) -> Execution:
        """The same evidence without the rows, except those of ``head``."""
        if self.result is None:
            return self
        return replace(self, result=None, head=head)


_MOST_BYTES = 2**60


class Limits(Struct, frozen=True, kw_only=True):
    """Caps under which every query runs, the gold query's and the prediction's alike but for their time."""

    timeout_s: float = 30.0
    max_rows: int = 1_000_000
    max_result_bytes: int = 512 * 1024 * 1024
    """Estimated size of one result in this process."""
    max_memory_bytes: int = 2 * 1024 * 1024 * 1024
    """What the engine itself may allocate while it runs one query."""
    gold_timeout_s: float | None = None
    """For the gold queries and what is asked about their ties, in place of ``timeout_s``; None: the same."""
    comparison_timeout_s: float = 60.0
    """For comparing two results, and for each metric's score of one case."""
    max_bytes_billed: int | None = None
    """What one query may bill, in a warehouse that bills by the bytes that a query reads; None: no limit."""

    def __post_init__(self) -> None:
        """Refuse what no clock counts, no run keeps and no operating system takes for a limit."""
        for name in ("timeout_s", "gold_timeout_s", "comparison_timeout_s"):
            seconds = getattr(self, name)
            if seconds is not None and not (isinstance(seconds, int | float) and math.isfinite(seconds)):
                raise UsageError(f"{name} is {seconds!r}: give a number of seconds; 86400 are a day")
        for name in ("max_memory_bytes", "max_result_bytes"):
            size = getattr(self, name)
            if not isinstance(size, int) or size > _MOST_BYTES:
                raise UsageError(f"{name} is {size!r}: give a whole number up to {_MOST_BYTES}, which is 1 EiB")

    @property
    def of_gold(self) -> Limits:
        """The limits of the gold queries."""
        if self.gold_timeout_s is None:
            return self
        return replace(self, timeout_s=self.gold_timeout_s, gold_timeout_s=None)
