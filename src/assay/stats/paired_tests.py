"""Whether two runs over the same cases differ: exact tests for yes/no metrics, by sign flips for graded ones."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from assay.errors import UsageError
from assay.stats.clusters import as_differences, cluster_codes

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

_MOST_SUMS = 1 << 16
"""Up to this many sums of flipped differences are enumerated; beyond, they are drawn."""

_NORMAL_FROM = 1000.0
"""From this many equally weighted differences on, their flipped sum is treated as normal."""

_DRAWN_VALUES = 256
"""This many of the largest distinct differences are flipped one by one; the sum of the rest is treated as normal."""


def mcnemar_exact(gained: int, lost: int) -> float:
    """The two-sided p-value of no difference between two runs' rates; 1 if no case differs.

    ``gained`` and ``lost`` cases are right in only one run. Without a difference each of them falls to either side like
    a fair coin: the p-value is twice the smaller binomial tail, at most 1 (the exact form of McNemar, Psychometrika 12,
    1947). Relative error below 1e-8 for 100,000 cases; never below the smallest normal float. Raises `UsageError` for
    negative counts.
    """
    if gained < 0 or lost < 0:
        raise UsageError(f"counts of cases must not be negative, got {gained!r} and {lost!r}")
    n, fewer = gained + lost, min(gained, lost)
    if 2 * fewer >= n - 1:
        return 1.0
    # The tail's largest term is its last; the others follow from it by ratios until they no longer count.
    term = total = 1.0
    for k in range(fewer, 0, -1):
        term *= k / (n - k + 1)
        total += term
        if term < total * 1e-18:
            break
    log_last = math.lgamma(n + 1) - math.lgamma(fewer + 1) - math.lgamma(n - fewer + 1) - n * math.log(2.0)
    return _at_most_one(2.0 * math.exp(log_last) * total)


def sign_flip_test(
    differences: Sequence[float] | NDArray[Any],
    *,
    clusters: Sequence[Hashable] | NDArray[Any] | None = None,
    permutations: int = 10_000,
    seed: int = 0,
) -> float | None:
    """The two-sided p-value of a mean difference of 0; None if there are no differences, 1 if all are 0.

    If the runs were equally good, each difference could as well have the opposite sign: the p-value is the share of
    sign patterns whose sum is at least as far from 0 as the observed one (Fisher 1935; Dror et al. 2018 for language
    systems). With ``clusters``, one name per difference, whole clusters flip, that is, their sums. A p-value below 0.05
    then needs six clusters.

    Exact if the patterns make few enough different sums: yes/no differences always (`mcnemar_exact`), and 16 different
    ones. If the sum of squares is spread as over 1,000 equal differences or more ((Σd²)²/Σd⁴), by the normal
    distribution, whose error is then within 5 % of p for p > 0.001. Else by ``permutations`` random patterns, the
    observed one counted as one of them (Phipson & Smyth 2010), so that p is at least 1 / (permutations + 1).
    Deterministic for a seed. Loads numpy. Raises `UsageError` for values that are not finite, or for other than one
    cluster per difference.
    """
    if permutations < 1:
        raise UsageError(f"permutations must be at least 1, got {permutations!r}")
    import numpy

    values = as_differences(differences)
    if not len(values):
        return None
    if clusters is not None:
        values = numpy.bincount(cluster_codes(clusters, len(values)), weights=values)
    scale = float(numpy.abs(values).max())
    if scale == 0.0:
        return 1.0
    # Rounded, because a difference of 0.3 may also be 0.30000000000000004.
    relative = numpy.round(values / scale, 12)
    observed = abs(float(relative.sum()))
    flipped = relative[relative != 0.0]
    distinct, counts = numpy.unique(numpy.abs(flipped), return_counts=True)
    if len(distinct) == 1:
        gained = int((flipped > 0.0).sum())
        return mcnemar_exact(gained, len(flipped) - gained)
    squares = counts * distinct**2
    spread = float(squares.sum()) ** 2 / float((squares * distinct**2).sum())
    if math.prod(int(count) + 1 for count in counts[:64]) <= _MOST_SUMS and len(counts) <= 64:
        return _enumerated(distinct, counts, observed)
    if spread >= _NORMAL_FROM:
        return _at_most_one(2.0 * NormalDist().cdf(-observed / math.sqrt(float(squares.sum()))))
    return _drawn(distinct, counts, observed, permutations=permutations, seed=seed)


def least_p_value(clusters: int) -> float:
    """The smallest p-value that flipping this many clusters can give: two of all 2^clusters sign patterns."""
    return min(1.0, 2.0 ** (1 - clusters))


def clusters_needed(alpha: float, *, tests: int = 1) -> int:
    """How many clusters it takes for a p-value of ``alpha`` at most, after Holm's correction across ``tests``."""
    return next(clusters for clusters in range(1, sys.maxsize) if tests * least_p_value(clusters) <= alpha)


def _enumerated(distinct: NDArray[Any], counts: NDArray[Any], observed: float) -> float:
    """The p-value over every sum that flipped signs can make, each with its probability."""
    import numpy

    sums, chances = numpy.zeros(1), numpy.ones(1)
    for value, count in zip(distinct.tolist(), counts.tolist(), strict=True):
        log_all = math.lgamma(count + 1) - count * math.log(2.0)
        risen = range(count + 1)
        chance = numpy.array([math.exp(log_all - math.lgamma(k + 1) - math.lgamma(count - k + 1)) for k in risen])
        moved = value * (2.0 * numpy.arange(count + 1) - count)
        sums = numpy.add.outer(sums, moved).ravel()
        chances = numpy.multiply.outer(chances, chance).ravel()
    return _at_most_one(float(chances[numpy.abs(sums) >= _nearly(observed)].sum()))


def _drawn(distinct: NDArray[Any], counts: NDArray[Any], observed: float, *, permutations: int, seed: int) -> float:
    """The p-value over random signs: binomial for each of the largest distinct values, normal for the rest's sum."""
    import numpy

    generator: numpy.random.Generator = numpy.random.default_rng(seed)
    rest = slice(None, max(0, len(distinct) - _DRAWN_VALUES))
    deviation = math.sqrt(float((counts[rest] * distinct[rest] ** 2).sum()))
    sums = deviation * generator.standard_normal(permutations) if deviation else numpy.zeros(permutations)
    for value, count in zip(distinct[rest.stop :].tolist(), counts[rest.stop :].tolist(), strict=True):
        sums += value * (2.0 * generator.binomial(count, 0.5, size=permutations) - count)
    return (1 + int((numpy.abs(sums) >= _nearly(observed)).sum())) / (permutations + 1)


def _nearly(observed: float) -> float:
    """Sums that are equal in algebra differ by rounding."""
    return observed - 1e-9 * max(1.0, observed)


def _at_most_one(p: float) -> float:
    return min(1.0, max(sys.float_info.min, p))
