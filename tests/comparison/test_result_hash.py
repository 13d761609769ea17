"""The hash of a result: equal for results that a comparison calls equal, and different for others."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay.comparison.result_hash import result_hash
from assay.model import Result

_CELLS = st.one_of(
    st.none(), st.integers(-3, 3), st.text("ab\ud800\"'", max_size=2), st.sampled_from([0.5, 2.0, Decimal(1)])
)
_ROWS = st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[_CELLS] * width), min_size=1, max_size=4))


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


def test_numbers_of_any_type_are_equal() -> None:
    assert hashed([(1, 2.5)]) == hashed([(Decimal("1.00"), Decimal("2.5"))]) == hashed([(1.0, 2.5)])


def test_order_counts_where_it_is_asked_for() -> None:
    assert hashed([(1,), (2,)], ordered=True) != hashed([(2,), (1,)], ordered=True)


def test_large_result_is_not_hashed() -> None:
    assert hashed([(1,)] * 100_001) is None
