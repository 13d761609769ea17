"""Tests of no difference between two runs, and their power: against scipy, by simulation, and what does not count."""

from __future__ import annotations

import math
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import UsageError
from assay.stats import (
    cases_needed,
    clusters_needed,
    detectable_difference,
    least_p_value,
    mcnemar_exact,
    sign_flip_test,
    wilson_interval,
)
from many_cases import each

numpy = pytest.importorskip("numpy")

COUNTS = st.integers(0, 3000)
DIFFERENCES = st.lists(st.sampled_from([-1.0, -0.6, -0.25, 0.0, 0.0, 0.1, 0.5, 1.0]), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("gained", "lost"),
    [(0, 1), (1, 1), (3, 1), (0, 20), (7, 19), (49_999, 50_000), (50_500, 49_500), (51_900, 48_100), (1, 1000)],
)
def test_mcnemar_equals_the_binomial_test(gained: int, lost: int) -> None:
    expected = pytest.importorskip("scipy.stats").binomtest(gained, gained + lost).pvalue
    assert mcnemar_exact(gained, lost) == pytest.approx(expected, rel=1e-8)


def test_no_discordant_pair_is_no_evidence() -> None:
    assert mcnemar_exact(0, 0) == 1.0
    assert sign_flip_test([0.0] * 20) == 1.0
    assert sign_flip_test([]) is None


def test_overwhelming_evidence_is_small_but_never_zero() -> None:
    assert 0.0 < mcnemar_exact(100_000, 0) < 1e-300
    assert 0.0 < sign_flip_test([1.0] * 100_000) < 1e-300  # type: ignore[operator]


@given(gained=COUNTS, lost=COUNTS)
def test_mcnemar_knows_no_first_run(gained: int, lost: int) -> None:
    assert mcnemar_exact(gained, lost) == mcnemar_exact(lost, gained)
    assert 0.0 < mcnemar_exact(gained, lost) <= 1.0


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=200))
def test_flipping_yes_no_differences_is_mcnemars_test(differences: list[float]) -> None:
    assert sign_flip_test(differences) == mcnemar_exact(differences.count(1.0), differences.count(-1.0))


