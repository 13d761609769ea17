"""What a near miss claims is true: each claim is checked by trying everything, on tables a change or two from gold."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.comparison.reference import is_finite, is_number, near_miss_holds

from assay.comparison.answer import Answer, Segment
from assay.comparison.compare import compare
from assay.model import Cell, ComparisonOptions, NearMissKind, Result, Row
from many_cases import each

CELLS: list[Cell] = [
    0, 1, 2, 3, -3, 7, 32, 100, 2020, 2021, 0.5, 1.005, 2.5, 2.6, 31.33, 0.1 + 0.2, 0.3, 66.667, -12.75, 1e-13, 1e17,
    1_700_000_000, 1_700_000_001, 2**53, 2**53 + 1, 10**14, float(2**53), Decimal("0.30"), Decimal("12.345"),
    None, True, math.nan, "7", "07", "2.50", "ab", "AB", "a  b", "straße", "true", b"7", b"ab", date(2024, 1, 2),
    "2024-01-02",
]  # fmt: skip
Change = Callable[[list[Row], random.Random], list[Row]]


def _each(change: Callable[[Cell], Cell]) -> Change:
    """Change all cells of one column, or of all."""

    def changed(rows: list[Row], chance: random.Random) -> list[Row]:
        only = chance.choice((None, chance.randrange(len(rows[0]))))
        return [tuple(change(cell) if only in (None, c) else cell for c, cell in enumerate(row)) for row in rows]

    return changed


def _number(change: Callable[[int | float | Decimal], Cell]) -> Change:
    return _each(lambda cell: change(cell) if is_number(cell) and is_finite(cell) else cell)  # type: ignore[arg-type]


def _spread(rows: list[Row], _: random.Random) -> list[Row]:
    """One column as a row, one row as a column, and anything else with the number of the column beside each cell."""
    if len(rows[0]) == 1:
        return [tuple(row[0] for row in rows)]
    if len(rows) == 1:
        return [(cell,) for cell in rows[0]]
    if len(rows) * (len(rows[0]) - 1) > 6:
        return rows
    return [(row[0], place, cell) for row in rows for place, cell in enumerate(row[1:])]


def _with_total(rows: list[Row], _: random.Random) -> list[Row]:
    """The rows, and one with the sums of columns of numbers."""
    numbers = [[cell for cell in column if is_number(cell) and is_finite(cell)] for column in zip(*rows, strict=True)]
    whole = [len(found) == len(rows) for found in numbers]
    sums = [math.fsum(map(float, found)) if all_ else None for found, all_ in zip(numbers, whole, strict=True)]  # type: ignore[arg-type]
    return [*rows, tuple(sums)]


CHANGES: list[Change] = [
    _spread,
    _with_total,
    lambda rows, chance: chance.sample(rows, len(rows)),
    lambda rows, chance: chance.sample(rows, max(1, len(rows) - 1)),
    lambda rows, chance: rows[: chance.randrange(1, len(rows) + 1)],
    lambda rows, chance: [*rows, chance.choice(rows)],
    lambda rows, chance: [*rows[:1], *rows],
    lambda rows, chance: [*rows, tuple(chance.choice(CELLS) for _ in rows[0])],
    lambda rows, chance: [(*row, chance.choice(CELLS)) for row in rows],
    lambda rows, chance: [row[1:] if len(row) > 1 else row for row in rows],
    lambda rows, chance: [row[::-1] for row in rows],
    _each(lambda cell: str(cell) if is_number(cell) or isinstance(cell, (bool, date)) else cell),
    _each(lambda cell: cell.upper() if isinstance(cell, str) else cell),
    _each(lambda cell: f" {cell} " if isinstance(cell, str) else cell),
    _number(lambda number: round(number, 1)),
    _number(round),
    _number(int),
    _number(lambda number: number + 1),
    _number(lambda number: float(number) * (1 + 3e-13)),
    _number(lambda number: -number),
    _number(lambda number: number * 100),
    _number(lambda number: float(number) / 1000),
    _number(lambda number: number * (100 if number > 2 else -1)),
]


def _claims(seed: int) -> list[str]:
    """What is claimed of one table and its change, each claim checked."""
    chance = random.Random(seed)
    pool = [chance.choice(CELLS) for _ in range(chance.randint(2, 6))]
    width = chance.randint(1, 3)
    rows: list[Row] = [tuple(chance.choice(pool) for _ in range(width)) for _ in range(chance.randint(1, 4))]
    options = ComparisonOptions(columns=chance.choice(("any", "any", "strict")), sample_rows=2)
    ordered = chance.random() < 0.4
    border = chance.randint(0, len(rows))
    halves = [half for half in (rows[:border], rows[border:]) if half]
    gold = ([[row] for row in rows] if chance.random() < 0.5 else halves) if ordered else [rows]
    predicted = rows
    for change in chance.choices(CHANGES, k=chance.choice((1, 1, 2))):
        predicted = change(predicted, chance)
    segments = tuple(Segment(rows=tuple(part), take=len(part)) for part in gold)
    answer = Answer(result=Result.of(rows), segments=segments, ordered=ordered)
    comparison = compare(Result.of(predicted), answer, options)
    for near in comparison.near_misses:
        assert near_miss_holds(near.kind, gold, predicted, options), (seed, near, gold, predicted, options)
    return [near.kind for near in comparison.near_misses]


@pytest.mark.parametrize("part", range(8))
def test_every_near_miss_that_is_claimed_is_true(part: int) -> None:
    claimed = Counter(kind for seed in range(part * 1000, part * 1000 + 1000) for kind in _claims(seed))
    assert set(claimed) == set(get_args(NearMissKind)), "each kind must come up"


@each("seed", range(4))
def test_a_row_of_totals_is_claimed_exactly_where_trying_everything_finds_one(seed: int) -> None:
    chance, found = random.Random(seed), Counter[bool]()
    for _ in range(100):
        pool: list[Cell] = [*chance.sample([1, 2, 3, 0, -3, 2.5, 2020, Decimal("0.5"), None], 4), *[7, 9][: seed % 3]]
        rows: list[Row] = [
            (chance.choice(["a", "b", "c", None, 1]), chance.choice(pool), chance.choice(pool))
            for _ in range(chance.randint(2, 3))
        ]
        *_, (_, *sums) = _with_total([(0, *(cell or 0 for cell in row[1:])) for row in rows], chance)
        label = chance.choice([None, "", "Total", "ALL", "Grand Total", "Total Wine", "d", 5])
        cells = [
            total if chance.random() < 0.7 else chance.choice([None, float(total) / len(rows), 99, *pool])  # type: ignore[arg-type]
            for total in sums
        ]
        more = chance.sample([*rows, (label, *cells)], len(rows) + 1)
        claims = [kind == "totals_row" for kind in _kinds(rows, more)], [k == "totals_row" for k in _kinds(more, rows)]
        holds = near_miss_holds("totals_row", [rows], more, ComparisonOptions())
        assert [any(each) for each in claims] == [holds, holds], (rows, more)
        found[holds] += 1
    assert min(found[True], found[False]) > 10


@each("seed", range(4))
def test_a_pivot_is_claimed_exactly_where_trying_everything_finds_one(seed: int) -> None:
    """Keys that repeat, NULLs that the long table has or has not, and a cell or a row that is another one."""
    chance, found = random.Random(seed), Counter[bool]()
    for _ in range(60):
        keys = chance.choice([["a", "b"], ["a", "a", "b"], [1, 2], ["a", "a"]])
        pool: list[Cell] = chance.choice([[1, 2], [4, 5, 6, 7, 8], [1, None, 2], ["x", "y"]])
        heads = chance.choice([["q", "r"], [1, 2]])
        wide: list[Row] = [(key, *(chance.choice(pool) for _ in heads)) for key in keys]
        every = [(row[0], head, row[1 + at]) for row in wide for at, head in enumerate(heads)]
        long: list[Row] = [row for row in every if row[-1] is not None or chance.random() < 0.5]
        if long and chance.random() < 0.4:
            at, place = chance.randrange(len(long)), chance.randrange(3)
            long[at] = (*long[at][:place], chance.choice([*pool, *heads, *keys]), *long[at][place + 1 :])
        chance.shuffle(long)
        if not long or compare(Result.of(long), Result.of(wide)).equal:
            continue
        holds = near_miss_holds("pivoted", [long], wide, ComparisonOptions())
        assert ("pivoted" in _kinds(long, wide)) == holds, (long, wide)
        assert ("unpivoted" in _kinds(wide, long)) == near_miss_holds("unpivoted", [wide], long, ComparisonOptions())
        found[holds] += 1
    assert min(found[True], found[False]) > 5


def _kinds(gold: list[Row], predicted: list[Row]) -> list[str]:
    return [near.kind for near in compare(Result.of(predicted), Result.of(gold)).near_misses]


numbers = st.floats(-1e6, 1e6, allow_subnormal=False).filter(lambda number: len(repr(number).partition(".")[2]) > 4)


@given(st.lists(numbers, min_size=1, max_size=6), st.integers(0, 3), st.booleans(), st.booleans())
def test_a_column_rounded_or_cut_is_said_to_be(fine: list[float], places: int, cut: bool, turned: bool) -> None:
    step, rounding = Decimal(1).scaleb(-places), ROUND_DOWN if cut else ROUND_HALF_UP
    coarse = [float(Decimal(repr(number)).quantize(step, rounding)) for number in fine]
    sides: list[list[Row]] = [list(enumerate(column)) for column in (fine, coarse)]
    gold, predicted = sides[::-1] if turned else sides
    if not compare(Result.of(predicted), Result.of(gold)).equal:  # 1e-13 is 0
        assert "rounding_only" in _kinds(gold, predicted)


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 10**9)), min_size=1, max_size=5), st.floats(0, 9))
@example([(1, 3)], 2.5)
@example([(1, 2020)], 2.5)
def test_integers_off_by_some_are_not_rounded_beside_a_float(pairs: list[tuple[int, int]], beside: float) -> None:
    gold: list[Row] = [(number, beside) for _, number in pairs]
    predicted: list[Row] = [(number + off, beside) for off, number in pairs]
    assert "rounding_only" not in _kinds(gold, predicted)


@each(
    ("gold", "predicted"),
    [
        ([(3, 2.5)], [(4, 2.5)]),
        ([(31.33,)], [(32,)]),
        ([(2020, 0.5)], [(2021, 0.5)]),
        ([(2.6,)], [(2.5,)]),
        ([(31.33,)], [(31.3,), (31.3,)]),
        ([(1.25, "a"), (1.35, "b")], [(1.4, "a"), (1.2, "b")]),
        ([(1.25,), (2.5,)], [(1.2,), (2.55,)]),
    ],
)
def test_numbers_that_are_merely_close_are_not_called_rounded(gold: list[Row], predicted: list[Row]) -> None:
    assert _kinds(gold, predicted) == []


def test_whatever_is_in_the_wrong_order_is_not_right_but_for_something_else() -> None:
    spelled = Answer.strict(Result.of([("a",), ("B",)]))
    assert [near.kind for near in compare(Result.of([("B",), ("a",)]), spelled).near_misses] == ["order_only"]
    gold = Result.of([("a", 1), ("b", 2)])
    assert compare(Result.of([("b",), ("a",)]), Answer.strict(gold)).near_misses == ()
    in_order = compare(Result.of([("a",), ("b",)]), Answer.strict(gold))
    assert [near.kind for near in in_order.near_misses] == ["subset_columns"]
    gold = Result.of([("a",), ("b",), ("c",)])
    in_order = compare(Result.of([("a",), ("c",)]), Answer.strict(gold))
    assert [near.kind for near in in_order.near_misses] == ["missing_rows"]
    assert compare(Result.of([("c",), ("a",)]), Answer.strict(gold)).near_misses == ()


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
        (GOLD, GOLD),
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
