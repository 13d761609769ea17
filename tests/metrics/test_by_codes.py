"""Metrics give the same numbers, to the last bit, by codes as cell by cell: each table here is scored both ways."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.comparison.test_codes import EVERY_CELL

from assay.comparison.codes import shared
from assay.comparison.compare import compare
from assay.metrics import bird, denodo, llmsql, spider, spider2
from assay.model import Case, CaseOptions, Cell, Execution, Prediction, Result, Row
from assay.ports import Executions, Metric
from many_cases import each

_CELL = EVERY_CELL.filter(lambda cell: not isinstance(cell, bytearray))
"""No engine gives a bytearray, which does not hash."""
METRICS: list[Metric] = [
    bird.BirdEx(),
    bird.BirdSoftF1(),
    spider2.Spider2Lite(),
    denodo.SameRowCount(),
    denodo.SameColumnCount(),
    denodo.PercentSubset(),
    denodo.PercentOverlap(),
    denodo.DenodoPercentOverlap(),
    denodo.DenodoPercentSubset(),
    llmsql.LlmsqlEx(),
]


def scores_of(gold: Result, predicted: Result, *, ignore_order: bool, wanted: tuple[int, ...]) -> dict[str, object]:
    """What each metric says of two results."""
    options = CaseOptions(ignore_order=ignore_order, condition_columns=(wanted,))
    case = Case(id="1", question="", golds=("gold",), options=options)
    golds, found = (
        Execution(query=query, status="rows", result=one) for query, one in (("gold", gold), ("p", predicted))
    )
    executions = Executions(golds=(golds,), predicted=found)
    with shared.shared_codes():
        comparison = compare(predicted, gold)
        prediction = Prediction(case_id="1", query="p")
        scores: dict[str, object] = {
            metric.name: metric.score(case, prediction, executions, comparison).value for metric in METRICS
        }
        for ordered in (False, True):
            scores[f"spider, ordered: {ordered}"] = spider.results_equal(gold.rows, predicted.rows, ordered=ordered)
    return scores


def _same(gold: Result, predicted: Result, *, ignore_order: bool = True, wanted: tuple[int, ...] = ()) -> None:
    found = []
    for many in (math.inf, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(shared, "MANY", many)
            found.append(scores_of(gold, predicted, ignore_order=ignore_order, wanted=wanted))
    assert found[1] == found[0], (gold, predicted)


@st.composite
def _pairs(draw: st.DrawFn) -> tuple[Result, Result]:
    """Two results of few different cells, alike or in another order, at times of other shapes."""
    few = st.sampled_from(draw(st.lists(_CELL, min_size=1, max_size=4)))
    width = draw(st.integers(1, 4))
    rows = draw(st.lists(st.tuples(*[few] * width), min_size=1, max_size=7))
    match draw(st.sampled_from(["order", "columns", "cell", "other", "equal"])):
        case "order":
            return Result.of(rows), Result.of(draw(st.permutations(rows)))
        case "columns":
            order = draw(st.permutations(range(width)))
            return Result.of(rows), Result.of([[row[column] for column in order] for row in rows])
        case "cell":
            other = [list(row) for row in rows]
            other[draw(st.integers(0, len(rows) - 1))][draw(st.integers(0, width - 1))] = draw(_CELL)
            return Result.of(rows), Result.of(other)
        case "other":
            there = draw(st.integers(1, 4))
            return Result.of(rows), Result.of(draw(st.lists(st.tuples(*[few] * there), min_size=1, max_size=7)))
    return Result.of(rows), Result.of([(*row,) for row in rows])


def _are_scored_alike(pair: tuple[Result, Result], ignore_order: bool, wanted: list[int]) -> None:
    _same(*pair, ignore_order=ignore_order, wanted=tuple(wanted))


@pytest.mark.parametrize("examples", [80, 400])
def test_cells_of_all_types_are_scored_alike(examples: int) -> None:
    inputs = (_pairs(), st.booleans(), st.lists(st.integers(0, 4), max_size=2))
    settings(max_examples=examples)(given(*inputs)(_are_scored_alike))()


def _rows(chance: random.Random, width: int, count: int) -> list[Row]:
    def cell(column: int) -> Cell:
        kinds: Sequence[Cell] = (
            chance.randrange(50),
            chance.random(),
            f"name {chance.randrange(9)}",
            None,
            Decimal(chance.randrange(9)) / 3,
            0.1 + 0.2,
            0.3,
        )
        return kinds[column % 3] if chance.random() < 0.9 else chance.choice(kinds)

    return [tuple(cell(column) for column in range(width)) for _ in range(count)]


@each("seed", range(12))
def test_shares_of_larger_tables_are_alike_to_the_last_bit(seed: int) -> None:
    """Widths that are no powers of two, so that sums are rounded; repeated rows; sides of other sizes."""
    chance = random.Random(seed)
    gold = _rows(chance, chance.choice((3, 5, 6, 7)), 700)
    gold += chance.sample(gold, 50)
    predicted = chance.sample(gold, chance.choice((400, 750)))
    if seed % 2:
        predicted = [(*row[1:], row[0]) if chance.random() < 0.3 else row for row in predicted]
    if seed % 3 == 0:
        predicted = [row[:-1] for row in predicted]
    if seed % 5 == 0:
        predicted = [tuple(cell * (1 + 1e-13) if type(cell) is float else cell for cell in row) for row in gold]
    _same(Result.of(gold), Result.of(predicted))
