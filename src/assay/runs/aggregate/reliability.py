"""What a system is worth that may decline or ask back, and whether its confidence says anything."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from assay.model import (
    CalibrationBin,
    ConfidenceTotals,
    Decision,
    DecisionCount,
    Given,
    PenaltyScore,
    Rate,
    ReliabilityTotals,
    RiskPoint,
)
from assay.model.reliability import USUAL_PENALTIES
from assay.model.summary import CaseSummary
from assay.runs.aggregate.rates import Answers, Values
from assay.stats import (
    area_under_risk,
    brier_score,
    by_threshold,
    calibration_bins,
    calibration_error,
    least_area_under_risk,
    reliability,
)


class RateOf(Protocol):
    """Makes a rate."""

    def __call__(self, values: Values, *, binary: bool) -> Rate:
        """The rate of one value per answer. ``binary``: all are 0 or 1."""
        ...


_MOST_POINTS = 100


class _Told(NamedTuple):
    """A scored answer."""

    case_id: str
    expects: Decision
    given: Given
    right: bool
    confidence: float | None

    @property
    def worth(self) -> int:
        """1 for what is right, -1 for a wrong answer, 0 for an answer that was held back."""
        return 1 if self.right else -1 if self.given == "answer" else 0


def reliability_totals(
    summaries: Sequence[CaseSummary], answers: Answers, rate: RateOf, *, penalties: Sequence[float] = ()
) -> ReliabilityTotals | None:
    """None where every question has an answer and no system declines, asks back or says how sure it is.

    ``penalties`` of the reliability score; without any the usual ones. The number of questions is always added.
    """
    if all(case.expects == "answer" and case.decision is None and case.confidence is None for case in summaries):
        return None
    told = [_told(case) for case in summaries]
    scored = [one for one in told if one is not None]
    firsts = [summaries[start].expects for start in answers.starts]

    def share(of: Callable[[_Told], bool], among: Callable[[_Told], bool]) -> Rate:
        found = rate([float(of(one)) if one is not None and among(one) else None for one in told], binary=True)
        return replace(found, unscored=0)  # the others are not without a score: they are no part of this

    # As many as are scored, for the number is EHRSQL's own way to weigh one wrong answer as much as all right ones.
    whole = sum(any(one is not None for one in group) for group in answers.split(told))
    wanted = tuple(dict.fromkeys(penalties or USUAL_PENALTIES))

    def score(penalty: float) -> Rate:
        worth = [None if one is None else one.worth if one.worth >= 0 else -penalty for one in told]
        found = rate([None if value is None else float(value) for value in worth], binary=False)
        if found.low is None or found.high is None:
            return found
        return replace(found, low=max(found.low, -penalty), high=min(found.high, 1.0))  # t knows of no bounds

    scores = [PenaltyScore(penalty=penalty, rate=score(penalty)) for penalty in wanted]
    return ReliabilityTotals(
        answerable=firsts.count("answer"),
        unanswerable=firsts.count("decline"),
        ambiguous=firsts.count("clarify"),
        decisions=_decisions(scored),
        coverage=rate([None if one is None else float(one.given == "answer") for one in told], binary=True),
        accuracy=share(lambda one: one.right, lambda one: one.given == "answer"),
        declined_rightly=share(lambda one: one.expects == "decline", lambda one: one.given == "decline"),
        found_unanswerable=share(lambda one: one.given == "decline", lambda one: one.expects == "decline"),
        scores=(*scores, PenaltyScore(penalty=float(whole), rate=score(float(whole)), of_n=True)),
        confidence=_confidence(scored, [*wanted, float(whole)]),
    )


def _told(case: CaseSummary) -> _Told | None:
    if case.outcome == "unscored":
        return None
    return _Told(case.case_id, case.expects, case.given, case.outcome == "correct", case.confidence)


def _decisions(scored: Sequence[_Told]) -> tuple[DecisionCount, ...]:
    ids: dict[tuple[Decision, Given, bool], list[str]] = defaultdict(list)
    for one in scored:
        ids[one.expects, one.given, one.right].append(one.case_id)
    order = {name: place for place, name in enumerate(("answer", "decline", "clarify", "nothing"))}
    kinds = sorted(ids, key=lambda kind: (order[kind[0]], order[kind[1]], not kind[2]))
    return tuple(
        DecisionCount(
            expects=expects,
            given=given,
            right=right,
            count=len(ids[expects, given, right]),
            case_ids=tuple(dict.fromkeys(ids[expects, given, right])),
        )
        for expects, given, right in kinds
    )


def _confidence(scored: Sequence[_Told], penalties: Sequence[float]) -> ConfidenceTotals | None:
    given = [one for one in scored if one.given == "answer"]
    sure = [(one.confidence, one) for one in given if one.confidence is not None]
    if not sure:
        return None
    confidences, right = [confidence for confidence, _ in sure], [one.right for _, one in sure]
    bins = calibration_bins(confidences, right)
    area, least = area_under_risk(confidences, right), least_area_under_risk(len(right), right.count(False))
    ece, brier = calibration_error(bins), brier_score(confidences, right)
    assert area is not None  # there are answers
    assert least is not None
    assert ece is not None
    assert brier is not None
    return ConfidenceTotals(
        n=len(sure),
        without=len(given) - len(sure),
        curve=_curve(scored, confidences, right, penalties),
        area=area,
        least_area=least,
        ece=ece,
        brier=brier,
        bins=tuple(
            CalibrationBin(low=one.low, high=one.high, n=one.n, right=one.right, mean_confidence=one.mean_confidence)
            for one in bins
        ),
    )


def _curve(
    scored: Sequence[_Told], confidences: Sequence[float], right: Sequence[bool], penalties: Sequence[float]
) -> tuple[RiskPoint, ...]:
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
        one.right if one.given != "answer" else one.confidence is None and one.expects == "decline" for one in scored
    )
    askable = sorted(
        one.confidence
        for one in scored
        if one.given == "answer" and one.expects == "decline" and one.confidence is not None
    )
    found, place = [], len(askable)
    for point in points:
        while place and askable[place - 1] >= point.threshold:
            place -= 1
        good = held + place + point.answers - point.wrong
        n = len(scored)
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
    return tuple(found)
