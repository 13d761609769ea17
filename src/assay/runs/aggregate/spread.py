"""How long answers and queries took: middle, tail and a histogram, over a whole run."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from assay.model import CacheUse, TimeBin, TimeSpread

if TYPE_CHECKING:  # it needs msgspec, which adding up does not
    from assay.runs.store.fact_table import Judged

ANSWER_TIME = "total_execution_time"
"""The name under which systems report an answer's total time."""
_LATENCIES = ("latency_s", "latency", "wall_time", "time_s", "duration_s", "elapsed_s")
"""Other names for an answer's time, the best first: reported by systems, or measured by Assay."""
_EDGES = tuple(float(f"{factor}e{power}") for power in range(-5, 6) for factor in (1, 2, 5))
"""In seconds: three to a decade, from 10 µs to about six days."""


def cache_use(evidence: Iterable[Judged]) -> CacheUse:
    """How many executions there are of gold and predicted queries, and how many came from a cache of earlier ones."""
    executions = from_cache = 0
    for item in evidence:
        predicted = item.predicted_execution
        for execution in item.gold_executions if predicted is None else (*item.gold_executions, predicted):
            executions += 1
            from_cache += execution.earlier_time_s is not None
    return CacheUse(executions=executions, from_cache=from_cache)


def spreads_of(evidence: Sequence[Judged], told: Sequence[float | None]) -> tuple[TimeSpread, ...]:
    """The times of answers, of gold queries and of predicted queries, each where there are any.

    ``told`` has each answer's `ANSWER_TIME`, None where it is not reported. A query that was executed once for several
    cases counts once.
    """
    answers = [
        seconds
        if seconds is not None or not (item.prediction.timings_s or item.prediction.turns)
        else latency_of(item.prediction)
        for item, seconds in zip(evidence, told, strict=True)
    ]
    found = (
        spread_of("answer", answers),
        spread_of("gold query", _times(evidence, gold=True)),
        spread_of("predicted query", _times(evidence, gold=False)),
    )
    return tuple(spread for spread in found if spread is not None)


def _times(evidence: Sequence[Judged], *, gold: bool) -> Iterable[float | None]:
    """The times of different executions."""
    at_once = getattr(evidence, "different", None)  # as in `assay.runs.aggregate.rates.each`
    if at_once is not None:
        return (seconds for _, _, seconds in at_once(gold=gold))
    different = {
        (item.case.database, execution.query, execution.wall_time_s)
        for item in evidence
        for execution in (item.gold_executions if gold else (item.predicted_execution,))
        if execution is not None
    }
    return (seconds for _, _, seconds in different)


def spread_of(name: str, seconds: Iterable[float | None]) -> TimeSpread | None:
    """The spread of the times; None without any. None, negative and non-finite values are left out."""
    times = sorted(time for time in seconds if time is not None and 0.0 <= time < math.inf)
    if not times:
        return None
    return TimeSpread(
        name=name,
        n=len(times),
        mean_s=math.fsum(times) / len(times),
        median_s=_quantile(times, 0.5),
        p90_s=_quantile(times, 0.9),
        max_s=times[-1],
        bins=tuple(_bins(times)),
    )


def _quantile(times: Sequence[float], share: float) -> float:
    """The quantile, linear between the two nearest values, as in most programs: Hyndman and Fan (1996), type 7."""
    place = share * (len(times) - 1)
    below = math.floor(place)
    above = min(below + 1, len(times) - 1)
    return times[below] + (times[above] - times[below]) * (place - below)


def _bins(times: Sequence[float]) -> Iterable[TimeBin]:
    """The bins from the first to the last that holds a time, with the empty ones between."""
    edges = (0.0, *_EDGES, max(10 * _EDGES[-1], math.nextafter(times[-1], math.inf)))
    starts = [bisect_left(times, edge) for edge in edges]
    counts = [after - before for before, after in pairwise(starts)]
    filled = [place for place, count in enumerate(counts) if count]
    for place in range(filled[0], filled[-1] + 1):
        yield TimeBin(low_s=edges[place], high_s=edges[place + 1], count=counts[place])


class Timed(Protocol):
    """An answer with its times."""

    @property
    def turns(self) -> Sequence[TimedTurn]: ...

    def timing_s(self, name: str) -> float | None: ...


class TimedTurn(Protocol):
    """The answer to one question of a conversation."""

    @property
    def latency_s(self) -> float | None: ...


def answer_time_of(prediction: Timed) -> float | None:
    """What an answer took: its system's own total, else the time that was reported or measured otherwise."""
    told = prediction.timing_s(ANSWER_TIME)
    return told if told is not None else latency_of(prediction)


def latency_of(prediction: Timed) -> float | None:
    """The answer's time, where its system does not report a total."""
    for name in _LATENCIES:
        seconds = prediction.timing_s(name)
        if seconds is not None:
            return seconds
    turns = [turn.latency_s for turn in prediction.turns if turn.latency_s is not None]
    return math.fsum(turns) if turns else None