@given(DIFFERENCES, st.randoms(use_true_random=False))
def test_the_sign_flip_test_knows_neither_order_nor_first_run(differences: list[float], order: random.Random) -> None:
    expected = sign_flip_test(differences)
    assert sign_flip_test(order.sample(differences, len(differences))) == pytest.approx(expected, rel=1e-9)
    assert sign_flip_test([-value for value in differences]) == pytest.approx(expected, rel=1e-9)
    assert sign_flip_test([value * 7 for value in differences]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_few_differences_are_enumerated_as_scipy_does(seed: int) -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    values = numpy.random.default_rng(seed).normal(0.4, 1.0, size=12)
    expected = scipy_stats.permutation_test((values,), numpy.mean, permutation_type="samples", n_resamples=math.inf)
    assert sign_flip_test(values) == pytest.approx(float(expected.pvalue), rel=1e-12)


def test_ties_by_rounding_count_as_ties() -> None:
    # In exact numbers the sum is 0, and every pattern is as far from it.
    assert sign_flip_test([0.1, 0.2, -0.3]) == 1.0
    assert sign_flip_test([0.1 + 0.2, 0.3, 0.3, 0.3, 0.3, 0.3]) == pytest.approx(2 / 2**6)


@pytest.mark.parametrize(("n", "shape"), [(60, "exponential"), (700, "exponential"), (2200, "uniform")])
def test_drawn_and_normal_p_values_agree_with_plain_flips(n: int, shape: str) -> None:
    generator = numpy.random.default_rng(n)
    values = getattr(generator, shape)(size=n) * generator.choice([-1.0, 1.0], size=n)
    values += 2.0 * values.std() / math.sqrt(n) - values.mean()
    sums = [generator.integers(0, 2, size=(2000, n), dtype=numpy.int8) @ values * 2 - values.sum() for _ in range(10)]
    plain = (numpy.abs(numpy.concatenate(sums)) >= abs(values.sum())).mean()
    assert 0.01 < plain < 0.1
    assert sign_flip_test(values) == pytest.approx(plain, rel=0.15)


def test_a_few_huge_differences_among_many_are_not_taken_for_normal() -> None:
    values = numpy.concatenate([[1e6, 1e6, 1e6], numpy.random.default_rng(1).normal(size=50_000)])
    # Only the three matter: they agree in sign in a quarter of all patterns.
    assert sign_flip_test(values) == pytest.approx(0.25, abs=0.02)


def test_a_draw_is_repeated_by_its_seed_alone() -> None:
    values = numpy.random.default_rng(3).normal(0.2, 1.0, size=100)
    assert sign_flip_test(values, seed=1) == sign_flip_test(values, seed=1)
    assert sign_flip_test(values, seed=1) != sign_flip_test(values, seed=2)


def test_clusters_flip_as_a_whole() -> None:
    differences = [1.0] * 30 + [0.0] * 10
    apart = sign_flip_test(differences)
    assert apart < 1e-8
    # Three databases that all gain can do so by chance once in four times.
    assert sign_flip_test(differences, clusters=["a"] * 15 + ["b"] * 10 + ["c"] * 15) == pytest.approx(0.25)
    assert sign_flip_test(differences, clusters=list(range(40))) == apart


def test_false_findings_are_as_rare_as_the_level_says() -> None:
    generator = numpy.random.default_rng(5)
    p_values = [
        sign_flip_test(generator.normal(size=40) * (generator.random(40) < 0.5), permutations=999) for _ in range(400)
    ]
    assert sum(p <= 0.05 for p in p_values if p is not None) / 400 == pytest.approx(0.05, abs=0.03)


def test_a_hundred_thousand_cases_take_no_time() -> None:
    generator = numpy.random.default_rng(5)
    values = generator.uniform(-1, 1, size=100_000) * (generator.random(100_000) < 0.2)
    databases = generator.integers(0, 200, size=100_000)
    started = time.process_time()
    sign_flip_test(values)
    sign_flip_test(values, clusters=databases)
    assert time.process_time() - started < 10


@each(
    ("differences", "options"),
    [([math.nan], {}), ([math.inf, 1.0], {}), ([1.0, 0.0], {"clusters": ["a"]}), ([1.0], {"permutations": 0})],
)
def test_what_is_no_sample_is_refused(differences: list[float], options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        sign_flip_test(differences, **options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="-1"):
        mcnemar_exact(-1, 3)


def test_flipping_whole_databases_rarely_rejects_where_there_is_no_difference() -> None:
    generator = numpy.random.default_rng(14)
    by_case = by_database = 0
    for _ in range(400):
        shares = generator.dirichlet([0.1 * 6, 0.1 * 6, 0.8 * 6], size=12)
        differences = numpy.concatenate([generator.choice([1.0, -1.0, 0.0], size=40, p=each) for each in shares])
        databases = numpy.repeat(numpy.arange(12), 40)
        by_case += mcnemar_exact(int((differences > 0).sum()), int((differences < 0).sum())) < 0.05
        p = sign_flip_test(differences, clusters=databases, permutations=1_000)
        by_database += p is not None and p < 0.05
    assert by_database <= 0.05 * 400 + 3 * (0.05 * 0.95 * 400) ** 0.5
    assert by_case > 3 * by_database, "the runs differ by database, which cases one by one take for a difference"


@each("clusters", range(1, 9))
def test_so_many_clusters_give_no_smaller_p(clusters: int) -> None:
    p = sign_flip_test([1.0] * clusters, clusters=list(range(clusters)))
    assert p == pytest.approx(least_p_value(clusters))
    assert (least_p_value(clusters) <= 0.05) == (clusters >= clusters_needed(0.05))
    for tests in (1, 3, 10):
        assert (tests * least_p_value(clusters) <= 0.05) == (clusters >= clusters_needed(0.05, tests=tests))


@pytest.mark.parametrize(("n", "discordant"), [(100, 0.3), (200, 0.1), (1034, 0.2)])
def test_a_detectable_difference_of_rates_is_detected_as_often_as_said(n: int, discordant: float) -> None:
    difference = detectable_difference(n, discordant=discordant)
    assert difference <= discordant
    shares = [(discordant + difference) / 2, (discordant - difference) / 2, 1 - discordant]
    drawn = numpy.random.default_rng(n).multinomial(n, shares, size=2000)
    found = sum(mcnemar_exact(gained, lost) <= 0.05 for gained, lost, _ in drawn.tolist()) / 2000
    assert found == pytest.approx(0.8, abs=0.04)


def test_a_detectable_difference_of_scores_is_detected_as_often_as_said() -> None:
    stats = pytest.importorskip("scipy.stats")
    difference = detectable_difference(150, variance=1 / 12)
    assert difference is not None
    drawn = numpy.random.default_rng(2).uniform(-0.5, 0.5, size=(2000, 150)) + difference
    assert (stats.ttest_1samp(drawn, 0.0, axis=1).pvalue <= 0.05).mean() == pytest.approx(0.8, abs=0.03)


@given(n=st.integers(20, 100_000), discordant=st.floats(0.05, 1.0), effect=st.floats(1.0, 8.0))
def test_the_detectable_difference_needs_the_cases_there_are(n: int, discordant: float, effect: float) -> None:
    difference = detectable_difference(n, discordant=discordant, design_effect=effect)
    if difference is not None:
        needed = cases_needed(difference, discordant=max(discordant, difference), design_effect=effect)
        assert needed == pytest.approx(n, rel=1e-6, abs=1)
    spread = detectable_difference(n, variance=discordant, design_effect=effect)
    assert spread is not None
    assert cases_needed(-spread, variance=discordant, design_effect=effect) == pytest.approx(n, abs=1)


def test_the_formula_for_rates_is_connors_but_for_the_step_of_the_exact_test() -> None:
    # Connor 1987: (1.96 √ψ + 0.8416 √(ψ - d²))² / d²; half a step adds about 1/d.
    connor = (1.959964 * math.sqrt(0.2) + 0.841621 * math.sqrt(0.2 - 0.05**2)) ** 2 / 0.05**2
    assert cases_needed(0.05, discordant=0.2) == pytest.approx(connor + 1 / 0.05, abs=1)


def test_more_cases_show_smaller_differences() -> None:
    found = [detectable_difference(n, discordant=0.15) for n in (50, 200, 1000, 10_000, 100_000)]
    sizes = [size for size in found if size is not None]
    assert len(sizes) == 5
    assert sizes == sorted(sizes, reverse=True)


def test_no_discordant_case_does_not_make_every_difference_detectable() -> None:
    bounds = wilson_interval(0, 500)
    assert detectable_difference(500, discordant=0.0) == detectable_difference(500, discordant=bounds[1])


def test_a_difference_is_never_more_than_the_cases_that_differ() -> None:
    # Twelve cases can show only that about half of them change, all to one side: so many must then differ.
    found = detectable_difference(12, discordant=0.1)
    assert 0.4 < found < 1.0
    assert cases_needed(found, discordant=0.1) == 12
    assert detectable_difference(4, discordant=0.1) is None


def test_where_nothing_can_be_said_nothing_is() -> None:
    assert detectable_difference(0, discordant=0.2) is None
    assert detectable_difference(0, variance=0.2) is None
    assert detectable_difference(1, variance=0.2) is not None
    assert detectable_difference(100) is None
    assert detectable_difference(100, variance=0.0) is None
    assert cases_needed(0.0, discordant=0.2) is None
    assert cases_needed(0.1) is None
    assert cases_needed(0.1, variance=0.0) is None


@each(
    "options",
    [
        {"variance": -1.0},
        {"variance": math.inf},
        {"discordant": 1.5},
        {"discordant": 0.1, "variance": 0.1},
        {"discordant": 0.1, "alpha": 0.0},
        {"discordant": 0.1, "power": 80},
        {"discordant": 0.1, "design_effect": 0.5},
    ],
)
def test_numbers_that_cannot_be_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        detectable_difference(100, **options)
    with pytest.raises(UsageError):
        cases_needed(0.1, **options)
    with pytest.raises(UsageError):
        cases_needed(1.5, discordant=0.2)
