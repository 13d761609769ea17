"""The worker's side: one completion against one gold query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any, TypeAlias, cast

from assay.engines import outcomes
from assay.engines.pool import heartbeat
from assay.engines.pool.executor import explain_loss, label_of
from assay.engines.sqlite.engine import SqliteEngine
from assay.llmsql.completion import queries_in, with_table
from assay.model import DatabaseUrl, Execution, Limits, Row

SETUP = "assay.llmsql.worker:set_up"
_KEPT_ROWS = 1_000

Payload: TypeAlias = tuple[str, str, str, bool]
"""A gold query, the question's table, a completion, and whether other questions have the same gold query."""

SHOWN_ROWS = 1_000
_SHOWN_CHARACTERS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """What every worker needs to know."""

    url: DatabaseUrl
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a query gave, as far as a report shows it."""

    rows: list[Row] | None
    """The first rows, up to a thousand and about 100,000 characters; None where there is no result."""
    row_count: int | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What became of one completion. The three counts are of queries, as the benchmark counts them."""

    matched: bool
    gold_none: bool
    queries: int
    pred_none: int = 0
    errors: tuple[str, ...] = ()
    """Why queries of the completion gave no result, in their order."""
    gold: Shown | None = None
    """Where it did not match; None where its judging failed."""
    predicted: Shown | None = None
    """Likewise, of the completion's last query; None where it has none."""


def set_up(settings: WorkerSettings) -> Callable[[object], list[tuple[object, ...]]]:
    """Set up one worker. What it returns takes a batch of Payloads.

    It gives each one's `Judged` as the tuple that `unpack` reads. Batches, because judging one
    completion takes less than sending it.
    """
    _tame_collector()
    judge = Judge(Queries(settings.url, settings.limits))

    def judge_batch(payload: object) -> list[tuple[object, ...]]:
        batch = cast("Sequence[Payload]", payload)
        return [_pack(judge.judge(*one, keep_gold=keep)) for *one, keep in batch]

    return judge_batch


def _pack(judged: Judged) -> tuple[object, ...]:
    """A plain tuple: pickling thousands of dataclasses takes longer than judging what they say."""
    shown = tuple(one and (one.rows, one.row_count, one.error) for one in (judged.gold, judged.predicted))
    return (judged.matched, judged.gold_none, judged.queries, judged.pred_none, judged.errors, *shown)


def unpack(packed: Any) -> Judged:
    """What a worker sent of one completion."""
    matched, gold_none, queries, pred_none, errors, *both = packed
    gold, predicted = (one and Shown(rows=one[0], row_count=one[1], error=one[2]) for one in both)
    return Judged(
        matched=matched,
        gold_none=gold_none,
        queries=queries,
        pred_none=pred_none,
        errors=errors,
        gold=gold,
        predicted=predicted,
    )


Found: TypeAlias = tuple[Sequence[Row] | None, str | None, float]
"""The whole result of a query, or why there is none; and the seconds that it took. Bare, for there are thousands."""


class Queries:
    """Executes queries on one SQLite file, quick ones by the thousand.

    What the general executor adds (connections to several databases, a cache of every result)
    would take longer than most of these queries. Kept is what runs again: golds that several questions
    share, and the last one for a prediction of the same text.
    """

    def __init__(self, url: DatabaseUrl, limits: Limits) -> None:
        self.limits = limits
        self._url = url
        self._golds: dict[str, Found] = {}
        self._last: tuple[str, Found] | None = None
        self._engine: SqliteEngine | None = None

    def gold(self, query: str, *, keep: bool) -> Found:
        """The result of a gold query, kept where that is asked for and it is small."""
        found = self._golds.get(query) or self.execute(query)
        if keep and len(found[0] or ()) <= _KEPT_ROWS:
            self._golds[query] = found
        self._last = (query, found)
        return found

    def predicted(self, query: str) -> Found:
        """The result of a predicted query: gold's own where the text is the same."""
        last = self._last
        return last[1] if last is not None and last[0] == query else self.execute(query)

    def execute(self, query: str) -> Found:
        """What the database makes of a query. Never raises for what it does."""
        label = label_of(self._url, query)
        if (loss := heartbeat.lost(label)) is not None:
            return _found(explain_loss(query, loss, self.limits))
        heartbeat.begin(label, self.limits.timeout_s)
        started = perf_counter()
        try:
            if self._engine is None:
                self._engine = SqliteEngine.open(self._url, self.limits)
                self._engine.hold()
            found = self._engine.execute_quick(query)
        except MemoryError:
            found = outcomes.out_of_memory(query, self.limits, perf_counter() - started)
        finally:
            heartbeat.end()
        return _found(found) if isinstance(found, Execution) else (found, None, perf_counter() - started)


