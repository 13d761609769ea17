"""What scores a case, scores it and says why it is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct, field

from assay.model import (
    Case,
    Comparison,
    DatabaseSchema,
    DatabaseUrl,
    Diagnosis,
    Evidence,
    Execution,
    Failure,
    PairTiming,
    Prediction,
    Score,
)
from assay.model.databases.suite import SuiteFinding


class QueryRequest(Struct, frozen=True, kw_only=True):
    """One more query that a metric needs executed, besides the gold query and the prediction.

    ``scope`` ``siblings`` runs it on the case's database and on each database next to it, too. A ``candidate`` is
    another query of the answer itself: it is executed even if the gold query failed, all queries of an answer share one
    time limit, and its execution is part of the evidence. ``turn`` distinguishes requests with the same text.
    """

    query: str
    scope: Literal["own", "siblings"] = "own"
    candidate: bool = False
    turn: int = 0


class Executions(Struct, frozen=True, kw_only=True):
    """What was executed for one case, rows included.

    ``golds`` are in the order of ``Case.golds``; ``predicted`` is None if there was no query
    to run. ``requested`` holds, per request, one Execution for each database of its scope, the
    case's own first.
    """

    golds: tuple[Execution, ...] = ()
    predicted: Execution | None = None
    requested: Mapping[QueryRequest, tuple[Execution, ...]] = field(default_factory=dict)
    suite: SuiteFinding | None = None
    """How the answer fares on the small databases of the run's suite; None if the run has none."""
    schema: DatabaseSchema | None = None
    """What the case's database holds: only for metrics that say ``needs_schema``, and None if it cannot be read."""
    dialect: str = ""
    """sqlglot's name of the SQL dialect of that database."""
    apart: bool = False
    """Whether the gold query was executed on another database than the answer."""


class ScoredCase(Struct, frozen=True, kw_only=True):
    """A scored case, with the rows that its evidence no longer carries."""

    evidence: Evidence
    executions: Executions


class Diagnoser(Protocol):
    """Names the causes of a wrong answer."""

    def diagnose(self, evidence: Evidence, url: DatabaseUrl, is_right: Callable[[str], bool]) -> Diagnosis | None:
        """The causes of an incorrect answer, the primary one first; None for any other.

        ``is_right`` executes a query under the run's limits and says whether it would have been a right answer.
        """
        ...


class SelectionDiagnoser(Protocol):
    """Names the causes of a wrong selection."""

    def diagnose(self, evidence: Evidence) -> Diagnosis | None:
        """The causes of an incorrect answer, the primary one first; None for any other."""
        ...


class CaseScorer(Protocol):
    """Scores the cases of one kind: queries by executing them, selections by their terms.

    A scorer executes its queries itself, through the `QueryExecutor` that it was made with. A scorer that executes
    nothing needs no worker: the run calls it in its own process.
    """

    def evidence(self, case: Case, prediction: Prediction, url: DatabaseUrl) -> Evidence:
        """Everything found out about one case. Never raises for what an answer says or does."""
        ...


class Metric(Protocol):
    """A pure function from what happened to a score: rescoring needs no database.

    Its class may have every attribute of `assay.model.MetricInfo`: whether it is ``binary``, its ``label``, its
    ``meaning``, its range, whether higher is better. That is all that reports, gates and comparisons need to know.

    With ``scores_unusable_gold = True`` it is also asked for a case whose gold query cannot be used, which other
    metrics leave unscored.

    It may also set ``depends_on_queries_only = True``: its score then depends on the
    database, the gold queries, the predicted query and the case's options alone (not on the question, the
    tags or the timings), so that cases which share these are scored once.

    With ``needs_schema = True`` it is given the schema of the case's database (`Executions.schema`).
    """

    name: str

    def requests(self, case: Case, prediction: Prediction) -> Sequence[QueryRequest]:
        """The queries that the metric needs besides the gold query and the prediction. Usually none."""
        ...

    def score(self, case: Case, prediction: Prediction, executions: Executions, comparison: Comparison | None) -> Score:
        """Score one case. ``comparison`` is the verdict's; None if there was nothing to compare."""
        ...


class TimedMetric(Metric, Protocol):
    """A metric over wall times. It is asked twice.

    First, like every metric, in the worker: it returns 0, None, or `AWAITS_TIMING` as the failure
    of a score without a value. For the cases that await it, both queries are then executed in turn,
    alone on one worker, and ``timed`` gives the score.
    """

    def timed(self, timings: Sequence[PairTiming]) -> TimedScore:
        """The score of these timings; there is at least one.

        It is called again with more timings if its score was noisy. A prediction that is the gold query's own text has
        one timing, which is not measured: the gold query's time for both.
        """
        ...


class TimedScore(Struct, frozen=True, kw_only=True):
    """A score over wall times, and whether their noise could have changed it."""

    score: Score
    noisy: bool


AWAITS_TIMING = Failure(
    stage="score", kind="unscorable", blame="assay", message="the times of this pair were not measured"
)
"""Why an efficiency metric has no value: nothing is measured yet, or measuring failed."""
