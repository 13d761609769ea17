"""Efficiency: how fast a right answer is compared with the gold query, on the same database and the same worker.

The reward scale is that of BIRD's R-VES, which the Denodo AI SDK evaluator took over: the ratio is
the gold query's time over the prediction's, so that above 1 the prediction is faster.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import ClassVar

from assay.errors import plural
from assay.metrics.base import QueryMetric, gold_failure, unscored, without_query
from assay.metrics.bird import BirdEx
from assay.metrics.denodo import ResultsMatch
from assay.model import Case, Comparison, PairTiming, Prediction, Score
from assay.ports import AWAITS_TIMING, Executions, TimedScore
from assay.stats import mean_interval

_REWARDS = ((2.0, 1.25), (1.0, 1.0), (0.5, 0.75), (0.25, 0.5))
_LEAST_REWARD = 0.25
_OUTLIER_DEVIATIONS = 3.0
_EQUALLY_FAST = 0.02
"""If the interval contains 1 and stays within this distance of it, further measuring would decide by chance."""


def reward(ratio: float) -> float:
    """The reward for a ratio of the gold query's time over the prediction's: 1.25 from 2 up, down to 0.25 below
    0.25."""
    return next((value for bound, value in _REWARDS if ratio >= bound), _LEAST_REWARD)


class Ves(QueryMetric):
    """Valid efficiency score: 0 unless Results Match, else the reward for the mean ratio.

    Ratios beyond 3 deviations are dropped, as in the evaluator's and BIRD's scripts: fewer than ten ratios have
    none, and among hundreds one stray measurement changes nothing. If the mean's interval contains 1 and stays
    within 2 % of it, the two are equally fast and the ratio counts as 1, since the reward changes at 1. The score's
    detail gives the ratio with its 95 % interval (Student's t over the iterations); the case is
    flagged ``noisy_timing`` if that interval spans more than one reward.
    """

    name: ClassVar[str] = "ves"
    meaning: ClassVar[str] = (
        "speed of correct answers relative to the gold query, as BIRD rewards it; 0 unless Results Match"
    )
    highest: ClassVar[float] = 1.25
    guide_column: ClassVar[str] = "VES Score"
    binary: ClassVar[bool] = False

    def score(self, case: Case, prediction: Prediction, executions: Executions, comparison: Comparison | None) -> Score:
        """0 if the answer is not right; else the time is still to be measured."""
        if (failure := without_query(case, prediction, executions)) is not None:
            return unscored(self.name, failure)
        return _awaiting(self.name, ResultsMatch().score(case, prediction, executions, comparison), executions)

    def timed(self, timings: Sequence[PairTiming]) -> TimedScore:
        """The reward for the mean ratio without outliers."""
        kept = without_outliers([timing.gold_s / timing.predicted_s for timing in timings])
        return _rewarded(self.name, kept, reward)


class BirdRves(QueryMetric):
    """BIRD's R-VES: 0 unless BIRD EX, else 100 times the root of the reward; ratios beyond 3 deviations are dropped."""

    name: ClassVar[str] = "bird_rves"
    meaning: ClassVar[str] = "BIRD: 100 times the root of that reward; 0 unless bird_ex"
    highest: ClassVar[float] = 100.0 * math.sqrt(1.25)
    binary: ClassVar[bool] = False

    def score(self, case: Case, prediction: Prediction, executions: Executions, comparison: Comparison | None) -> Score:
        """0 if the answer is not right; else the time is still to be measured."""
        if (failure := without_query(case, prediction, executions)) is not None:
            return unscored(self.name, failure)
        return _awaiting(self.name, BirdEx().score(case, prediction, executions, comparison), executions)

    def timed(self, timings: Sequence[PairTiming]) -> TimedScore:
        """100 times the root of the reward for the mean ratio without outliers."""
        kept = without_outliers([timing.gold_s / timing.predicted_s for timing in timings])
        return _rewarded(self.name, kept, lambda ratio: 100.0 * math.sqrt(reward(ratio)))


def without_outliers(ratios: Sequence[float]) -> list[float]:
    """The ratios within mean plus or minus three (population) standard deviations, as BIRD's script keeps them."""
    mean, deviation = statistics.fmean(ratios), statistics.pstdev(ratios)
    bound = _OUTLIER_DEVIATIONS * deviation
    return [ratio for ratio in ratios if mean - bound < ratio < mean + bound] or list(ratios)


def _awaiting(metric: str, right: Score, executions: Executions) -> Score:
    if right.value is None:
        return unscored(metric, right.failure or gold_failure(executions.golds))
    return Score(metric=metric, value=0.0) if right.value == 0.0 else unscored(metric, AWAITS_TIMING)


def _rewarded(metric: str, ratios: Sequence[float], value_of: Callable[[float], float]) -> TimedScore:
    mean = statistics.fmean(ratios)
    bounds = mean_interval(ratios)
    shown = "" if bounds is None else f" [{bounds[0]:.2f}, {bounds[1]:.2f}]"
    detail = (
        f"the gold query's time is {mean:.2f}{shown} times the prediction's, over {plural(len(ratios), 'measurement')}"
    )
    if bounds is not None and 1.0 - _EQUALLY_FAST <= bounds[0] <= 1.0 <= bounds[1] <= 1.0 + _EQUALLY_FAST:
        return TimedScore(
            score=Score(metric=metric, value=value_of(1.0), detail=f"{detail}: equally fast"), noisy=False
        )
    noisy = bounds is not None and reward(bounds[0]) != reward(bounds[1])
    return TimedScore(score=Score(metric=metric, value=value_of(mean), detail=detail), noisy=noisy)
