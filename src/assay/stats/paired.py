"""The uncertainty of the difference between two runs over the same cases.

Which interval a difference gets was decided by measurement (`benchmarks/coverage.py`,
`assay docs background/measured/statistics`). Intervals meant to hold the true mean difference 95 % of the time did so
in this share of 400 samples, the last column of 2,000; BCa did no better than the percentiles, nor did the
bootstrap-t:

    differences                                  percentile   Student t   score   paired_interval
    yes/no, n = 20, 10 % gained, 10 % lost          96 %         97 %      97 %        96 %
    yes/no, n = 20, 5 % gained, 2 % lost            66 %         76 %     100 %       100 %
    yes/no, n = 50, 5 % gained, 2 % lost            88 %         90 %      97 %        97 %
    yes/no, n = 200, 2 % gained, 0.5 % lost         95 %         90 %      94 %        98 %
    yes/no, n = 1000, 5 % gained, 2 % lost          94 %         94 %      94 %        97 %
    graded, n = 20, all differ                      95 %         97 %     100 %        96 %
    graded, n = 20, few differ                      67 %         69 %     100 %        99 %
    graded, n = 200, few differ                     92 %         92 %      98 %        97 %
    graded, n = 1000, few differ                    94 %         94 %      98 %        95 %
    2 databases of 10 to 200, correlation 0.15      48 %         95 %      50 %        98 %
    3 databases of 10 to 200, correlation 0.15      72 %         94 %      48 %        96 %
    5 databases of 10 to 200, correlation 0.15      80 %         95 %      47 %        96 %
    20 databases of 10 to 200, correlation 0.15     92 %         96 %      45 %        94 %

The bootstrap knows only the cases it has: if few of them differ, or there are few databases, it is too narrow.
For databases, percentile and Student's t (at the jackknife's standard error; at the ratio estimator's it held the
truth in 90 to 94 % for unequal sizes) take them whole; the score interval ignores them.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from assay.errors import UsageError
from assay.stats.clusters import ClusterSums, as_differences, cluster_sums
from assay.stats.intervals import narrower, student_t_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DRAWN_VALUES = 200
"""Up to this many differences, or clusters, resamples draw them one by one."""

_DRAWN_DISTINCT = 32
"""Up to this many distinct differences, resamples draw how often each occurs, however many cases there are."""

_DRAWN_SKEWNESS = 0.25
"""From this skewness (or excess kurtosis) on, a mean's bootstrap distribution is always drawn."""


class PairedInterval(Struct, frozen=True, kw_only=True):
    """The bounds of a mean difference."""

    low: float
    high: float
    clusters: int | None
    """How many clusters the interval allows for; None: it treats the cases as independent."""


class _Tally(Struct, frozen=True, kw_only=True):
    """Differences without their order: each distinct value, ascending, and how often it occurs."""

    values: NDArray[Any]
    counts: NDArray[Any]

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        return float((self.values * self.counts).sum() / self.counts.sum())

    def moment(self, power: int) -> float:
        """The central moment, divided by n."""
        return float((self.counts * (self.values - self.mean) ** power).sum() / self.counts.sum())

    def mirrored(self) -> _Tally:
        return _Tally(values=-self.values[::-1], counts=self.counts[::-1])


