"""What every metric must hold, tried on all that may happen to a case. No database is needed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from assay.errors import UsageError
from assay.model import Execution, Failure, MetricInfo, PairTiming, Score
from assay.ports import Executions, Metric, QueryRequest, TimedScore
from assay.testing.conformance.checks import Check, Gap, checks, named, one_line, same, without_error
from assay.testing.conformance.situations import GOLD, Situation, situations

_TIMINGS = (PairTiming(gold_s=0.2, predicted_s=0.1), PairTiming(gold_s=0.2, predicted_s=0.4))


class MetricAdapter(Struct, frozen=True, kw_only=True):
    """One metric: its class, or what makes an instance of it without arguments."""

    metric: Callable[[], Metric]
    gaps: Mapping[str, Gap] = field(default_factory=dict)
    """The known gaps by the name of their check."""


def it_says_what_it_is(adapter: MetricAdapter) -> None:
    """Name, label, meaning and range are such as reports, gates and comparisons can use."""
    metric = adapter.metric()
    named(metric)
    info = _info(metric)
    for what in ("label", "meaning"):
        if text := getattr(info, what):
            one_line(f"its {what}", text)


def workers_can_load_it(adapter: MetricAdapter) -> None:
    """Its class stands in a module, under its own name: each worker process imports it from there."""
    kind = type(adapter.metric())
    module = sys.modules.get(kind.__module__)
    found = getattr(module, kind.__qualname__, None)
    assert found is kind, f"{kind.__module__} has no {kind.__qualname__}: define the class at the top of a module"


def every_case_has_a_score(adapter: MetricAdapter) -> None:
    """Whatever happened, it gives a Score of its own name within its range, and does not raise."""
    metric = adapter.metric()
    info = _info(metric)
    for one in situations():
        score = _scored(metric, one)
        value = score.value
        if value is None:
            continue
        assert isinstance(value, (int, float)), f"{one}: the value {value!r} is not a number"
        if info.binary:
            assert value in (0, 1), f"{one}: the value {value} is neither 0 nor 1, and the metric is binary"
        assert info.lowest is None or value >= info.lowest, f"{one}: {value} is below the lowest value {info.lowest}"
        assert info.highest is None or value <= info.highest, f"{one}: {value} is above the highest, {info.highest}"


def absence_has_a_reason(adapter: MetricAdapter) -> None:
    """A score without a value has a Failure that says why: reports show it next to the count."""
    metric = adapter.metric()
    for one in situations():
        score = _scored(metric, one)
        if score.value is None:
            assert isinstance(score.failure, Failure), f"{one}: there is no value, and no Failure says why"
            one_line(f"{one}: its reason", score.failure.message)


def a_broken_gold_scores_nobody(adapter: MetricAdapter) -> None:
    """If no gold query ran there is no value: no answer could have been right."""
    _absent(adapter, "without gold", "no gold query ran, and that is not the system's failure")


def misfortune_scores_nobody(adapter: MetricAdapter) -> None:
    """Where network or engine failed there is no value: it says nothing of the answer."""
    _absent(adapter, "befallen", "that is not the answer's fault")


def failing_answers_count(adapter: MetricAdapter) -> None:
    """A prediction that fails through its own error has a value, no better than the gold query's own.

    A metric without a value even for the gold query's own text needs more than is available here, such as a schema.
    """
    metric = adapter.metric()
    info = _info(metric)
    best = _scored(metric, situations()[0]).value
    if best is None:
        return
    for one in situations():
        if one.how != "fails":
            continue
        value = _scored(metric, one).value
        assert value is not None, f"{one}: it has no value, so that failing answers leave the rate"
        assert info.gain(value - best) <= 0, (
            f"{one}: {value} is better than the gold query's own text, which has {best}"
        )


def the_same_case_has_the_same_score(adapter: MetricAdapter) -> None:
    """Scores depend on nothing but the case: not on what was scored before, nor on the instance."""
    first = adapter.metric()
    all_of_them = situations()
    wanted = [_scored(first, one) for one in all_of_them]
    again = [_scored(first, one) for one in reversed(all_of_them)][::-1]
    anew = [_scored(adapter.metric(), one) for one in all_of_them]
    for one, *found in zip(all_of_them, wanted, again, anew, strict=True):
        same(found[1], found[0], where=f"{one}, scored again")
        same(found[2], found[0], where=f"{one}, scored by a new instance")


def it_depends_on_what_it_says(adapter: MetricAdapter) -> None:
    """With ``depends_on_queries_only`` the question, the tags and the timings change no score."""
    metric = adapter.metric()
    if not getattr(metric, "depends_on_queries_only", False):
        return
    for one in situations():
        asked = replace(one.case, id="c2", question="What?", tags=(), difficulty=None, context="a hint", origin="x")
        answer = replace(one.prediction, case_id="c2", timings_s=(("total", 9.0),), cost_usd=1.0, raw="other words")
        slower = replace(
            one.executions,
            golds=tuple(replace(gold, wall_time_s=7.0) for gold in one.executions.golds),
            predicted=one.executions.predicted and replace(one.executions.predicted, wall_time_s=8.0),
        )
        other = replace(one, case=asked, prediction=answer, executions=slower)
        same(_scored(metric, other).value, _scored(metric, one).value, where=f"{one}, with another question and times")


def it_asks_for_queries(adapter: MetricAdapter) -> None:
    """``requests`` gives the queries that it needs executed, the same ones each time."""
    metric = adapter.metric()
    for one in situations():
        found = _requested(metric, one)
        assert all(isinstance(request, QueryRequest) for request in found), (
            f"{one}: {found!r} contains values that are not QueryRequests"
        )
        same(_requested(metric, one), found, where=f"{one}, asked again")


def times_are_scored(adapter: MetricAdapter) -> None:
    """A metric over wall times gives a TimedScore of its own name."""
    metric = adapter.metric()
    info = _info(metric)
    if not info.timed:
        return
    timed: Callable[[Sequence[PairTiming]], object] = metric.timed  # type: ignore[attr-defined] # it says it has one
    for timings in (_TIMINGS[:1], _TIMINGS):
        found = without_error("timed()", lambda timings=timings: timed(timings))  # type: ignore[misc]
        assert isinstance(found, TimedScore), f"timed() gave {type(found).__name__} where a TimedScore belongs"
        same(found.score.metric, info.name, where="the name of a timed score")


def _absent(adapter: MetricAdapter, how: str, why: str) -> None:
    metric = adapter.metric()
    for one in situations():
        if one.how == how:
            value = _scored(metric, one).value
            assert value is None, f"{one}: it has the value {value}, and {why}"


def _info(metric: Metric) -> MetricInfo:
    try:
        return MetricInfo.of(metric)
    except UsageError as error:
        raise AssertionError(str(error)) from error


def _requested(metric: Metric, one: Situation) -> tuple[QueryRequest, ...]:
    return tuple(without_error(f"{one}: requests()", lambda: metric.requests(one.case, one.prediction)))


def _scored(metric: Metric, one: Situation) -> Score:
    requests = [request for request in _requested(metric, one) if isinstance(request, QueryRequest)]
    executions = replace(one.executions, requested={request: _executed(request, one) for request in requests})
    score: object = without_error(str(one), lambda: metric.score(one.case, one.prediction, executions, one.comparison))
    assert isinstance(score, Score), f"{one}: gave {type(score).__name__} where an assay.Score belongs"
    same(score.metric, metric.name, where=f"{one}: the score's name")
    return score


def _executed(request: QueryRequest, one: Situation) -> tuple[Execution, ...]:
    """What a further query gives: as the case's own queries fared."""
    executions: Executions = one.executions
    own = executions.golds[-1] if request.query == GOLD and executions.golds else executions.predicted
    found = own or (executions.golds[-1] if executions.golds else None)
    return (replace(found, query=request.query),) if found is not None else ()


METRIC_CHECKS: tuple[Check[MetricAdapter], ...] = checks(
    it_says_what_it_is,
    workers_can_load_it,
    every_case_has_a_score,
    absence_has_a_reason,
    a_broken_gold_scores_nobody,
    misfortune_scores_nobody,
    failing_answers_count,
    the_same_case_has_the_same_score,
    it_depends_on_what_it_says,
    it_asks_for_queries,
    times_are_scored,
)
"""Every check of a metric, in the order in which to read them."""
