"""Accuracy of many answers from the labels of a few: six formulas, each with the interval that was measured to hold.

A frame has ``size`` answers. People labelled ``n`` of them right (1) or wrong (0), and cheap signals are known of all.
A signal that predicts the labels narrows the interval; one that does not costs almost nothing. Every interval is
Wilson's at an effective sample size, since a normal one around the same estimates covered 32 to 90 % in place of 95.
The counts that are added, and the shrinking of R², were chosen by simulation:
`assay docs estimates` has the coverage of each formula, and `benchmarks/estimates.py` measures it.

``future`` asks for the accuracy of future answers, with the frame as a sample of them, in place of these answers' own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TypeAlias

import numpy
from msgspec import Struct
from numpy.typing import NDArray

from assay.errors import UsageError
from assay.stats.intervals import student_t_quantile, wilson_at

Array: TypeAlias = NDArray[numpy.float64]
FOLDS = 10
LEAST_PER_STRATUM = 5
_RIDGE = 1.0
_SHRINK = 14
_STEPS = 25


class Estimated(Struct, frozen=True, kw_only=True):
    """A rate, or a difference of rates, with its interval."""

    value: float
    low: float
    high: float
    effective: float
    """How many random labels alone would give an interval of this width."""
    r_squared: float | None = None
    """How much of the labels' variance signals explain, if a model was fitted; before shrinking."""

    @property
    def width(self) -> float:
        """From the lower to the upper bound."""
        return self.high - self.low


class Stratum(Struct, frozen=True, kw_only=True):
    """A part of a frame: its answers, how many of them have a label, and how many of these are right."""

    size: int
    labels: int
    right: float


def labels_alone(right: float, n: int, size: int, *, future: bool = False, confidence: float = 0.95) -> Estimated:
    """Formula 1: a random sample without signals.

    Wilson 1927, at n(N-1)/(N-n) for a sample without replacement. Raises UsageError for counts that cannot be.
    """
    if not (0 < n <= size and 0 <= right <= n):
        raise UsageError(f"{right:g} right of {n} labels among {size} answers cannot be")
    effective = math.inf if n == size else n * (size - 1) / (size - n)
    return _wilson(right / n, effective, size if future else None, confidence)


def by_strata(strata: Sequence[Stratum], *, future: bool = False, confidence: float = 0.95) -> Estimated:
    """Formula 2: each stratum, or each cell of a random sample, by its share of the frame.

    Cochran 1977, chapter 5. The variance is that of rates with a right and a wrong label added in each stratum (after
    Agresti & Coull 1998), the interval Wilson's at the effective sample size (Dean & Pagano 2015). Raises UsageError
    for a stratum without labels.
    """
    filled = [one for one in strata if one.size]
    if not filled or any(not (0 < one.labels <= one.size and 0 <= one.right <= one.labels) for one in filled):
        raise UsageError("every stratum needs labels, and no more of them than answers")
    size, n = sum(one.size for one in filled), sum(one.labels for one in filled)
    value = math.fsum(one.size / size * one.right / one.labels for one in filled)
    return _wilson(_within(value), _effective(value, n, _variance(filled)), size if future else None, confidence)


def cross_fitted(
    labels: Sequence[float],
    labelled: Array,
    frame: Array,
    *,
    seed: int = 0,
    future: bool = False,
    confidence: float = 0.95,
) -> Estimated:
    """Formula 3: a random sample, and a regression on several signals.

    ``labelled`` has a row of signals per label, ``frame`` one per answer of the frame, those with labels included.
    A ridge-logistic regression is fitted in ten folds, so that no label predicts itself; its weight is tuned as in
    PPI++ (Angelopoulos, Duchi & Zrnic 2023; Zrnic & Candès 2024; Cochran 1977, chapter 7). ``seed`` deals the folds.
    """
    n, size = len(labels), len(frame)
    if not 2 <= n <= size or len(labelled) != n:
        raise UsageError(f"{n} labels with {len(labelled)} rows of signals among {size} answers cannot be")
    y = numpy.asarray(labels, dtype=numpy.float64)
    own, of_frame = _predicted(y, labelled, frame, seed)
    spread, of_labels = float(own.var(ddof=1)), float(y.var(ddof=1))
    weight = 0.0 if spread < 1e-12 else min(1.0, max(0.0, float(numpy.cov(y, own)[0, 1]) / spread))
    value = float(y.mean()) + weight * (of_frame - float(own.mean()))
    rest = float((y - weight * own).var(ddof=1))
    explained = 0.0 if of_labels == 0.0 else min(1.0, max(0.0, 1.0 - rest / of_labels))
    left = 1.0 - explained * n / (n + _SHRINK)
    effective = math.inf if n == size else n / (left * (1.0 - n / size))
    found = _wilson(_within(value), effective, size if future else None, confidence)
    return Estimated(value=found.value, low=found.low, high=found.high, effective=effective, r_squared=explained)


