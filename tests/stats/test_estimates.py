"""Accuracy from few labels: worked values, a direct transcription of the formulas, and how often intervals hold."""

from __future__ import annotations

import math
import random
from statistics import NormalDist

import numpy
import pytest

from assay.errors import UsageError
from assay.stats import student_t_quantile
from assay.stats.estimates import (
    Stratum,
    allocation,
    by_probability,
    by_strata,
    cross_fitted,
    forecast,
    labels_alone,
    paired_difference,
)
from many_cases import each

Z = NormalDist().inv_cdf(0.975)


def wilson(rate: float, n: float) -> tuple[float, float]:
    middle = (rate + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * math.sqrt(rate * (1 - rate) / n + Z**2 / (4 * n**2))
    return middle - half, middle + half


def strata(*rows: tuple[int, int, int]) -> list[Stratum]:
    return [Stratum(size=size, labels=labels, right=right) for size, labels, right in rows]


def some_strata(chance: random.Random) -> list[Stratum]:
    made = []
    for _ in range(chance.randint(1, 5)):
        size = chance.randint(1, 400)
        labels = chance.randint(1, size)
        made.append(Stratum(size=size, labels=labels, right=chance.randint(0, labels)))
    return made


def test_strata_give_the_worked_values() -> None:
    found = by_strata(strata((600, 30, 29), (250, 20, 15), (150, 20, 4)))
    assert found.value == pytest.approx(0.7975)
    assert found.effective == pytest.approx(121.18, abs=0.005)
    assert (found.low, found.high) == pytest.approx((0.7173, 0.8594), abs=5e-5)


def test_labels_alone_are_wilson_with_a_finite_population() -> None:
    found = labels_alone(24, 30, 200)
    assert (found.low, found.high) == pytest.approx(wilson(0.8, 30 * 199 / 170))
    assert found.value == 0.8


def test_a_frame_that_is_labelled_whole_is_known() -> None:
    found = labels_alone(7, 10, 10)
    assert (found.low, found.value, found.high) == (0.7, 0.7, 0.7)
    found = by_strata(strata((6, 6, 5), (4, 4, 1)))
    assert (found.low, found.value, found.high) == pytest.approx((0.6, 0.6, 0.6))
    assert labels_alone(7, 10, 10, future=True).width > 0.4
    generator = numpy.random.default_rng(35)
    y, signals = (generator.random(120) < 0.8).astype(float), (generator.random((120, 3)) < 0.6).astype(float)
    found = cross_fitted(y.tolist(), signals, signals)
    assert (found.low, found.value, found.high) == pytest.approx((y.mean(),) * 3)


def test_strata_equal_their_formula_written_out() -> None:
    chance = random.Random(35)
    for _ in range(300):
        given = some_strata(chance)
        size, n = sum(one.size for one in given), sum(one.labels for one in given)
        value = sum(one.size / size * one.right / one.labels for one in given)
        variance = 0.0
        for one in given:
            rate = (one.right + 1) / (one.labels + 2)
            variance += (one.size / size) ** 2 * (1 - one.labels / one.size) * rate * (1 - rate) / one.labels
        if variance == 0.0:
            continue
        middle = (n * value + 2) / (n + 4)
        for future in (False, True):
            found = by_strata(given, future=future)
            effective = middle * (1 - middle) / variance
            if future:
                effective = middle * (1 - middle) / (variance + middle * (1 - middle) / size)
            assert found.value == pytest.approx(value)
            assert (found.low, found.high) == pytest.approx(wilson(value, effective), abs=1e-9)
            assert found.low <= found.value <= found.high


def test_probabilities_equal_their_formula_written_out() -> None:
    generator = numpy.random.default_rng(35)
    for _ in range(100):
        n, size = int(generator.integers(2, 60)), 400
        y = (generator.random(n) < 0.7).astype(float)
        f = generator.random(n)
        chances = generator.uniform(0.05, 0.6, n)
        mean_guess = 0.5
        found = by_probability(y.tolist(), chances.tolist(), size, guesses=f.tolist(), mean_guess=mean_guess)
        w = 1 / chances
        mean = (w * (y - f)).sum() / w.sum()
        variance = ((1 - chances) * w**2 * (y - f - mean) ** 2).sum() / w.sum() ** 2
        variance += (1 - n / size) * (w.max() / w.sum()) ** 2
        value = min(1.0, max(0.0, mean_guess + mean))
        weight = w.sum() ** 2 / (w**2).sum()
        middle = (weight * value + 2) / (weight + 4)
        low, high = wilson(value, middle * (1 - middle) / variance)
        assert (found.value, found.low, found.high) == pytest.approx((value, max(0, low), min(1, high)), abs=1e-9)


def test_a_difference_equals_its_formula_written_out() -> None:
    same = paired_difference(0, 0, 0, 0, 100)
    assert (same.low, same.value, same.high) == (0.0, 0.0, 0.0)
    chance = random.Random(35)
    for _ in range(300):
        size = chance.randint(10, 2000)
        different = chance.randint(2, size)
        n = chance.randint(2, different)
        gains = chance.randint(0, n)
        losses = chance.randint(0, n - gains)
        found = paired_difference(gains, losses, n, different, size)
        more, fewer = (gains + 1) / (n + 2), (losses + 1) / (n + 2)
        half = student_t_quantile(0.975, n - 1) * math.sqrt(
            (more + fewer - (more - fewer) ** 2) * (1 - n / different) / n
        )
        low, high = (different / size * ((gains - losses) / n + sign * half) for sign in (-1, 1))
        assert (found.low, found.high) == pytest.approx((max(-1, low), min(1, high)))


def test_a_regression_uses_a_signal_that_knows_the_labels_and_ignores_one_that_does_not() -> None:
    generator = numpy.random.default_rng(35)
    y = (generator.random(2000) < 0.7).astype(float)
    noise = (generator.random((2000, 3)) < 0.5).astype(float)
    chosen = generator.choice(2000, 100, replace=False)
    labels = y[chosen].tolist()
    nothing = cross_fitted(labels, noise[chosen], noise)
    known = numpy.column_stack([y, noise])
    sure = cross_fitted(labels, known[chosen], known)
    alone = labels_alone(sum(labels), 100, 2000)
    assert nothing.r_squared < 0.1
    assert nothing.width == pytest.approx(alone.width, rel=0.05)
    assert sure.r_squared > 0.9
    assert sure.width < 0.5 * alone.width
    assert abs(sure.value - y.mean()) < 0.01


def test_a_regression_without_spread_is_the_labels_alone() -> None:
    signals = numpy.zeros((200, 2))
    for labels in ([1.0] * 60, [0.0] * 60, [1.0, 0.0] * 30):
        found = cross_fitted(labels, signals[:60], signals)
        assert found.value == pytest.approx(sum(labels) / 60)
        assert found.r_squared == 0.0
        assert (found.low, found.high) == pytest.approx(
            tuple(max(0.0, min(1.0, one)) for one in wilson(found.value, 60 / 0.7)), abs=1e-9
        )


def test_an_allocation_keeps_its_bounds() -> None:
    chance = random.Random(35)
    for _ in range(500):
        given = some_strata(chance)
        given = [Stratum(size=one.size, labels=one.labels // 8, right=min(one.right, one.labels // 8)) for one in given]
        room = sum(one.size - one.labels for one in given)
        total = chance.randint(0, 120)
        for pilot in (False, True):
            found = allocation(given, total, pilot=pilot)
            assert sum(found) == min(total, room)
            assert all(0 <= more <= one.size - one.labels for more, one in zip(found, given, strict=True))
            if total >= 5 * len(given):
                assert all(one.labels + more >= min(5, one.size) for more, one in zip(found, given, strict=True))


def test_labels_go_where_they_are_uncertain() -> None:
    sure, unsure, small = allocation(strata((600, 30, 30), (250, 20, 10), (150, 20, 10)), 60)
    assert unsure > sure
    assert (20 + unsure) / 250 == pytest.approx((20 + small) / 150, abs=0.01)
    assert (20 + small) / 150 > 2 * (30 + sure) / 600


def test_a_forecast_is_the_interval_that_the_planned_labels_give() -> None:
    given = strata((600, 28, 27), (400, 18, 8))
    more = [10, 50]
    expected = forecast(given, more)
    rates = [28 / 30, 9 / 20]
    planned = by_strata(
        [
            Stratum(size=one.size, labels=one.labels + added, right=rate * (one.labels + added))
            for one, added, rate in zip(given, more, rates, strict=True)
        ]
    )
    assert expected == planned
    assert expected.width < by_strata(given).width


@each(
    "call",
    [
        lambda: labels_alone(3, 2, 10),
        lambda: labels_alone(0, 0, 10),
        lambda: labels_alone(5, 20, 10),
        lambda: by_strata(strata((10, 0, 0), (5, 2, 1))),
        lambda: by_strata(strata((10, 11, 0))),
        lambda: by_strata([]),
        lambda: by_probability([1.0], [0.0], 10),
        lambda: by_probability([1.0], [0.5, 0.5], 10),
        lambda: paired_difference(3, 3, 5, 10, 20),
        lambda: paired_difference(1, 0, 1, 10, 20),
        lambda: paired_difference(1, 0, 5, 30, 20),
        lambda: cross_fitted([1.0], numpy.zeros((1, 1)), numpy.zeros((5, 1))),
    ],
)
def test_counts_that_cannot_be_are_refused(call: object) -> None:
    assert callable(call)
    with pytest.raises(UsageError):
        call()


def test_intervals_hold_the_truth_over_a_part_of_the_settings() -> None:
    from benchmarks.estimates import simulated

    # A rate of so few samples has a standard error of 1.3 %, so that only a gross miss shows.
    for row in simulated(300, every=46)[0][2:]:
        mean, lowest = (float(cell) for cell in row.split("|")[2:4])
        assert mean > 93.5, row
        assert lowest > 89.0, row