def paired_interval(
    differences: Sequence[float] | NDArray[Any],
    *,
    clusters: Sequence[Hashable] | NDArray[Any] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> PairedInterval | None:
    """Bound the mean of per-case differences between two runs; None if there are none.

    The outer bounds of two intervals: the percentile bootstrap (Efron 1979), and one that keeps a width if a sample has
    no spread: `score_interval`, for graded differences at an effective number of cases. For differences beyond [-1, 1],
    which are unbounded, it is Student's t: a single such case has no interval, so None.

    With ``clusters``, one name per case and at least two different ones, whole clusters are resampled, and the interval
    is also no narrower than Student's t with one degree of freedom less than there are clusters, at the jackknife's
    standard error. Two clusters have a t quantile of 12.7 and three of 4.3: such an interval says next to nothing,
    because so few databases say little about databases in general. A single cluster cannot show how clusters vary:
    ``clusters`` of the result is then None, and the interval treats cases as independent.

    The order of the cases does not matter, swapping the runs mirrors the bounds, and a seed fixes the result. Loads
    numpy. About 1 ms, 10 ms with 100,000 graded cases. Raises `UsageError` for values that are not finite, other than
    one cluster per case, ``resamples`` below 1 and a ``confidence`` outside (0, 1).
    """
    if resamples < 1:
        raise UsageError(f"resamples must be at least 1, got {resamples!r}")
    _check_confidence(confidence)
    values = as_differences(differences)
    if not len(values):
        return None
    tally = _tally(values)
    grouped = None if clusters is None else cluster_sums(values, clusters)
    orientation = _orientation(tally, grouped)
    if orientation < 0:
        tally, grouped = tally.mirrored(), None if grouped is None else grouped.mirrored()
    independent = _independent_bounds(tally, confidence, resamples=resamples, seed=seed)
    if grouped is None or len(grouped.counts) < 2:
        if independent is None:
            return None
        low, high, groups = *independent, None
    else:
        clustered = _clustered_bounds(grouped, confidence, resamples=resamples, seed=seed)
        low, high = clustered if independent is None else _wider(independent, clustered)
        groups = len(grouped.counts)
        if _is_bounded(tally):
            low, high = max(-1.0, low), min(1.0, high)
    if orientation == 0:
        # Symmetric differences have symmetric bounds; only the random draws make them uneven.
        low, high = (low - high) / 2.0, (high - low) / 2.0
    return PairedInterval(
        low=-high if orientation < 0 else low, high=-low if orientation < 0 else high, clusters=groups
    )


def score_interval(gained: float, lost: float, n: float, *, confidence: float = 0.95) -> tuple[float, float] | None:
    """Bound the difference between two runs' rates of yes over the same ``n`` cases; None if ``n`` is 0.

    ``gained`` and ``lost`` cases are right in only one run; they may be sums of fractions. Tango's score interval
    (Statistics in Medicine 17, 1998): the differences that a score test does not reject. It always has a width: without
    a differing case it is ±z² / (n + z²). Within [-1, 1]. Raises `UsageError` for impossible counts, and a
    ``confidence`` outside (0, 1).
    """
    _check_confidence(confidence)
    if n == 0:
        return None
    if not (n > 0 and gained >= 0 and lost >= 0 and gained + lost <= n * (1 + 1e-9)):
        raise UsageError(f"gained and lost must be counts of the n cases, got {gained!r} and {lost!r} of {n!r}")
    return _score(gained / n, lost / n, n, NormalDist().inv_cdf(0.5 + confidence / 2.0))


def _tally(values: NDArray[Any]) -> _Tally:
    import numpy

    gained, lost, same = (int((values == value).sum()) for value in (1.0, -1.0, 0.0))
    if gained + lost + same == len(values):
        # The same as sorting finds, in a twentieth of the time: most differences are yes/no.
        return _Tally(values=numpy.array([-1.0, 0.0, 1.0]), counts=numpy.array([lost, same, gained]))
    distinct, counts = numpy.unique(values, return_counts=True)
    return _Tally(values=distinct, counts=counts)


def _orientation(tally: _Tally, grouped: ClusterSums | None) -> float:
    """Above 0 for one order of the runs, below 0 for the other, which gets mirrored bounds; 0 if both are alike."""
    mirrored = tally.mirrored()
    pairs = [(tally.values, mirrored.values), (tally.counts, mirrored.counts)]
    if grouped is not None:
        swapped = grouped.mirrored()
        pairs += [(grouped.sums, swapped.sums), (grouped.counts, swapped.counts)]
    for one, other in pairs:
        unlike = one != other
        if unlike.any():
            first = int(unlike.argmax())
            return float(one[first] - other[first])
    return 0.0


def _is_bounded(tally: _Tally) -> bool:
    return bool(tally.values[0] >= -1.0 and tally.values[-1] <= 1.0)


def _independent_bounds(tally: _Tally, confidence: float, *, resamples: int, seed: int) -> tuple[float, float] | None:
    """The bounds for independent cases."""
    bounded = _is_bounded(tally)
    if not bounded and tally.n < 2:
        return None
    drawn = _percentiles(tally, confidence, resamples=resamples, seed=seed)
    return _wider(drawn, _effective_score(tally, confidence) if bounded else _student(tally, confidence))


def _student(tally: _Tally, confidence: float) -> tuple[float, float]:
    half = student_t_quantile(0.5 + confidence / 2.0, tally.n - 1) * math.sqrt(tally.moment(2) / (tally.n - 1))
    return tally.mean - half, tally.mean + half


def _effective_score(tally: _Tally, confidence: float) -> tuple[float, float]:
    """The score interval at the number of yes/no cases that would vary as much, as for one run's mean.

    Graded differences vary less than yes/no ones with the same sums of gains and losses: with a variance of s²
    instead of g + l - (g - l)², the number of cases is multiplied by the ratio of the two, with Student's t for the
    normal quantile. Never wider than the score interval at n itself, which yes/no differences get.
    """
    n = tally.n
    shares = tally.counts / n
    gained, lost = (float((shares * tally.values.clip(*ends)).sum()) for ends in ((0.0, 1.0), (-1.0, 0.0)))
    plain = _score(gained, -lost, n, NormalDist().inv_cdf(0.5 + confidence / 2.0))
    variance = tally.moment(2) * n / max(1, n - 1)
    if variance <= 0.0:
        return plain
    effective = max(float(n), n * (gained - lost - (gained + lost) ** 2) / variance)
    narrowed = _score(gained, -lost, effective, student_t_quantile(0.5 + confidence / 2.0, n - 1))
    return narrower(plain, narrowed)


def _clustered_bounds(grouped: ClusterSums, confidence: float, *, resamples: int, seed: int) -> tuple[float, float]:
    """The bounds for cases in clusters."""
    import numpy

    groups, mean = len(grouped.counts), grouped.mean
    if groups <= _DRAWN_VALUES:
        drawn = numpy.random.default_rng(seed).integers(0, groups, size=(resamples, groups))
        means = grouped.sums[drawn].sum(axis=1) / grouped.counts[drawn].sum(axis=1)
        bootstrap = _quantiles(means, confidence)
    else:
        off = numpy.sort((grouped.sums - mean * grouped.counts) / grouped.counts.mean())
        tally = _Tally(values=off, counts=numpy.ones(groups, dtype=numpy.int64))
        low, high = _percentiles(tally, confidence, resamples=resamples, seed=seed)
        bootstrap = mean + low, mean + high
    half = student_t_quantile(0.5 + confidence / 2.0, groups - 1) * grouped.jackknife_error
    return _wider(bootstrap, (mean - half, mean + half))


def _percentiles(tally: _Tally, confidence: float, *, resamples: int, seed: int) -> tuple[float, float]:
    """Percentiles of the means of resamples of the differences.

    Resamples are drawn if the differences are few or have few values. Otherwise the percentiles follow from the exact
    cumulants of the means, as the limit of ever more resamples (Cornish-Fisher expansion; Hall, The Bootstrap and
    Edgeworth Expansion, 1992), unless the differences are too skewed for the expansion.
    """
    import numpy

    n, mean, variance = tally.n, tally.mean, tally.moment(2)
    if variance <= 0.0:
        return mean, mean
    generator = numpy.random.default_rng(seed)
    if len(tally.values) <= _DRAWN_DISTINCT:
        counts = generator.multinomial(n, tally.counts / n, size=resamples)
        return _quantiles(counts @ tally.values / n, confidence)
    # Divided step by step: the powers of a small variance may be 0.
    skewness = tally.moment(3) / variance / math.sqrt(variance * n)
    kurtosis = (tally.moment(4) / variance / variance - 3.0) / n
    if n > _DRAWN_VALUES and max(abs(skewness), abs(kurtosis)) < _DRAWN_SKEWNESS:
        z = NormalDist().inv_cdf(0.5 + confidence / 2.0)
        centre = (z * z - 1) * skewness / 6
        half = z + (z**3 - 3 * z) * kurtosis / 24 - (2 * z**3 - 5 * z) * skewness**2 / 36
        error = math.sqrt(variance / n)
        return mean + error * (centre - half), mean + error * (centre + half)
    sample = numpy.repeat(tally.values, tally.counts)
    # In slices of about 8 MB, so that large samples do not need resamples x n at once.
    size = max(1, 1_000_000 // n)
    slices = (min(size, resamples - start) for start in range(0, resamples, size))
    means = [sample[generator.integers(0, n, size=(rows, n))].mean(axis=1) for rows in slices]
    return _quantiles(numpy.concatenate(means), confidence)


def _quantiles(means: NDArray[Any], confidence: float) -> tuple[float, float]:
    import numpy

    low, high = numpy.quantile(means, [0.5 - confidence / 2.0, 0.5 + confidence / 2.0])
    return float(low), float(high)


def _score(gained: float, lost: float, n: float, quantile: float) -> tuple[float, float]:
    """Tango's interval for shares of gained and lost cases."""
    return -_score_bound(lost, gained, n, quantile), _score_bound(gained, lost, n, quantile)


def _score_bound(gained: float, lost: float, n: float, quantile: float) -> float:
    """The upper bound, by bisection between the observed difference and 1."""
    observed = min(1.0, gained - lost)
    low, high = observed, 1.0
    for _ in range(54):
        delta = (low + high) / 2.0
        # The most likely share of lost cases if the true difference is delta.
        linear = (2.0 - observed) * delta - gained - lost
        square = linear * linear + 8.0 * lost * delta * (1.0 - delta)
        likeliest = (math.sqrt(max(0.0, square)) - linear) / 4.0
        variance = max(0.0, 2.0 * likeliest + delta * (1.0 - delta)) / n
        low, high = (delta, high) if delta - observed <= quantile * math.sqrt(variance) else (low, delta)
    return high


def _wider(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return min(one[0], other[0]), max(one[1], other[1])


def _check_confidence(confidence: float) -> None:
    if not 0.0 < confidence < 1.0:
        raise UsageError(f"confidence must lie between 0 and 1, for example 0.95, got {confidence!r}")