def by_probability(
    labels: Sequence[float],
    probabilities: Sequence[float],
    size: int,
    *,
    guesses: Sequence[float] | None = None,
    mean_guess: float = 0.0,
    future: bool = False,
    confidence: float = 0.95,
) -> Estimated:
    """Formula 4: every answer was drawn with a probability of its own, without strata.

    ``guesses`` are predictions of the labels, fixed before anything was labelled, and ``mean_guess`` their mean over
    the frame. Without them the interval is safest: with a judge's verdicts of sensitivity and specificity 0.9 as
    guesses it covered as little as 82 %, if nearly all answers are right, and was twice as wide. Särndal, Swensson
    & Wretman 1992; the effective sample size is Kish's (1965). Raises UsageError for a probability outside (0, 1].
    """
    n = len(labels)
    if not 0 < n <= size or len(probabilities) != n or any(not 0.0 < one <= 1.0 for one in probabilities):
        raise UsageError("every label needs its probability of being drawn, above 0 and at most 1")
    drawn = numpy.asarray(probabilities, dtype=numpy.float64)
    w = 1.0 / drawn
    total = float(w.sum())
    off = numpy.asarray(labels, dtype=numpy.float64) - (0.0 if guesses is None else numpy.asarray(guesses))
    mean = float((w * off).sum()) / total
    variance = float(((1.0 - drawn) * w**2 * (off - mean) ** 2).sum()) / total**2
    variance += (1.0 - n / size) * (float(w.max()) / total) ** 2
    value = _within(mean_guess + mean)
    effective = _effective(value, total**2 / float((w**2).sum()), variance)
    return _wilson(value, effective, size if future else None, confidence)


def paired_difference(
    gains: int, losses: int, n: int, different: int, size: int, *, future: bool = False, confidence: float = 0.95
) -> Estimated:
    """Formula 5: how much more often one of two systems is right, from ``n`` of the questions with different results.

    Equal results differ by 0 without a label. ``different`` is the number of questions with different results among
    ``size``. Bonett & Price 2012, with a finite population. Raises UsageError for counts that cannot be.
    """
    if not (n >= 0 and gains >= 0 and losses >= 0 and gains + losses <= n <= different <= size and size > 0):
        raise UsageError(f"{gains} gains and {losses} losses of {n} labels, {different} of {size} different, cannot be")
    if different == 0:
        return Estimated(value=0.0, low=0.0, high=0.0, effective=math.inf)
    if n < 2:
        raise UsageError("a difference needs labels of at least two questions with different results")
    share = different / size
    more, fewer = (gains + 1) / (n + 2), (losses + 1) / (n + 2)
    mean = (gains - losses) / n
    variance = (more + fewer - (more - fewer) ** 2) * (1.0 - n / different) / n
    half = student_t_quantile(0.5 + confidence / 2, n - 1) * math.sqrt(variance) * share
    if future:
        of_frame = (share * (more + fewer) - (share * (more - fewer)) ** 2) / size
        half = math.hypot(half, NormalDist().inv_cdf(0.5 + confidence / 2) * math.sqrt(of_frame))
    value = share * mean
    effective = math.inf if variance == 0 else 1.0 / (variance * share**2)
    return Estimated(value=value, low=max(-1.0, value - half), high=min(1.0, value + half), effective=effective)


def allocation(strata: Sequence[Stratum], total: int, *, pilot: bool = False) -> list[int]:
    """Formula 6: how many more answers to label in each stratum, ``total`` together, or as many as there are.

    Neyman 1934, by the rates of the labels so far with one added on either side, and at least 5 labels per stratum.
    ``pilot``: by the strata's sizes alone, as the first round is, which has no rates yet.
    """
    size = numpy.array([one.size for one in strata])
    taken = numpy.array([one.labels for one in strata])
    total = int(min(total + taken.sum(), size.sum()))
    rates = numpy.array([(one.right + 1) / (one.labels + 2) for one in strata])
    weights = size * (1.0 if pilot else numpy.sqrt(rates * (1 - rates)))
    least = numpy.maximum(taken, numpy.minimum(LEAST_PER_STRATUM, size))
    wanted = taken.copy()
    if least.sum() >= total:
        # Not even 5 for each: wherever the fewest are.
        while wanted.sum() < total:
            wanted[numpy.where(wanted < least, wanted, total + 1).argmin()] += 1
        return [int(one) for one in wanted - taken]
    # By the weights, within these bounds: the factor is found by bisection, and the rest goes to the largest fractions.
    low, high = 0.0, float(total / weights[weights > 0].min()) + 1.0
    for _ in range(60):
        middle = (low + high) / 2
        few = numpy.clip(middle * weights, least, size).sum() < total
        low, high = (middle, high) if few else (low, middle)
    shares = numpy.clip(low * weights, least, size)
    wanted = numpy.floor(shares).astype(int)
    for place in numpy.argsort(wanted - shares, kind="stable")[: total - wanted.sum()]:
        wanted[place] += 1
    return [int(one) for one in wanted - taken]