def _found(execution: Execution) -> Found:
    rows = execution.result.rows if execution.succeeded and execution.result is not None else None
    error = None if rows is not None else execution.failure.message if execution.failure else "no result"
    return rows, error, execution.wall_time_s or 0.0


class Judge:
    """Judges completions on one database."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries
        self._timeout_s = queries.limits.timeout_s

    def judge(self, gold_query: str, table_id: str, completion: str, *, keep_gold: bool = False) -> Judged:
        """Execute gold and each query of the completion; one that gives gold's bag of rows suffices.

        Queries of one completion share the time limit: when it is used up, the rest are not run and
        count as errors. All of them run, also after one matched: the benchmark counts all.
        """
        gold, gold_error, _ = self._queries.gold(gold_query, keep=keep_gold)
        gold_none = _is_none(gold)
        matched, none, errors = False, 0, list[str]()
        spent_s = 0.0
        rows: Sequence[Row] | None = None
        error: str | None = None
        queries = queries_in(completion)
        for query in queries:
            if spent_s < self._timeout_s:
                rows, error, took_s = self._queries.predicted(with_table(query, table_id))
                spent_s += took_s
            else:
                rows = None
                error = f"not run: the queries before it used up the limit of {self._timeout_s:g} s"
            if error is not None:
                errors.append(error)
            none += _is_none(rows)
            matched = matched or (rows is not None and gold is not None and same_rows(rows, gold))
        if matched and not errors:
            return _plain_match(gold_none, len(queries), none)
        return Judged(
            matched=matched,
            gold_none=gold_none,
            queries=len(queries),
            pred_none=none,
            errors=tuple(errors),
            gold=None if matched else _shown(gold, gold_error),
            predicted=None if matched or not queries else _shown(rows, error),
        )


def _is_none(rows: Sequence[Row] | None) -> bool:
    return rows is not None and len(rows) == 1 and rows[0] == (None,)


@lru_cache(maxsize=64)
def _plain_match(gold_none: bool, queries: int, pred_none: int) -> Judged:  # noqa: FBT001 - private, one caller
    """Nothing but a match: what most are, and the same for all that are."""
    return Judged(matched=True, gold_none=gold_none, queries=queries, pred_none=pred_none)


def same_rows(first: Sequence[Row], second: Sequence[Row]) -> bool:
    """Whether two results are equal as bags of rows.

    By the benchmark's rules: rows as tuples, numbers by exact value whatever their type, NULL equal
    to NULL, column order as it is, names no part of it. Nothing is sorted, so nothing need have an order.
    """
    if len(first) != len(second):
        return False
    return first is second or list(first) == list(second) or Counter(first) == Counter(second)


def _shown(rows: Sequence[Row] | None, error: str | None) -> Shown:
    if rows is None:
        return Shown(rows=None, row_count=None, error=error)
    kept: list[Row] = []
    characters = 0
    for row in rows[:SHOWN_ROWS]:
        cells = tuple([_cut(cell) for cell in row])
        characters += sum([len(cell) if isinstance(cell, str | bytes) else 8 for cell in cells])
        if kept and characters > _SHOWN_CHARACTERS:
            break
        kept.append(cells)
    return Shown(rows=kept, row_count=len(rows), error=None)


def _cut(cell: object) -> object:
    return cell[:_SHOWN_CHARACTERS] if isinstance(cell, str | bytes) else cell


def _tame_collector() -> None:
    """Rows are many small objects without cycles: looking through them for cycles is time for nothing."""
    import gc

    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
