"""Declared leniency lets pass exactly what it says, against a reference that tries every column and every row."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest

from assay.comparison.answer import Answer, Segment
from assay.comparison.compare import compare
from assay.comparison.lenient import compare_leniently
from assay.errors import UsageError
from assay.model import Cell, Comparison, ComparisonOptions, Leniency, Result, Row
from many_cases import each

ALLOWED = Leniency(extra_columns="allowed")
IGNORED = Leniency(duplicates="ignored")
KINDS = ("extra_columns", "duplicates", "case", "tolerance")


def _result(rows: list[Row], width: int) -> Result:
    return Result(columns=tuple(f"c{place}" for place in range(width)), rows=tuple(rows))


def _same(one: Cell, two: Cell, leniency: Leniency) -> bool:
    if isinstance(one, str) and isinstance(two, str):
        return one == two or (leniency.case == "ignored" and one.casefold() == two.casefold())
    if one is None or two is None or isinstance(one, str) or isinstance(two, str):
        return one is two
    if isinstance(one, float) or isinstance(two, float):
        relative = ComparisonOptions().relative_tolerance if leniency.tolerance is None else leniency.tolerance
        return math.isclose(one, two, rel_tol=relative, abs_tol=1e-12)  # type: ignore[arg-type]
    return one == two


def _rows_same(one: Row, two: Row, leniency: Leniency) -> bool:
    return all(_same(a, b, leniency) for a, b in zip(one, two, strict=True))


def _distinct(rows: list[Row], leniency: Leniency) -> list[Row]:
    kept: list[Row] = []
    for row in rows:
        if not any(_rows_same(row, other, leniency) for other in kept):
            kept.append(row)
    return kept


def _orders(gold: list[list[Row]]) -> Iterator[list[Row]]:
    """Every list of rows that segments of tied rows allow."""
    if not gold:
        yield []
        return
    for first in permutations(gold[0]):
        for rest in _orders(gold[1:]):
            yield [*first, *rest]


def _reference(gold: list[list[Row]], predicted: list[Row], widths: tuple[int, int], leniency: Leniency) -> bool:
    """Every choice of columns, every order of rows that gold allows."""
    ours, theirs = widths
    if theirs < ours or (theirs > ours and leniency.extra_columns != "allowed"):
        return False
    for mapping in permutations(range(theirs), ours):
        chosen = [tuple(row[place] for place in mapping) for row in predicted]
        for order in _orders(gold):
            wanted = order
            if leniency.duplicates == "ignored":
                wanted, given = _distinct(order, leniency), _distinct(chosen, leniency)
            else:
                given = chosen
            if len(wanted) == len(given) and all(map(_rows_same, wanted, given, [leniency] * len(given))):
                return True
    return False


CELLS: tuple[Cell, ...] = (0, 1, 1.0, 2.5, 2.5000001, None, "a", "A", "ß", "SS")


class _Cases:
    """Small tables that are often alike but for what a leniency forgives."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def leniency(self) -> Leniency:
        chosen = [kind for kind in KINDS if self._random.random() < 0.6]
        words = {"extra_columns": "allowed", "duplicates": "ignored", "case": "ignored", "tolerance": 1e-6}
        return Leniency(**{kind: words[kind] for kind in chosen})  # type: ignore[arg-type]

    def pair(self) -> tuple[list[list[Row]], list[Row], tuple[int, int]]:
        pick = self._random
        width, more = pick.randint(1, 2), pick.choice([0, 0, 1, 2])
        cells = pick.sample(CELLS, 3)
        rows = [tuple(pick.choice(cells) for _ in range(width)) for _ in range(pick.randint(1, 4))]
        segments: list[list[Row]] = [rows]
        if pick.random() < 0.4:
            cut = pick.randint(0, len(rows))
            segments = [part for part in (rows[:cut], rows[cut:]) if part]
        predicted = [row for part in segments for row in pick.sample(part, len(part))]
        if pick.random() < 0.4:
            predicted.append(pick.choice(predicted))
        if pick.random() < 0.2 and len(predicted) > 1:
            predicted.pop(pick.randrange(len(predicted)))
        order = pick.sample(range(width + more), width + more)
        wide = [(*row, *(pick.choice(cells) for _ in range(more))) for row in predicted]
        return segments, [tuple(self._near(row[place]) for place in order) for row in wide], (width, width + more)

    def _near(self, cell: Cell) -> Cell:
        if isinstance(cell, str) and self._random.random() < 0.3:
            return cell.swapcase()
        if isinstance(cell, float) and self._random.random() < 0.2:
            return cell * (1 + 3e-8)
        return cell


def test_leniency_is_what_the_reference_says_on_small_tables() -> None:
    cases = _Cases(14)
    equal = 0
    for _ in range(6_000):
        segments, predicted, widths = cases.pair()
        leniency = cases.leniency()
        parts = tuple(Segment(rows=tuple(rows), take=len(rows)) for rows in segments)
        gold = _result([row for rows in segments for row in rows], widths[0])
        answer = Answer(result=gold, segments=parts, ordered=len(parts) > 1)
        options = ComparisonOptions(leniency=leniency, near_misses=False)
        found = compare_leniently(_result(predicted, widths[1]), answer, options)
        assert found.decided
        assert found.equal == _reference(segments, predicted, widths, leniency), (segments, predicted, leniency)
        equal += found.lenient
    assert equal > 500


