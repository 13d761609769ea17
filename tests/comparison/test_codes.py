"""Comparing by codes gives to the letter what comparing by cells gives: each generator here runs both ways."""

from __future__ import annotations

import math
import random
import sys
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from itertools import chain, pairwise
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.comparison.test_against_brute_force import make_table

from assay.comparison.answer import Answer, Segment
from assay.comparison.cells import key_of
from assay.comparison.codes import shared, side
from assay.comparison.codes.coder import DictionaryEncoder
from assay.comparison.codes.layout import numbers_of
from assay.comparison.compare import compare
from assay.comparison.tolerance import as_float, is_number
from assay.model import Cell, Comparison, ComparisonOptions, Result, Row
from many_cases import each

_NUMBERS: list[Cell] = [
    0, 1, -1, 2, 2**53, 2**53 + 1, 2**61 - 1, 2**61, 2**61 + 1, -(2**61), -(2**61) + 1, 2**62, 2**63, -(2**63), 2**64,
    10**400, 0.0, -0.0, 1.0, 1.0000000000001, 0.5, -0.5, 0.1, 5e-324, -5e-324, 1e-13, 2.0**52 - 0.5, 2.0**52, 2.0**53,
    2.0**61, 2.0**62, -(2.0**61),
    2.0**63, 2.0**64, 1e300, math.inf, -math.inf, math.nan, 1.7976931348623157e308,
    Decimal(0), Decimal("-0"), Decimal(1), Decimal("1.00"), Decimal("0.5"), Decimal("0.1"), Decimal("1e-400"),
    Decimal("NaN"), Decimal("Infinity"), Decimal("-Infinity"), Decimal(2) ** 61, Decimal(2) ** 64, Decimal("1e309"),
]  # fmt: skip
_DAY = datetime.fromisoformat("2024-01-01")
_OTHERS: list[Cell] = [
    None, True, False, "", "a", "A", "a ", " a", "1", "0", "nan", b"", b"a", bytearray(b"a"),
    date(2024, 1, 1), _DAY, _DAY + timedelta(hours=12), _DAY.replace(tzinfo=UTC), date.max, time(), time(12),
    datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), timedelta(0), timedelta(1), UUID(int=0), UUID(int=1),
    ("nan",), [1], [1.0], [1, 2], ["a"], {"a": 1}, {"a": 1.0}, {"a": [1]}, {1, 2}, frozenset({1}),
]  # fmt: skip
EVERY_CELL = st.sampled_from([*_NUMBERS, *_OTHERS])
FLAT_CELL = st.sampled_from([*_NUMBERS, *[cell for cell in _OTHERS if not isinstance(cell, (list, tuple, dict))]])


