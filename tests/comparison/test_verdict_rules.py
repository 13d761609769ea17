"""The verdict's rules for cells, columns and rows, and what gold allows where its rows tie."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from itertools import combinations
from math import prod
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.comparison.answer import Answer, Segment
from assay.comparison.compare import compare
from assay.errors import UsageError
from assay.model import Cell, Comparison, ComparisonOptions, Result, Row
from many_cases import each

SAME = [
    (1, 1.0),
    (1, Decimal("1.00")),
    (1.0, Decimal(1)),
    (0.1 + 0.2, 0.3),
    (Decimal("0.1"), 0.1),
    (-0.0, 0),
    (0.0, 5e-13),
    (-5e-13, 5e-13),
    (5.551115123125783e-17, -2.7755575615628914e-17),
    (1e300, 1e300 * (1 + 9e-13)),
    (Decimal(2**53 + 1), float(2**53)),
    (10**300 + 10**287, 1e300),
    (2**70, 2**70),
    (float("nan"), float("nan")),
    (float("nan"), Decimal("NaN")),
    (math.inf, Decimal("Infinity")),
    (None, None),
    ("\u00e9", "\u00e9"),
    (b"x", bytearray(b"x")),
    (date(2024, 2, 29), datetime(2024, 2, 29)),  # noqa: DTZ001
    (datetime(2024, 1, 1, 12, tzinfo=UTC), datetime(2024, 1, 1, 14, tzinfo=timezone(timedelta(hours=2)))),
    ([1, 2], (1.0, 2)),
    ({"a": 1, "b": None}, {"b": None, "a": 1}),
    (UUID(int=7), UUID(int=7)),
    (2**53 + 1, float(2**53)),
]
DIFFERENT = [
    (None, 0),
    (None, ""),
    (None, float("nan")),
    (1, "1"),
    (1, 2),
    (0.001, 0.009),
    (1.0, 1.0 + 1e-8),
    (1.0, 1.0 + 1.1e-12),
    (1700000000.0, 1700000001),
    (0, 1.1e-12),
    (1e-6, 1e-6 + 1e-13),
    (2e-12, 2.5e-12),
    (Decimal("5e-13"), 0),
    (10**400, math.inf),
    (10**400, 1.7e308),
    (2**53, 2**53 + 1),
    (Decimal("0.1"), Decimal("0.10000000000000001")),
    (1e-20, 1e-3),
    ("x", "X"),
    ("x", "x "),
    ("x", b"x"),
    ("2024-01-01", date(2024, 1, 1)),
    (date(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 1)),  # noqa: DTZ001
    (datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC)),  # noqa: DTZ001
    (time(1), timedelta(hours=1)),
    (math.inf, -math.inf),
    (math.inf, 1e308),
    ([1, 2], [2, 1]),
    ("\u00e9", "e\u0301"),
]


def _cells(gold: Cell, predicted: Cell, **options: object) -> Comparison:
    # Beside another row, so that the shortcut for single rows is not all that is tried.
    rows = [(gold, 1), ("other", 2)], [("other", 2), (predicted, 1)]
    return compare(Result.of(rows[1]), Result.of(rows[0]), ComparisonOptions(**options))  # type: ignore[arg-type]


@each("gold,predicted,equal", [*((*pair, True) for pair in SAME), *((*pair, False) for pair in DIFFERENT)], ids=repr)
def test_values_match_or_differ_both_ways_alone_and_among_rows(gold: Cell, predicted: Cell, equal: bool) -> None:
    assert _cells(gold, predicted).equal == _cells(predicted, gold).equal == equal
    assert compare(Result.of([(predicted,)]), Result.of([(gold,)])).equal == equal


def test_booleans_are_integers_only_where_the_engine_has_no_booleans() -> None:
    assert _cells(True, 1, boolean_is_integer=True).equal
    assert _cells(False, 0.0, boolean_is_integer=True).equal
    comparison = _cells(True, 1)
    assert not comparison.equal
    assert [near.kind for near in comparison.near_misses] == ["type_only"]
    assert not compare(Result.of([(True,)]), Result.of([(1,)])).equal
    assert not compare(Result.of([(1,), (2,)]), Result.of([(True,), (2,)])).equal
    assert _cells(True, True).equal


@each("one", [1, 1.0, Decimal(1)])
@each("copies", [1, 2])
def test_a_boolean_among_rows_in_another_order_is_not_a_number(one: object, copies: int) -> None:
    numbers = [("a", one), ("b", 2), ("c", 3)] * copies
    booleans = [("c", 3), ("b", 2), ("a", True)] * copies
    for gold, predicted in ((numbers, booleans), (booleans, numbers)):
        assert not compare(Result.of(predicted), Result.of(gold)).equal
        assert compare(Result.of(predicted), Result.of(gold), ComparisonOptions(boolean_is_integer=True)).equal
    assert compare(Result.of(booleans), Result.of(booleans[::-1])).equal


def test_tolerance_is_settable_and_applies_to_floats_alone() -> None:
    assert _cells(100.0, 100.5, relative_tolerance=0.01).equal
    assert not _cells(100, 101, relative_tolerance=0.1).equal
    assert _cells(0.0, 0.4, absolute_tolerance=0.5).equal
    assert not _cells(0.3, 0.1 + 0.2, relative_tolerance=0.0, absolute_tolerance=0.0).equal


BIG = 2**60


@each(
    ("gold", "predicted", "equal"),
    [
        # Two integers are not joined by a float between them.
        ([(BIG,), (float(BIG),)], [(float(BIG),), (BIG,)], True),
        ([(BIG,), (BIG + 3,)], [(BIG + 1,), (BIG + 2,)], False),
        ([(BIG,), (BIG,)], [(BIG + 1,), (float(BIG),)], False),
        # Rows stay aligned, and one permutation of columns holds for all of them.
        ([(1, "a"), (2, "b")], [(1, "b"), (2, "a")], False),
        ([(1, 2), (3, 4)], [(2, 1), (3, 4)], False),
        ([(1, 2, "a"), (3, 4, "b")], [("b", 3, 4), ("a", 1, 2)], True),
        ([(1, 2, "a"), (3, 4, "b")], [("b", 4, 3), ("a", 1, 2)], False),
        # Duplicates count.
        ([("x",), ("x",), ("y",)], [("y",), ("x",), ("x",)], True),
        ([("x",), ("x",), ("y",)], [("x",), ("y",), ("y",)], False),
        ([("x",), ("x",), ("y",)], [("x",), ("y",)], False),
    ],
)
def test_rows_and_columns_match_as_wholes(gold: list[Row], predicted: list[Row], equal: bool) -> None:
    assert compare(Result.of(predicted), Result.of(gold)).equal == equal


def test_a_chain_of_near_floats_does_not_join_its_ends() -> None:
    options, gold = ComparisonOptions(relative_tolerance=0.1), Result.of([(100.0,), (109.0,), (118.0,)])
    assert compare(Result.of([(109.0,), (118.0,), (118.0,)]), gold, options).equal  # 100-109, 109-118, 118-118
    assert not compare(Result.of([(118.0,), (118.0,), (118.0,)]), gold, options).equal  # not within a tenth of 100
    assert not compare(Result.of([(100.0,), (100.0,), (100.0,)]), gold, options).equal


def test_strict_columns_demand_golds_order() -> None:
    strict = ComparisonOptions(columns="strict")
    comparison = compare(Result.of([(2, 1)]), Result.of([(1, 2)]), strict)
    assert not comparison.equal
    assert "column_order_only" in [near.kind for near in comparison.near_misses]
    assert compare(Result.of([(1, 2)]), Result.of([(1.0, 2)]), strict).equal


def test_golds_own_column_order_is_preferred() -> None:
    rows = [(1, 1, 2), (2, 2, 1)]
    assert compare(Result.of(rows), Result.of(rows)).column_mapping == (0, 1, 2)
    assert compare(Result.of([(1 + 1e-12, 1.0, 2), (2, 2, 1)]), Result.of(rows)).column_mapping == (0, 1, 2)


def test_names_are_no_part_of_the_answer_and_may_repeat() -> None:
    gold = Result.of([(1, 2)], columns=("id", "id"))
    assert compare(Result.of([(1, 2)], columns=("a", "b")), gold).equal
    assert not compare(Result.of([(2, 2)], columns=("id", "id")), gold).equal


def test_both_empty_is_a_vacuous_match_if_the_widths_agree() -> None:
    one, two = Result(columns=("a",), rows=()), Result(columns=("a", "b"), rows=())
    unnamed = Result(columns=(), rows=())
    assert compare(one, one).vacuous
    assert compare(one, one).equal
    assert not compare(two, one).equal
    assert not compare(two, one).vacuous
    assert compare(unnamed, two).equal
    assert compare(two, unnamed).equal


def test_empty_against_rows_differs() -> None:
    empty, full = Result(columns=("a",), rows=()), Result.of([(1,)])
    assert not compare(empty, full).equal
    assert not compare(full, empty).equal
    assert compare(empty, full).missing_rows == 1
    assert compare(full, empty).extra_rows == 1


def test_strict_order_is_that_of_the_list() -> None:
    gold = Result.of([(1,), (2,), (2,)])
    assert compare(Result.of([(1,), (2.0,), (2,)]), Answer.strict(gold)).equal
    comparison = compare(Result.of([(2,), (1,), (2,)]), Answer.strict(gold))
    assert not comparison.equal
    assert comparison.ordered
    assert [near.kind for near in comparison.near_misses] == ["order_only"]


def test_order_and_permutation_must_hold_together() -> None:
    # As a bag the columns could be swapped; in this order they cannot.
    gold = Result.of([(1, 2), (2, 1)])
    assert compare(Result.of([(2, 1), (1, 2)]), Answer.strict(gold)).equal  # swapped columns, in order
    assert compare(Result.of([(2, 1), (1, 2)]), Answer.bag(gold)).equal
    gold = Result.of([(1, 2), (2, 1), (1, 1)])
    assert not compare(Result.of([(1, 1), (1, 2), (2, 1)]), Answer.strict(gold)).equal


def test_counts_and_the_sample_describe_a_difference() -> None:
    gold = Result.of([(1, "a"), (2, "b"), (3, "c")])
    comparison = compare(Result.of([("b", 2), ("a", 1), ("d", 4)]), gold)
    assert comparison.column_mapping == (1, 0)
    assert (comparison.matched_rows, comparison.missing_rows, comparison.extra_rows) == (2, 1, 1)
    assert [(line.state, line.gold, line.predicted) for line in comparison.aligned if line.state != "matched"] == [
        ("missing", (3, "c"), None),
        ("extra", None, (4, "d")),
    ]


def test_the_sample_is_limited_and_the_counts_are_not() -> None:
    gold = Result.of([(i,) for i in range(100)])
    comparison = compare(Result.of([(i,) for i in range(200, 300)]), gold, ComparisonOptions(sample_rows=3))
    assert (comparison.missing_rows, comparison.extra_rows) == (100, 100)
    assert len(comparison.aligned) == 6


def _answer(rows: list[Row], ranks: list[object], *, limit: int, offset: int = 0) -> Answer:
    gold = Result.of(rows[offset : offset + limit])
    answer = Answer.ranked(gold, rows, ranks, offset=offset, ordered=True)
    assert answer is not None
    return answer


def _allows(answer: Answer, *rows: Row) -> bool:
    return compare(Result.of(rows), answer).equal


ABCD: list[Row] = [("a",), ("b",), ("c",), ("d",), ("e",)]


@each(
    ("rows", "ranks", "cut", "ambiguous", "right", "wrong"),
    [
        # Rows that tie may come in any order, and others may not.
        (ABCD[:3], [1, 1, 2], (3, 0), False, ["bac"], ["acb"]),
        # A cut through a tie allows every choice, at the front too.
        (ABCD[:4], [1, 2, 2, 2], (2, 0), True, ["ab", "ad"], ["bc", "da", "ax", "abc"]),
        (ABCD, [1, 1, 1, 2, 3], (2, 2), True, ["ad", "bd"], ["ab", "ae"]),
        # A choice takes each row at most as often as it is there; among equal rows there is none.
        ([("a",), ("a",), ("b",), ("c",)], [1, 1, 1, 1], (3, 0), True, ["aac"], ["bbc"]),
        ([("a",), ("a",), ("a",)], [1, 1, 1], (2, 0), False, ["aa"], ["ab"]),
    ],
)
def test_an_answer_allows_what_its_ties_allow(
    rows: list[Row], ranks: list[object], cut: tuple[int, int], ambiguous: bool, right: list[str], wrong: list[str]
) -> None:
    answer = _answer(rows, ranks, limit=cut[0], offset=cut[1])
    assert answer.ambiguous == ambiguous
    assert {text: _allows(answer, *((cell,) for cell in text)) for text in (*right, *wrong)} == {
        **dict.fromkeys(right, True),
        **dict.fromkeys(wrong, False),
    }


def test_columns_may_be_permuted_and_floats_near_in_an_ambiguous_answer() -> None:
    answer = _answer([(1, "a"), (2, "b"), (3, "c")], [1, 1, 1], limit=2)
    assert _allows(answer, ("c", 3), ("a", 1))
    assert not _allows(answer, ("c", 1), ("a", 3))
    assert _allows(_answer([(0.1,), (0.3,), (0.5,)], [1, 1, 1], limit=1), (0.1 + 0.2,))


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=2), st.data())
def test_what_gold_leaves_open_is_counted_as_by_trying_every_choice(tied: list[list[int]], data: st.DataObject) -> None:
    takes = [data.draw(st.integers(1, len(numbers))) for numbers in tied]
    cut = [
        Segment(rows=tuple((number,) for number in numbers), take=take)
        for numbers, take in zip(tied, takes, strict=True)
    ]
    bags = [
        {tuple(sorted(chosen)) for chosen in combinations(numbers, take)}
        for numbers, take in zip(tied, takes, strict=True)
    ]
    open_ones = [place for place, bag in enumerate(bags) if len(bag) > 1]
    found = Answer(result=Result.of([]), segments=tuple(cut), ordered=True).ambiguity
    if not open_ones:
        assert found is None
        return
    assert found.choices == prod(len(bags[place]) for place in open_ones)
    assert found.taken_rows == sum(takes[place] for place in open_ones)
    assert found.tied_rows == sum(len(tied[place]) for place in open_ones)


def test_a_probe_with_too_few_rows_is_not_believed() -> None:
    assert Answer.ranked(Result.of([(1,), (2,)]), [(1,)], [1], offset=0, ordered=True) is None


def test_a_segment_cannot_give_more_than_it_has() -> None:
    with pytest.raises(UsageError, match="cannot provide 2"):
        Segment(rows=((1,),), take=2)


def test_a_column_without_a_counterpart_is_the_reason_where_all_else_is_alike() -> None:
    gold = Result.of([("a", 1), ("b", 1), ("c", 2)], columns=["name", "n"])
    compared = compare(Result.of([(1, 7), (1, 8), (2, 9)], columns=["n", "id"]), gold)
    assert (compared.equal, compared.column_mapping, compared.missing_rows) == (False, (None, 0), 0)
    assert compared.reason == "1 of 2 gold columns has no counterpart in the prediction"
