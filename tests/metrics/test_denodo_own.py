"""The numbers of Denodo's own workbook, for comparing with one: precision of the F1, and how many columns there are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import registry
from assay.metrics.denodo import DenodoPercentOverlap, DenodoPercentSubset, SameColumnCount
from assay.model import Case, Execution, Failure, MetricInfo, Prediction, Result, Score
from assay.ports import Executions
from many_cases import each

Rows = list[tuple[Any, ...]]
CASE = Case(id="1", question="?", golds=("G",))
ANSWER = Prediction(case_id="1", query="P")


def execution(rows: Rows | None, *, columns: int | None = None, query: str = "P") -> Execution:
    if rows is None:
        failure = Failure(stage="execute", kind="error", blame="system", message="no such column")
        return Execution(query=query, status="error", failure=failure)
    width = columns if columns is not None else len(rows[0]) if rows else 0
    result = Result(columns=tuple(f"c{n}" for n in range(width)), rows=tuple(rows))
    return Execution(query=query, status="rows" if rows else "empty", result=result, row_count=len(rows))


def score(metric: Any, gold: Rows | None, predicted: Rows | None, /, **columns: int) -> Score:
    executions = Executions(
        golds=(execution(gold, columns=columns.get("gold")),),
        predicted=execution(predicted, columns=columns.get("predicted")),
    )
    found: Score = metric().score(CASE, ANSWER, executions, None)
    return found


GUIDE: tuple[Rows, Rows] = ([(1, 2, 3), (4, 5, 6)], [(1, 2, 7), (4, 8, 6)])


@each(
    ("gold", "predicted", "overlap", "subset"),
    [
        (*GUIDE, 2 / 3, 2 / 3),
        # The order of columns matters to the one and not to the other.
        ([("Ana", "Roth")], [("Roth", "Ana")], 0.0, 1.0),
        ([(1, 2), (3, 4)], [(1, 2), (3, 4)], 1.0, 1.0),
        # Rows count by their position; a row that only the prediction has is all wrong.
        ([(1,), (2,)], [(2,), (1,)], 0.0, 0.0),
        ([(1,)], [(1,), (2,), (3,)], 1 / 3, 1 / 3),
        # What gold has and the prediction lacks costs recall, not precision.
        ([(1,), (2,), (3,)], [(1,)], 1.0, 1.0),
        ([(1, 2, 3)], [(1,)], 1.0, 1.0),
        ([(1,)], [(1, 2, 3)], 1 / 3, 1 / 3),
        # Duplicates are dropped, as for the F1.
        ([(1,), (1,), (2,)], [(1,), (2,)], 1.0, 1.0),
        ([(None,)], [(None,)], 1.0, 1.0),
        ([], [], 1.0, 1.0),
        ([], [(1,)], 0.0, 0.0),
        ([(1,)], [], 0.0, 0.0),
        ([(1,)], None, 0.0, 0.0),
    ],
)
def test_precision_of_the_soft_f1(gold: Rows, predicted: Rows | None, overlap: float, subset: float) -> None:
    assert score(DenodoPercentOverlap, gold, predicted).value == pytest.approx(overlap)
    assert score(DenodoPercentSubset, gold, predicted).value == pytest.approx(subset)


CELLS = st.one_of(st.integers(0, 3), st.sampled_from(["a", "b"]), st.none())
TABLES = st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[CELLS] * width), max_size=4))


def counted(gold: Rows, predicted: Rows, *, in_place: bool) -> float:
    """Precision by its definition, cell by cell."""
    ours, theirs = list(dict.fromkeys(gold)), list(dict.fromkeys(predicted))
    if not gold and not predicted:
        return 1.0
    right = wrong = 0.0
    for at, row in enumerate(theirs):
        if at >= len(ours):
            wrong += 1.0
            continue
        for place, cell in enumerate(row):
            there = place < len(ours[at]) and ours[at][place] == cell if in_place else cell in ours[at]
            right += there / len(ours[at])
            wrong += (not there) / len(ours[at])
    return right / (right + wrong) if right + wrong else 0.0


@given(TABLES, TABLES)
def test_both_are_what_counting_cells_gives(gold: Rows, predicted: Rows) -> None:
    overlap, subset = (score(one, gold, predicted).value for one in (DenodoPercentOverlap, DenodoPercentSubset))
    assert overlap == pytest.approx(counted(gold, predicted, in_place=True))
    assert subset == pytest.approx(counted(gold, predicted, in_place=False))
    assert subset is not None
    assert 0.0 <= overlap <= subset + 1e-12 <= 1.0 + 1e-9
    assert score(DenodoPercentOverlap, gold, gold).value == score(DenodoPercentSubset, gold, gold).value == 1.0


@each(
    ("gold", "predicted", "columns", "value"),
    [
        ([(1, 2)], [(3, 4)], {}, 1.0),
        ([(1, 2)], [(3,)], {}, 0.0),
        ([(1, 2)], None, {}, 0.0),
        ([], [(1, 2)], {"gold": 2}, 1.0),
        ([], [], {"gold": 2, "predicted": 3}, 0.0),
        ([], [], {}, 1.0),
        # Over HTTP an empty result has no columns: nothing is known of them.
        ([], [(1, 2)], {}, None),
        ([(1, 2)], [], {}, None),
        (None, [(1, 2)], {}, None),
    ],
)
def test_have_same_column_count(gold: Rows | None, predicted: Rows | None, columns: Any, value: float | None) -> None:
    found = score(SameColumnCount, gold, predicted, **columns)
    assert found.value == value
    assert (found.failure is None) == (value is not None)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("denodo_percent_overlap", "Percent Overlap"),
        ("denodo_percent_subset", "Subsetting Percentage"),
        ("same_column_count", "Have Same Column Count"),
    ],
)
def test_they_fill_the_guides_columns_and_are_in_no_run_that_does_not_ask(name: str, column: str) -> None:
    assert MetricInfo.of(registry.metric(name)).guide_column == column
    assert name not in registry.default_metrics()
