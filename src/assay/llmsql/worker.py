"""The worker's side: one completion against one gold query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias, cast

from assay.engines import heartbeat, outcomes
from assay.engines.executor import explain_loss, label_of
from assay.engines.sqlite import SqliteEngine
from assay.llmsql.completion import queries_in, with_table
from assay.model import DatabaseUrl, Execution, Limits, Row

SETUP = "assay.llmsql.worker:set_up"
_KEPT_ROWS = 1_000

Payload: TypeAlias = tuple[str, str, str, bool]
"""A gold query, the question's table, a completion, and whether other questions have the same gold query."""

SHOWN_ROWS = 1_000
_SHOWN_CHARACTERS = 100_000
_NONE_ROWS: tuple[Row, ...] = ((None,),)


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


class Queries:
    """Executes queries on one SQLite file, quick ones by the thousand.

    What the general executor adds (connections to several databases, a cache of every result)
    would take longer than most of these queries. Kept is what runs again: golds that several questions
    share, and the last one for a prediction of the same text.
    """

    def __init__(self, url: DatabaseUrl, limits: Limits) -> None:
        self.limits = limits
        self._url = url
        self._golds: dict[str, Execution] = {}
        self._last: Execution | None = None
        self._engine: SqliteEngine | None = None

    def gold(self, query: str, *, keep: bool) -> Execution:
        """The result of a gold query, kept where that is asked for and it is small."""
        found = self._golds.get(query) or self.execute(query)
        if keep and (found.row_count or 0) <= _KEPT_ROWS:
            self._golds[query] = found
        self._last = found
        return found

    def predicted(self, query: str) -> Execution:
        """The result of a predicted query: gold's own where the text is the same."""
        gold = self._last
        return gold if gold is not None and gold.query == query else self.execute(query)

    def execute(self, query: str) -> Execution:
        """What the database makes of a query. Never raises for what it does."""
        label = label_of(self._url, query)
        if (loss := heartbeat.lost(label)) is not None:
            return explain_loss(query, loss, self.limits)
        heartbeat.begin(label, self.limits.timeout_s)
        try:
            if self._engine is None:
                self._engine = SqliteEngine.open(self._url, self.limits)
                self._engine.hold()
            return self._engine.execute(query)
        except MemoryError:
            return outcomes.out_of_memory(query, self.limits, None)
        finally:
            heartbeat.end()


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
        gold = self._queries.gold(gold_query, keep=keep_gold)
        gold_rows = _rows(gold)
        matched, none, errors = False, 0, list[str]()
        spent_s = 0.0
        last: Execution | None = None
        error: str | None = None
        queries = queries_in(completion)
        for query in queries:
            if spent_s >= self._timeout_s:
                last, error = None, f"not run: the queries before it used up the limit of {self._timeout_s:g} s"
                errors.append(error)
                continue
            last = self._queries.predicted(with_table(query, table_id))
            spent_s += last.wall_time_s or 0.0
            rows, error = _rows(last), _error(last)
            if rows is None:
                errors.append(error or "no result")
            elif rows == _NONE_ROWS:
                none += 1
            matched = matched or (rows is not None and gold_rows is not None and same_rows(rows, gold_rows))
        if matched and not errors:
            return _plain_match(gold_rows == _NONE_ROWS, len(queries), none)
        return Judged(
            matched=matched,
            gold_none=gold_rows == _NONE_ROWS,
            queries=len(queries),
            pred_none=none,
            errors=tuple(errors),
            gold=None if matched else _shown(gold, _error(gold)),
            predicted=None if matched or not queries else _shown(last, error),
        )


@lru_cache(maxsize=64)
def _plain_match(gold_none: bool, queries: int, pred_none: int) -> Judged:  # noqa: FBT001 - private, one caller
    """Nothing but a match: what most are, and the same for all that are."""
    return Judged(matched=True, gold_none=gold_none, queries=queries, pred_none=pred_none)


def same_rows(first: Sequence[Row], second: Sequence[Row]) -> bool:
    """Whether two results are equal as bags of rows.

    By the benchmark's rules: rows as tuples, numbers by exact value whatever their type, NULL equal
    to NULL, column order as it is, names no part of it. Nothing is sorted, so nothing need have an order.
    """
    return first is second or (len(first) == len(second) and (first == second or Counter(first) == Counter(second)))


def _rows(execution: Execution) -> tuple[Row, ...] | None:
    """The whole result; None where there is none or a cap cut it."""
    return execution.result.rows if execution.succeeded and execution.result is not None else None


def _error(execution: Execution) -> str | None:
    return execution.failure.message if execution.failure is not None else None


def _shown(execution: Execution | None, error: str | None) -> Shown:
    rows = _rows(execution) if execution is not None else None
    if rows is None:
        return Shown(rows=None, row_count=None, error=error)
    kept: list[Row] = []
    characters = 0
    for row in rows[:SHOWN_ROWS]:
        cells = tuple(_cut(cell) for cell in row)
        characters += sum(len(cell) if isinstance(cell, str | bytes) else 8 for cell in cells)
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
