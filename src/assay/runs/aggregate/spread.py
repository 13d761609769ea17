"""How long answers and queries took: middle, tail and a histogram, over a whole run."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import fmean

from assay.model import CacheUse, TimeBin, TimeSpread
from assay.model.verdicts.summary import CaseSummary, ExecutionSummary

EDGES = tuple(float(f"{factor}e{power}") for power in range(-5, 6) for factor in (1, 2, 5))
"""In seconds: three to a decade, from 10 µs to about six days."""


def cache_use(summaries: Iterable[CaseSummary]) -> CacheUse:
    """How many executions there are of gold and predicted queries, and how many came from a cache of earlier ones."""
    executions = [execution for case in summaries for execution in case.executions]
    return CacheUse(
        executions=len(executions),
        from_cache=sum(execution.earlier_time_s is not None for execution in executions),
    )


def spreads_of(summaries: Sequence[CaseSummary]) -> tuple[TimeSpread, ...]:
    """The times of answers, of gold queries and of predicted queries, each if there are any.

    A query that was executed once for several cases counts once.
    """
    spreads = (
        spread_of("answer", [case.answer_time_s for case in summaries]),
        spread_of("gold query", _times((case, execution) for case in summaries for execution in case.golds)),
        spread_of(
            "predicted query", _times((case, case.predicted) for case in summaries if case.predicted is not None)
        ),
    )
    return tuple(spread for spread in spreads if spread is not None)


def _times(executed: Iterable[tuple[CaseSummary, ExecutionSummary]]) -> list[float | None]:
    """The times of different executions: one that several cases share has the same time in each."""
    different = {(case.database, execution.query_hash, execution.wall_time_s) for case, execution in executed}
    return [seconds for _, _, seconds in different]


def spread_of(name: str, seconds: Iterable[float | None]) -> TimeSpread | None:
    """The spread of the times; None without any. None, negative and non-finite values are left out."""
    times = sorted(time for time in seconds if time is not None and 0.0 <= time < math.inf)
    if not times:
        return None
    # From the first bin that holds a time to the last, with the empty ones between.
    edges = (0.0, *EDGES, max(10 * EDGES[-1], math.nextafter(times[-1], math.inf)))
    starts = [bisect_left(times, edge) for edge in edges]
    counts = [after - before for before, after in pairwise(starts)]
    filled = [index for index, count in enumerate(counts) if count]
    return TimeSpread(
        name=name,
        n=len(times),
        mean_s=fmean(times),
        median_s=_quantile(times, 0.5),
        p90_s=_quantile(times, 0.9),
        max_s=times[-1],
        bins=tuple(
            TimeBin(low_s=edges[index], high_s=edges[index + 1], count=counts[index])
            for index in range(filled[0], filled[-1] + 1)
        ),
    )


def _quantile(times: Sequence[float], share: float) -> float:
    """The quantile, linear between the two nearest values, as in most programs: Hyndman and Fan (1996), type 7."""
    place = share * (len(times) - 1)
    below = math.floor(place)
    above = min(below + 1, len(times) - 1)
    return times[below] + (times[above] - times[below]) * (place - below)
