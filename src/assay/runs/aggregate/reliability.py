"""What a system is worth that may decline or ask back, and whether its confidence says anything."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from assay.errors import UsageError
from assay.model import (
    ConfidenceTotals,
    Decision,
    DecisionCount,
    Given,
    MetricInfo,
    PenaltyScore,
    Rate,
    ReliabilityTotals,
    RiskPoint,
    Run,
)
from assay.model.runs.reliability import USUAL_PENALTIES
from assay.model.verdicts.summary import CaseSummary
from assay.runs.aggregate.rates import Answers
from assay.stats import (
    area_under_risk,
    brier_score,
    by_threshold,
    calibration_bins,
    calibration_error,
    least_area_under_risk,
    reliability,
)

_MOST_POINTS = 100


def reliability_totals(
    summaries: Sequence[CaseSummary], answers: Answers, *, penalties: Sequence[float] = ()
) -> ReliabilityTotals | None:
    """None if every question has an answer and no system declines, asks back or says how sure it is.

    ``penalties`` of the reliability score; without any the usual ones. The number of questions is always added.
    """
    if all(case.expects == "answer" and case.decision is None and case.confidence is None for case in summaries):
        return None
    told = [None if case.outcome == "unscored" else case for case in summaries]
    scored = [case for case in told if case is not None]
    firsts = [summaries[start].expects for start in answers.starts]

    def share(of: Callable[[CaseSummary], bool], among: Callable[[CaseSummary], bool]) -> Rate:
        found = answers.rate([float(of(case)) if case is not None and among(case) else None for case in told])
        return replace(found, unscored=0)  # the others are not without a score: they are not part of this

    # As many as are scored, for the number is EHRSQL's own way to weigh one wrong answer as much as all right ones.
    whole = float(sum(any(group) for group in answers.split(told)))
    wanted = tuple(dict.fromkeys(penalties or USUAL_PENALTIES))

    def score(penalty: float) -> Rate:
        """1 for what is right, -penalty for a wrong answer, 0 for an answer that was held back."""
        worth = [
            None if case is None else float(_is_right(case)) or (-penalty if _is_given(case) else 0.0) for case in told
        ]
        found = answers.rate(worth, binary=False)
        if found.low is None or found.high is None:
            return found
        return replace(found, low=max(found.low, -penalty), high=min(found.high, 1.0))  # t knows of no bounds

    ids: dict[tuple[Decision, Given, bool], list[str]] = defaultdict(list)
    for case in scored:
        ids[case.expects, case.given, _is_right(case)].append(case.case_id)
    order = ("answer", "decline", "clarify", "nothing").index
    decisions = [
        DecisionCount(expects=expects, given=given, right=right, count=len(held), case_ids=tuple(dict.fromkeys(held)))
        for (expects, given, right), held in ids.items()
    ]
    scores = [PenaltyScore(penalty=penalty, rate=score(penalty)) for penalty in wanted]
    return ReliabilityTotals(
        answerable=firsts.count("answer"),
        unanswerable=firsts.count("decline"),
        ambiguous=firsts.count("clarify"),
        decisions=tuple(sorted(decisions, key=lambda one: (order(one.expects), order(one.given), not one.right))),
        coverage=answers.rate([None if case is None else float(_is_given(case)) for case in told]),
        accuracy=share(_is_right, _is_given),
        declined_rightly=share(lambda case: case.expects == "decline", lambda case: case.given == "decline"),
        found_unanswerable=share(lambda case: case.given == "decline", lambda case: case.expects == "decline"),
        scores=(*scores, PenaltyScore(penalty=whole, rate=score(whole), of_n=True)),
        confidence=_confidence(scored, [*wanted, whole]),
    )


def _is_right(case: CaseSummary) -> bool:
    return case.outcome == "correct"


def _is_given(case: CaseSummary) -> bool:
    return case.given == "answer"


def _confidence(scored: Sequence[CaseSummary], penalties: Sequence[float]) -> ConfidenceTotals | None:
    given = [case for case in scored if _is_given(case)]
    sure = [(case.confidence, _is_right(case)) for case in given if case.confidence is not None]
    if not sure:
        return None
    confidences, right = [confidence for confidence, _ in sure], [is_right for _, is_right in sure]
    bins = calibration_bins(confidences, right)
    area, least = area_under_risk(confidences, right), least_area_under_risk(len(right), right.count(False))
    ece, brier = calibration_error(bins), brier_score(confidences, right)
    assert area is not None  # there are answers
    assert least is not None
    assert ece is not None
    assert brier is not None
    points = by_threshold(confidences, right)
    if len(points) > _MOST_POINTS:
        step = points[-1].answers / _MOST_POINTS
        kept, passed = [], 0
        for point in points:
            if point.answers >= passed * step or point is points[-1]:
                kept.append(point)
                passed = int(point.answers / step) + 1
        points = kept
    # What is right already without an answer, and what declining would make right. An answer that does not say how sure
    # it is reaches no threshold.
    held = sum(
        case.confidence is None and case.expects == "decline" if _is_given(case) else _is_right(case) for case in scored
    )
    askable = sorted(
        case.confidence
        for case in scored
        if _is_given(case) and case.expects == "decline" and case.confidence is not None
    )
    n = len(scored)
    found = []
    for point in points:
        good = held + bisect_left(askable, point.threshold) + point.answers - point.wrong
        worth = (reliability(good=good, bad=point.wrong, n=n, penalty=penalty) or 0.0 for penalty in penalties)
        found.append(
            RiskPoint(
                threshold=point.threshold,
                answered=point.answers,
                wrong=point.wrong,
                coverage=point.answers / n,
                risk=point.risk,
                scores=tuple(worth),
            )
        )
    return ConfidenceTotals(
        n=len(sure),
        without=len(given) - len(sure),
        curve=tuple(found),
        area=area,
        least_area=least,
        ece=ece,
        brier=brier,
        bins=tuple(bins),
    )


RUN_RATES: Final[Mapping[str, MetricInfo]] = {
    one.name: one
    for one in (
        MetricInfo(name="reliability", label="Reliability score", lowest=-1e9, highest=1.0),
        MetricInfo(name="coverage", label="Questions answered", binary=True, lowest=0.0, highest=1.0),
        MetricInfo(name="selective_accuracy", label="Accuracy when answered", binary=True, lowest=0.0, highest=1.0),
        MetricInfo(name="interaction_match", label="Conversations right", binary=True, lowest=0.0, highest=1.0),
    )
}
"""By name, what a metric's class would say of each. A penalty may be any number, so that a score may be, too."""


def run_rate(run: Run, name: str) -> Rate | None:
    """The rate of that name; None if the run has no such numbers."""
    found, talks = run.aggregates.reliability, run.aggregates.conversations
    if name == "interaction_match":
        return None if talks is None else talks.whole
    if found is None:
        return None
    if name == "reliability":
        return found.leading(run.settings.penalties).rate
    return {"coverage": found.coverage, "selective_accuracy": found.accuracy}.get(name)


def why_none(name: str) -> str:
    """Why a run has no such rate."""
    if name == "interaction_match":
        return "no question is part of a conversation"
    return "every question has an answer, no answer was declined, and none states a confidence"


def with_penalties(run: Run, penalties: Sequence[float]) -> Run:
    """The run with its reliability score at other penalties. Raises UsageError if it has no such score."""
    if run.aggregates.reliability is None:
        raise UsageError(f"the run has no reliability score that a penalty would change: {why_none('reliability')}")
    answers = Answers.of(run.summaries, repeats=run.settings.repeats)
    found = reliability_totals(run.summaries, answers, penalties=penalties)
    settings = replace(run.settings, penalties=tuple(penalties))
    return replace(run, settings=settings, aggregates=replace(run.aggregates, reliability=found))
