"""Score one case by each metric, each held to its time limit: a failure of one metric affects no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from assay.model import Case, Comparison, DatabaseUrl, Failure, MetricInfo, Prediction, Score, Verdict
from assay.model.failure import befalls
from assay.ports import Executions, Metric, QueryRequest
from assay.scoring.time_limit import OutOfTimeError, TimeLimit

_T = TypeVar("_T")
_PLAIN = (1.0, 0.0, None)
"""Values that every metric may give."""
_NOTHING_TO_COMPARE = Failure(
    stage="score", kind="unscorable", blame="gold", message="the question must not be answered: there are no results"
)
_SLACK = 1e-9
"""How far a sum of floats may exceed a range."""


class Scorer:
    """Computes the metrics of one case. An exception or a timeout becomes a score without a value."""

    __slots__ = ("_failed", "_requests", "case", "keeper", "prediction", "url")

    def __init__(self, keeper: TimeLimit, case: Case, prediction: Prediction, url: DatabaseUrl) -> None:
        self.keeper: TimeLimit = keeper
        self.case: Case = case
        self.prediction: Prediction = prediction
        self.url: DatabaseUrl = url
        self._failed: dict[str, Failure] = {}
        self._requests: dict[str, tuple[QueryRequest, ...]] = {}

    def requests(self, metrics: Iterable[Metric]) -> tuple[QueryRequest, ...]:
        """The queries that the metrics need executed."""
        found: list[QueryRequest] = []
        for metric in metrics:
            if self.keeper.holds:  # together with the other steps of the case
                try:
                    if asked := metric.requests(self.case, self.prediction):
                        found += self._requests.setdefault(metric.name, tuple(asked))
                    continue
                except Exception:  # noqa: BLE001 - done again below, where it becomes the metric's failure
                    pass
            found += self._of(metric, "when asked what to execute", partial(self._asked, metric)) or ()
        return tuple(found)

    def score(self, metric: Metric, executions: Executions, comparison: Comparison | None, verdict: Verdict) -> Score:
        """A metric's score. A failure that leaves the case unscored does so in every metric, even the caller's own."""
        failure = _unscored_by(verdict) if verdict.failure is not None else None
        if failure is None and self._requests:
            failure = _lost_request(self._requests.get(metric.name, ()), executions)
        if failure is not None:
            return Score(metric=metric.name, value=None, failure=failure)
        if metric.name not in self._failed:
            if self.keeper.holds:
                try:
                    score = metric.score(self.case, self.prediction, executions, comparison)
                    if type(score) is Score and score.metric == metric.name and score.value in _PLAIN:
                        return score
                except Exception:  # noqa: BLE001 - done again below, where it becomes the metric's failure
                    pass
            given = self._of(metric, "", lambda: (metric.score(self.case, self.prediction, executions, comparison),))
            if given is not None:
                (score,) = given
                if (wrong := _objection(metric, score)) is None:
                    return score
                message = f"the metric {metric.name!r} {wrong}"
                self._failed[metric.name] = Failure(stage="score", kind="unscorable", blame="assay", message=message)
        return Score(metric=metric.name, value=None, failure=self._failed.get(metric.name))

    def score_decision(self, metric: Metric, verdict: Verdict) -> Score:
        """The score where the question must not be answered: only metrics that judge decisions have one."""
        failure = _unscored_by(verdict) if verdict.failure is not None else None
        if failure is None and getattr(metric, "judges_decisions", False):
            return Score(metric=metric.name, value=1.0 if verdict.outcome == "correct" else 0.0)
        return Score(metric=metric.name, value=None, failure=failure or _NOTHING_TO_COMPARE)

    def _asked(self, metric: Metric) -> tuple[QueryRequest, ...]:
        found = self._requests[metric.name] = tuple(metric.requests(self.case, self.prediction))
        return found

    def _of(self, metric: Metric, when: str, action: Callable[[], _T]) -> _T | None:
        what = ("score", metric.name, when, self.url.text, self.case.id, self.case.golds, self.prediction.query)
        said = f" {when}" if when else ""
        try:
            return self.keeper.hold(what, action)
        except OutOfTimeError as error:
            message = f"the metric {metric.name!r} {error}{said}"
            self._failed[metric.name] = Failure(stage="score", kind="timeout", blame="assay", message=message)
        except Exception as error:  # noqa: BLE001 - the per-case boundary: a metric's bug must not cost the run
            message = f"the metric {metric.name!r} failed with {type(error).__name__}{said}: {error}"
            self._failed[metric.name] = Failure(stage="score", kind="unscorable", blame="assay", message=message)
        return None


def _objection(metric: Metric, score: object) -> str | None:
    """Why a metric's score is invalid; None where it is valid."""
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


def _lost_request(requests: Sequence[QueryRequest], executions: Executions) -> Failure | None:
    """The failure that kept one of the metric's own queries from running."""
    if not requests:
        return None
    found = (execution for one in requests for execution in executions.requested.get(one, ()))
    return next((each.failure for each in found if befalls(each.failure)), None)
