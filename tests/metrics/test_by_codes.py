"""Metrics give the same numbers, to the last bit, by codes as cell by cell: each table here is scored both ways."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.comparison.test_codes import EVERY_CELL

from assay import registry
from assay.comparison.codes import coder, shared
from assay.comparison.compare import compare
from assay.metrics import bird, denodo, llmsql, spider, spider2
from assay.model import Case, CaseOptions, Cell, ComparisonOptions, Execution, Prediction, Result, Row
from assay.model.results.columns import ColumnRows, FloatCells, IntegerCells
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


_COUNT = 3_000


class Looked:
    def __init__(self) -> None:
        self.times = 0


LOOKED = Looked()


class WatchedRows(tuple[Row, ...]):
    """A tuple that tells when it is compared, or somebody goes through it."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Row]:
        LOOKED.times += 1
        return super().__iter__()

    def __eq__(self, other: object) -> bool:
        LOOKED.times += 1
        return super().__eq__(other)

    def __hash__(self) -> int:
        LOOKED.times += 1
        return super().__hash__()

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        LOOKED.times += isinstance(index, slice) and len(found) > 100
        return found


class WatchedColumns(ColumnRows):
    """Columns that tell the same, and when many of their rows are made."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        LOOKED.times += 1
        return super().__eq__(other)

    __hash__ = ColumnRows.__hash__

    def _between(self, start: int, stop: int) -> Iterator[Row]:
        LOOKED.times += stop - start > 100
        return super()._between(start, stop)


def _tuples() -> WatchedRows:
    return WatchedRows(tuple((number, number / 7, f"name {number % 50}") for number in range(_COUNT)))


def _columns() -> WatchedColumns:
    numbers = np.arange(_COUNT, dtype=np.int64)
    return WatchedColumns([IntegerCells(values=numbers), FloatCells(values=numbers / 7)])


@pytest.fixture(params=[_tuples, _columns])
def executions(request: pytest.FixtureRequest) -> tuple[Execution, Execution]:
    found = []
    for query in ("SELECT gold", "SELECT other"):
        result = Result(columns=("a", "b", "c"), rows=request.param())
        found.append(Execution(query=query, status="rows", result=result, row_count=_COUNT, wall_time_s=0.1))
    return found[0], found[1]


@pytest.mark.parametrize("name", sorted(set(registry.registered("assay.metrics"))))
@pytest.mark.parametrize("boolean_is_integer", [True, False])
def test_equal_rows_are_not_looked_at_again_by_a_metric(
    executions: tuple[Execution, Execution], name: str, *, boolean_is_integer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coder.DictionaryEncoder, "columns", None)  # equal rows need no codes
    gold, predicted = executions
    assert gold.result is not None
    assert predicted.result is not None
    metric = registry.metric(name)
    case, prediction = Case(id="1", question="", golds=(gold.query,)), Prediction(case_id="1", query=predicted.query)
    of_query = {gold.query: gold, predicted.query: predicted}
    asked = {request: (of_query[request.query],) for request in metric.requests(case, prediction)}
    told = Executions(golds=(gold,), predicted=predicted, requested=asked)
    with shared.shared_codes():
        comparison = compare(predicted.result, gold.result, ComparisonOptions(boolean_is_integer=boolean_is_integer))
        before = LOOKED.times
        score = metric.score(case, prediction, told, comparison)
        after = LOOKED.times
    assert score.value == 1.0 or getattr(score, "value", None) is None
    # Spider's script tells 1 from 1.0, which Python's equality does not: one look at both, where rows are tuples.
    sees_types = name == "spider_ex" and not isinstance(gold.result.rows, ColumnRows)
    assert after - before == (2 if sees_types else 0)


def test_equal_rows_are_compared_by_one_look(executions: tuple[Execution, Execution]) -> None:
    gold, predicted = executions
    assert gold.result is not None
    assert predicted.result is not None
    before = LOOKED.times
    assert compare(predicted.result, gold.result, ComparisonOptions(boolean_is_integer=True)).equal
    assert LOOKED.times - before == 1