def forecast(
    strata: Sequence[Stratum], more: Sequence[int], *, future: bool = False, confidence: float = 0.95
) -> Estimated:
    """The interval to expect once ``more`` answers are labelled in each stratum: formula 2 at the rates so far."""
    rates = [(one.right + 1) / (one.labels + 2) for one in strata]
    planned = [
        Stratum(size=one.size, labels=one.labels + added, right=rate * (one.labels + added))
        for one, added, rate in zip(strata, more, rates, strict=True)
    ]
    return by_strata(planned, future=future, confidence=confidence)


def _variance(strata: Sequence[Stratum]) -> float:
    size = sum(one.size for one in strata)
    return math.fsum(
        (one.size / size) ** 2
        * (1.0 - one.labels / one.size)
        * ((one.right + 1) / (one.labels + 2))
        * (1.0 - (one.right + 1) / (one.labels + 2))
        / one.labels
        for one in strata
    )


def _effective(value: float, n: float, variance: float) -> float:
    rate = (n * value + 2) / (n + 4)
    return math.inf if variance == 0.0 else rate * (1.0 - rate) / variance


def _wilson(value: float, effective: float, of_future: int | None, confidence: float) -> Estimated:
    """Wilson's interval; ``of_future``: the frame is itself a sample of so many."""
    if of_future is not None:
        effective = 1.0 / (1.0 / effective + 1.0 / of_future)
    low, high = wilson_at(value, effective, confidence=confidence)
    return Estimated(value=value, low=min(low, value), high=max(high, value), effective=effective)


def _within(value: float) -> float:
    return min(1.0, max(0.0, value))


def _predicted(y: Array, labelled: Array, frame: Array, seed: int) -> tuple[Array, float]:
    """The chance of each labelled answer to be right by models that have not seen it, and the frame's mean chance.

    In that mean, too, a labelled answer has the chance by the models that have not seen it: a frame that is labelled
    whole then has the labels' own mean.
    """
    n = len(y)
    mean, deviation = frame.mean(axis=0), frame.std(axis=0)
    keep = deviation > 1e-12
    scaled = [_with_one((one[:, keep] - mean[keep]) / deviation[keep]) for one in (labelled, frame)]
    folds = numpy.random.default_rng(seed).permutation(n) % min(FOLDS, n)
    models = _fitted(y, scaled[0], numpy.array([folds != fold for fold in range(int(folds.max()) + 1)]))
    own = _chance(numpy.einsum("ij,ij->i", scaled[0], models[folds]))
    rows, counts = numpy.unique(scaled[1], axis=0, return_counts=True)
    of_all = float((_chance(rows @ models.T).mean(axis=1) * counts).sum())
    of_labelled = float(_chance(scaled[0] @ models.T).mean(axis=1).sum())
    return own, (of_all - of_labelled + float(own.sum())) / len(frame)


def _with_one(rows: Array) -> Array:
    return numpy.column_stack([numpy.ones(len(rows)), rows])


def _chance(scores: Array) -> Array:
    return 1.0 / (1.0 + numpy.exp(-numpy.clip(scores, -30.0, 30.0)))


def _fitted(y: Array, rows: Array, seen: NDArray[numpy.bool_]) -> Array:
    """A ridge-logistic regression per line of ``seen``, by Newton's method: its coefficients, the constant first."""
    penalty = numpy.full(rows.shape[1], _RIDGE)
    penalty[0] = 1e-3  # keeps the constant finite if all labels are equal
    found = numpy.zeros((len(seen), rows.shape[1]))
    for _ in range(_STEPS):
        chance = _chance(found @ rows.T)
        slope = ((y - chance) * seen) @ rows - penalty * found
        curve = numpy.einsum("fi,ij,ik->fjk", chance * (1.0 - chance) * seen, rows, rows) + numpy.diag(penalty)
        step = numpy.linalg.solve(curve, slope[..., None])[..., 0]
        found += numpy.clip(step, -3.0, 3.0)
        if float(numpy.abs(step).max()) < 1e-6:
            break
    return found
