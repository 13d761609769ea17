"""The column permutation is found at once, however many orders there are, and never guessed."""

from __future__ import annotations

import random
import time
from itertools import permutations

import pytest

from assay.comparison.budget import Budget, BudgetSpent
from assay.comparison.compare import compare
from assay.comparison.permutation import Side, find_mapping, same_rows
from assay.comparison.refinement import Refinement
from assay.comparison.tolerant_mapping import find_agreement
from assay.model import ComparisonOptions, Result, Row
from many_cases import each


def _permuted(rows: list[Row], seed: int) -> tuple[list[Row], list[int]]:
    chance = random.Random(seed)
    order = list(range(len(rows[0])))
    chance.shuffle(order)
    moved = [tuple(row[column] for column in order) for row in rows]
    chance.shuffle(moved)
    return moved, order


@each("width", [2, 9, 20, 60])
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


def _diagonal(size: int, *, value: object = 1, other: object = 0) -> list[Row]:
    return [tuple(value if column == row else other for column in range(size)) for row in range(size)]  # type: ignore[misc]


def _moved_mark(rows: list[Row]) -> list[Row]:
    """The first row takes over the second's mark: each column holds what it held."""
    first, second = ([row[column] for column in range(len(row))] for row in rows[:2])
    first[1], second[1] = second[1], first[1]
    return [tuple(first), tuple(second), *rows[2:]]


def _circle(size: int) -> list[tuple[int, int]]:
    return [(place, (place + 1) % size) for place in range(size)]


def _marked(pairs: list[tuple[int, int]], width: int) -> list[Row]:
    return [tuple(int(column in pair) for column in range(width)) for pair in pairs]


_SYMMETRIC: dict[str, tuple[list[Row], list[Row]]] = {
    "one mark a row": (_diagonal(20), _moved_mark(_diagonal(20))),
    "one mark a row, in floats": (
        _diagonal(20, value=1.5, other=0.5),
        _moved_mark(_diagonal(20, value=1.5 * (1 + 3e-13), other=0.5)),
    ),
    "one mark a row, thrice": (_diagonal(20) * 3, _diagonal(20) * 2 + _moved_mark(_diagonal(20))),
    "one circle, two circles": (
        _marked(_circle(20), 20),
        _marked(_circle(10) + [(a + 10, b + 10) for a, b in _circle(10)], 20),
    ),
    "a Latin square, two of its cells in exchange": (
        [tuple((row + column) % 20 for column in range(20)) for row in range(20)],
        [
            tuple((row + column + 10 * (row in (0, 10) and column in (0, 10))) % 20 for column in range(20))
            for row in range(20)
        ],
    ),
}


@each("case", _SYMMETRIC)
def test_a_wrong_answer_of_symmetric_columns_is_refuted_and_a_right_one_found_with_little_work(case: str) -> None:
    gold, wrong = _SYMMETRIC[case]
    right, _ = _permuted(gold, 3)
    budget = Budget(work=1_000_000)
    for rows, expected in ((right, True), (wrong, False)):
        sides = [Side(columns=list(zip(*each, strict=True)), places=[0] * len(each)) for each in (gold, rows)]
        assert (find_agreement(sides[0], sides[1], ComparisonOptions(), budget) is not None) is expected
        comparison = compare(Result.of(rows), Result.of(gold))
        assert (comparison.equal, comparison.decided) == (expected, True)


def test_no_small_table_is_judged_otherwise_by_colours_than_by_all_permutations() -> None:
    chance = random.Random(11)
    equal = 0
    for _ in range(2_000):
        width, height = chance.randrange(1, 5), chance.randrange(1, 5)
        gold = [tuple(chance.randrange(2) for _ in range(width)) for _ in range(height)]
        rows: list[Row]
        rows, _ = _permuted(list(gold), chance.randrange(1000))
        if chance.random() < 0.5:
            rows = [tuple(chance.randrange(2) for _ in range(width)) for _ in range(height)]
        places = sorted(chance.randrange(2) for _ in range(height))
        sides = [Side(columns=list(zip(*each, strict=True)), places=places) for each in (gold, rows)]
        everything = [list(range(width))] * width
        search = Refinement(
            *sides,
            candidates=everything,
            accept=lambda mapping, sides=sides: same_rows(sides[0], sides[1], mapping),
            twins=list(range(width)),
            budget=Budget(),
        )
        expected = any(same_rows(sides[0], sides[1], order) for order in permutations(range(width)))
        assert (search.run() is not None) is expected
        equal += expected
    assert 200 < equal < 1_800
