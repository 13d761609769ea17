"""Rows that are equal as they are give every metric its value without being looked at once more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from assay import registry
from assay.comparison.codes import coder, shared
from assay.comparison.compare import compare
from assay.model import Case, ComparisonOptions, Execution, Prediction, Result, Row
from assay.model.results.columns import ColumnRows, FloatCells, IntegerCells
from assay.ports import Executions

_COUNT = 3_000


class Looked:
    """How often somebody began to look at all rows of a result."""

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
