"""How often intervals for the difference of two runs hold the true one.

    python benchmarks/coverage.py [--samples N]

Draws samples from known distributions of differences, bounds each in several ways that are meant to hold the true
mean 95 % of the time, and prints how often they do and, in brackets, how wide they are on average. Seeds are fixed.
The table in docs/background/measured/statistics.md is its output. `paired_interval` (last column) is measured on
five times as many samples as the others; exits with 1 where it holds the true mean less often than the bound. Needs
numpy.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy

from assay.stats import paired_interval, score_interval, student_t_quantile

BOUND = 0.925
"""Of 95 % that are meant; the last column's own standard error is half a percent."""

RESAMPLES = 1000
WAYS = ("percentile", "BCa", "expanded", "bootstrap-t", "Student t", "score", "paired_interval")
SHOWN = ("percentile", "BCa", "Student t", "score", "paired_interval")
"""The columns of the table; the other bootstraps fail like those."""

Bounds = tuple[float, float]
Sample = tuple[numpy.ndarray, numpy.ndarray | None]
"""Differences, and the cluster of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """A distribution of differences whose mean is known."""

    name: str
    mean: float
    draw: Callable[[numpy.random.Generator], Sample]


def yes_no(n: int, gained: float, lost: float) -> Truth:
    """Pairs that stand alone, of which so many are right in one run only."""

    def draw(generator: numpy.random.Generator) -> Sample:
        return generator.choice([1.0, -1.0, 0.0], size=n, p=[gained, lost, 1 - gained - lost]), None

    return Truth(name=f"yes/no, n={n}, +{100 * gained:g}% -{100 * lost:g}%", mean=gained - lost, draw=draw)


def graded(n: int, kind: str) -> Truth:
    """Soft scores: most cases equal in both runs (few differ: nearly all), or all of them a little different."""

    def draw(generator: numpy.random.Generator) -> Sample:
        if kind == "all":
            return generator.uniform(-0.4, 0.5, size=n), None
        differing = 0.25 if kind == "some" else 0.06
        size = generator.uniform(0.0, 1.0, size=n) ** 0.5
        sign = numpy.where(generator.random(n) < (0.6 if kind == "some" else 0.9), 1.0, -1.0)
        return numpy.where(generator.random(n) < differing, size * sign, 0.0), None

    mean = {"all": 0.05, "some": 0.25 * 0.2 * 2 / 3, "few": 0.06 * 0.8 * 2 / 3}[kind]
    return Truth(name=f"graded, n={n}, {kind} differ", mean=mean, draw=draw)


def clustered(groups: int, correlation: float, unequal: bool) -> Truth:  # noqa: FBT001
    """Yes/no pairs of databases whose own differences vary: by ``correlation`` within a database."""
    gained, lost = 0.12, 0.08
    # A Dirichlet's parts vary by p(1-p)/(total+1): 1/(total+1) is the correlation within a cluster.
    total = 1.0 / correlation - 1.0

    def draw(generator: numpy.random.Generator) -> Sample:
        sizes = generator.lognormal(3.5, 0.8, size=groups).astype(int) + 5 if unequal else numpy.full(groups, 40)
        shares = generator.dirichlet(numpy.array([gained, lost, 1 - gained - lost]) * total, size=groups)
        parts = [generator.choice([1.0, -1.0, 0.0], size=n, p=p) for n, p in zip(sizes, shares, strict=True)]
        return numpy.concatenate(parts), numpy.repeat(numpy.arange(groups), sizes)

    name = f"yes/no, {groups} clusters of {'10 to 200' if unequal else '40'}, ICC {correlation:g}"
    return Truth(name=name, mean=gained - lost, draw=draw)


def intervals(sample: Sample, generator: numpy.random.Generator) -> Iterator[tuple[str, Bounds]]:
    """The mean of a sample, bounded in every way but `paired_interval`'s."""
    values, clusters = sample
    sums, counts = (values, numpy.ones(len(values))) if clusters is None else by_cluster(values, clusters)
    groups, mean = len(sums), float(values.mean())
    drawn = generator.integers(0, groups, size=(RESAMPLES, groups))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    t = student_t_quantile(0.975, groups - 1)
    yield "percentile", between(means, 0.025)
    yield "BCa", bca(means, mean, sums - mean * counts)
    # Hesterberg 2015: percentiles further out, as t lies further out than z, and n - 1 below n.
    yield "expanded", between(means, NormalDist().cdf(-t * math.sqrt(groups / (groups - 1))))
    if clusters is None:
        yield "bootstrap-t", bootstrap_t(values, values[drawn])
    without = (sums.sum() - sums) / (counts.sum() - counts)
    half = t * math.sqrt((groups - 1) / groups * float(((without - mean) ** 2).sum()))
    yield "Student t", (mean - half, mean + half)
    score = score_interval(float(values.clip(0, 1).sum()), -float(values.clip(-1, 0).sum()), len(values))
    assert score is not None
    yield "score", score


