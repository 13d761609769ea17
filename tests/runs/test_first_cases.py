"""A run in whose first cases no query succeeds says so before it goes on, and counts what failed by kind."""

from __future__ import annotations

import warnings
from itertools import combinations_with_replacement
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.model import Case, Failure, Prediction
from assay.reports.blocks.unscored import causes
from assay.scoring.queries.verdicts import unfinished
from many_cases import each
from running import LiveSystem, sqlite_url

GOOD, BAD = "SELECT a FROM t", "SELECT a FROM nowhere"


@pytest.fixture
def database(tmp_path: Path) -> str:
    return sqlite_url(tmp_path / "shop.sqlite", "CREATE TABLE t(a); INSERT INTO t VALUES (1), (2);")


def warned(database: str, pairs: list[tuple[str, str]]) -> list[str]:
    """What a run of these pairs of gold and prediction warns of."""
    cases = [{"id": str(n), "question": "?", "gold_sql": gold} for n, (gold, _) in enumerate(pairs)]
    answers = {str(n): predicted for n, (_, predicted) in enumerate(pairs)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assay.evaluate(cases, answers, databases=database, metrics=["match"], workers=1)
    return [str(one.message) for one in caught if "first 3 cases" in str(one.message)]


def test_only_first_cases_without_any_success_are_warned_of(database: str) -> None:
    for pairs in combinations_with_replacement([(BAD, BAD), (GOOD, BAD), (BAD, GOOD)], 3):
        expected = 1 if set(pairs) == {(BAD, BAD)} else 0
        assert len(warned(database, [*pairs, (GOOD, GOOD)])) == expected


def test_the_warning_has_the_reason_and_comes_once(database: str) -> None:
    (message,) = warned(database, [(BAD, BAD)] * 8)
    assert "no such table: nowhere" in message
    assert warned(database, [(BAD, BAD)] * 2) == []  # the run is over, and its summary says it


def failing(case: Case) -> Prediction:
    """Fail at each question in its own way."""
    if case.question == "query":
        return Prediction(case_id=case.id, query=GOOD)
    why = Failure(stage="ask", kind=case.question, blame="system", message="m")  # type: ignore[arg-type]
    return Prediction(case_id=case.id, failure=why)


@pytest.mark.parametrize(
    ("kinds", "is_unfinished"),
    [
        (["rejected", "ask_failed"], True),
        (["ask_failed", "ask_failed"], True),
        (["rejected", "query"], False),
        (["rejected", "ask_failed", "query"], False),
        (["rejected", "unanswered"], False),
    ],
    ids=str,
)
def test_a_run_in_which_no_question_was_answered_has_no_rate(
    database: str, kinds: list[str], is_unfinished: bool
) -> None:
    cases = [{"id": str(n), "question": kind, "gold_sql": GOOD} for n, kind in enumerate(kinds)]
    run = assay.evaluate(cases, LiveSystem(failing), databases=database, metrics=["match"], workers=1, concurrency=1)
    assert bool(unfinished(run.record.summaries)) == is_unfinished
    text = assay.registry.render("md", run.record).decode()
    assert ("nothing could be scored" in text) == is_unfinished
    assert ("0.0 %" not in text) or not is_unfinished


def failure(message: str, code: str | None = None) -> Failure:
    return Failure(stage="ask", kind="ask_failed", blame="system", message=message, code=code)


@each(
    ("failures", "said"),
    [
        ({failure("no answer: 7"): 3}, "no answer: 7"),
        ({failure("500: a", "HTTP 500"): 1, failure("500: b", "HTTP 500"): 2}, "500: b"),
        (
            {failure("503: x", "HTTP 503"): 1, failure("500: y", "HTTP 500"): 1, failure("<", "not JSON"): 1},
            "HTTP 503 (1), HTTP 500 (1), not JSON (1)",
        ),
        ({failure("500: a", "HTTP 500"): 1000, failure("no\nway"): 2}, "HTTP 500 (1,000), no way (2)"),
        (
            {failure(str(n), f"HTTP {n}"): 1 for n in range(500, 520)},
            ", ".join(f"HTTP {n} (1)" for n in range(500, 520)),
        ),
        (
            {failure(str(n), f"HTTP {n}"): 1 for n in range(500, 523)},
            ", ".join(f"HTTP {n} (1)" for n in range(500, 520)) + ", others (3)",
        ),
    ],
)
def test_each_kind_of_failure_is_counted(failures: dict[Failure, int], said: str) -> None:
    assert causes(failures) == said


@given(
    st.text("ab ", max_size=90),
    st.lists(st.text("xy z", min_size=1, max_size=120), min_size=2, max_size=6, unique=True),
)
def test_kinds_of_failures_that_begin_alike_stay_distinct(beginning: str, ends: list[str]) -> None:
    messages = {" ".join(f"{beginning} {end}".split()) for end in ends}
    said = causes({failure(message): 1 for message in messages})
    if len(messages) > 1:
        shown = said.split(" (1)")[:-1]
        assert len(set(shown)) == len(messages)
        assert all(len(text) < 100 for text in shown)


def test_the_part_that_messages_share_is_cut() -> None:
    shared = "the Data Catalog's response cannot be read: " + "a long beginning " * 5
    said = causes({failure(f"{shared}it is empty"): 2, failure(f"{shared}it is a web page"): 1})
    assert said == "…empty (2), …a web page (1)"


def test_rejected_questions_are_counted_by_kind_beside_those_to_be_done_again(database: str) -> None:
    kinds = ["query", "ask_failed", "rejected", "rejected"]
    cases = [{"id": str(n), "question": kind, "gold_sql": GOOD} for n, kind in enumerate(kinds)]
    run = assay.evaluate(cases, LiveSystem(failing), metrics=["match"], workers=1, concurrency=1, databases=database)
    text = assay.registry.render("md", run.record).decode()
    assert "1 case failed; the same command tries it again: m." in text
    assert "2 cases were rejected by the system; the same command asks again: m." in text


@pytest.mark.parametrize("raised", [ZeroDivisionError("division by zero"), KeyError("x"), TimeoutError()], ids=repr)
def test_a_callable_that_always_raises_has_no_rate_in_any_form(database: str, raised: Exception) -> None:
    def ask(_: assay.Case) -> str:
        raise raised

    cases = [{"id": str(n), "question": "query", "gold_sql": GOOD} for n in range(3)]
    run = assay.evaluate(cases, ask, databases=database, metrics=["match"], workers=1)
    rate = run.rate()
    assert (rate.value, rate.low, rate.high, rate.n, rate.unscored) == (None, None, None, 0, 3)
    said = "nothing could be scored: the system raised"
    for text in (repr(run), run.summary(), run.summary(full=True), run._repr_html_()):
        assert said in " ".join(text.split())
        assert "correct" not in text.split("\n\n")[0].partition("outcomes:")[0]
        assert "count as incorrect" not in " ".join(text.split())


def test_a_callable_that_raises_once_counts_there_as_incorrect(database: str) -> None:
    def ask(case: assay.Case) -> str:
        if case.id == "1":
            raise ValueError("no idea")
        return GOOD

    cases = [{"id": str(n), "question": "query", "gold_sql": GOOD} for n in range(3)]
    run = assay.evaluate(cases, ask, databases=database, metrics=["match"], workers=1)
    assert (run.aggregates.correct, run.aggregates.incorrect) == (2, 1)
    assert "2 correct, 1 incorrect" in repr(run)
    assert "2 of 3 correct" in run.summary()
