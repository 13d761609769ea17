"""The worker's side of a run: each worker process sets itself up, then scores or times one case at a time."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from contextlib import closing
from time import monotonic
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from assay.engines.pool import heartbeat
from assay.engines.pool.cache import ByteCache
from assay.engines.pool.executor import Executor
from assay.errors import PluginError
from assay.model import Cost, Evidence, Execution, PairTiming
from assay.model.witness import Refutation
from assay.ports import Diagnoser, Executions, Metric
from assay.runs.aggregate.summarize import Scored, with_summary
from assay.runs.plan import Work
from assay.runs.store.codec import encode_evidence, unpack_task
from assay.runs.workers.known_schemas import KnownSchemas
from assay.runs.workers.worker_tasks import CaseOutcome, MatchTask, Timed, TimingTask, WorkerSettings
from assay.scoring.queries.scorer import QueryScorer
from assay.scoring.queries.verdicts import blame

if TYPE_CHECKING:
    from assay.runs.workers.match_worker import MatchWorker
    from assay.runs.workers.suite_checking import SuiteChecker


_USUAL = ("assay.engines.sqlite.engine", "assay.diagnosis.diagnoser")
_GOLDS = 1000
"""Added to the number of an attempt: what the gold query does in its own time says nothing of a predicted one."""


def set_up(settings: WorkerSettings) -> WorkerScorer:
    """Set up one worker: its engines open when first needed."""
    _load_parsers(settings.metrics)
    return set_up_plain(settings)


def set_up_plain(settings: WorkerSettings) -> WorkerScorer:
    """As `set_up`, if few queries need a parser: it is imported for the first of them."""
    # Let the garbage collector run rarely: rows are many small objects without reference cycles. What was kept for a
    # while, such as trees of queries, has cycles: such objects grow old before they are dropped, so that the older
    # generations must not wait for tens of thousands of cases.
    import gc

    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 5, 5)
    return WorkerScorer(settings)


class WorkerScorer:
    """Does a task in a worker: a Work, packed or not, a TimingTask, or a MatchTask.

    A Work gives the evidence and its summary, each a line of JSON, or the evidence with the rows if it asks for these.
    A TimingTask gives the measured times; a MatchTask the result of looking for a witness. A worker process closes its
    connections by ending; elsewhere the caller must call `close`.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._metrics = [load_metric(reference) for reference in settings.metrics]
        self._executors: dict[int, Executor] = {}
        self._gold_executors: dict[int, Executor] = {}
        self._scorers: dict[int, QueryScorer] = {}
        self._awaits_parsers = settings.plain_queries
        self._matches: MatchWorker | None = None
        self._checker: SuiteChecker | None = None

    def __call__(self, packed: object) -> Scored | CaseOutcome | Timed | Refutation:
        if isinstance(packed, MatchTask):
            return self._searched(packed)
        task = packed if isinstance(packed, TimingTask) else unpack_task(packed, Work)
        attempt = task.attempt
        if attempt not in self._executors:
            for earlier in (*self._executors.values(), *self._gold_executors.values()):
                earlier.cache.clear()  # all attempts together may use the room of one
            self._executors[attempt] = self._make_executor(attempt)
            if self._golds_apart:
                self._gold_executors[attempt] = self._make_executor(attempt, of_gold=True)
            self._scorers[attempt] = self._make_scorer(self._executors[attempt], self._gold_executors.get(attempt))
        if isinstance(task, TimingTask):
            return time_pair(self._executors[attempt], task)
        if self._awaits_parsers:
            # Before the clock of a case runs, which may stop it anywhere: a module must not be imported by halves.
            _load_parsers(self._settings.metrics)
            self._awaits_parsers = False
        if self._settings.remember:
            executors = [self._executors[attempt], self._gold_executors.get(attempt)]
            return _scored(self._scorers[attempt], task, executors)
        with closing(self._make_executor(attempt)) as executor:
            if not self._golds_apart:
                return _scored(self._make_scorer(executor), task, [executor])
            with closing(self._make_executor(attempt, of_gold=True)) as golds:
                return _scored(self._make_scorer(executor, golds), task, [executor, golds])

    def _searched(self, task: MatchTask) -> Refutation:
        if self._matches is None:
            from assay.runs.workers.match_worker import MatchWorker  # most runs look for no witnesses

            for executor in (*self._executors.values(), *self._gold_executors.values()):
                executor.cache.clear()  # what scored the cases makes room
            self._matches = MatchWorker(self._settings)
        return self._matches(task)

    def close(self) -> None:
        """Close every connection. Closing twice is harmless."""
        for executor in (*self._executors.values(), *self._gold_executors.values()):
            executor.close()
        if self._matches is not None:
            self._matches.close()
        if self._checker is not None:
            self._checker.close()

    @property
    def _golds_apart(self) -> bool:
        """Whether the gold queries have an executor of their own, with its time limit and its databases."""
        return self._settings.gold_apart or self._settings.limits.of_gold != self._settings.limits

    def _make_executor(self, attempt: int, *, of_gold: bool = False) -> Executor:
        folder = self._settings.execution_cache
        limits = self._settings.limits.of_gold if of_gold else self._settings.limits
        shared = None
        if folder is not None:
            from assay.engines.execution_cache.cache import ExecutionCache  # it knows time zones, which take a while

            shared = ExecutionCache(folder, limits)
        return Executor(
            engines=self._settings.engines,
            limits=limits,
            cache=ByteCache(self._settings.cache_bytes // (2 if self._golds_apart else 1)),
            attempt=attempt + _GOLDS * of_gold,
            shared=shared,
        )

    def _make_scorer(self, executor: Executor, golds: Executor | None = None) -> QueryScorer:
        # What holds answers against the run's suite: one for all attempts, since its databases are its own.
        if self._checker is None and self._settings.suite is not None:
            from assay.runs.workers.suite_checking import SuiteChecker  # not every run has a suite

            self._checker = SuiteChecker(self._settings.suite, self._settings.engines, self._settings.limits)
        return QueryScorer(
            executor,
            self._metrics,
            self._settings.options,
            limits=self._settings.limits,
            pulse=heartbeat,
            head_rows=self._settings.head_rows,
            diagnoser=_diagnoser(executor) if self._settings.diagnose else None,
            suite=self._checker,
            schemas=KnownSchemas(executor),
            gold_executor=golds,
            retrieval=_retrieval_metrics,
        )


def _retrieval_metrics() -> Sequence[Metric]:
    from assay.metrics.retrieval import RETRIEVAL  # few systems say what they were given

    metrics: list[Any] = [metric() for metric in RETRIEVAL]
    return metrics


def _diagnoser(executor: Executor) -> Diagnoser:
    from assay.diagnosis.diagnoser import CauseFinder  # not every run looks for causes

    return CauseFinder(executor, KnownSchemas(executor))


def time_pair(executor: Executor, task: TimingTask) -> Timed:
    """Execute both queries in turn ``iterations`` times, after one warm-up of each, or until one of them fails.

    Which query goes first alternates, since the second profits from the data that the first has read. When the time
    is up, the result contains the times measured by then.
    """
    found: list[PairTiming] = []
    queries = {"gold": task.gold, "predicted": task.predicted}
    for iteration in range(task.iterations + 1):
        seconds: dict[str, float] = {}
        for side in sorted(queries, reverse=(task.begun + iteration) % 2 == 1):
            if task.until is not None and monotonic() >= task.until:
                return Timed(timings=tuple(found), out_of_time=True)
            execution = blame(executor.execute_anew(task.url, queries[side]), "gold" if side == "gold" else "predicted")
            if not (execution.succeeded and execution.wall_time_s):
                return Timed(timings=tuple(found), failure=execution.failure)
            seconds[side] = execution.wall_time_s
        if iteration:
            found.append(PairTiming(gold_s=seconds["gold"], predicted_s=seconds["predicted"]))
    return Timed(timings=tuple(found))


def _scored(scorer: QueryScorer, task: Work, executors: Sequence[Executor | None]) -> Scored | CaseOutcome:
    used = [executor for executor in executors if executor is not None]
    for executor in used:
        executor.cost = None

    def with_cost(evidence: Evidence) -> Evidence:
        """With what all queries cost that the case needed, those of its causes and ties too."""
        cost: Cost | None = None
        for executor in used:
            cost = executor.cost if cost is None else cost.plus(executor.cost)
        return evidence if cost is None else replace(evidence, cost=cost)

    if not task.keep_rows and not task.head_rows:
        evidence = with_cost(scorer.evidence(task.case, task.prediction, task.url, task.gold_url))
        return with_summary(encode_evidence(evidence), evidence)
    scored = scorer.score(task.case, task.prediction, task.url, task.requests, gold_url=task.gold_url)
    executions = scored.executions if task.keep_rows else _heads(scored.executions, task.head_rows)
    return CaseOutcome(evidence=encode_evidence(with_cost(scored.evidence)), executions=executions)


def _heads(executions: Executions, rows: int) -> Executions:
    """Gold and prediction with their first rows only."""

    def head(execution: Execution) -> Execution:
        result = execution.result
        if result is None or len(result.rows) <= rows:
            return execution
        return replace(execution, result=replace(result, rows=result.rows[:rows]))

    return Executions(
        golds=tuple(map(head, executions.golds)),
        predicted=None if executions.predicted is None else head(executions.predicted),
    )


def load_metric(reference: str) -> Metric:
    """An instance of the metric class that ``module:Class`` names. Raises PluginError if that fails."""
    module_name, _, name = reference.partition(":")
    try:
        found: Any = getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError) as error:
        raise PluginError(f"the metric {reference!r} cannot be loaded: {error}") from error
    metric: Metric = found()
    return metric


def _load_parsers(metrics: Sequence[str]) -> None:
    """Import the parsers that nearly every case needs, and what looks for ties, while the worker is idle."""
    from assay.sql import warm_up

    warm_up()
    importlib.import_module("assay.scoring.queries.subquery_ties")
    for module in {reference.partition(":")[0] for reference in metrics}:
        getattr(importlib.import_module(module), "warm_up", _nothing)()


def _preload() -> None:
    """Import what the workers of nearly every run need, and what the metrics need that are imported."""
    _load_parsers([name for name in sys.modules if name.startswith("assay.metrics.")])
    for module in _USUAL:
        importlib.import_module(module)
    from assay.diagnosis.naming import cause_model

    cause_model()


set_up.preload = _preload  # type: ignore[attr-defined]


def _nothing() -> None:
    """Do nothing: most metrics need no parser."""
