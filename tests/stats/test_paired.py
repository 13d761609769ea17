"""The interval of a difference: against the score test it inverts, by coverage, and what it must not depend on."""

from __future__ import annotations

import math
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import UsageError
from assay.stats import (
    PairedInterval,
    bounded_mean_interval,
    design_effect,
    mean_interval,
    paired_interval,
    score_interval,
)
from assay.stats.clusters import ClusterSums
from many_cases import each

numpy = pytest.importorskip("numpy")

YES_NO = st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=80)
GRADED = st.lists(st.floats(-1, 1, width=16), min_size=1, max_size=80)
ANY = st.one_of(YES_NO, GRADED, st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40))


@pytest.mark.parametrize(("gained", "lost", "n"), [(1, 10, 100), (9, 1, 12), (0, 3, 40), (52, 30, 1034)])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_the_score_interval_ends_where_a_score_test_refuses(gained: int, lost: int, n: int, confidence: float) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    norm = pytest.importorskip("scipy.stats").norm

    def statistic(delta: float) -> float:
        # The likeliest share of lost cases where the difference is delta, found without the closed form.
        def unlikelihood(share: float) -> float:
            chances = (share + delta, share, 1 - 2 * share - delta)
            counts = (gained, lost, n - gained - lost)
            return -sum(count * math.log(max(chance, 1e-300)) for count, chance in zip(counts, chances, strict=True))

        ends = (max(0.0, -delta), (1 - delta) / 2)
        share = optimize.minimize_scalar(unlikelihood, bounds=ends, method="bounded", options={"xatol": 1e-12}).x
        return float((gained - lost - n * delta) / math.sqrt(n * (2 * share + delta * (1 - delta))))

    bounds = score_interval(gained, lost, n, confidence=confidence)
    quantile = norm.ppf(0.5 + confidence / 2)
    assert statistic(bounds[0]) == pytest.approx(quantile, abs=1e-4)
    assert statistic(bounds[1]) == pytest.approx(-quantile, abs=1e-4)


@each("n", [1, 5, 20, 1000])
def test_no_differing_case_is_no_certainty(n: int) -> None:
    square = 1.959963984540054**2
    width = square / (n + square)
    assert score_interval(0, 0, n) == pytest.approx((-width, width))
    for options in ({}, {"clusters": [place % 3 for place in range(n)]}):
        found = paired_interval([0.0] * n, **options)  # type: ignore[arg-type]
        assert (found.low, found.high) == pytest.approx((-width, width))


def test_no_cases_have_no_interval() -> None:
    assert paired_interval([]) is None
    assert paired_interval([], clusters=[]) is None
    assert score_interval(0, 0, 0) is None
    assert paired_interval([250.0]) is None


@given(ANY)
@settings(max_examples=60)
def test_the_interval_holds_the_mean_and_is_as_wide_as_it_must_be(differences: list[float]) -> None:
    found = paired_interval(differences, resamples=200)
    if found is None:
        assert len(differences) == 1
        return
    assert found.low - 1e-9 <= (math.fsum(differences) / len(differences)) <= found.high + 1e-9
    if all(abs(value) <= 1 for value in differences):
        assert -1.0 <= found.low < found.high <= 1.0


@given(ANY, st.integers(1, 6))
@settings(max_examples=60)
def test_swapping_the_runs_mirrors_the_interval(differences: list[float], groups: int) -> None:
    clusters = [place % groups for place in range(len(differences))]
    there = paired_interval(differences, clusters=clusters, resamples=200)
    back = paired_interval([-value for value in differences], clusters=clusters, resamples=200)
    if there is None or back is None:
        assert there is back
        return
    assert (back.low, back.high, back.clusters) == (-there.high, -there.low, there.clusters)


