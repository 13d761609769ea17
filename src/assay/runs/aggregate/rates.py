"""From the values of answers to the rate over their cases."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby, pairwise
from statistics import fmean
from typing import TypeAlias, TypeVar

from msgspec import Struct

from assay.model import Rate
from assay.model.summary import CaseSummary
from assay.stats import bounded_mean_interval, mean_interval, wilson_interval

Values: TypeAlias = Sequence[float | None]
_Item = TypeVar("_Item")


class Answers(Struct, frozen=True, kw_only=True):
    """Which answers belong to which case. The answers to one case are consecutive."""

    starts: Sequence[int]
    """For each case, the place of its first answer."""
    count: int
    """How many answers there are."""

    @classmethod
    def once_each(cls, count: int) -> Answers:
        """One answer to each case."""
        return cls(starts=range(count), count=count)

    @classmethod
    def of(cls, summaries: Sequence[CaseSummary]) -> Answers:
        """The answers of a run that asked repeatedly, by the cases' ids."""
        sizes = [sum(1 for _ in items) for _, items in groupby(summaries, key=lambda case: case.case_id)]
        return cls(starts=[0, *accumulate(sizes)][:-1], count=len(summaries))

    def split(self, items: Sequence[_Item]) -> list[Sequence[_Item]]:
        """The items of each case."""
        return [items[start:end] for start, end in pairwise((*self.starts, self.count))]

    def means(self, values: Values) -> Values:
        """The mean of each case's values; None for a case without values."""
        return values if len(self.starts) == self.count else mean_of_each(self.split(values))


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
