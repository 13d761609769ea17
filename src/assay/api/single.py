"""One pair of queries, one pair of results: checked, explained, asserted; alone, or in a worker that is reused."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec.structs import asdict, replace

from assay.api.arguments import check_options
from assay.api.frames import as_result
from assay.api.public import public
from assay.api.workers import (
    MISSING,
    DatabaseInput,
    check_databases,
    is_empty,
    local_pool,
    make_pool,
    url_of_one,
    warn_of_idle_limit,
    worker_settings,
)
from assay.comparison.answer import Answer
from assay.comparison.lenient import compare_leniently as compare_results
from assay.engines.pool.pool import WorkerPool
from assay.engines.pool.spawn import default_workers
from assay.errors import AssayError, UnscoredError, UsageError
from assay.model import (
    STRICT,
    Case,
    CaseOptions,
    ColumnRule,
    Comparison,
    ComparisonOptions,
    DatabaseUrl,
    Diagnosis,
    Evidence,
    GivenResult,
    Leniency,
    Limits,
    PairVerdict,
    Prediction,
)
from assay.ports import Executions, Task, TaskDone, TaskLost
from assay.reports.text.pair import HEAD_ROWS, pair_text
from assay.runs.plan import Work
from assay.runs.store.codec import decode_evidence
from assay.runs.workers.worker_tasks import CaseOutcome
from assay.sql.extraction import SEVERAL_QUERIES, are_queries, completion_of, extracted

_PoolKey: TypeAlias = tuple[Limits, str, bool]
_MOST_WORKERS = 32
"""As many as the threads of Python's own executors at most."""
_LEAST_KEPT = 4
"""This many workers wait for the next call, and one per core if there are more cores."""
_PATIENCE_S = 0.1
"""How long a call waits while there is a worker per core: longer than most queries take, too short to be noticed."""


@public
def check(
    predicted_sql: str | GivenResult | Sequence[Any] | Mapping[str, Any],
    gold_sql: str | GivenResult | Sequence[str | GivenResult],
    *,
    database: DatabaseInput,
    columns: ColumnRule = "any",
    ordered: bool | None = None,
    leniency: Leniency | None = None,
    limits: Limits | None = None,
) -> PairVerdict:
    """Whether a predicted query is right, by executing it and the gold query on a database.

    Both run read-only and under limits, in a worker process that is started with the first call and reused; every call
    runs both again, so the database may change between calls. Threads may call it at the same time: each has a worker
    of its own. If there are several gold queries, the prediction is
    correct if it matches one of them. ``ordered`` None: row order counts if the gold query has ORDER BY; True and False
    override that. ``leniency`` says what not to count as a mistake. The prediction may be chat messages. Either side
    may be a `GivenResult` in place of a query: rows that are not executed. If both are, ``database`` may be empty.
    ``database`` is a URL, or tables in memory: ``{"orders": frame}``, data frames of pandas or polars or Arrow tables.

    Raises InputError for a URL without an engine and DatabaseError for a database that cannot be
    read. Failures of the queries are never raised: they are part of the verdict.
    """
    options = CaseOptions(columns=columns, ordered=ordered, leniency=leniency or STRICT)
    evidence, _ = gather_with_rows(predicted_sql, gold_sql, database=database, options=options, limits=limits)
    return _of_pair(evidence)


def _of_pair(evidence: Evidence) -> PairVerdict:
    """The verdict of the evidence with its near misses."""
    comparison = evidence.comparison if evidence.outcome == "incorrect" else None
    near_misses = () if comparison is None else comparison.near_misses
    return PairVerdict(**asdict(evidence.verdict), near_misses=near_misses)


