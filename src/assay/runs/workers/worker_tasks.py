"""What a run and its workers tell each other besides `assay.runs.plan.Work`: the run itself need not import more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from assay.model import CaseOptions, ComparisonOptions, DatabaseUrl, Failure, Limits, PairTiming
from assay.model.witness import ScratchServer, WitnessSettings
from assay.ports import Executions

if TYPE_CHECKING:
    from assay.engines.execution_cache.folder import CacheFolder
    from assay.model.databases.suite import Suite


class WorkerSettings(Struct, frozen=True, kw_only=True):
    """What every worker of a run needs to know."""

    engines: dict[str, str]
    """URL scheme to ``module:Class``."""
    metrics: tuple[str, ...]
    """``module:Class`` of each metric, in the run's order."""
    options: ComparisonOptions
    limits: Limits
    cache_bytes: int = 256 * 1024 * 1024
    """The room for everything that a worker keeps from case to case: results, the gold query's answers, verdicts."""
    head_rows: int | None = None
    """How many rows of each result the evidence keeps if some metric does not call the answer right; None: a few."""
    plain_queries: bool = False
    """Most queries are so plain that no parser is needed: one is imported only once a case needs it."""
    execution_cache: CacheFolder | None = None
    """The executions that runs share; None: every query is executed."""
    remember: bool = True
    """Keep connections, results and verdicts from task to task. False: a database may change in between."""
    diagnose: bool = True
    """Look for the causes of wrong answers."""
    suite: Suite | None = None
    """The small databases on which answers are tried too."""
    scratch: ScratchServer | None = None
    """Where witnesses are looked for, of an engine without databases in memory."""
    gold_apart: bool = False
    """Whether the gold queries have databases of their own."""


class TimingTask(Struct, frozen=True, kw_only=True):
    """A pair of queries to be executed in turn, for their times."""

    gold: str
    predicted: str
    url: DatabaseUrl
    iterations: int
    begun: int = 0
    """How often it was timed before: which of the two goes first alternates."""
    until: float | None = None
    """The moment of `time.monotonic` after which no further execution begins; None: no limit."""
    attempt: int = 0


class MatchTask(Struct, frozen=True, kw_only=True):
    """A right answer and its gold queries: does another database distinguish them?"""

    golds: tuple[str, ...]
    """The gold query that it was scored by first."""
    predicted: str
    url: DatabaseUrl
    options: CaseOptions
    witness: WitnessSettings


class Timed(Struct, frozen=True, kw_only=True):
    """The result of timing a pair: a time for each iteration, or why there is none."""

    timings: tuple[PairTiming, ...] = ()
    failure: Failure | None = None
    out_of_time: bool = False
    """Whether the time was up before all iterations were done."""


class CaseOutcome(Struct, frozen=True, kw_only=True):
    """A scored case on its way back to metrics outside the worker: its evidence as a line of JSON, and the rows."""

    evidence: bytes
    executions: Executions
