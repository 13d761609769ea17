"""The algebra of comparison: reflexive, symmetric, blind to what it should be blind to and to nothing else."""

from __future__ import annotations

from collections import Counter
from datetime import date
from decimal import Decimal
from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.comparison.answer import Answer, Segment
from assay.comparison.cells import key_of
from assay.comparison.compare import compare
from assay.model import Cell, ComparisonOptions, Result, Row

QUICK = ComparisonOptions(near_misses=False, sample_rows=0)
CELLS = st.one_of(
    st.none(),
    st.integers(-2, 2),
    st.booleans(),
    st.sampled_from(["", "a", "A", "1", b"a", 0.5, 1.0, Decimal(1), date(2024, 1, 1), float("nan")]),
)


@st.composite
def results(draw: st.DrawFn, cells: st.SearchStrategy[Cell] = CELLS, *, most: int = 6) -> Result:
    """Small results with many repeated values, so that permutations and duplicates matter."""
    width = draw(st.integers(1, 4))
    return Result.of(
        draw(st.lists(st.tuples(*[cells] * width), max_size=most)), columns=[f"c{i}" for i in range(width)]
    )


def _brute_force(gold: Result, predicted: Result) -> bool:
    """Try every permutation of columns on bags of keys."""
    if not gold.rows and not predicted.rows:
        return gold.column_count == predicted.column_count
    if gold.column_count != predicted.column_count:
        return False
    bag = _bag(gold.rows)
    return any(
        _bag([tuple(row[column] for column in mapping) for row in predicted.rows]) == bag
        for mapping in permutations(range(gold.column_count))
    )


def _bag(rows: list[Row] | tuple[Row, ...]) -> Counter[tuple[object, ...]]:
    return Counter(tuple(key_of(cell, boolean_is_integer=False) for cell in row) for row in rows)


@given(results())
def test_every_result_equals_itself(result: Result) -> None:
    assert compare(result, result).equal


@given(results(), results())
@settings(max_examples=300)
def test_comparison_is_that_of_trying_everything(one: Result, two: Result) -> None:
    assert compare(two, one, QUICK).equal == _brute_force(one, two)


@given(results(), results())
def test_comparison_is_symmetric(one: Result, two: Result) -> None:
    assert compare(one, two, QUICK).equal == compare(two, one, QUICK).equal


@given(results(), st.randoms(use_true_random=False))
def test_rows_may_be_shuffled_and_columns_permuted(result: Result, random: object) -> None:
    rows = list(result.rows)
    random.shuffle(rows)  # type: ignore[attr-defined]
    order = list(range(result.column_count))
    random.shuffle(order)  # type: ignore[attr-defined]
    other = Result.of(
        [tuple(row[column] for column in order) for row in rows], columns=[result.columns[c] for c in order]
    )
    comparison = compare(other, result)
    assert comparison.equal
    if rows:
        mapped = [tuple(row[column] for column in comparison.column_mapping) for row in other.rows]  # type: ignore[index]
        assert _bag(mapped) == _bag(result.rows)


@given(results(), st.data())
def test_a_changed_cell_is_seen(result: Result, data: st.DataObject) -> None:
    if not result.rows:
        return
    rows = [list(row) for row in result.rows]
    row = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.integers(0, result.column_count - 1))
    rows[row][column] = "a value that stands nowhere else"
    comparison = compare(Result.of(rows), result)
    assert not comparison.equal
    assert comparison.reason


@given(results(st.integers(0, 1)), results(st.integers(0, 1)))
@settings(max_examples=300)
def test_symmetric_columns_are_decided_as_by_trying_everything(one: Result, two: Result) -> None:
    comparison = compare(two, one, QUICK)
    assert comparison.decided
    assert comparison.equal == _brute_force(one, two)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=5), st.data())
@settings(max_examples=300)
def test_what_a_cut_tie_allows_is_what_trying_everything_allows(rows: list[Row], data: st.DataObject) -> None:
    take = data.draw(st.integers(1, len(rows)))
    gold = Result.of(rows[:take])
    answer = Answer(result=gold, segments=(Segment(rows=tuple(rows), take=take),), ordered=False)
    predicted = Result.of(
        data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=take, max_size=take))
    )
    allowed = any(
        not (Counter(tuple(row[column] for column in mapping) for row in predicted.rows) - Counter(rows))
        for mapping in permutations(range(2))
    )
    assert compare(predicted, answer, QUICK).equal == allowed


@given(st.lists(st.floats(-10, 10).map(lambda number: round(number, 1)), max_size=6), st.randoms(use_true_random=False))
def test_floating_point_noise_never_matters(numbers: list[float], random: object) -> None:
    noisy = [number * (1 + 3e-13) for number in numbers]
    random.shuffle(noisy)  # type: ignore[attr-defined]
    gold, predicted = Result.of([(n,) for n in numbers], columns="a"), Result.of([(n,) for n in noisy], columns="a")
    assert compare(predicted, gold).equal
