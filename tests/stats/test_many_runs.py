"""Holm's correction, letters, rank bounds and repeated answers: against definitions and by their algebra."""

from __future__ import annotations

import itertools
import math
import random
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
    holm,
    is_significant,
    least_area_under_risk,
    letter_groups,
    pass_all_k,
    pass_at_k,
    rank_bounds,
    reliability,
)
from many_cases import each

P_VALUES = st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=30)


@st.composite
def runs_and_pairs(draw: st.DrawFn) -> tuple[int, set[tuple[int, int]]]:
    count = draw(st.integers(0, 8))
    pairs = list(itertools.combinations(range(count), 2))
    return count, draw(st.sets(st.sampled_from(pairs))) if pairs else set()


def test_holm_multiplies_by_the_tests_that_are_left() -> None:
    # 4 x 0.01, then 3 x 0.015 = 0.045, then 2 x 0.02 = 0.04 which may not be less than what came before.
    assert holm([0.02, 0.01, None, 0.8, 0.015]) == pytest.approx([0.045, 0.04, None, 0.8, 0.045])
    assert holm([]) == []
    assert holm([None]) == [None]
    assert holm([0.03]) == [0.03]


@given(P_VALUES)
def test_holm_is_the_least_level_at_which_the_step_down_refuses(p_values: list[float | None]) -> None:
    made = sorted(p for p in p_values if p is not None)
    for p, adjusted in zip(p_values, holm(p_values), strict=True):
        if p is None:
            assert adjusted is None
            continue
        assert adjusted is not None
        smaller = [other for other in made if other <= p]
        expected = max((len(made) - rank) * other for rank, other in enumerate(smaller))
        # Equal p-values: the first of them is multiplied most.
        assert adjusted == pytest.approx(min(1.0, expected))


@given(P_VALUES)
def test_holm_keeps_the_order_and_lowers_nothing(p_values: list[float | None]) -> None:
    pairs = [(p, q) for p, q in zip(p_values, holm(p_values), strict=True) if p is not None and q is not None]
    assert all(p <= q <= 1.0 for p, q in pairs)
    assert [q for _, q in sorted(pairs)] == sorted(q for _, q in pairs)


def test_holm_refuses_what_is_no_p_value() -> None:
    with pytest.raises(UsageError, match=r"1\.5"):
        holm([0.1, 1.5])
    with pytest.raises(UsageError, match="nan"):
        holm([math.nan])


@given(runs_and_pairs(), st.randoms(use_true_random=False))
def test_runs_not_told_apart_share_a_letter(
    given_pairs: tuple[int, set[tuple[int, int]]], order: random.Random
) -> None:
    count, distinct = given_pairs
    letters = letter_groups(count, distinct)
    assert len(letters) == count
    for one, other in itertools.combinations(range(count), 2):
        assert bool(set(letters[one]) & set(letters[other])) == ((one, other) not in distinct)
    assert all(letters)
    shuffled = [pair[:: order.choice([1, -1])] for pair in order.sample(sorted(distinct), len(distinct))]
    assert letter_groups(count, [(one, other) for one, other in shuffled]) == letters


@given(runs_and_pairs())
def test_no_letter_says_what_another_says_already(given_pairs: tuple[int, set[tuple[int, int]]]) -> None:
    letters = letter_groups(*given_pairs)
    groups = [{run for run, own in enumerate(letters) if name in own} for name in sorted(set("".join(letters)))]
    assert not any(one <= other for one, other in itertools.permutations(groups, 2))


def test_letters_follow_the_ranks() -> None:
    assert letter_groups(4, [(0, 2), (0, 3), (1, 3)]) == ("a", "ab", "bc", "c")
    assert letter_groups(3, []) == ("a", "a", "a")
    assert letter_groups(0, []) == ()
    sixty = letter_groups(60, itertools.combinations(range(60), 2))
    assert (len(set(sixty)), sixty[:3]) == (60, ("a", "b", "c"))
    assert all(len(letter) == 1 and letter.isalpha() for letter in sixty)


def test_rank_bounds_count_who_is_surely_better_and_worse() -> None:
    assert rank_bounds(4, [(0, 2), (0, 3), (1, 3)]) == ((1, 2), (1, 3), (2, 4), (3, 4))
    assert rank_bounds(3, []) == ((1, 3), (1, 3), (1, 3))
    assert rank_bounds(2, [(1, 0), (1, 0)]) == ((2, 2), (1, 1))
    assert rank_bounds(0, []) == ()


@given(runs_and_pairs())
def test_a_rank_lies_within_its_bounds(given_pairs: tuple[int, set[tuple[int, int]]]) -> None:
    count, better = given_pairs
    for place, (low, high) in enumerate(rank_bounds(count, better)):
        assert 1 <= low <= place + 1 <= high <= count


def test_pairs_that_name_no_two_runs_are_refused() -> None:
    for pair in [(0, 0), (0, 3), (-1, 1)]:
        with pytest.raises(UsageError, match="3 runs"):
            letter_groups(3, [pair])
        with pytest.raises(UsageError, match="3 runs"):
            rank_bounds(3, [pair])
    with pytest.raises(UsageError, match="each"):
        rank_bounds(3, [(0, 1), (1, 0)])


@given(st.integers(1, 8), st.data())
def test_passing_is_counted_over_all_choices_of_answers(n: int, data: st.DataObject) -> None:
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    choices = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, choices)) / len(choices))
    assert pass_all_k(n, c, k) == pytest.approx(sum(map(all, choices)) / len(choices))


def test_passing_of_few_and_of_impossible_answers() -> None:
    assert (pass_at_k(10, 3, 1), pass_all_k(10, 3, 1)) == pytest.approx((0.3, 0.3))
    assert pass_at_k(3, 3, 4) is None
    assert pass_all_k(0, 0, 1) is None
    for n, c, k in [(3, 4, 1), (3, -1, 1), (3, 1, 0)]:
        for formula in (pass_at_k, pass_all_k):
            with pytest.raises(UsageError):
                formula(n, c, k)


def test_a_p_value_of_just_the_level_is_significant() -> None:
    assert is_significant(0.05, 0.05)
    assert not is_significant(0.0500001, 0.05)
    assert not is_significant(None, 0.05)


PAIRS = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.55, 0.9, 1.0]), st.booleans()), max_size=6)


def split(pairs: list[tuple[float, bool]]) -> tuple[list[float], list[bool]]:
    return [confidence for confidence, _ in pairs], [right for _, right in pairs]


def mean_risk(order: list[bool]) -> float:
    return math.fsum(order[:k].count(False) / k for k in range(1, len(order) + 1)) / len(order)


@given(PAIRS)
@settings(max_examples=30, deadline=None)
def test_the_area_is_the_mean_over_every_order_of_equally_sure_answers(
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
