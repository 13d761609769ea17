"""Systems that may decline: the reliability score, risk by coverage, and calibration of the confidence.

Plain Python: a run of a hundred thousand answers takes a tenth of a second, without loading numpy.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from msgspec import Struct

from assay.errors import UsageError
from assay.model.runs.reliability import CalibrationBin


def reliability(*, good: float, bad: float, n: int, penalty: float) -> float | None:
    """The reliability score RS(c): (good - c·bad) / n; None if ``n`` is 0.

    Good are the right answers to questions that have one and the refusals of those that have none; bad are all other
    answers, and each costs ``penalty`` (c). Refusing a question that has an answer counts 0. Within [-c, 1]. Lee et
    al., TrustSQL: Benchmarking Text-to-SQL Reliability with Penalty-Based Scoring, 2024 (arXiv 2403.15879); the shared
    task EHRSQL 2024 uses it with c of 0, 5, 10 and N, the number of questions.
    """
    if n == 0:
        return None
    if not (good >= 0.0 and bad >= 0.0 and good + bad <= n + 1e-9):
        raise UsageError(f"good and bad must be at least 0 and together at most n, got {good!r}, {bad!r} of {n!r}")
    if not (penalty >= 0.0 and math.isfinite(penalty)):
        raise UsageError(f"the penalty is {penalty!r}: give a number from 0 up")
    return (good - penalty * bad) / n


class Accepted(Struct, frozen=True, kw_only=True):
    """The answers with at least this confidence."""

    threshold: float
    answers: int
    wrong: int

    @property
    def risk(self) -> float:
        """The share of wrong answers."""
        return self.wrong / self.answers


def by_threshold(confidences: Sequence[float], right: Sequence[bool]) -> list[Accepted]:
    """For each different confidence as threshold, the highest first, the answers with at least this confidence.

    Raises `UsageError` if the two differ in length.
    """
    _check_pairs(confidences, right)
    accepted: list[Accepted] = []
    answers = wrong = 0
    for threshold, group in groupby(sorted(zip(confidences, right, strict=True), reverse=True), key=itemgetter(0)):
        outcomes = [is_right for _, is_right in group]
        answers += len(outcomes)
        wrong += outcomes.count(False)
        accepted.append(Accepted(threshold=threshold, answers=answers, wrong=wrong))
    return accepted


def area_under_risk(confidences: Sequence[float], right: Sequence[bool]) -> float | None:
    """AURC: the mean, over k from 1 to n, of the risk among the k most confident answers; None without answers.

    0 is best. Answers with equal confidence have no order: the mean over all of their orders is used. Uninformative
    confidences give the risk of all answers, on average. Geifman & El-Yaniv, Selective Classification for Deep Neural
    Networks, 2017; the name is from Geifman, Uziel & El-Yaniv, 2019.
    """
    points = by_threshold(confidences, right)
    if not points:
        return None
    total = 0.0
    before = wrong_before = 0
    for point in points:
        size, wrong = point.answers - before, point.wrong - wrong_before
        share = wrong / size
        # Among the j first of a tie, the average number of wrong ones is j·share.
        total += math.fsum((wrong_before + share * j) / (before + j) for j in range(1, size + 1))
        before, wrong_before = point.answers, point.wrong
    return total / before


def least_area_under_risk(n: int, wrong: int) -> float | None:
    """The least AURC of ``n`` answers with this many wrong ones: every right one is more confident than every wrong
    one."""
    if n == 0:
        return None
    if not 0 <= wrong <= n:
        raise UsageError(f"wrong must lie within 0 and n, got {wrong!r} of {n!r}")
    return math.fsum(number / (n - wrong + number) for number in range(1, wrong + 1)) / n


def calibration_bins(confidences: Sequence[float], right: Sequence[bool], *, bins: int = 10) -> list[CalibrationBin]:
    """The answers in bins of equal width over [0, 1]. Raises `UsageError` for a confidence outside of it."""
    _check_pairs(confidences, right)
    if bins < 1:
        raise UsageError(f"bins is {bins!r}: give at least 1")
    edges = [number / bins for number in range(bins + 1)]
    members: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for confidence, is_right in zip(confidences, right, strict=True):
        if not 0.0 <= confidence <= 1.0:
            raise UsageError(f"a confidence is {confidence!r}: it must lie within 0 and 1")
        members[min(bins, bisect_right(edges, confidence)) - 1].append((confidence, is_right))
    return [
        CalibrationBin(
            low=edges[index],
            high=edges[index + 1],
            n=len(held),
            right=sum(is_right for _, is_right in held),
            mean_confidence=math.fsum(confidence for confidence, _ in held) / len(held) if held else None,
        )
        for index, held in enumerate(members)
    ]


def calibration_error(bins: Sequence[CalibrationBin]) -> float | None:
    """ECE: the distance between accuracy and mean confidence, bin by bin, weighted by their answers; None without
    answers.

    Naeini, Cooper & Hauskrecht, 2015; Guo et al., On Calibration of Modern Neural Networks, 2017. It depends on the
    bins, and is biased upward if they hold few answers.
    """
    n = sum(one.n for one in bins)
    if not n:
        return None
    return math.fsum(abs(one.right - one.n * (one.mean_confidence or 0.0)) for one in bins if one.n) / n


def brier_score(confidences: Sequence[float], right: Sequence[bool]) -> float | None:
    """The mean of (confidence - 1 if right else confidence)²; None without answers. 0 is best.

    Brier, Verification of forecasts expressed in terms of probability, 1950, in the form for two outcomes. A constant
    confidence of 0.5 gives 0.25.
    """
    _check_pairs(confidences, right)
    if not confidences:
        return None
    return math.fsum((one - is_right) ** 2 for one, is_right in zip(confidences, right, strict=True)) / len(confidences)


def _check_pairs(confidences: Sequence[float], right: Sequence[bool]) -> None:
    if len(confidences) != len(right):
        raise UsageError(f"each answer needs one confidence: there are {len(confidences)} for {len(right)} answers")
