"""The sentence that says how a wrong answer differs: once, properly counted, with the values where one cell differs."""

from __future__ import annotations

import random
import re
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


def _reason(gold: list[Row], predicted: list[Row], *, ordered: bool = False, names: tuple[str, ...] = ()) -> str:
    ours = Result(columns=(names or tuple(f"c{place}" for place in range(len(gold[0])))), rows=tuple(gold))
    theirs = Result(columns=tuple(f"p{place}" for place in range(len(predicted[0]))), rows=tuple(predicted))
    found = compare(theirs, Answer.strict(ours) if ordered else ours, ComparisonOptions())
    assert not found.equal
    return found.reason


@each(
    ("gold", "predicted", "said"),
    [
        ([(13,)], [(0,)], "one cell differs: gold 13, predicted 0"),
        ([(None,)], [(0,)], "one cell differs: gold NULL, predicted 0"),
        ([("O'Hara",)], [("x",)], "one cell differs: gold 'O''Hara', predicted 'x'"),
        ([(5, 13)], [(5, 14)], "one cell differs in gold column c1: gold 13, predicted 14"),
        ([(13, 5)], [(5, 14)], "one cell differs in gold column c0: gold 13, predicted 14"),
        (
            [(1, 3), (2, 4), (3, 5)],
            [(3, 5), (2, 9), (1, 3)],
            "one cell of 3 rows differs in gold column c1: gold 4, predicted 9",
        ),
        ([(1, 2)], [(3, 4)], "the gold row is not in the prediction"),
        ([(1,), (2,)], [(3,), (4,)], "none of the 2 gold rows is in the prediction"),
        ([(1, 1), (2, 2), (3, 3)], [(1, 1), (5, 6), (7, 8)], "2 of 3 gold rows are not in the prediction"),
        ([(1, 1), (2, 2)], [(1, 1), (5, 6)], "1 of 2 gold rows is not in the prediction"),
    ],
)
def test_the_difference_is_said_with_its_values_or_its_counts(gold: list[Row], predicted: list[Row], said: str) -> None:
    assert _reason(gold, predicted) == said


def test_text_order_and_long_values_are_said_shortly() -> None:
    assert _reason([(7,)], [("7",)]).startswith("one cell differs: gold 7, predicted '7' (")
    assert _reason([(1,), (2,)], [(2,), (1,)], ordered=True) == "the rows match, but not their order"
    assert len(_reason([("x" * 500,)], [(10**5000,)])) < 200


def test_no_sentence_counts_nothing_and_every_shown_pair_of_values_differs() -> None:
    generator = random.Random(3)
    seen = 0
    for _ in range(3_000):
        width, count = generator.randint(1, 3), generator.randint(1, 4)
        gold = [tuple(generator.choice([0, 1, 2.5, None, "a"]) for _ in range(width)) for _ in range(count)]
        predicted = [tuple(generator.choice([0, 1, 2.5, None, "a"]) for _ in range(width)) for _ in range(count)]
        ours, theirs = (Result(columns=("a", "b", "c")[:width], rows=tuple(rows)) for rows in (gold, predicted))
        found = compare(theirs, ours)
        if found.equal:
            continue
        assert not found.reason.startswith("0 ")
        if found.reason.startswith("one cell"):
            seen += 1
            values = found.reason.split(": gold ")[1].split(" (")[0].split(", predicted ")
            assert values[0] != values[1]
            assert max(found.missing_rows, found.extra_rows) <= 1
    assert seen > 200


def test_no_reason_says_a_number_twice() -> None:
    """The cells hold no digits, so that every number of a sentence is a count; equal counts are left out."""
    generator = random.Random(36)
    words = "abcdefghijklmnopqrstuvwxyz"
    numbered = 0
    for _ in range(600):
        gold = [
            (generator.choice(words), generator.choice("xyz"), generator.choice("uvw"))
            for _ in range(generator.randint(1, 9))
        ]
        width = generator.choice((1, 2, 3, 3, 3))
        predicted = [(*row, "t", "s")[: generator.choice((width, width, 5))] for row in gold]
        widest = min(map(len, predicted))
        predicted = [row[:widest] for row in predicted]
        change = generator.randrange(4)
        if change == 0:
            predicted = predicted[: generator.randint(1, len(predicted))]
        elif change == 1:
            predicted += [generator.choice(predicted) for _ in range(generator.randint(1, 9))]
        elif change == 2:
            predicted += [("new",) * widest] * generator.randint(1, 9)
        ours = Result(columns=("p", "q", "r"), rows=tuple(gold))
        theirs = Result(columns=tuple("pqrst"[:widest]), rows=tuple(predicted))
        found = compare(theirs, ours, ComparisonOptions())
        counts = re.findall(r"\d[\d,]*", "" if found.equal else found.reason)
        assert len(counts) == len(set(counts)), found.reason
        numbered += bool(counts)
    assert numbered > 200


PLAIN = ComparisonOptions()
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


@given(st.sets(FLOATS, max_size=8), st.sets(EXACTS, max_size=6), st.sampled_from([PLAIN, EXACT]))
@settings(max_examples=300)
def test_many_cluster_as_few_do(floats: set[float], exact: set[int | Decimal], options: ComparisonOptions) -> None:
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


@given(NESTED, NESTED, st.sampled_from([PLAIN, EXACT]))
@settings(max_examples=300)
def test_lists_and_structs_are_equal_if_members_are(first: Cell, second: Cell, options: ComparisonOptions) -> None:
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
    assert numbers_equal(keys[0], keys[1], PLAIN) is same
    assert numbers_equal(keys[1], keys[0], PLAIN) is same


@given(st.lists(NEAR_ONE, min_size=1, max_size=5), st.data())
@settings(max_examples=200)
def test_numbers_in_lists_and_structs_are_paired_as_others_are(gold: list[float], data: st.DataObject) -> None:
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