@public
def gather_evidence(
    predicted_sql: str | GivenResult | Sequence[Any] | Mapping[str, Any],
    gold_sql: str | GivenResult | Sequence[str | GivenResult],
    *,
    database: DatabaseInput,
    columns: ColumnRule = "any",
    ordered: bool | None = None,
    leniency: Leniency | None = None,
    limits: Limits | None = None,
) -> Evidence:
    """As `check`, with all the evidence: the comparison, the aligned rows, the executions."""
    options = CaseOptions(columns=columns, ordered=ordered, leniency=leniency or STRICT)
    return gather_with_rows(predicted_sql, gold_sql, database=database, options=options, limits=limits)[0]


@public
def diagnose(
    predicted_sql: str | GivenResult | Sequence[Any] | Mapping[str, Any],
    gold_sql: str | GivenResult | Sequence[str | GivenResult],
    *,
    database: DatabaseInput,
    columns: ColumnRule = "any",
    ordered: bool | None = None,
    leniency: Leniency | None = None,
    limits: Limits | None = None,
) -> Diagnosis | None:
    """Why a predicted query is wrong: its causes, the primary one first, and the smallest repair; None if it is right.

    As a run does it for each wrong answer: the queries are compared clause by clause, and repairs executed. Arguments
    are those of `check`.

    Raises UnscoredError without a verdict, for example if the gold query fails; else as `check`.
    """
    options = CaseOptions(columns=columns, ordered=ordered, leniency=leniency or STRICT)
    evidence, _ = gather_with_rows(
        predicted_sql, gold_sql, database=database, options=options, limits=limits, causes=True
    )
    if evidence.outcome == "unscored":
        raise UnscoredError(f"cannot be scored, so there is no cause: {evidence.verdict.reason}")
    return evidence.diagnosis


judge, examine = check, gather_evidence
"""Earlier names, kept for callers; elsewhere in Assay a judge is an LLM."""


def gather_with_rows(
    predicted_sql: str | GivenResult | Sequence[Any] | Mapping[str, Any],
    gold_sql: str | GivenResult | Sequence[str | GivenResult],
    *,
    database: DatabaseInput,
    options: CaseOptions,
    limits: Limits | None,
    head_rows: int = 0,
    causes: bool = False,
) -> tuple[Evidence, Executions]:
    """The evidence of one pair, and the executions with the first ``head_rows`` rows of each result.

    With ``causes`` the evidence says why a wrong query is wrong.
    """
    check_options(options.columns or "any")
    golds = (gold_sql,) if isinstance(gold_sql, str | GivenResult) else tuple(gold_sql)
    if is_empty(database) and all(isinstance(side, GivenResult) for side in (predicted_sql, *golds)):
        url = DatabaseUrl(text=f"{MISSING}:///")  # nothing is executed
    else:
        url = url_of_one(database)
    check_databases([url], {})
    if limits is not None:
        warn_of_idle_limit([url], limits)
    case = Case(
        id="0",
        question="",
        golds=tuple(one for one in golds if isinstance(one, str)),
        results=tuple(one for one in golds if isinstance(one, GivenResult)),
        options=options,
    )
    if isinstance(predicted_sql, GivenResult):
        prediction = Prediction(case_id="0", result=predicted_sql)
    else:
        prediction = extracted(Prediction(case_id="0", query=_text_of(predicted_sql)))
    task = Work(case=case, prediction=prediction, url=url, head_rows=head_rows)
    return read_outcome(_POOLS.run(limits or Limits(), task, causes=causes))


def _text_of(predicted: object) -> str:
    """The text of a prediction, or of the chat messages that it is."""
    if isinstance(predicted, str):
        return predicted
    if (text := completion_of(predicted)) is not None:
        return text
    if are_queries(predicted):
        raise UsageError(f"the prediction {SEVERAL_QUERIES}")
    raise UsageError(
        f"the prediction is {type(predicted).__name__}: give the query as text, chat messages, or rows as a GivenResult"
    )


