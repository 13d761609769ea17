"""How sure the difference between two runs over the same cases is."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from assay.errors import UsageError
from assay.stats.clusters import ClusterSums, as_differences, cluster_sums, root_variance
from assay.stats.intervals import student_t_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedInterval:
    """The bounds of a mean difference."""

    low: float
    high: float
    clusters: int | None
    """How many clusters it allows for; None: it takes every case to stand alone."""


def paired_interval(
    differences: Sequence[float] | NDArray[Any],
    *,
    clusters: Sequence[Hashable] | NDArray[Any] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> PairedInterval | None:
    """Bound the mean of per-case differences between two runs; None where there are none."""
    if resamples < 1:
        raise UsageError(f"resamples must be at least 1, got {resamples!r}")
    if not 0.0 < confidence < 1.0:
        raise UsageError(f"confidence must lie between 0 and 1, such as 0.95, got {confidence!r}")
    values = as_differences(differences)
    if not len(values):
        return None
    bounds = _alone(values, confidence)
    grouped = cluster_sums(values, clusters) if clusters is not None else None
    if grouped is None or len(grouped.counts) < 2:
        return PairedInterval(low=bounds[0], high=bounds[1], clusters=None)
    half = student_t_quantile(0.5 + confidence / 2.0, len(grouped.counts) - 1) * root_variance(grouped)
    low, high = min(bounds[0], grouped.mean - half), max(bounds[1], grouped.mean + half)
    return PairedInterval(low=max(-1.0, low), high=min(1.0, high), clusters=len(grouped.counts))


def score_interval(gained: float, lost: float, n: float, *, confidence: float = 0.95) -> tuple[float, float] | None:
    """Bound the difference between two runs' rates of yes over the same ``n`` cases; None where ``n`` is 0.

    ``gained`` and ``lost`` cases are right in one run alone. Tango's score interval (Statistics in Medicine 17,
    1998): the differences that a score test does not refuse. It is never certain: without a case that
    differs it is z² / (n + z²) to both sides. Within [-1, 1]. Counts may be fractions. Raises `UsageError` for
    counts that cannot be, or a ``confidence`` outside (0, 1).
    """
    if n == 0:
        return None
    if n < 0 or gained < 0 or lost < 0 or gained + lost > n * (1 + 1e-9):
        raise UsageError(f"gained and lost must be parts of n, got {gained!r} and {lost!r} of {n!r}")
    if not 0.0 < confidence < 1.0:
        raise UsageError(f"confidence must lie between 0 and 1, such as 0.95, got {confidence!r}")
    quantile = NormalDist().inv_cdf(0.5 + confidence / 2.0)
    return -_score_bound(lost / n, gained / n, n, quantile), _score_bound(gained / n, lost / n, n, quantile)


@lru_cache(maxsize=4096)
def _score_bound(gained: float, lost: float, n: float, quantile: float) -> float:
    """The upper bound, by bisection between the observed difference and 1."""
    observed = gained - lost
    low, high = observed, 1.0
    for _ in range(60):
        delta = (low + high) / 2.0
        # The share of the lost that is likeliest where the difference is delta.
        linear = (2.0 - observed) * delta - gained - lost
        likeliest = (math.sqrt(linear * linear + 8.0 * lost * delta * (1.0 - delta)) - linear) / 4.0
        variance = max(0.0, 2.0 * likeliest + delta * (1.0 - delta)) / n
        low, high = (delta, high) if delta - observed <= quantile * math.sqrt(variance) else (low, delta)
    return high


def _alone(values: NDArray[Any], confidence: float) -> tuple[float, float]:
    """Where every case stands alone."""
    n = len(values)
    if float(abs(values).max()) > 1.0:
        half = student_t_quantile(0.5 + confidence / 2.0, max(1, n - 1)) * math.sqrt(
            float(values.var()) / max(1, n - 1)
        )
        return float(values.mean()) - half, float(values.mean()) + half
    gained, lost = float(values[values > 0].sum()), -float(values[values < 0].sum())
    bounds = score_interval(gained, lost, n, confidence=confidence)
    assert bounds is not None
    return bounds


__all__ = ["ClusterSums", "PairedInterval", "paired_interval", "score_interval"]