def test_without_a_declaration_nothing_changes() -> None:
    cases = _Cases(3)
    for _ in range(500):
        segments, predicted, widths = cases.pair()
        gold = _result([row for rows in segments for row in rows], widths[0])
        given = _result(predicted, widths[1])
        assert compare_leniently(given, Answer.bag(gold), ComparisonOptions()) == compare(given, gold)


def test_a_match_that_needed_it_says_so_and_one_that_did_not_does_not() -> None:
    gold = _result([("a", 1), ("b", 2)], 2)
    wider = compare_leniently(
        _result([(9, 2, "b"), (9, 1, "a")], 3), Answer.bag(gold), ComparisonOptions(leniency=ALLOWED)
    )
    assert (wider.equal, wider.lenient, wider.column_mapping) == (True, True, (2, 1))
    assert wider.reason == "all 2 rows match; lenient: extra columns allowed"
    same = compare_leniently(gold, Answer.bag(gold), ComparisonOptions(leniency=ALLOWED))
    assert (same.equal, same.lenient) == (True, False)


@each("more", [(), ("x",)])
@each(
    ("gold", "predicted", "equal"),
    [
        ([0.1 + 0.2, 0.5], [Decimal("0.3"), Decimal("0.5")], True),
        ([Decimal("0.3"), Decimal("0.5")], [0.1 + 0.2, 0.5], True),
        ([2**53 + 1, 1], [float(2**53), 1], True),
        ([0.1 + 0.2, 0.5], [Decimal("0.3"), Decimal("0.6")], False),
        ([Decimal("0.1"), 1], [Decimal("0.10000000000000001"), 1], False),
    ],
)
def test_floats_are_near_exact_numbers(
    gold: list[Cell], predicted: list[Cell], equal: bool, more: tuple[str, ...]
) -> None:
    given = _result([(*more, cell) for cell in predicted], 1 + len(more))
    answer = Answer.bag(_result([(cell,) for cell in gold], 1))
    assert compare_leniently(given, answer, ComparisonOptions(leniency=ALLOWED)).equal is equal


def test_order_of_columns_ties_and_emptiness_count_as_without_leniency() -> None:
    def lenient(rows: list[Row], width: int, answer: Answer, **options: Any) -> Comparison:
        return compare_leniently(_result(rows, width), answer, ComparisonOptions(leniency=ALLOWED, **options))

    gold = Answer.bag(_result([("a", "b")], 2))
    assert lenient([("a", "x", "b")], 3, gold, columns="strict").equal
    assert not lenient([("b", "x", "a")], 3, gold, columns="strict").equal
    tie = (("a", 1), ("b", 1), ("c", 1))
    cut = Answer(result=_result([("a", 1), ("b", 1)], 2), segments=(Segment(rows=tie, take=2),), ordered=False)
    assert lenient([("x", 1, "c"), ("y", 1, "a")], 3, cut).equal
    assert not lenient([("x", 1, "c"), ("y", 1, "d")], 3, cut).equal
    assert not lenient([("x", 1, "c"), ("y", 1, "c")], 3, cut).equal
    empty = lenient([], 3, Answer.bag(_result([], 2)))
    assert (empty.equal, empty.vacuous, empty.lenient) == (True, True, True)
    two, other = _result([("a",), ("b",)], 1), _result([("a",), ("c",)], 1)
    assert compare_leniently(other, Answer.bag(two), ComparisonOptions(leniency=IGNORED)) == compare(other, two)


def test_many_columns_are_chosen_from_without_trying_all_orders() -> None:
    generator = random.Random(5)
    rows = [tuple(generator.randint(0, 1) for _ in range(16)) for _ in range(200)]
    order = generator.sample(range(16), 10)
    gold = _result([tuple(row[place] for place in order) for row in rows], 10)
    found = compare_leniently(_result(rows, 16), Answer.bag(gold), ComparisonOptions(leniency=ALLOWED))
    assert found.equal
    assert [rows[0][place] for place in found.column_mapping if place is not None] == list(gold.rows[0])


def test_a_case_comes_before_its_run() -> None:
    own = Leniency(extra_columns="wrong", tolerance=0.5)
    merged = own.over(Leniency(extra_columns="allowed", case="ignored"))
    assert merged == Leniency(extra_columns="wrong", case="ignored", tolerance=0.5)
    assert merged.said == "letter case ignored, tolerance 0.5"


@each(
    ("field", "value"),
    [
        *((field, value) for field in ("extra_columns", "duplicates", "case", "shape") for value in ("x", "", True, 0)),
        ("tolerance", -1),
    ],
)
def test_a_word_that_there_is_not_is_refused(field: str, value: object) -> None:
    with pytest.raises(UsageError, match=field):
        Leniency(**{field: value})  # type: ignore[arg-type]