@given(st.one_of(YES_NO, GRADED), st.integers(1, 6), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_the_order_of_the_cases_changes_nothing(differences: list[float], groups: int, order: random.Random) -> None:
    pairs = [(value, f"database {place % groups}") for place, value in enumerate(differences)]
    shuffled = order.sample(pairs, len(pairs))
    one = paired_interval([value for value, _ in pairs], clusters=[name for _, name in pairs], resamples=200)
    other = paired_interval([value for value, _ in shuffled], clusters=[name for _, name in shuffled], resamples=200)
    assert one == other


def test_sums_that_differ_by_rounding_keep_the_order_of_clusters() -> None:
    values = [0.1, 0.2, 0.3, 0.3, 0.0, -0.5, 0.2, 0.4]
    names = ["a", "a", "a", "b", "c", "c", "b", "b"]
    there = paired_interval([*values, 0.1], clusters=[*names, "b"])
    back = paired_interval([0.1, *values[::-1]], clusters=["b", *names[::-1]])
    assert (there.low, there.high) == pytest.approx((back.low, back.high), rel=1e-12)


def test_lists_arrays_and_names_of_clusters_give_the_same() -> None:
    values = [1.0, 0.0, -1.0, 0.0, 1.0, 1.0, 0.0, 0.0]
    names = ["a", "a", "b", None, "b", None, "c", "c"]
    codes = numpy.array([0, 0, 1, 2, 1, 2, 3, 3])
    found = paired_interval(values, clusters=names)
    assert found == paired_interval(numpy.array(values), clusters=codes)
    assert isinstance(found, PairedInterval)
    assert found.clusters == 4


def test_a_seed_gives_the_same_interval_again() -> None:
    values = numpy.random.default_rng(1).normal(0.0, 0.2, size=150)
    assert paired_interval(values, seed=4) == paired_interval(values, seed=4)
    assert paired_interval(values * 9, seed=4) != paired_interval(values * 9, seed=5)


def test_scores_of_one_run_against_a_certain_one_are_bounded_about_as_that_run_is() -> None:
    scores = [1.0] * 60 + [0.9] * 10 + [0.4] * 20
    alone = bounded_mean_interval(scores)
    found = paired_interval([score - 1.0 for score in scores])
    assert found.high - found.low == pytest.approx(alone[1] - alone[0], rel=0.25)


@each("size", [5e-324, 1e-200, 1e-158, 1e-120, 1e-80])
@each("n", [2, 40, 300])
def test_the_least_differences_are_bounded_no_wider_than_none_at_all(n: int, size: float) -> None:
    found = paired_interval([place * size for place in range(n)])
    nothing = paired_interval([0.0] * n)
    assert nothing.low - 1e-9 <= found.low <= 1e-9
    assert -1e-9 <= found.high <= nothing.high + 1e-9


@pytest.mark.parametrize("middle", [-0.3, 0.0, 0.4])
def test_many_differences_that_vary_little_are_bounded_about_as_by_student(middle: float) -> None:
    values = [middle - 0.05, middle + 0.05] * 200
    found, expected = paired_interval(values), mean_interval(values)
    assert expected is not None
    assert (found.low, found.high) == pytest.approx(expected, abs=0.001)


@pytest.mark.parametrize("clusters", [["shop"] * 40, [None] * 40])
def test_one_cluster_tells_nothing_of_clusters(clusters: list[str | None]) -> None:
    values = [1.0, 0.0, 0.0, -1.0] * 10
    found = paired_interval(values, clusters=clusters)
    assert found.clusters is None
    assert found == paired_interval(values)


def test_clusters_that_differ_widen_the_interval_and_two_say_next_to_nothing() -> None:
    values = [1.0] * 20 + [0.0] * 20 + [-0.5] * 20
    apart = paired_interval(values)
    three = paired_interval(values, clusters=["a"] * 20 + ["b"] * 20 + ["c"] * 20)
    two = paired_interval(values, clusters=["a"] * 20 + ["b"] * 40)
    assert apart.high - apart.low < three.high - three.low
    assert (two.low, two.high) == (-1.0, 1.0)
    effect = design_effect(values, ["a"] * 20 + ["b"] * 20 + ["c"] * 20)
    assert effect is not None
    # All that varies varies between the databases: 20 cases of one say what one of them says, and there are three.
    assert effect == pytest.approx(20 * 3 / 2 * 59 / 60)


def test_clusters_that_do_not_matter_have_no_design_effect() -> None:
    assert design_effect([1.0, -1.0] * 20, [place // 2 for place in range(40)]) == 1.0
    assert design_effect([1.0] * 20, list(range(20))) is None
    assert design_effect([1.0, 0.0], ["a", "a"]) is None


@pytest.mark.parametrize(
    ("n", "shares", "clustered"), [(20, (0.05, 0.02), False), (200, (0.1, 0.05), False), (200, (0.15, 0.1), True)]
)
def test_intervals_hold_the_difference_as_often_as_said(n: int, shares: tuple[float, float], clustered: bool) -> None:
    generator = numpy.random.default_rng(n)
    held = 0
    for _ in range(300):
        if clustered:
            chances = generator.dirichlet(numpy.array([*shares, 1 - sum(shares)]) * 9, size=5)
            values = numpy.concatenate([generator.choice([1.0, -1.0, 0.0], size=n // 5, p=p) for p in chances])
            found = paired_interval(values, clusters=numpy.repeat(numpy.arange(5), n // 5), resamples=400)
        else:
            values = generator.choice([1.0, -1.0, 0.0], size=n, p=[*shares, 1 - sum(shares)])
            found = paired_interval(values, resamples=400)
        held += found.low <= shares[0] - shares[1] <= found.high
    assert held / 300 >= 0.92


def test_many_graded_cases_need_no_draws_and_are_bounded_as_if_drawn() -> None:
    generator = numpy.random.default_rng(8)
    # Beyond [-1, 1], so that no score interval hides the bootstrap.
    values = generator.exponential(1.0, size=2000) - 0.9
    found = paired_interval(values)
    means = values[generator.integers(0, 2000, size=(4000, 2000))].mean(axis=1)
    low, high = numpy.quantile(means, [0.025, 0.975])
    assert found.low == pytest.approx(low, abs=0.005)
    assert found.high == pytest.approx(high, abs=0.005)


@each("side", [1, -1])
@each("confidence", [0.8, 0.95, 0.99])
def test_many_graded_cases_are_bounded_as_by_all_resamples_there_are(confidence: float, side: int) -> None:
    # Whole numbers, few of them large: how all resamples add up is then known by convolution.
    values = numpy.repeat(numpy.arange(40), numpy.ceil(100 * numpy.exp(-numpy.arange(40) / 4)).astype(int))
    n, size = len(values), 2**15
    assert n * 39 < size, "the sums must not wrap around"
    chances = numpy.bincount(values, minlength=size) / n
    reached = numpy.cumsum(numpy.fft.irfft(numpy.fft.rfft(chances) ** n, size))
    # Halfway between two sums lies what a smooth distribution reaches there.
    bound = numpy.interp(0.5 + confidence / 2, reached, numpy.arange(size) + 0.5) / n
    error = values.std() / math.sqrt(n)
    for clusters in (None, list(range(n))):
        found = paired_interval(side * values, clusters=clusters, confidence=confidence)
        assert found is not None
        assert (found.high if side > 0 else -found.low) == pytest.approx(bound, abs=1.4e-4 * error)


def test_clusters_of_one_case_each_change_nothing() -> None:
    generator = numpy.random.default_rng(10)
    for n in (2, 3, 201, 400):  # of others, both are drawn, and not in the same way
        values = generator.normal(0.5, 2.0, size=n)
        alone, apart = paired_interval(values), paired_interval(values, clusters=numpy.arange(n))
        assert apart.clusters == n
        assert (apart.low, apart.high) == pytest.approx((alone.low, alone.high), rel=1e-9)


@given(st.lists(st.tuples(st.integers(1, 9), st.floats(-1, 1, width=16)), min_size=2, max_size=12))
def test_a_jackknife_is_how_far_the_mean_moves_without_each_cluster(clusters: list[tuple[int, float]]) -> None:
    counts, means = map(numpy.array, zip(*clusters, strict=True))
    grouped = ClusterSums(counts=counts, sums=counts * means)
    groups = len(counts)
    without = [numpy.average(numpy.delete(means, at), weights=numpy.delete(counts, at)) for at in range(groups)]
    pseudo_values = groups * grouped.mean - (groups - 1) * numpy.array(without)
    off = math.fsum((pseudo_values - grouped.mean) ** 2) / groups / (groups - 1)
    assert grouped.jackknife_error == pytest.approx(math.sqrt(off), abs=1e-9)
    if len(set(counts.tolist())) == 1:
        assert grouped.jackknife_error == pytest.approx(math.sqrt(grouped.variance_of_mean), abs=1e-9)


def test_a_hundred_thousand_cases_take_no_time() -> None:
    generator = numpy.random.default_rng(9)
    yes_no = generator.choice([1.0, -1.0, 0.0], size=100_000, p=[0.1, 0.1, 0.8])
    graded = generator.uniform(-1, 1, size=100_000) * (generator.random(100_000) < 0.3)
    started = time.process_time()
    for values in (yes_no, graded):
        for groups in (20, 5000):
            paired_interval(values, clusters=generator.integers(0, groups, size=100_000))
        paired_interval(values)
    assert time.process_time() - started < 10


@each(
    ("differences", "options"),
    [
        ([math.nan], {}),
        ([1.0, math.inf], {}),
        ([1.0, 0.0], {"clusters": ["a"]}),
        ([1.0], {"confidence": 95}),
        ([1.0], {"resamples": 0}),
    ],
)
def test_what_is_no_sample_is_refused(differences: list[float], options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        paired_interval(differences, **options)  # type: ignore[arg-type]
    for counts in [(3, 3, 5), (-1, 0, 5), (math.nan, 0, 5), (0, 0, -1)]:
        with pytest.raises(UsageError, match="gained"):
            score_interval(*counts)
