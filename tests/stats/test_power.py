"""Detectable differences and cases needed: by simulating the tests that they speak of."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import UsageError
from assay.stats import cases_needed, detectable_difference, mcnemar_exact, wilson_interval
from many_cases import each

numpy = pytest.importorskip("numpy")


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
    found = (stats.ttest_1samp(drawn, 0.0, axis=1).pvalue <= 0.05).mean()
    assert found == pytest.approx(0.8, abs=0.03)


@given(n=st.integers(20, 100_000), discordant=st.floats(0.05, 1.0), effect=st.floats(1.0, 8.0))
def test_the_cases_needed_for_the_detectable_difference_are_those_there_are(
    n: int, discordant: float, effect: float
) -> None:
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
