"""The column permutation is found at once, however many orders there are, and never guessed."""

from __future__ import annotations

import random
import time

import pytest

from assay.comparison import compare
from assay.comparison.budget import Budget, BudgetSpent
from assay.comparison.permutation import Side, find_mapping, same_rows
from assay.model import ComparisonOptions, Result, Row


def _permuted(rows: list[Row], seed: int) -> tuple[list[Row], list[int]]:
    chance = random.Random(seed)
    order = list(range(len(rows[0])))
    chance.shuffle(order)
    moved = [tuple(row[column] for column in order) for row in rows]
    chance.shuffle(moved)
    return moved, order


@pytest.mark.parametrize("width", [2, 9, 20, 60])
def test_bits_in_many_permuted_columns_are_matched_without_trying_each_order(width: int) -> None:
    chance = random.Random(width)
    rows: list[Row] = [tuple(chance.randrange(2) for _ in range(width)) for _ in range(2_000)]
    moved, _ = _permuted(rows, width)
    started = time.process_time()
    comparison = compare(Result.of(moved), Result.of(rows))
    assert comparison.equal
    assert time.process_time() - started < 20
    assert sorted(tuple(row[c] for c in comparison.column_mapping) for row in moved) == sorted(rows)  # type: ignore[misc, index]


def test_one_changed_pair_of_bits_among_permuted_columns_is_found() -> None:
    chance = random.Random(5)
    rows: list[Row] = [tuple(chance.randrange(2) for _ in range(12)) for _ in range(500)]
    moved, _ = _permuted(rows, 5)
    changed = [list(row) for row in moved]
    first = next(place for place in range(499) if changed[place][4] != changed[place + 1][4])
    # Every column keeps its values; only their pairing in rows differs.
    changed[first][4], changed[first + 1][4] = changed[first + 1][4], changed[first][4]
    comparison = compare(Result.of(changed), Result.of(rows))
    assert comparison.decided
    assert not comparison.equal


def test_identity_matrices_match_under_any_permutation() -> None:
    rows: list[Row] = [tuple(int(i == j) for j in range(40)) for i in range(40)]
    moved, _ = _permuted(rows, 1)
    assert compare(Result.of(moved), Result.of(rows)).equal


def test_equal_columns_are_told_apart_by_count() -> None:
    rows: list[Row] = [(1, 1, 1, 2), (3, 3, 3, 4)]
    assert compare(Result.of([(2, 1, 1, 1), (4, 3, 3, 3)]), Result.of(rows)).equal
    assert not compare(Result.of([(2, 1, 1, 2), (4, 3, 3, 4)]), Result.of(rows)).equal


def test_a_search_beyond_its_budget_is_undecided_and_says_so() -> None:
    chance = random.Random(3)
    columns = [tuple(chance.randrange(2) for _ in range(50)) for _ in range(10)]
    shuffled = columns[::-1]
    sides = [Side(columns=each, places=(0,) * 50) for each in (columns, shuffled)]
    with pytest.raises(BudgetSpent):
        find_mapping(sides[0], sides[1], budget=Budget(work=60))
    assert find_mapping(sides[0], sides[1]) == tuple(range(9, -1, -1))


def test_a_hash_collision_costs_no_verdict() -> None:
    # Python hashes -1 and -2 alike, so fingerprints of these columns agree and only the rows differ.
    assert hash(-1) == hash(-2)
    gold, predicted = Result.of([(-1, 5), (-1, 6), (3, 5)]), Result.of([(-2, 5), (-2, 6), (3, 5)])
    assert not compare(predicted, gold, ComparisonOptions(near_misses=False)).equal
    assert not same_rows(Side(columns=[(-1, 3)], places=(0, 0)), Side(columns=[(-2, 3)], places=(0, 0)), (0,))


def test_superset_columns_are_found_with_their_mapping() -> None:
    gold = Side(columns=[("a", "b"), (1, 2)], places=(0, 0))
    predicted = Side(columns=[(1, 1), (1, 2), ("a", "b")], places=(0, 0))
    assert find_mapping(gold, predicted) == (2, 1)
    assert find_mapping(predicted, gold) is None