def read_outcome(outcome: TaskDone | TaskLost) -> tuple[Evidence, Executions]:
    """A worker's result for one case; without executions if the task did not ask for rows. Raises AssayError."""
    if not isinstance(outcome, TaskDone):
        raise AssayError(f"checking failed: {outcome.message}")
    match outcome.outcome:
        case (bytes() as line, _, _):
            return decode_evidence(line), Executions()
        case CaseOutcome(evidence=line, executions=executions):
            return decode_evidence(line), executions
        case other:
            raise AssayError(f"a worker answered with {type(other).__name__} where a line of evidence belongs")


class KeptPools:
    """The workers for single pairs, kept until the interpreter ends, for callers in any thread.

    Each call has a worker of its own, which waits for the next call with the same limits in the same folder: a worker
    keeps the folder it was started in, and a URL may be relative to it. While fewer calls run than there are cores, a
    call that finds no worker waiting starts one. Otherwise it waits `_PATIENCE_S` for one: short queries then share the
    cores, and behind long ones it starts a worker, up to `_MOST_WORKERS`. So no call waits for the time limit of a
    query in another thread.
    """

    def __init__(self, make: Callable[[Limits, bool], WorkerPool]) -> None:
        self._make = make
        self._begin()

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._process_id = os.getpid()
        self._waiting: list[tuple[_PoolKey, WorkerPool]] = []
        """The workers that no call uses, the one used last behind the others."""
        self._busy = 0

    def run(self, limits: Limits, task: object, *, causes: bool = False) -> TaskDone | TaskLost:
        """Run one task."""
        if self._process_id != os.getpid():
            self._begin()  # in a forked child, lock and workers belong to the parent
        key = (limits, os.getcwd(), causes)
        pool = self._take(key)
        try:
            (outcome,) = pool.run([[Task(id=0, payload=task)]])
            return outcome
        finally:
            self._put_back(key, pool)

    def _take(self, key: _PoolKey) -> WorkerPool:
        """A worker that waits, or a new one as soon as one more may run."""

        def is_free(most: int) -> bool:
            return self._busy < most or any(other == key for other, _ in self._waiting)

        cores = default_workers()
        with self._changed:
            self._changed.wait_for(lambda: is_free(cores), timeout=_PATIENCE_S)
            self._changed.wait_for(lambda: is_free(_MOST_WORKERS))
            latest = next((at for at, (other, _) in reversed([*enumerate(self._waiting)]) if other == key), None)
            if latest is None:
                pool = self._make(*key[::2])
                pool.start(shared=True)
            else:
                pool = self._waiting.pop(latest)[1]
            self._busy += 1
        return pool

    def _put_back(self, key: _PoolKey, pool: WorkerPool) -> None:
        with self._changed:
            self._busy -= 1
            if not pool.closed:  # an interrupted one is
                self._waiting.append((key, pool))
            surplus = self._waiting.pop(0)[1] if len(self._waiting) > max(_LEAST_KEPT, default_workers()) else None
            self._changed.notify_all()
        if surplus is not None:
            surplus.close()


_POOLS = KeptPools(
    lambda limits, causes: make_pool(ComparisonOptions(), limits, (), 1, remember=False, diagnose=causes)
)


@public
def compare(
    predicted: Any,
    gold: Any,
    *,
    columns: ColumnRule = "any",
    ordered: bool = False,
    relative_tolerance: float = 1e-12,
    absolute_tolerance: float = 1e-12,
    leniency: Leniency | None = None,
    boolean_is_integer: bool = False,
) -> Comparison:
    """How a predicted result relates to the gold result: equal or not, column mapping, aligned rows, near misses.

    Each is a sequence of rows (tuples or lists), a Result, an Arrow table, or a pandas or polars
    data frame. Column names are not compared. ``ordered`` True requires the row order of the gold result;
    ``boolean_is_integer`` says that True and 1 are the same value, as in SQLite.

    Raises UsageError for anything else, and for rows of different lengths.
    """
    check_options(columns, relative_tolerance=relative_tolerance, absolute_tolerance=absolute_tolerance)
    options = ComparisonOptions(
        columns=columns,
        relative_tolerance=relative_tolerance,
        absolute_tolerance=absolute_tolerance,
        boolean_is_integer=boolean_is_integer,
        leniency=leniency or STRICT,
    )
    reference = as_result(gold)
    answer = Answer.strict(reference) if ordered else Answer.bag(reference)
    return compare_results(as_result(predicted), answer, options)


