"""The formulas for systems that may decline, against their definitions written out."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import UsageError
from assay.stats import (
    area_under_risk,
    brier_score,
    by_threshold,
    calibration_bins,
    calibration_error,
    least_area_under_risk,
    reliability,
)
from many_cases import each

PAIRS = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.55, 0.9, 1.0]), st.booleans()), max_size=6)


def split(pairs: list[tuple[float, bool]]) -> tuple[list[float], list[bool]]:
    return [confidence for confidence, _ in pairs], [right for _, right in pairs]


def mean_risk(order: list[bool]) -> float:
    return math.fsum(order[:k].count(False) / k for k in range(1, len(order) + 1)) / len(order)


@given(PAIRS)
@settings(max_examples=30, deadline=None)
def test_the_area_is_the_mean_over_every_order_of_answers_that_are_equally_sure(
    pairs: list[tuple[float, bool]],
) -> None:
    found = area_under_risk(*split(pairs))
    if not pairs:
        assert found is None
        return
    orders = [
        [right for _, right in order]
        for order in permutations(pairs)
        if [one for one, _ in order] == sorted((one for one, _ in order), reverse=True)
    ]
    assert found == pytest.approx(math.fsum(map(mean_risk, orders)) / len(orders))


@given(st.lists(st.booleans(), min_size=1, max_size=6))
@settings(max_examples=30, deadline=None)
def test_the_least_area_is_the_least_over_every_order(right: list[bool]) -> None:
    least = min(mean_risk(list(order)) for order in permutations(right))
    assert least_area_under_risk(len(right), right.count(False)) == pytest.approx(least)


@given(PAIRS)
@settings(max_examples=30, deadline=None)
def test_each_threshold_keeps_the_answers_that_are_at_least_so_sure(pairs: list[tuple[float, bool]]) -> None:
    points = by_threshold(*split(pairs))
    assert [point.threshold for point in points] == sorted({one for one, _ in pairs}, reverse=True)
    for point in points:
        kept = [right for confidence, right in pairs if confidence >= point.threshold]
        assert (point.answers, point.wrong) == (len(kept), kept.count(False))
        assert point.risk == kept.count(False) / len(kept)


@given(PAIRS, st.integers(1, 7))
@settings(max_examples=30, deadline=None)
def test_the_calibration_error_weighs_each_bin_by_its_answers(pairs: list[tuple[float, bool]], count: int) -> None:
    bins = calibration_bins(*split(pairs), bins=count)
    assert len(bins) == count
    assert sum(one.n for one in bins) == len(pairs)
    total = 0.0
    for place, one in enumerate(bins):
        held = [
            pair for pair in pairs if place / count <= pair[0] < (place + 1) / count or (pair[0] == 1.0 == one.high)
        ]
        assert (one.n, one.right) == (len(held), sum(right for _, right in held))
        if held:
            mean = math.fsum(confidence for confidence, _ in held) / len(held)
            assert one.mean_confidence == pytest.approx(mean)
            total += len(held) / len(pairs) * abs(sum(right for _, right in held) / len(held) - mean)
    assert calibration_error(bins) == (pytest.approx(total) if pairs else None)


@given(PAIRS)
@settings(max_examples=30, deadline=None)
def test_the_brier_score_is_the_mean_square_of_what_is_missing(pairs: list[tuple[float, bool]]) -> None:
    squares = [(1 - confidence if right else confidence) ** 2 for confidence, right in pairs]
    expected = pytest.approx(math.fsum(squares) / len(squares)) if squares else None
    assert brier_score(*split(pairs)) == expected


@given(st.lists(st.sampled_from([1, 0, -1]), max_size=8), st.sampled_from([0.0, 1.0, 10.0]))
@settings(max_examples=40, deadline=None)
def test_the_reliability_score_is_the_mean_of_what_each_question_earns(worth: list[int], penalty: float) -> None:
    found = reliability(good=worth.count(1), bad=worth.count(-1), n=len(worth), penalty=penalty)
    earned = [one if one >= 0 else -penalty for one in worth]
    assert found == (pytest.approx(sum(earned) / len(earned)) if earned else None)


@each(
    "action",
    [
        lambda: reliability(good=3, bad=0, n=2, penalty=1),
        lambda: reliability(good=1, bad=0, n=2, penalty=-1),
        lambda: reliability(good=1, bad=0, n=2, penalty=math.inf),
        lambda: by_threshold([0.5], []),
        lambda: calibration_bins([1.5], [True]),
        lambda: calibration_bins([], [], bins=0),
        lambda: least_area_under_risk(2, 3),
    ],
)
def test_impossible_numbers_are_usage_errors(action: object) -> None:
    assert callable(action)
    with pytest.raises(UsageError):
        action()
