"""The algebra of comparison: reflexive, symmetric, blind to what it should be blind to and to nothing else."""

from __future__ import annotations

import random
from collections import Counter
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.comparison.answer import Answer
from assay.comparison.cells import key_of
from assay.comparison.compare import compare, compare_with_itself
from assay.comparison.result_hash import result_hash
from assay.model import Cell, ComparisonOptions, Result, Row
from many_cases import each

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


def _bag(rows: list[Row] | tuple[Row, ...]) -> Counter[tuple[object, ...]]:
    return Counter(tuple(key_of(cell, boolean_is_integer=False) for cell in row) for row in rows)


@given(results())
def test_every_result_equals_itself(result: Result) -> None:
    assert compare(result, result).equal


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
    rows[row][data.draw(st.integers(0, result.column_count - 1))] = "a value that stands nowhere else"
    comparison = compare(Result.of(rows), result)
    assert not comparison.equal
    assert comparison.reason


_HASHED = st.one_of(
    st.none(), st.integers(-3, 3), st.text("ab\ud800\"'", max_size=2), st.sampled_from([0.5, 2.0, Decimal(1)])
)
_ROWS = st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[_HASHED] * width), min_size=1, max_size=4))


def hashed(rows: list[tuple[Any, ...]], *, ordered: bool = False, any_columns: bool = True) -> str | None:
    return result_hash(Result.of(rows), ordered=ordered, any_columns=any_columns)


@given(rows=_ROWS, seed=st.randoms())
@example(rows=[(None, None, Decimal(1)), (0, 1, None)], seed=random.Random(2))  # two columns have the same cells
def test_order_of_rows_and_columns_does_not_count(rows: list[tuple[Any, ...]], seed: Any) -> None:
    places = seed.sample(range(len(rows[0])), len(rows[0]))
    assert hashed(seed.sample(rows, len(rows)), any_columns=False) == hashed(rows, any_columns=False)
    distinct = {tuple(sorted(str(hashed([(cell,)])) for cell in column)) for column in zip(*rows, strict=True)}
    if len(distinct) == len(places):  # else columns with the same cells stay as they came
        assert hashed([tuple(row[place] for place in places) for row in rows]) == hashed(rows)


@given(rows=_ROWS, others=_ROWS)
def test_different_bags_have_different_hashes(rows: list[tuple[Any, ...]], others: list[tuple[Any, ...]]) -> None:
    if hashed(rows, any_columns=False) == hashed(others, any_columns=False):
        assert sorted(rows, key=repr) == sorted(others, key=repr) or all(
            any(row == other for other in others) for row in rows
        )


@pytest.mark.parametrize(
    ("first", "second"),
    [([(1,)], [("1",)]), ([(None,)], [("null",)]), ([(1, 2)], [(12,)]), ([("a", "b")], [('a","b',)]), ([], [(None,)])],
)
def test_cells_of_different_types_differ(first: list[tuple[Any, ...]], second: list[tuple[Any, ...]]) -> None:
    assert hashed(first) != hashed(second)


def test_numbers_order_and_size() -> None:
    assert hashed([(1, 2.5)]) == hashed([(Decimal("1.00"), Decimal("2.5"))]) == hashed([(1.0, 2.5)])
    assert hashed([(1,), (2,)], ordered=True) != hashed([(2,), (1,)], ordered=True)
    assert hashed([(1,)] * 100_001) is None


ANY_CELL: st.SearchStrategy[Cell] = st.one_of(
    st.none(), st.integers(), st.floats(), st.text(max_size=3), st.binary(max_size=3), st.booleans(), st.just([1])
)
RESULTS = st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[ANY_CELL] * width), max_size=8).map(Result.of))
ANY_OPTIONS = st.builds(
    ComparisonOptions,
    columns=st.sampled_from(["any", "strict"]),
    boolean_is_integer=st.booleans(),
    sample_rows=st.sampled_from([0, 2, 20]),
)


@given(result=RESULTS, options=ANY_OPTIONS)
def test_a_result_beside_itself_is_what_the_comparison_says(result: Result, options: ComparisonOptions) -> None:
    said = compare_with_itself(result, options)
    if said is not None:
        assert said == compare(result, Answer.bag(result), options)
    else:
        assert not result.rows or not options.boolean_is_integer


@each("kind", ["same", "swapped", "noisy", "noisy and swapped", "one cell", "one row twice", "bits"])
@each("seed", range(4))
def test_larger_tables_are_equal_in_any_order_and_no_other_ones(kind: str, seed: int) -> None:
    chance = random.Random(seed)
    gold: list[Row] = [
        (
            chance.randrange(900),
            chance.random(),
            f"name {chance.randrange(10)}",
            chance.choice((None, 1, 2.5, chance.random())),
            Decimal(chance.randrange(9)) / 4,
            chance.randrange(2),
        )
        for _ in range(600)
    ]
    if kind == "bits":
        gold = [tuple(chance.randrange(2) for _ in range(8)) for _ in gold]
    predicted = [list(row) for row in chance.sample(gold, len(gold))]
    if kind.startswith("noisy"):
        for row in predicted:
            row[1] *= 1 + chance.choice((1e-13, -3e-13, 0))  # type: ignore[operator]
    if kind == "one cell":
        predicted[7][chance.randrange(6)] = "else"
    if kind == "one row twice":
        predicted[7] = predicted[8]
    order = list(range(len(gold[0])))
    if "swapped" in kind or kind == "bits":
        chance.shuffle(order)
    other = Result.of([[row[column] for column in order] for row in predicted])
    for near_misses in (False, True):
        found = compare(other, Result.of(gold), replace(QUICK, near_misses=near_misses))
        assert found.equal == (kind not in ("one cell", "one row twice"))
        assert found.equal or found.missing_rows == 1
