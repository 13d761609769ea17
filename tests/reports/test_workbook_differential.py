"""The workbook holds the figures of the JSON report, whatever the run: the same accuracy over the same cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.runs.reviews.reviewing import review_of

import workbook_figures
from assay.model import Ambiguity, Run
from assay.registry import pieces
from assay.runs.reviews.applying import with_reviews
from assay.runs.reviews.collection import Reviews


@pytest.fixture
def reviewed_run(shop_run: Run) -> Run:
    """A person accepts every third wrong answer: every report has the accuracy before and after it."""
    wrong = [item for item in shop_run.evidence if item.outcome == "incorrect" and item.predicted_execution]
    reviews = [review_of(item.case, "accept", item, outcome="correct") for item in wrong[::3]]
    run = with_reviews(shop_run, Reviews(reviews))
    totals = run.aggregates.reviews
    assert totals is not None
    assert totals.before.value != totals.after.value
    return run


@pytest.fixture
def ambiguous_run(large_run: Run) -> Run:
    """Every fifth gold query is ambiguous; the run has unscored cases, too."""
    open_ = Ambiguity(taken_rows=1, tied_rows=4, choices=4)
    evidence = tuple(
        item
        if place % 5
        else replace(item, verdict=replace(item.verdict, ambiguity=open_, flags=frozenset({"ambiguous_gold"})))
        for place, item in enumerate(large_run.evidence)
    )
    return replace(large_run, evidence=evidence)


RUNS = ["shop_run", "sdmx_run", "reviewed_run", "large_run", "ambiguous_run", "small_run", "all_failing_run"]


@pytest.mark.parametrize("name", RUNS)
def test_the_workbook_holds_the_figures_of_the_json_report(name: str, request: pytest.FixtureRequest) -> None:
    run = request.getfixturevalue(name)
    report = json.loads(b"".join(pieces("json", run)))
    compared = workbook_figures.agree(b"".join(pieces("xlsx", run)), report)
    assert compared > 7 + 5 * len(run.settings.metrics)


@pytest.mark.parametrize("name", ["shop_run", "large_run", "small_run"])
def test_a_workbook_without_denodo_speaks_of_sql(name: str, request: pytest.FixtureRequest) -> None:
    found = workbook_figures.sheets(b"".join(pieces("xlsx", request.getfixturevalue(name))))
    said = "\n".join(str(cell) for rows in found.values() for row in rows for cell in row)
    assert "VQL" not in said
    assert "vector" not in said.casefold()
    head, *rows = found["Details"]
    assert {"Predicted SQL", "Gold SQL"} < set(head)
    empty = [title for place, title in enumerate(head) if all(row[place] == "" for row in rows)]
    assert set(empty) <= {"Difficulty"}


def test_a_run_against_denodo_has_the_columns_of_its_guide(shop_run: Run, tmp_path: Path) -> None:
    guide = {"VQL Generated", "Ground Truth VQL", "vector_store_search_time", "llm_time"}
    for settings in (
        replace(shop_run.settings, database="denodo+http://demo:***@localhost:9090/denodo-data-catalog"),
        replace(shop_run.settings, predictions="denodo:http://localhost:8008/answerDataQuestion"),
    ):
        head = workbook_figures.sheets(b"".join(pieces("xlsx", replace(shop_run, settings=settings))))["Details"][0]
        assert guide < set(head)
        assert not {"Predicted SQL", "Gold SQL"} & set(head)
