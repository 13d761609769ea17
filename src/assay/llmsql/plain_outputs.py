"""The worker's side of `assay.llmsql.evaluate`: score outputs whose queries are short and harmless, as nearly all are.

::

    evaluate ── PlainOutputs in workers ──┬─ MATCH, or a PlainJudgement
                                          └─ None: `assay.llmsql.assessment.assess` evaluates the output as a case of a
                                          run

A run finds out more about each case than the benchmark counts, and takes several times as long. It evaluates only what
needs it: a query that is refused, slow or large, one that ended its process, and a gold query that fails.
"""

from __future__ import annotations

import gc
import time
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from assay.engines.pool import heartbeat
from assay.engines.pool.executor import label_of
from assay.engines.sqlite.engine import SqliteEngine
from assay.errors import DatabaseError
from assay.llmsql.query_result import SHOWN_ROWS, QueryResult
from assay.metrics.llmsql import same_rows
from assay.model import DatabaseUrl, Execution, Limits
from assay.sql.extraction.completions import queries_in, with_table

SETUP: Final = "assay.llmsql.plain_outputs:set_up"
MATCH: Final = "match"
"""One query that returns the gold result, other than a single NULL: the most frequent score."""
MOST_S: Final = 1.0
"""The time for all queries of one output, including the gold query."""
_OPENING_S: Final = 30.0
_HANGS_S: Final = 5 * MOST_S
"""The time after which an output's worker is ended: SQLite itself ends nearly all queries after `MOST_S`."""
_LIMITS: Final = Limits(
    timeout_s=MOST_S,
    max_rows=10_000,
    max_result_bytes=100_000,  # no cell is then so large that a report truncates it
    max_memory_bytes=512 * 1024 * 1024,
)
MEMORY_BYTES: Final = 1024 * 1024 * 1024
"""What a worker may allocate."""


class PlainOutput(Struct, frozen=True, array_like=True):
    """An output with the queries and options of its question."""

    gold: str
    table: str
    completion: str


class PlainTask(Struct, frozen=True, array_like=True):
    """Outputs that a worker evaluates together."""

    name: str
    items: list[PlainOutput]


class PlainJudgement(Struct, frozen=True, array_like=True):
    """An output that counts for more than a match."""

    matched: bool
    gold: QueryResult
    results: tuple[QueryResult, ...]


Judged: TypeAlias = "Literal['match'] | PlainJudgement | None"


def set_up(url: DatabaseUrl) -> PlainOutputs:
    """Set up one worker. The database is opened with the first outputs."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 5, 5)  # rows are many small objects without reference cycles
    return PlainOutputs(url)


class PlainOutputs:
    """Scores outputs on one database."""

    def __init__(self, url: DatabaseUrl) -> None:
        self._url = url
        self._engine: SqliteEngine | None = None

    def __call__(self, outputs: PlainTask) -> list[Judged]:
        label = label_of(self._url, outputs.name)
        if heartbeat.lost(label) is not None:  # one of them ended an earlier worker
            return [None] * len(outputs.items)
        try:
            if self._engine is None:
                heartbeat.begin(label, _OPENING_S)
                self._engine = SqliteEngine.open(self._url, _LIMITS)
            found: list[Judged] = []
            with self._engine.snapshot():
                for output in outputs.items:
                    heartbeat.begin(label, _HANGS_S)
                    found.append(_scored(self._engine, output))
            return found
        except DatabaseError:
            return [None] * len(outputs.items)
        finally:
            heartbeat.end()

    def close(self) -> None:
        """Close the connection."""
        if self._engine is not None:
            self._engine.close()


def _scored(engine: SqliteEngine, output: PlainOutput) -> Judged:
    ends = time.perf_counter() + MOST_S
    gold = engine.execute(output.gold)
    if gold.result is None or not _is_plain(gold):
        return None
    rows, known, results = gold.result.rows, {output.gold: gold}, []
    matched = False
    for query in [with_table(query, output.table) for query in queries_in(output.completion)]:
        execution = known.get(query)
        if execution is None:
            execution = known[query] = engine.execute(query)
            if not _is_plain(execution) or time.perf_counter() > ends:
                return None
        results.append(execution)
        if not matched and execution.result is not None:
            matched = same_rows(execution.result.rows, rows)
    if matched and len(results) == 1 and rows != ((None,),):
        return MATCH
    # The report shows rows for mismatches only; for the others it counts single NULLs.
    shown = 1 if matched else SHOWN_ROWS
    found = [QueryResult.of(execution, _rows(execution, shown)) for execution in (gold, *results)]
    return PlainJudgement(matched, found[0], tuple(found[1:]))


def _is_plain(execution: Execution) -> bool:
    failure = execution.failure
    if failure is not None:
        return execution.status == "error" and failure.kind == "error"
    return not execution.undecodable_text


def _rows(execution: Execution, most: int) -> tuple[tuple[object, ...], ...]:
    return () if execution.result is None else tuple(execution.result.rows[:most])
