"""A blank answer is none, whatever holds it: one rule for files, systems, verdicts, numbers and tables."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from msgspec.structs import replace

from assay import Run, evaluate, judge, load_run
from assay.cases import load_predictions
from assay.model import Case, Prediction
from assay.model.cases.decision import holds_nothing
from assay.registry import case_formats
from many_cases import each

BLANK = (
    *("", "   ", "\n\t", "\ufeff", "\u200b", ";", " ; ;"),
    *("-- hm", "-- a\n\n-- b", "/* hm */", "/* not closed", "/**/;--"),
    *("```sql\n```", "```\n\n```", "```sql```", "``````", "```sql", "~~~\n~~~"),
    *("```sql\n-- hm\n```", "```\n```\n```\n```"),
)
SAYS_SOMETHING = (
    *("SELECT 1", " (SELECT 1)", "-- a\nSELECT 1", "-- a\rSELECT 1", "/* a */ SELECT 1", "/* a /* b */ SELECT 1 -- */"),
    *("/*! SELECT 1 */", "/*M! SELECT 1 */", "```sql\nSELECT 1\n```", "```SELECT 1```", "``` SELECT 1 ```"),
    *("I cannot answer that.", "?", "''", "null", "```null```", "```\nnull\n```", "# hm", "SELEC", "0"),
)


@each("text", BLANK)
def test_blank_texts_hold_nothing(text: str) -> None:
    assert holds_nothing(text)
    assert holds_nothing(f" {text}\n")
    answer = Prediction(case_id="1", query=text, origin="p.json, item 3")
    assert (answer.query, answer.given) == (text, "nothing")
    assert (answer.failure.kind, answer.failure.message) == ("unanswered", "p.json, item 3, contains no query")
    declined = Prediction(case_id="1", query=text, decision="decline")
    assert (declined.given, declined.failure) == ("decline", None)


@each("text", SAYS_SOMETHING)
def test_other_texts_hold_something(text: str) -> None:
    assert not holds_nothing(text)
    assert Prediction(case_id="1", query=text).failure is None


@each("piece", ["/*", "/* *", "--", "``` ", "```", "`", "~~~\n", " ", ";", "/* */", "--\n"])
def test_the_rule_takes_no_longer_than_the_text_is_long(piece: str) -> None:
    # With backtracking these would not end within hours.
    assert not holds_nothing(piece * 20_000 + "\nx */ x")


@pytest.fixture
def judged(make_sqlite: Callable[..., Path]) -> Callable[..., Run]:
    """A run in which nearly every answer is the one given."""
    database = f"sqlite:///{make_sqlite('CREATE TABLE t(a); INSERT INTO t VALUES (1), (2);')}"
    gold = "SELECT a FROM t"
    plain = Case(id="right", question="right", golds=(gold,))
    cases = [
        plain,
        replace(plain, id="asked", question="asked"),
        replace(plain, id="empty", question="empty", golds=("SELECT a FROM t WHERE a > 9",)),
        replace(plain, id="broken", question="broken", golds=("SELECT nonsense",)),
        Case(id="decline", question="decline", expects="decline"),
        Case(id="clarify", question="clarify", expects="clarify"),
    ]

    def run(answer: str | None, **more: Any) -> Run:
        answers = {case.id: answer for case in cases} | {"right": gold}
        more = {"metrics": ["match", "bird_ex"], "workers": 1, "penalties": [5], **more}
        return evaluate(cases, answers, databases=database, **more)

    return run


def told(run: Run) -> object:
    """All that must not depend on how an answer is blank."""
    numbers = run.aggregates
    reliability = numbers.reliability
    assert reliability is not None
    return (
        *(numbers.correct, numbers.incorrect, numbers.unscored, numbers.unanswered),
        *(numbers.failures, numbers.causes, reliability),
        [(item.case.id, item.outcome, item.verdict.failure and item.verdict.failure.kind) for item in run.evidence],
    )


def test_a_blank_answer_counts_as_one_that_is_null(judged: Callable[..., Run]) -> None:
    none = judged(None)
    numbers = none.aggregates
    assert (numbers.correct, numbers.incorrect, numbers.unscored, numbers.unanswered) == (1, 4, 1, 5)
    assert [score.rate.value for score in numbers.reliability.scores] == [0.2, 0.2]  # nothing came: it costs nothing
    for blank in ("", "```sql\n```", "/* not closed"):
        assert told(judged(blank)) == told(none), blank
    assert told(judged("?")) != told(none)


def test_published_metrics_score_a_blank_text_as_their_scripts_do(judged: Callable[..., Run]) -> None:
    def values(answer: str | None) -> list[float | None]:
        scores = {item.case.id: item.score("bird_ex") for item in judged(answer).evidence}
        return [score.value for name in ("asked", "empty") if (score := scores[name]) is not None]

    assert values(None) == [0.0, 0.0]
    assert values("") == values("-- hm") == [0.0, 1.0]  # SQLite runs it, and gives no rows


def test_a_stored_run_its_summaries_and_its_table_agree(judged: Callable[..., Run], tmp_path: Path) -> None:
    tables = []
    for name, answer in (("null", None), ("blank", " "), ("comment", "-- hm")):
        run = judged(answer, output=tmp_path / name)
        stored = load_run(tmp_path / name)
        assert stored.aggregates == run.aggregates
        assert list(stored.record.summaries) == list(run.record.summaries)
        with duckdb.connect() as connection:
            query = f"SELECT case_id, outcome, given, cause FROM '{tmp_path / name / 'results.parquet'}' ORDER BY 1"
            tables.append(connection.execute(query).fetchall())
    assert tables[0] == tables[1] == tables[2]
    assert [row[2] for row in tables[0]] == ["nothing"] * 5 + ["answer"]  # "right" is the last name


def test_one_pair_is_unanswered_where_the_prediction_is_blank(make_sqlite: Callable[..., Path]) -> None:
    database = f"sqlite:///{make_sqlite('CREATE TABLE t(a)')}"
    for blank in ("", "-- hm", "```sql\n```"):
        failure = judge(blank, "SELECT a FROM t", database=database).failure
        assert failure.kind == "unanswered"


def in_json(blank: str, folder: Path) -> Path:
    (path := folder / "p.json").write_text(json.dumps([{"id": "1", "sql": blank}]))
    return path


def in_csv(blank: str, folder: Path) -> Path:
    with (path := folder / "p.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "sql"], ["1", blank]])
    return path


def in_bird(blank: str, folder: Path) -> Path:
    (path := folder / "p.json").write_text(json.dumps({"0": f"{blank}\t----- bird -----\tshop"}))
    return path


def in_inspect(blank: str, folder: Path) -> Path:
    message = {"role": "assistant", "content": blank}
    output = {"model": "m", "choices": [{"message": message}] if blank else []}
    sample = {"id": 1, "epoch": 1, "input": "Which?", "target": "SELECT 1", "metadata": {}, "output": output}
    sample["error"] = {"message": "the sandbox died"}
    log = {"version": 2, "status": "error", "eval": {"task": "t", "run_id": "x"}, "samples": [sample]}
    (path := folder / "log.json").write_text(json.dumps(log))
    return path


@each("write", [in_json, in_csv, in_bird, in_inspect])
@each("blank", ["", "   ", "```sql\n```", "-- hm"])
def test_every_file_gives_the_same_for_a_blank_answer(
    write: Callable[[str, Path], Path], blank: str, tmp_path: Path
) -> None:
    [answer] = load_predictions(write(blank, tmp_path), formats=case_formats()).predictions
    assert answer.given == "nothing"
    assert (answer.failure.kind, answer.failure.blame) == ("unanswered", "system")
