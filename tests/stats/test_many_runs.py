"""Holm's correction, letters, rank bounds and repeated answers: against definitions and by their algebra."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import UsageError
from assay.stats import holm, is_significant, letter_groups, pass_all_k, pass_at_k, rank_bounds

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
def test_runs_share_a_letter_exactly_where_they_are_not_told_apart(
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


def test_sixty_runs_that_all_differ_have_sixty_letters() -> None:
    letters = letter_groups(60, itertools.combinations(range(60), 2))
    assert len(set(letters)) == 60
    assert all(len(letter) == 1 and letter.isalpha() for letter in letters)
    assert letters[:3] == ("a", "b", "c")


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


def test_passing_with_one_answer_is_the_share_of_right_ones() -> None:
    assert pass_at_k(10, 3, 1) == pytest.approx(0.3)
    assert pass_all_k(10, 3, 1) == pytest.approx(0.3)


def test_fewer_answers_than_asked_for_say_nothing() -> None:
    assert pass_at_k(3, 3, 4) is None
    assert pass_all_k(0, 0, 1) is None


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_answers_that_cannot_be_are_refused(n: int, c: int, k: int) -> None:
    with pytest.raises(UsageError):
        pass_at_k(n, c, k)
    with pytest.raises(UsageError):
        pass_all_k(n, c, k)


def test_a_p_value_of_just_the_level_is_significant() -> None:
    assert is_significant(0.05, 0.05)
    assert not is_significant(0.0500001, 0.05)
    assert not is_significant(None, 0.05)
