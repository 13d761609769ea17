"""Results of one column each take a shorter way. It must say the same as the long one, to the last word."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from math import inf, nan

import pytest
from msgspec.structs import replace

from assay.comparison import single_column
from assay.comparison.answer import Answer
from assay.comparison.compare import compare
from assay.model import ComparisonOptions, Result
from many_cases import each

CELLS: Sequence[object] = (
    *(0, 1, 1.0, True, False, 2**53, 2**53 + 1, Decimal("0.1"), Decimal("NaN"), 0.1, 0.1 + 1e-15, 0.1 + 1e-9),
    *(1e-13, -1e-13, 1e300, 1e300 * (1 + 1e-13), inf, -inf, nan, None, "", "0", "a", "A", "a ", b"a", bytearray(b"a")),
    *(date(2020, 1, 1), datetime.fromisoformat("2020-01-01"), [1, 0.1], [1, 0.1 + 1e-15], {"a": 1}),
)
OPTIONS = [
    replace(ComparisonOptions(), columns=columns, boolean_is_integer=boolean, near_misses=near, sample_rows=sample)
    for columns in ("any", "strict")
    for boolean in (True, False)
    for near in (True, False)
    for sample in (0, 20)
]


def column(chance: random.Random) -> list[object]:
    few = chance.sample(list(CELLS), chance.randrange(1, 5))
    return [chance.choice(few) for _ in range(chance.randrange(6))]


def beside(chance: random.Random, cells: list[object]) -> list[object]:
    """Cells that may be these in another order, with a difference or two, or quite others."""
    if chance.random() < 0.3:
        return column(chance)
    found = chance.sample(cells, len(cells))
    for _ in range(chance.choice((0, 0, 1, 2))):
        if found:
            found[chance.randrange(len(found))] = chance.choice(CELLS)
    return found[: chance.choice((len(found), len(found), 2))]


def result(cells: Sequence[object]) -> Result:
    return Result(columns=("x",), rows=tuple((cell,) for cell in cells))


@each("seed", range(20))
def test_the_short_way_says_what_the_long_one_says(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    differing = 0
    for _ in range(150):
        mine = column(chance)
        gold, predicted, options = result(mine), result(beside(chance, mine)), chance.choice(OPTIONS)
        answer = chance.choice((Answer.bag, Answer.strict))(gold)
        short = compare(predicted, answer, options)
        with monkeypatch.context() as patch:
            patch.setattr(single_column, "MOST_ROWS", -1)
            long = compare(predicted, answer, options)
        assert repr(short) == repr(long), (gold.rows, predicted.rows, options)
        differing += not short.equal
    assert 0 < differing < 150


def test_it_is_taken_by_bags_of_one_column_alone() -> None:
    options = ComparisonOptions()
    gold, wrong = result(["a", "b"]), result(["b", "c"])
    found = single_column.lone_columns(Answer.bag(gold), wrong, options)
    assert (found.equal, found.partners()) == (False, [None, 0])
    assert single_column.lone_columns(Answer.strict(gold), wrong, options) is None
    wide = Result(columns=("x", "y"), rows=(("a", "b"),))
    assert single_column.lone_columns(Answer.bag(wide), wide, options) is None
    # Numbers within tolerance of each other are paired with more care.
    assert single_column.lone_columns(Answer.bag(result([0.1])), result([0.1 + 1e-15]), options) is None
