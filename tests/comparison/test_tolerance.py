"""Numbers within tolerance: by arrays as one by one, within lists and structs as alone, and fast where all is plain."""

from __future__ import annotations

from decimal import Decimal
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.comparison.reference import same_cell

from assay.comparison.answer import Answer
from assay.comparison.cells import key_of
from assay.comparison.compare import _equal_as_they_are, compare
from assay.comparison.tolerance import _few_in_line, _many_in_line, numbers_equal
from assay.model import Cell, ComparisonOptions, Result, Row
from many_cases import each

OPTIONS = ComparisonOptions()
EXACT = ComparisonOptions(relative_tolerance=0.0)
STEPS = st.integers(-4, 4)
NEAR_ONE = STEPS.map(lambda step: 1.0 + step * 4e-13)
FLOATS = st.one_of(
    NEAR_ONE,
    STEPS.map(lambda step: step * 4e-13),
    STEPS.map(lambda step: 1.7e308 * (1 + step * 4e-13)),
    st.sampled_from([2.0, -1.0, 5e-324, 1e-300]),
)
EXACTS = st.one_of(
    st.integers(-1, 3),
    STEPS.map(lambda step: 1 + step * Decimal("4e-13")),
    STEPS.map(lambda step: 1 + step * Decimal("1e-20")),
    st.sampled_from([Decimal("1e-400"), Decimal("4e-13"), 17 * 10**307, 10**400]),
)
NESTED = st.recursive(
    st.one_of(NEAR_ONE, st.sampled_from([None, "a", 1, Decimal(1), 2])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(st.sets(FLOATS, max_size=8), st.sets(EXACTS, max_size=6), st.sampled_from([OPTIONS, EXACT]))
@settings(max_examples=300)
def test_many_numbers_are_clustered_as_few_are(
    floats: set[float], exact: set[int | Decimal], options: ComparisonOptions
) -> None:
    pytest.importorskip("numpy")
    exact = {number for number in exact if number not in floats}
    if not floats:
        return
    found = []
    for line in (_few_in_line, _many_in_line):
        keys, chains = line(floats, exact, options)
        clusters = [(set(keys[start:stop]), tight) for start, stop, tight in chains]
        for cluster, tight in clusters:
            if tight:
                assert all(numbers_equal(one, other, options) for one, other in product(cluster, cluster))
        found.append([cluster for cluster, _ in clusters])
    assert found[0] == found[1]


@given(NESTED, NESTED, st.sampled_from([OPTIONS, EXACT]))
@settings(max_examples=300)
def test_lists_and_structs_are_equal_where_their_members_are(
    first: Cell, second: Cell, options: ComparisonOptions
) -> None:
    keys = [key_of(cell, boolean_is_integer=False) for cell in (first, second)]
    assert numbers_equal(keys[0], keys[1], options) == same_cell(first, second, options)


@each(
    ("first", "second", "same"),
    [
        ({"a": 0.1 + 0.2}, {"a": 0.3}, True),
        ({"a": {"b": [0.1 + 0.2]}}, {"a": {"b": [0.3]}}, True),
        ([0.1 + 0.2, 1], [0.3, 1], True),
        ({"a": 0.1 + 0.2, "b": 1}, {"a": 0.3}, False),
        ({"a": 0.1 + 0.2}, {"b": 0.3}, False),
        ([0.1 + 0.2, 1], [0.3], False),
        ([0.1 + 0.2], {"0": 0.3}, False),
    ],
)
def test_members_within_tolerance_are_equal(first: Cell, second: Cell, same: bool) -> None:
    keys = [key_of(cell, boolean_is_integer=False) for cell in (first, second)]
    assert numbers_equal(keys[0], keys[1], OPTIONS) is same
    assert numbers_equal(keys[1], keys[0], OPTIONS) is same


@given(st.lists(NEAR_ONE, min_size=1, max_size=5), st.data())
@settings(max_examples=200)
def test_numbers_within_lists_and_structs_are_paired_as_those_that_stand_alone(
    gold: list[float], data: st.DataObject
) -> None:
    predicted = data.draw(st.lists(NEAR_ONE, min_size=len(gold), max_size=len(gold)))
    alone = compare(Result.of([(cell,) for cell in predicted]), Result.of([(cell,) for cell in gold])).equal
    for wrap in (lambda cell: [cell], lambda cell: {"a": cell}, lambda cell: [{"a": [cell]}]):
        sides = [Result.of([(wrap(cell),) for cell in cells]) for cells in (predicted, gold)]
        assert compare(sides[0], sides[1]).equal == alone


@each("boolean_is_integer", [True, False])
@each("rows", [[(1, "a"), (2, None), (3, "c")], [(1, "a"), (1, "a"), (2, "b")], [(0.5, b"x"), (Decimal(2), b"y")]])
def test_plain_rows_in_any_order_are_found_equal_without_a_search(rows: list[Row], boolean_is_integer: bool) -> None:
    options = ComparisonOptions(boolean_is_integer=boolean_is_integer)
    assert _equal_as_they_are(Answer.bag(Result.of(rows)), Result.of(rows[::-1]), options)


@pytest.mark.parametrize(("gold", "predicted"), [([(True,), (2,)], [(2,), (1,)]), ([(1,), (1,)], [(1,), (True,)])])
def test_booleans_that_are_no_integers_are_left_to_the_search(gold: list[Row], predicted: list[Row]) -> None:
    options = ComparisonOptions(boolean_is_integer=False)
    assert not _equal_as_they_are(Answer.bag(Result.of(gold)), Result.of(predicted), options)
    assert not compare(Result.of(predicted), Result.of(gold), options).equal
    assert compare(Result.of(predicted), Result.of(gold), ComparisonOptions(boolean_is_integer=True)).equal
