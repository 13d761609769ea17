"""Cases in clusters, for example questions about one database, whose results tend to be similar."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from assay.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ClusterSums(Struct, frozen=True, kw_only=True):
    """The number and the sum of each cluster's differences; a mean depends on nothing else."""

    counts: NDArray[Any]
    sums: NDArray[Any]

    @property
    def mean(self) -> float:
        """The mean over all differences."""
        return float(self.sums.sum() / self.counts.sum())

    def mirrored(self) -> ClusterSums:
        """The sums for the same cases with the runs swapped."""
        return _ordered(self.counts, -self.sums)

    @property
    def variance_of_mean(self) -> float:
        """The variance of the mean over all differences, estimated from the clusters; needs at least two clusters.

        The ratio estimator's: G/(G-1)·Σ(s_g - m·n_g)² / n² (Cochran, Sampling Techniques, 1977).
        """
        groups = len(self.counts)
        off = self.sums - self.mean * self.counts
        return float(groups / (groups - 1) * (off * off).sum() / self.counts.sum() ** 2)

    @property
    def jackknife_error(self) -> float:
        """The standard error of the mean, from the means without each cluster; needs at least two clusters.

        Correctly larger than the ratio estimator's if clusters differ in size (see `assay.stats.paired`). Efron &
        Tibshirani, An Introduction to the Bootstrap, 1993, chapter 11.
        """
        groups = len(self.counts)
        without = (self.sums.sum() - self.sums) / (self.counts.sum() - self.counts)
        return math.sqrt(float((groups - 1) / groups * ((without - self.mean) ** 2).sum()))


def as_differences(differences: Sequence[float] | NDArray[Any]) -> NDArray[Any]:
    """The differences as an array of floats; raises `UsageError` if one is not finite."""
    import numpy

    values: NDArray[Any] = numpy.asarray(differences, dtype=numpy.float64)
    if values.ndim != 1 or not numpy.isfinite(values).all():
        raise UsageError("differences must be a plain list of finite numbers: omit cases without a value")
    return values


def cluster_codes(clusters: Sequence[Hashable] | NDArray[Any], n: int) -> NDArray[Any]:
    """A number from 0 on for each case's cluster. An array of integers is fastest. Raises `UsageError` unless there are
    ``n``."""
    import numpy

    if len(clusters) != n:
        raise UsageError(f"every difference needs its cluster, got {len(clusters)} clusters for {n} differences")
    if isinstance(clusters, numpy.ndarray):
        codes: NDArray[Any] = numpy.unique(clusters, return_inverse=True)[1]
        return codes
    numbers: dict[Hashable, int] = {}
    return numpy.fromiter((numbers.setdefault(name, len(numbers)) for name in clusters), dtype=numpy.int64, count=n)


def cluster_sums(values: NDArray[Any], clusters: Sequence[Hashable] | NDArray[Any]) -> ClusterSums:
    """Counts and sums by cluster, in the order of the clusters' sums: the order of the cases does not matter."""
    import numpy

    codes = cluster_codes(clusters, len(values))
    return _ordered(numpy.bincount(codes), numpy.bincount(codes, weights=values))


def _ordered(counts: NDArray[Any], sums: NDArray[Any]) -> ClusterSums:
    import numpy

    # Rounded, because sums in another order differ in their last digits.
    order = numpy.lexsort((sums, counts, numpy.round(sums, 9)))
    return ClusterSums(counts=counts[order], sums=sums[order])


def design_effect(
    differences: Sequence[float] | NDArray[Any], clusters: Sequence[Hashable] | NDArray[Any]
) -> float | None:
    """The variance of the mean as a multiple of that with independent cases; at least 1.

    None with fewer than two clusters, and if all differences are equal. Few clusters give a poor estimate. Kish, Survey
    Sampling, 1965. Loads numpy. Raises `UsageError` as `paired_interval` does.
    """
    values = as_differences(differences)
    grouped = cluster_sums(values, clusters)
    if len(grouped.counts) < 2:
        return None
    alone = float(values.var(ddof=1)) / len(values)
    return max(1.0, grouped.variance_of_mean / alone) if alone > 0.0 else None