def both_ways(predicted: Result, answer: Answer | Result, options: ComparisonOptions) -> tuple[Comparison, Comparison]:
    """By cells and by codes; both are never taken for equal as they are, which would end before either."""
    found = []
    for many in (math.inf, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(shared, "MANY", many)
            module = sys.modules[compare.__module__]
            patch.setattr(module, "_equal_as_they_are", lambda *_, **__: False)
            if not options.near_misses:
                patch.setattr(module, "_NEAR_MISS_CELLS", 0)
            found.append(compare(predicted, answer, options))
    return found[0], found[1]


def _same(predicted: Result, answer: Answer | Result, options: ComparisonOptions) -> Comparison:
    by_cells, by_codes = both_ways(predicted, answer, options)
    assert repr(by_codes) == repr(by_cells), (answer, predicted, options)
    return by_codes


@pytest.mark.parametrize("part", [0, *(1, 2, 3)])
def test_small_tables_are_compared_alike(part: int) -> None:
    equal = 0
    for seed in range(part * 1_500, (part + 1) * 1_500):
        table = make_table(seed)
        equal += _same(Result.of(table.predicted), table.answer(), table.options).equal
    assert equal > 150


@st.composite
def _pairs(draw: st.DrawFn, cells: st.SearchStrategy[Cell]) -> tuple[Result, Result]:
    """A result, and the same with its rows and columns in another order, at times with a cell changed."""
    width = draw(st.integers(1, 4))
    few = st.sampled_from(draw(st.lists(cells, min_size=1, max_size=4)))
    rows = draw(st.lists(st.tuples(*[few] * width), min_size=1, max_size=7))
    order = draw(st.permutations(range(width)))
    other = [[row[column] for column in order] for row in draw(st.permutations(rows))]
    if draw(st.booleans()):
        other += draw(st.lists(st.tuples(*[few] * width).map(list), max_size=2))
    if draw(st.booleans()):
        other[draw(st.integers(0, len(rows) - 1))][draw(st.integers(0, width - 1))] = draw(cells)
    return Result.of(rows), Result.of(other)


def _cells_of_all_types_are_compared_alike(
    pair: tuple[Result, Result], boolean_is_integer: bool, columns: str, tolerance: float
) -> None:
    options = ComparisonOptions(
        boolean_is_integer=boolean_is_integer,
        columns=columns,  # type: ignore[arg-type]
        relative_tolerance=tolerance,
        near_misses=False,
    )
    _same(pair[1], pair[0], options)
    _same(pair[1], Answer.strict(pair[0]), options)


@pytest.mark.parametrize("examples", [100, 600])
def test_cells_of_all_types_are_compared_alike(examples: int) -> None:
    inputs = (_pairs(EVERY_CELL), st.booleans(), st.sampled_from(["any", "strict"]), st.sampled_from([1e-12, 0.0, 0.1]))
    settings(max_examples=examples)(given(*inputs)(_cells_of_all_types_are_compared_alike))()


@given(st.lists(FLAT_CELL, min_size=2, max_size=12), st.booleans())
@settings(max_examples=600)
def test_codes_are_equal_exactly_where_keys_are(cells: list[Cell], boolean_is_integer: bool) -> None:
    """Also where cells come in columns of one type, which are coded by arrays."""
    coder = DictionaryEncoder(boolean_is_integer=boolean_is_integer)
    alone = [coder.columns([(cell,)], 1)[0] for cell in cells]
    (together,) = coder.columns([(cell,) for cell in cells], 1)
    keys = [key_of(cell, boolean_is_integer=boolean_is_integer) for cell in cells]
    codes = [int(column.codes[0]) for column in alone]
    assert together.codes.tolist() == codes
    for cell, flag in zip(cells, together.is_float().tolist(), strict=True):
        assert flag == isinstance(cell, float) or cell is None
    for one, first in zip(keys, codes, strict=True):
        for two, second in zip(keys, codes, strict=True):
            assert (first == second) == (one == two)
    for key, number in zip(keys, numbers_of(together.codes, coder.known).tolist(), strict=True):
        if is_number(key) and abs(key) < math.inf:
            assert number == max(-1.7976931348623157e308, min(1.7976931348623157e308, as_float(key)))
        else:
            assert math.isnan(number)


@each("kind", ["same", "swapped", "noisy", "noisy and swapped", "one cell", "one row twice", "bits"])
@each("seed", range(4))
def test_larger_tables_are_compared_alike(kind: str, seed: int) -> None:
    chance = random.Random(seed)
    gold: list[Row] = [
        (
            chance.randrange(900),
            chance.random(),
            f"name {chance.randrange(10)}",
            chance.choice((None, 1, 2.5, chance.random())),
            Decimal(chance.randrange(9)) / 4,
            chance.randrange(2),
            chance.randrange(2),
        )
        for _ in range(600)
    ]
    predicted = [list(row) for row in chance.sample(gold, len(gold))]
    if kind.startswith("noisy"):
        for row in predicted:
            row[1] *= 1 + chance.choice((1e-13, -3e-13, 0))  # type: ignore[operator]
    if kind == "one cell":
        predicted[7][chance.randrange(7)] = "else"
    if kind == "one row twice":
        predicted[7] = predicted[8]
    if kind == "bits":
        gold = [row[5:] + tuple(chance.randrange(2) for _ in range(6)) for row in gold]
        predicted = [list(row) for row in chance.sample(gold, len(gold))]
    order = list(range(len(gold[0])))
    if "swapped" in kind or kind == "bits":
        chance.shuffle(order)
    other = Result.of([[row[column] for column in order] for row in predicted])
    options = ComparisonOptions(near_misses=False)
    assert _same(other, Result.of(gold), options).equal == (kind not in ("one cell", "one row twice"))
    borders = [0, *sorted(chance.sample(range(1, 600), 20)), 600]
    segments = tuple(Segment(rows=tuple(gold[a:b]), take=b - a) for a, b in pairwise(borders))
    answer = Answer(result=Result.of(gold), segments=segments, ordered=True)
    _same(Result.of(gold), answer, options)
    _same(other, answer, options)
    shuffled = list(chain.from_iterable(chance.sample(segment.rows, len(segment.rows)) for segment in segments))
    assert _same(Result.of(shuffled), answer, options).equal


def test_colliding_hashes_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are told apart by their codes wherever their hashes are the same, all of them in the worst case."""
    monkeypatch.setattr(side, "mixed", lambda codes: codes * side._FACTOR * 0)
    chance = random.Random(0)
    for _ in range(50):
        gold: list[Row] = [(chance.randrange(3), chance.choice("ab")) for _ in range(8)]
        predicted = chance.sample(gold, len(gold))
        if chance.random() < 0.5:
            predicted[0] = predicted[1]
        _same(Result.of(predicted), Result.of(gold), ComparisonOptions(near_misses=False))
