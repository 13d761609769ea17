"""*Unanswered* is one set of cases in the counts, the causes, the table of results, the reports and the coverage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay import Case, Prediction, Run, evaluate
from assay.model import Failure
from assay.model.failure import WITHOUT_QUERY
from assay.reports.blocks.run import RunReport
from assay.reports.html.run import HtmlReporter, tiles
from assay.systems.predictions import QuestionFailed

GOLD = "SELECT a FROM t"
TEXTS: dict[str, str | None] = {
    "null": None,
    "blank": " ",
    "comment": "-- I do not know",
    "prose": "I cannot answer this question.",
    "question": "Which year do you mean?",
    "explain": "EXPLAIN SELECT a FROM t",
    "pragma": "PRAGMA table_info(t)",
}
ANSWERED = {"right": GOLD, "wrong": "SELECT 0", "broken": "SELECT b FROM nowhere", "writes": "DELETE FROM t"}


@pytest.fixture
def judged(make_sqlite: Callable[..., Path]) -> Callable[..., Run]:
    database = f"sqlite:///{make_sqlite('CREATE TABLE t(a); INSERT INTO t VALUES (1), (2);')}"

    def run(cases: list[Case], predictions: Any, **more: Any) -> Run:
        return evaluate(cases, predictions, databases=database, workers=1, metrics=["match"], **more)

    return run


def cases_of(names: Any, **more: Any) -> list[Case]:
    return [Case(id=name, question=name, golds=(GOLD,), **more) for name in names]


def unanswered(run: Run) -> set[str]:
    """The unanswered cases, after a look at every surface that names or counts them."""
    ids = {case.case_id for case in run.record.summaries if case.unanswered}
    count = len(ids)
    assert run.aggregates.unanswered == count
    assert {case.case_id for case in run.record.summaries if case.given == "nothing"} == ids
    scored = {case.case_id for case in run.record.summaries if case.outcome != "unscored"}
    caused = {case.case_id for case in run.record.summaries if case.cause == "Unanswered"}
    assert caused == ids & scored
    report = RunReport(run.record)
    tile = next(tile for tile in tiles(report) if tile.label == "unanswered")
    assert tile.count == count
    notes = [note for note in report.notes if "unanswered" in note]
    assert len(notes) == bool(count)
    assert all(note.startswith(f"{count} case") for note in notes)
    assert f"{count} unanswered" in report.outcomes
    assert HtmlReporter().render(run.record)
    return ids


def test_a_text_without_a_query_is_unanswered_on_every_surface(judged: Callable[..., Run]) -> None:
    texts = {**TEXTS, **ANSWERED}
    run = judged([*cases_of(texts), *cases_of(["absent"])], texts)
    assert unanswered(run) == {*TEXTS, "absent"}


def test_a_live_system_without_a_query_is_unanswered_whatever_the_cause(judged: Callable[..., Run]) -> None:
    def ask(case: Case) -> Any:
        if case.id == "raises":
            raise ValueError("no idea")
        if case.id == "rejects":
            raise QuestionFailed("400", rejected=True)
        return (
            Prediction(case_id=case.id, decision="decline") if case.id == "declines" else {**TEXTS, **ANSWERED}[case.id]
        )

    run = judged(cases_of([*TEXTS, *ANSWERED, "raises", "rejects", "declines"]), ask)
    assert unanswered(run) == {*TEXTS, "raises", "rejects"}


@pytest.mark.parametrize("kind", sorted(WITHOUT_QUERY))
@pytest.mark.parametrize("blame", ["system", "network"])
def test_each_failure_without_a_query_is_unanswered(kind: Any, blame: Any, judged: Callable[..., Run]) -> None:
    failure = Failure(stage="ask", kind=kind, blame=blame, message="no query")
    run = judged(
        cases_of(["right", "silent"]),
        [Prediction(case_id="right", query=GOLD), Prediction(case_id="silent", failure=failure)],
    )
    assert unanswered(run) == {"silent"}


def test_a_gold_query_that_is_prose_does_not_make_a_case_unanswered(judged: Callable[..., Run]) -> None:
    run = judged([Case(id="1", question="?", golds=("I do not know",)), *cases_of(["2"])], {"1": GOLD, "2": GOLD})
    assert unanswered(run) == set()


@pytest.mark.parametrize("expects", ["decline", "clarify"])
def test_words_for_a_question_to_decline_are_unanswered_as_for_any_other(
    expects: Any, judged: Callable[..., Run]
) -> None:
    texts = {**TEXTS, "right": GOLD}
    run = judged([Case(id=name, question=name, expects=expects) for name in texts], texts)
    assert {case.case_id for case in run.record.summaries if case.unanswered} == {*TEXTS}
    coverage = run.aggregates.reliability
    assert coverage.coverage.numerator == 1
