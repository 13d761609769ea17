"""Each near miss is recognised, and only where it is the whole difference."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

from assay.comparison.answer import Answer
from assay.comparison.compare import compare
from assay.model import Cell, Result
from many_cases import each

Rows = list[tuple[Cell, ...]]
GOLD: Rows = [(1, "a"), (2, "b"), (3, "c")]
EXAMPLES: list[tuple[str, Rows, Rows]] = [
    ("superset_columns", GOLD, [(9, 1, "a"), (9, 2, "b"), (9, 3, "c")]),
    ("subset_columns", GOLD, [("a",), ("b",), ("c",)]),
    ("missing_rows", GOLD, [("b", 2), ("a", 1)]),
    ("extra_rows", GOLD, [*GOLD, (4, "d")]),
    ("duplicates_only", [(1,), (1,), (2,)], [(1,), (2,)]),
    ("duplicates_only", [(1,), (1,), (2,)], [(1,), (2,), (2,)]),
    ("type_only", [(1,), (2,)], [("1",), ("2",)]),
    ("type_only", [(date(2024, 1, 2),)], [("2024-01-02",)]),
    ("type_only", [(datetime(2024, 1, 2, 3, 4, 5),)], [("2024-01-02 03:04:05",)]),  # noqa: DTZ001
    ("type_only", [("x",)], [(b"x",)]),
    ("type_only", [(True,)], [(1,)]),
    ("rounding_only", [(3.14159,)], [(3.14,)]),
    ("rounding_only", [(66.667, "x"), (10.5, "y")], [(66.67, "x"), (10.5, "y")]),
    ("rounding_only", [(2.5,), (7.9,)], [(2,), (7,)]),
    ("rounding_only", [(Decimal("0.333333"),)], [(Decimal("0.33"),)]),
    ("case_or_whitespace_only", [("New York",), ("b",)], [("new  york",), ("B ",)]),
    ("scaled", [(12.5,), (50.0,)], [(0.125,), (0.5,)]),
    ("scaled", [(0.125, "x")], [(12.5, "x")]),
    ("scaled", [(1999,), (5,)], [(1.999,), (0.005,)]),
    ("sign", [(-3,), (4,)], [(3,), (-4,)]),
]


@each(("kind", "gold", "predicted"), EXAMPLES, ids=lambda value: str(value)[:40])
def test_the_near_miss_is_named(kind: str, gold: Rows, predicted: Rows) -> None:
    comparison = compare(Result.of(predicted), Result.of(gold))
    assert not comparison.equal
    assert [near.kind for near in comparison.near_misses] == [kind]
    assert comparison.near_misses[0].detail in comparison.reason


@each(
    ("gold", "predicted", "detail"),
    [
        ([(1,)], [(1, 2)], "the gold column and others"),
        (GOLD, [(9, 1, "a"), (9, 2, "b"), (9, 3, "c")], "all gold columns and others"),
        (GOLD, [("a",), ("b",), ("c",)], "some gold columns are missing, the others are right"),
        ([(1,)], [(1,), (2,), (3,)], "the gold row and others"),
        (GOLD, [*GOLD, (4, "d")], "all gold rows and others"),
    ],
)
def test_a_near_miss_says_no_number_that_the_reason_has_said(gold: Rows, predicted: Rows, detail: str) -> None:
    assert [near.detail for near in compare(Result.of(predicted), Result.of(gold)).near_misses] == [detail]


@each(
    ("gold", "predicted"),
    [
        ([(1, "a"), (2, "b")], [(1, "b"), (2, "a")]),
        ([(1,)], [(2,)]),
        ([(0.3,)], [(0.9,)]),
        ([("a",)], [("b",)]),
        ([(1,), (2,)], []),
        ([], [(1,)]),
        ([(None,)], [(0,)]),
        ([(1, "x"), (2, "y")], [(2, "x"), (1, "z"), (5, "y")]),
    ],
)
def test_an_answer_far_off_has_no_near_miss(gold: Rows, predicted: Rows) -> None:
    assert compare(Result.of(predicted), Result.of(gold)).near_misses == ()


def test_a_match_has_no_near_miss() -> None:
    assert compare(Result.of(GOLD), Result.of(GOLD)).near_misses == ()


def test_wrong_order_is_all_that_is_said_of_wrong_order() -> None:
    gold = Answer.strict(Result.of([("a",), ("B",)]))
    assert [near.kind for near in compare(Result.of([("B",), ("a",)]), gold).near_misses] == ["order_only"]
