"""From the values of answers to the rate over their cases."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby, pairwise
from statistics import fmean
from typing import TypeAlias, TypeVar

from msgspec import Struct

from assay.model import Rate
from assay.model.verdicts.summary import CaseSummary
from assay.stats import bounded_mean_interval, mean_interval, wilson_interval

Values: TypeAlias = Sequence[float | None]
_Item = TypeVar("_Item")


class Answers(Struct, frozen=True, kw_only=True):
    """Which answers belong to which case, and the rates over the cases. The answers to one case are consecutive."""

    starts: Sequence[int]
    """For each case, the place of its first answer."""
    count: int
    """How many answers there are."""
    confidence: float = 0.95
    """Confidence of the rates' intervals."""

    @classmethod
    def of(cls, summaries: Sequence[CaseSummary], *, repeats: int, confidence: float = 0.95) -> Answers:
        """The answers of a run that asked each question ``repeats`` times, by the cases' ids."""
        starts: Sequence[int] = range(len(summaries))
        if repeats > 1:
            sizes = [sum(1 for _ in items) for _, items in groupby(summaries, key=lambda case: case.case_id)]
            starts = [0, *accumulate(sizes)][:-1]
        return cls(starts=starts, count=len(summaries), confidence=confidence)

    @property
    def once(self) -> bool:
        """Whether each case has one answer."""
        return len(self.starts) == self.count

    def split(self, items: Sequence[_Item]) -> list[tuple[_Item, ...]]:
        """The items of each case."""
        if self.once:
            return list(zip(items))
        return [tuple(items[start:end]) for start, end in pairwise((*self.starts, self.count))]

    def means(self, values: Values) -> Values:
        """The mean of each case's values; None for a case without values."""
        return values if self.once else mean_of_each(self.split(values))

    def rate(self, values: Values, *, binary: bool = True) -> Rate:
        """The rate over cases of one value per answer. ``binary``: all are 0 or 1, as means of several are not."""
        return rate_of(self.means(values), binary=binary and self.once, confidence=self.confidence)


def mean_of_each(groups: Iterable[Values]) -> list[float | None]:
    """The mean of each group's values; None for a group without values."""
    known = ([value for value in values if value is not None] for values in groups)
    return [fmean(values) if values else None for values in known]


def rate_of(values: Values, *, binary: bool, confidence: float = 0.95) -> Rate:
    """The mean of the values that are not None, with its interval. ``binary``: all are 0 or 1."""
    known = [value for value in values if value is not None]
    n = len(known)
    numerator = math.fsum(known)
    interval: tuple[float, float] | None
    if binary:
        interval = wilson_interval(numerator, n, confidence=confidence)
    elif known and (min(known) < 0.0 or max(known) > 1.0):
        interval = mean_interval(known, confidence=confidence)
    else:
        interval = bounded_mean_interval(known, confidence=confidence)
    low, high = interval or (None, None)
    return Rate(
        n=n,
        numerator=numerator,
        unscored=len(values) - n,
        value=numerator / n if n else None,
        low=low,
        high=high,
        confidence=confidence,
    )
