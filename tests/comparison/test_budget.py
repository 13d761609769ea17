"""What a comparison may spend: work and time end it undecided, with that reason, wherever it stands."""

from __future__ import annotations

import random
from time import monotonic

import pytest

from assay.comparison.answer import Answer, Segment
from assay.comparison.budget import Budget, BudgetSpent
from assay.comparison.compare import compare
from assay.comparison.contained import find_contained_mapping
from assay.comparison.permutation import Side, same_rows
from assay.model import ComparisonOptions, Result, Row
from many_cases import each

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
    cut = Result.of([(number // 1000,) for number in milliseconds])
    comparison = compare(cut, gold, QUICK)
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
