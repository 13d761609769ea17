"""Score one case by each metric, each held to its time limit: a failure of one metric affects no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import ParamSpec, TypeVar

from assay.model import Case, Comparison, DatabaseUrl, Failure, FailureKind, MetricInfo, Prediction, Score, Verdict
from assay.model.failure import befalls
from assay.ports import Executions, Metric, QueryRequest
from assay.scoring.queries.verdicts import NO_GOLD
from assay.scoring.time_limit import OutOfTimeError, TimeLimit, out_of_memory

_P = ParamSpec("_P")
_T = TypeVar("_T")
_NOTHING_TO_COMPARE = Failure(
    stage="score", kind="unscorable", blame="gold", message="the question must not be answered: there are no results"
)
_SLACK = 1e-9
"""How far a sum of floats may exceed a range."""


class MetricScorer:
    """Computes the metrics of one case. An exception or a timeout becomes a score without a value."""

    __slots__ = ("_clock", "_failed", "_requests", "case", "prediction", "url")

    def __init__(self, clock: TimeLimit, case: Case, prediction: Prediction, url: DatabaseUrl) -> None:
        self.case: Case = case
        self.prediction: Prediction = prediction
        self.url: DatabaseUrl = url
        self._clock = clock
        self._failed: dict[str, Failure] = {}
        self._requests: dict[str, tuple[QueryRequest, ...]] = {}

    def requests(self, metrics: Iterable[Metric]) -> tuple[QueryRequest, ...]:
        """The queries that the metrics need executed."""
        found: list[QueryRequest] = []
        for metric in metrics:
            when = "when asked what to execute"
            given = self._call(metric, when, metric.requests, self.case, self.prediction)
            if given is None or given == ():  # most metrics ask for nothing
                continue
            asked = self._call(metric, when, tuple, given)
            if asked:
                self._requests[metric.name] = asked
                found += asked
        return tuple(found)

    def score(self, metric: Metric, executions: Executions, comparison: Comparison | None, verdict: Verdict) -> Score:
        """A metric's score. A failure that leaves the case unscored does so in every metric, even the caller's own.

        Only an unusable gold query may have a score, in a metric with ``scores_unusable_gold``.
        """
        if verdict.outcome == "incorrect" and not executions.golds:
            return _score_without_gold(metric)
        failure = _unscored_by(verdict)
        if failure is not None and failure.kind == "unusable_gold" and getattr(metric, "scores_unusable_gold", False):
            failure = None
        if failure is None and (requested := self._requests.get(metric.name)):
            # What kept one of the metric's own queries from running.
            failures = (each.failure for request in requested for each in executions.requested.get(request, ()))
            failure = next(filter(befalls, failures), None)
        if failure is None and metric.name not in self._failed:
            score = self._call(metric, "", metric.score, self.case, self.prediction, executions, comparison)
            if metric.name not in self._failed:
                wrong = _objection(metric, score)
                if score is not None and wrong is None:
                    return score
                message = f"the metric {metric.name!r} {wrong}"
                self._failed[metric.name] = Failure(stage="score", kind="unscorable", blame="assay", message=message)
        return Score(metric=metric.name, value=None, failure=failure or self._failed.get(metric.name))

    def score_decision(self, metric: Metric, verdict: Verdict) -> Score:
        """The score if the question must not be answered: only metrics that judge decisions have one."""
        failure = _unscored_by(verdict)
        if failure is None and getattr(metric, "judges_decisions", False):
            return Score(metric=metric.name, value=1.0 if verdict.outcome == "correct" else 0.0)
        return Score(metric=metric.name, value=None, failure=failure or _NOTHING_TO_COMPARE)

    def _call(
        self, metric: Metric, when: str, action: Callable[_P, _T], *given: _P.args, **named: _P.kwargs
    ) -> _T | None:
        """What a method of the metric returns, called under the time limit; None if it failed, which is noted."""
        try:
            if self._clock.is_running:  # together with the other steps of the case
                return action(*given, **named)
            what = ("score", metric.name, when, self.url.text, self.case.id, self.case.golds, self.prediction.query)
            return self._clock.run(what, partial(action, *given, **named))
        except (OutOfTimeError, MemoryError) as error:
            kind: FailureKind = "timeout"
            message = f"{error if isinstance(error, OutOfTimeError) else out_of_memory()} {when}".rstrip()
        except Exception as error:  # noqa: BLE001 - the per-case boundary: a metric's bug must not cost the run
            kind = "unscorable"
            message = f"{f'failed with {type(error).__name__} {when}'.rstrip()}: {error}"
        message = f"the metric {metric.name!r} {message}"
        self._failed[metric.name] = Failure(stage="score", kind=kind, blame="assay", message=message)
        return None


def _score_without_gold(metric: Metric) -> Score:
    """The score of a missing answer whose gold query is not known (`NOT_IN_LOG`): 0, which no other answer is below."""
    info = MetricInfo.of(metric)
    if info.higher_is_better and not info.lowest:
        return Score(metric=metric.name, value=0.0)
    return Score(metric=metric.name, value=None, failure=NO_GOLD)


def _objection(metric: Metric, score: object) -> str | None:
    """Why a metric's score is invalid; None if it is valid."""
    if not isinstance(score, Score):
        return f"gave {score!r} where an assay.Score belongs"
    if score.metric != metric.name:
        return f"gave a score under the name {score.metric!r}"
    value = score.value
    if value is None or value in (0, 1):
        return None
    info = MetricInfo.of(metric)
    if info.binary:
        return f"gave {value}, and says that its values are 0 and 1 only (binary)"
    lowest, highest = info.lowest, info.highest
    if (lowest is not None and value < lowest - _SLACK) or (highest is not None and value > highest + _SLACK):
        return f"gave {value}, and says that its values go from {lowest} to {highest} (lowest, highest)"
    return None


def _unscored_by(verdict: Verdict) -> Failure | None:
    """The failure that kept the queries from being compared. An undecided comparison does not count as one."""
    failure = verdict.failure
    return failure if verdict.outcome == "unscored" and failure is not None and failure.stage != "compare" else None