@public
def assert_equivalent(
    predicted: str | Sequence[Any] | Mapping[str, Any],
    gold: str | Sequence[str],
    *,
    database: DatabaseInput,
    columns: ColumnRule = "any",
    ordered: bool | None = None,
    limits: Limits | None = None,
) -> PairVerdict:
    """Assert that a predicted query returns the result of the gold query, or of one of several, on a database.

    Checks as `assay.check` does and takes the same arguments. Returns the verdict if the
    prediction is right.

    Raises:
        AssertionError: it is wrong. The message is plain text: the reason in its first line, near
            misses, both queries, the first rows of both results and the aligned difference.
        UnscoredError: it cannot be scored: the gold query fails, or a cap cut a result. This is not an
            AssertionError, so that a test which expects a wrong answer does not pass because of a broken gold query.
        InputError: the URL has no engine, or (as DatabaseError) the database cannot be read.
    """
    __tracebackhide__ = True  # pytest then shows the line of the test, and none of these
    options = CaseOptions(columns=columns, ordered=ordered)
    evidence, executions = gather_with_rows(
        predicted, gold, database=database, options=options, limits=limits, head_rows=HEAD_ROWS
    )
    if evidence.outcome == "correct":
        return _of_pair(evidence)
    text = pair_text(evidence, executions)
    if evidence.outcome == "unscored":
        raise UnscoredError(f"cannot be scored, for a reason outside the prediction: {text}")
    raise AssertionError(text)


class CaseChecker:
    """Scores one case at a time, for callers that get them one at a time, such as a test runner.

    A worker process for each pair of options and limits starts with its first case and stays
    until ``close``. It executes each query on each database once, as a run does: later changes in a
    database are not seen. For one thread only.
    """

    def __init__(self) -> None:
        self._pools: dict[tuple[int, ComparisonOptions, Limits, bool], WorkerPool] = {}

    def score(
        self,
        case: Case,
        prediction: Prediction,
        url: DatabaseUrl,
        *,
        gold_url: DatabaseUrl | None = None,
        options: ComparisonOptions | None = None,
        limits: Limits | None = None,
        head_rows: int = 0,
    ) -> tuple[Evidence, Executions]:
        """The evidence, and the executions with the first ``head_rows`` rows of each result.

        ``gold_url``: the database of the gold queries, if it is another one.

        Raises AssayError if scoring itself fails. Failures of the queries are never raised.
        """
        pool = self._pool(options or ComparisonOptions(), limits or Limits(), gold_apart=gold_url is not None)
        task = Work(case=case, prediction=prediction, url=url, gold_url=gold_url, head_rows=head_rows)
        outcomes: Iterator[TaskDone | TaskLost] = pool.run([[Task(id=0, payload=task)]])
        (outcome,) = outcomes
        return read_outcome(outcome)

    def close(self) -> None:
        """End the workers. Closing twice is harmless."""
        for pool in self._pools.values():
            pool.close()
        self._pools.clear()

    def _pool(self, options: ComparisonOptions, limits: Limits, *, gold_apart: bool) -> WorkerPool:
        # A forked child must not talk to the workers of its parent.
        key = (os.getpid(), options, limits, gold_apart)
        pool = self._pools.get(key)
        if pool is None or pool.closed:  # an interrupted pool is closed
            check_options(
                options.columns,
                relative_tolerance=options.relative_tolerance,
                absolute_tolerance=options.absolute_tolerance,
            )
            worker = replace(worker_settings(options, limits, ()), gold_apart=gold_apart)
            pool = self._pools[key] = local_pool(worker, 1)
        return pool