def ours(sample: Sample) -> Bounds:
    """What Assay says."""
    found = paired_interval(sample[0], clusters=sample[1])
    assert found is not None
    return found.low, found.high


def by_cluster(values: numpy.ndarray, clusters: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Sums and counts."""
    return numpy.bincount(clusters, weights=values), numpy.bincount(clusters)


def between(means: numpy.ndarray, low: float, high: float | None = None) -> Bounds:
    """Two quantiles; without ``high`` as far from either end."""
    found = numpy.quantile(means, [low, 1.0 - low if high is None else high])
    return float(found[0]), float(found[1])


def bca(means: numpy.ndarray, mean: float, off: numpy.ndarray) -> Bounds:
    """Efron 1987; the acceleration of a mean is a sixth of its skewness."""
    squares = float((off**2).sum())
    if squares == 0.0:
        return mean, mean
    normal = NormalDist()
    below = float((means < mean).mean() + (means == mean).mean() / 2)
    bias = normal.inv_cdf(min(max(below, 1e-3), 1 - 1e-3))
    speed = float((off**3).sum()) / (6 * squares**1.5)
    ends = (bias + end * normal.inv_cdf(0.975) for end in (-1, 1))
    return between(means, *(normal.cdf(bias + end / (1 - speed * end)) for end in ends))


def bootstrap_t(values: numpy.ndarray, resamples: numpy.ndarray) -> Bounds:
    """Efron 1979; resamples without spread are left out, since they have no ratio."""
    mean, deviation = float(values.mean()), float(values.std(ddof=1))
    spread = resamples.std(axis=1, ddof=1)
    if deviation == 0.0 or not spread.any():
        return mean, mean
    low, high = between((resamples.mean(axis=1)[spread > 0] - mean) / spread[spread > 0], 0.025)
    return max(-1.0, mean - high * deviation), min(1.0, mean - low * deviation)


def measure(truth: Truth, samples: int, seed: int) -> dict[str, tuple[float, float]]:
    """By way: how often its interval holds the true mean, and its mean width."""
    generator = numpy.random.default_rng(seed)
    found: dict[str, list[Bounds]] = {}
    for _ in range(samples):
        for way, bounds in intervals(truth.draw(generator), generator):
            found.setdefault(way, []).append(bounds)
    found["paired_interval"] = [ours(truth.draw(generator)) for _ in range(5 * samples)]
    return {way: (held(truth.mean, bounds), width(bounds)) for way, bounds in found.items()}


def held(mean: float, bounds: Iterable[Bounds]) -> float:
    """The share of intervals that hold it."""
    return statistics.fmean(low - 1e-12 <= mean <= high + 1e-12 for low, high in bounds)


def width(bounds: Iterable[Bounds]) -> float:
    """The mean, within the two points that a difference of rates can move in."""
    return statistics.fmean(min(1.0, high) - max(-1.0, low) for low, high in bounds)


def main() -> int:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=400)
    samples = parser.parse_args().samples
    truths = [yes_no(n, *rates) for n in (20, 50, 200, 1000) for rates in ((0.1, 0.1), (0.05, 0.02), (0.02, 0.005))]
    truths += [graded(n, kind) for n in (20, 50, 200, 1000) for kind in ("all", "some", "few")]
    truths += [clustered(groups, *kind) for groups in (2, 3, 5, 20) for kind in ((0.02, False), (0.15, True))]
    print("| true differences |", " | ".join(SHOWN), "|")
    print("|---" * (len(SHOWN) + 1) + "|")
    missed, good = [], 0
    for seed, truth in enumerate(truths):
        found = measure(truth, samples, seed)
        if min(rate for rate, _ in found.values()) >= BOUND:
            good += 1
        else:
            cells = (f"{100 * found[way][0]:.0f} ({found[way][1]:.3f})" for way in SHOWN)
            print(f"| {truth.name} |", " | ".join(cells), "|", flush=True)
        if found["paired_interval"][0] < BOUND:
            missed.append(truth.name)
    print(f"In {good} other settings, every interval holds at least {100 * BOUND:g} %.")
    for name in missed:
        print(f"paired_interval holds the true mean in less than {100 * BOUND:g} % of samples: {name}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
