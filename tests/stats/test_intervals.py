"""Intervals: against scipy, and the properties that a person relies on."""

from __future__ import annotations

import math
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import UsageError
from assay.stats import (
    bootstrap_mean_interval,
    bounded_mean_interval,
    mean_interval,
    student_t_quantile,
    wilson_interval,
)

UNIT_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=60)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 10), (3, 10), (10, 10), (736, 1034), (1, 100_000)])
def test_wilson_equals_scipy(successes: int, n: int, confidence: float) -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    expected = scipy_stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    assert wilson_interval(successes, n, confidence=confidence) == pytest.approx(
        (expected.low, expected.high), abs=1e-12
    )


def test_no_cases_have_no_interval() -> None:
    assert wilson_interval(0, 0) is None
    assert bounded_mean_interval([]) is None
    assert bootstrap_mean_interval([]) is None
    assert mean_interval([0.5]) is None


def test_what_cannot_be_is_refused() -> None:
    for successes, n in [(2, 1), (-1, 5), (math.nan, 5), (0, -1)]:
        with pytest.raises(UsageError, match="successes"):
            wilson_interval(successes, n)
    for confidence in (0.0, 1.0, 95, -0.5):
        with pytest.raises(UsageError, match="confidence"):
            wilson_interval(1, 2, confidence=confidence)
    with pytest.raises(UsageError, match="mean_interval"):
        bounded_mean_interval([0.5, 1.25])


@pytest.mark.parametrize(
    ("probability", "error"),
    [
        *((0.0001, 4e-8), (0.0005, 2e-8), (0.025, 2e-9), (0.2, 5e-10), (0.5, 0.0), (0.6, 5e-10), (0.9, 5e-10)),
        *((0.975, 2e-9), (0.995, 5e-9), (0.9999, 4e-8)),
    ],
)
def test_student_t_quantile_equals_scipy(probability: float, error: float) -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    for degrees in [*range(1, 70), 100, 500, 999, 1000, 1001, 1033, 100_000]:
        expected = scipy_stats.t.ppf(probability, degrees)
        exact = 1e-11 if degrees <= 1000 else error
        assert student_t_quantile(probability, degrees) == pytest.approx(expected, rel=exact, abs=1e-15), degrees


def test_mean_interval_equals_scipy() -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    source = random.Random(4)
    values = [source.gauss(3, 2) for _ in range(40)]
    expected = scipy_stats.t.interval(0.9, 39, loc=(sum(values) / 40), scale=scipy_stats.sem(values))
    assert mean_interval(values, confidence=0.9) == pytest.approx(expected)


@pytest.mark.journey
def test_bootstrap_is_close_to_scipys_and_the_same_every_time() -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    source = random.Random(7)
    values = [source.betavariate(5, 3) for _ in range(200)]
    expected = scipy_stats.bootstrap((values,), lambda x, axis: x.mean(axis=axis), method="percentile", rng=1)
    interval = bootstrap_mean_interval(values)
    assert interval == pytest.approx(tuple(expected.confidence_interval), abs=0.003)
    assert interval == bootstrap_mean_interval(values)
    assert interval != bootstrap_mean_interval(values, seed=1)


def test_bootstrap_of_equal_values_needs_no_numpy() -> None:
    code = (
        "import sys; from assay.stats import bootstrap_mean_interval as b, paired_interval; "
        "assert b([0.5] * 9) == (0.5, 0.5); assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


@given(st.lists(st.booleans(), min_size=1, max_size=80))
def test_yes_no_values_get_wilsons_interval_either_way(values: list[bool]) -> None:
    expected = wilson_interval(sum(values), len(values))
    assert bounded_mean_interval([float(value) for value in values]) == pytest.approx(expected, abs=1e-12)


@given(UNIT_VALUES)
def test_a_mean_lies_in_its_interval_within_the_unit_range_and_no_wider_than_wilsons(values: list[float]) -> None:
    low, high = bounded_mean_interval(values)
    assert 0.0 <= low <= sum(values) / len(values) + 1e-9
    assert sum(values) / len(values) - 1e-9 <= high <= 1.0
    plain = wilson_interval(min(float(len(values)), math.fsum(values)), len(values))
    assert high - low <= plain[1] - plain[0] + 1e-12


@given(UNIT_VALUES)
def test_a_bounded_mean_of_misses_is_bounded_as_the_mirror_image(values: list[float]) -> None:
    misses = [1.0 - value for value in values]
    interval = bounded_mean_interval([1.0 - miss for miss in misses])  # what is too small beside 1 has no mirror image
    mirrored = bounded_mean_interval(misses)
    assert mirrored is not None
    assert mirrored == pytest.approx((1.0 - interval[1], 1.0 - interval[0]), abs=1e-6)


@pytest.mark.parametrize("middle", [0.2, 0.5, 0.9])
def test_many_values_that_vary_little_are_bounded_about_as_by_student(middle: float) -> None:
    values = [middle - 0.05, middle + 0.05] * 200
    interval, expected = bounded_mean_interval(values), mean_interval(values)
    assert interval is not None
    assert expected is not None
    assert interval == pytest.approx(expected, abs=0.0005)


def test_equal_values_are_not_taken_for_certainty() -> None:
    interval = bounded_mean_interval([1.0, 1.0, 1.0])
    assert interval == wilson_interval(3, 3)
    assert interval[0] < 0.5


@pytest.mark.parametrize("n", [5, 25, 100])
def test_a_bounded_mean_covers_the_truth_as_often_as_it_says(n: int) -> None:
    source = random.Random(11)
    covered = 0
    for _ in range(1000):
        values = [1.0 if source.random() < 0.93 else source.random() for _ in range(n)]
        interval = bounded_mean_interval(values)
        covered += interval[0] <= 0.965 <= interval[1]
    assert covered >= 890
