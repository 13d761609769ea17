"""What differs between two results stands under the right column, on the page as in text."""

from __future__ import annotations

from assay.comparison.compare import compare
from assay.model import Case, Comparison, Evidence, Execution, Prediction, Result, Verdict
from assay.reports.blocks.values import CaseLink
from assay.reports.cases.alignment import Alignment, alignment
from assay.reports.cases.case import case_view

GOLD = (("id", "city", "total"), [(1, "Bonn", 10), (2, "Kiel", 20), (3, "Ulm", 30)])


def judged(predicted_columns: tuple[str, ...], rows: list[tuple[object, ...]]) -> tuple[Evidence, Comparison]:
    gold = Result(columns=GOLD[0], rows=tuple(GOLD[1]))
    predicted = Result(columns=predicted_columns, rows=tuple(rows))  # type: ignore[arg-type]
    comparison = compare(predicted, gold)
    return Evidence(
        case=Case(id="1", question="?", golds=("SELECT 1",)),
        prediction=Prediction(case_id="1", query="SELECT 2"),
        gold_executions=(Execution(query="SELECT", status="ok", columns=gold.columns, row_count=3),),
        predicted_execution=Execution(query="SELECT", status="ok", columns=predicted.columns, row_count=len(rows)),
        comparison=comparison,
        verdict=Verdict(outcome="incorrect", reason=comparison.reason, gold_index=0),
    ), comparison


def difference(item: Evidence) -> Alignment:
    found = case_view(item, CaseLink(id="1", anchor="1")).difference
    assert found is not None
    return found


def test_matched_rows_show_the_values_of_columns_that_gold_has_not() -> None:
    item, _ = judged(
        ("total", "id", "mayor", "city"), [(10, 1, "A", "Bonn"), (20, 2, "B", "Kiel"), (30, 3, None, "Ulm")]
    )
    told = difference(item)
    assert told.headings == ("id", "city", "total", "+ mayor")
    assert [texts for _, texts in told.lines()] == [
        ("1", "Bonn", "10", "A"),
        ("2", "Kiel", "20", "B"),
        ("3", "Ulm", "30", "NULL"),
    ]
    page = alignment(item)
    assert page is not None
    assert [row.predicted[3].text for row in page.rows if row.predicted[3]] == ["A", "B", "NULL"]


def test_equal_rows_each_show_their_own_extra_value() -> None:
    gold = Result(columns=("a",), rows=((1,), (1,), (2,)))
    predicted = Result(columns=("a", "b"), rows=((1, "x"), (2, "z"), (1, "y"), (1, "w")))
    kept = [row.predicted for row in compare(predicted, gold).aligned if row.state == "matched"]
    assert kept == [(1, "x"), (1, "y"), (2, "z")]


def test_matched_rows_of_the_same_columns_are_kept_once() -> None:
    _, comparison = judged(("id", "city", "total"), [(1, "Bonn", 10), (2, "Kiel", 21), (3, "Ulm", 30)])
    assert [row.predicted for row in comparison.aligned if row.state == "matched"] == [None, None]


def test_a_column_of_gold_without_counterpart_leaves_a_hole_and_moves_no_cell() -> None:
    item, comparison = judged(("city", "id"), [("Bonn", 1), ("Kiel", 2), ("Mainz", 9)])
    assert comparison.column_mapping == (1, 0, None)
    told = difference(item)
    assert told.headings == ("id", "city", "- total")
    assert list(told.lines()) == [
        (" ", ("1", "Bonn", "10")),
        (" ", ("2", "Kiel", "20")),
        ("-", ("3", "Ulm", "30")),
        ("+", ("9", "Mainz", "")),
    ]


def test_predicted_cells_behind_a_hole_stand_under_their_own_columns() -> None:
    item, comparison = judged(("id", "total", "mayor"), [(1, 10, "A"), (2, 20, "B"), (9, 90, "C")])
    assert comparison.column_mapping == (0, None, 1)
    told = difference(item)
    assert told.headings == ("id", "- city", "total", "+ mayor")
    assert list(told.lines())[-1][1] == ("9", "", "90", "C")
