"""The column permutation is found at once, however many orders there are, never guessed, and within a budget."""

from __future__ import annotations

import random
import time
from itertools import permutations
from time import monotonic

import pytest

from assay.comparison.answer import Answer, Segment
from assay.comparison.budget import Budget, BudgetSpent
from assay.comparison.compare import compare
from assay.comparison.contained import find_contained_mapping
from assay.comparison.permutation import find_mapping
from assay.comparison.refinement import Refinement
from assay.comparison.sides import Side, same_rows
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


QUICK = ComparisonOptions(near_misses=False)


def _bits(count: int, seed: int, width: int = 10) -> list[Row]:
    chance = random.Random(seed)
    return [tuple(chance.randrange(2) for _ in range(width)) for _ in range(count)]


def _cut(rows: list[Row], take: int) -> Answer:
    return Answer(result=Result.of(rows[:take]), segments=(Segment(rows=tuple(rows), take=take),), ordered=False)


def test_a_deadline_that_has_passed_leaves_it_undecided_and_says_so() -> None:
    gold, predicted = Result.of([(0.3, 1), (2, 2)]), Result.of([(0.1 + 0.2, 1), (2, 2)])
    assert compare(predicted, gold).equal
    late = compare(predicted, gold, deadline=monotonic() - 1)
    assert not late.decided
    assert not late.equal
    assert late.reason == "comparing the results took longer than its time limit"
    assert compare(predicted, gold, deadline=monotonic() + 3600).equal


def test_a_difference_that_is_found_stands_when_time_runs_out_and_only_near_misses_are_not_seen() -> None:
    gold = Result.of([(1,), (2,)])
    assert compare(Result.of([(1,)]), gold).near_misses
    late = compare(Result.of([(1,)]), gold, deadline=monotonic() - 1)
    assert late.decided
    assert late.near_misses == ()


def test_work_is_counted_and_the_clock_is_looked_at_while_it_is() -> None:
    budget = Budget(work=100)
    budget.spend(100)
    with pytest.raises(BudgetSpent) as spent:
        budget.spend(1)
    assert not spent.value.out_of_time
    with pytest.raises(BudgetSpent) as spent:
        Budget(deadline=monotonic() - 1).spend(1_000_000)
    assert spent.value.out_of_time


@each("rows", [24, 50, 100, 300])
@each("seed", range(3))
def test_rows_outside_the_tie_are_refuted_among_symmetric_columns_with_little_work(rows: int, seed: int) -> None:
    gold = _bits(rows, seed)
    predicted = [
        tuple(1 - cell if column in (1, 4, 7) else cell for column, cell in enumerate(row)) for row in gold[:20]
    ]
    comparison = compare(Result.of(predicted), _cut(gold, 20), QUICK)
    assert comparison.decided
    assert not comparison.equal
    sides = [Side(columns=list(zip(*side, strict=True)), places=(0,) * len(side)) for side in (gold, predicted)]
    assert find_contained_mapping(sides[0], sides[1], budget=Budget()) is None


@each("seed", range(5))
def test_rows_of_the_tie_are_found_under_any_permutation_of_symmetric_columns(seed: int) -> None:
    gold, chance = _bits(400, seed), random.Random(seed)
    order = list(range(10))
    chance.shuffle(order)
    predicted = [tuple(row[column] for column in order) for row in chance.sample(gold, 20)]
    comparison = compare(Result.of(predicted), _cut(gold, 20), QUICK)
    assert comparison.equal
    mapped = [tuple(row[column] for column in comparison.column_mapping) for row in predicted]  # type: ignore[index]
    assert set(mapped) <= set(gold)


def test_a_search_for_contained_rows_beyond_its_budget_is_undecided() -> None:
    sides = [Side(columns=list(zip(*_bits(300, seed), strict=True)), places=(0,) * 300) for seed in (1, 2)]
    with pytest.raises(BudgetSpent):
        find_contained_mapping(sides[0], sides[1], budget=Budget(work=100))


def test_numbers_chained_within_the_tolerance_are_paired_in_sorted_order() -> None:
    milliseconds = range(1_700_000_000_000, 1_700_000_004_000)
    gold = Result.of([(number / 1000,) for number in milliseconds])
    noisy = Result.of([(number / 1000 * (1 + 1e-13),) for number in reversed(milliseconds)])
    assert compare(noisy, gold, QUICK).equal
    comparison = compare(Result.of([(number // 1000,) for number in milliseconds]), gold, QUICK)
    assert comparison.decided
    assert not comparison.equal


def test_twin_columns_are_the_same_only_where_their_cells_are() -> None:
    big = 10**12
    gold: list[Row] = [(big, big + 1, 0.5), (big + 1, big, 0.1 + 0.2), (big, big + 1, float(big))]
    predicted: list[Row] = [(row[1], row[0], row[2] * (1 + 1e-13)) for row in gold]
    assert compare(Result.of(predicted), Result.of(gold), QUICK).column_mapping == (1, 0, 2)
    assert same_rows(Side(columns=[(1,)], places=(0,)), Side(columns=[(1.0,)], places=(0,)), (0,))


def test_a_tied_row_is_not_taken_for_one_whose_id_is_near() -> None:
    rows: list[Row] = [(5_000_000_000_000 + 2 * number, number + 0.5, 5e12) for number in range(4)]
    strict = ComparisonOptions(columns="strict")  # else the id may stand for the float, and is near enough to that
    assert compare(Result.of([rows[2]]), _cut(rows, 1), strict).equal
    assert not compare(Result.of([(5_000_000_000_005, 2.5, 5e12)]), _cut(rows, 1), strict).equal
