"""The lint's findings stand beside a run's verdicts, and no verdict depends on them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import duckdb
import pytest
from msgspec.structs import replace

import assay
from assay.model.lint import LintOptions
from assay.reports.blocks.run import RunReport
from running import LiveSystem

_SCRIPT = """
CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT, age INTEGER, country TEXT);
INSERT INTO singer VALUES (1, 'Ann', 40, 'Japan'), (2, 'Bob', 40, 'Japan'), (3, 'Cat', 30, 'Peru');
"""
CASES = {
    "tie": "SELECT name FROM singer WHERE age > 1 ORDER BY age DESC LIMIT 1",
    "typo": "SELECT name FROM singer WHERE country = 'japan'",
    "fine": "SELECT name FROM singer WHERE country = 'Peru'",
    "wrong": "SELECT name FROM singer WHERE age = 40",
}
ANSWERS = {**CASES, "wrong": "SELECT name FROM singer WHERE age = 30"}


@pytest.fixture
def evaluate(make_sqlite: Callable[..., Path]) -> Callable[..., assay.Run]:
    """Evaluate the four cases."""
    url = f"sqlite:///{make_sqlite(_SCRIPT)}"

    def run(cases: dict[str, str] = CASES, answers: dict[str, str] = ANSWERS, **given: Any) -> assay.Run:
        made = [assay.Case(id=name, question="", golds=(gold,)) for name, gold in cases.items()]
        return assay.evaluate(made, answers, databases=url, metrics=["match"], workers=1, **given)

    return run


def test_a_run_gives_its_accuracy_with_and_without_the_doubtful_cases(evaluate: Callable[..., assay.Run]) -> None:
    plain, linted = evaluate(), evaluate(lint=True)
    lint = linted.record.lint
    assert lint.doubtful() == {"tie", "typo"}
    assert plain.record.lint is plain.aggregates.sound is None
    outcomes = [[(item.case.id, item.verdict, item.scores) for item in run.evidence] for run in (plain, linted)]
    assert outcomes[0] == outcomes[1]
    assert plain.aggregates == replace(linted.aggregates, sound=None, times=plain.aggregates.times)
    sound = linted.aggregates.sound
    rate = sound.rate("match")
    assert (rate.numerator, rate.n) == (1.0, 2)
    [note] = [note for note in RunReport(linted.record).notes if "lint" in note and "gold queries of 2 cases" in note]
    assert "(1 of 2)" in note


def test_every_format_tells_the_findings_of_a_case(evaluate: Callable[..., assay.Run], tmp_path: Path) -> None:
    run = evaluate(lint=True)
    for name in ("html", "md", "json", "xlsx"):
        run.report(tmp_path / f"report.{name}")
    document = json.loads((tmp_path / "report.json").read_bytes())
    assert document["lint"]["doubtful"] == ["tie", "typo"]
    told = {case["case"]["id"]: case["gold_findings"] for case in document["cases"]}
    assert {one["rule"] for one in told["typo"]} == {"unknown-literal", "empty-result"}
    assert told["fine"] == []
    assert "question" not in told["typo"][0]
    summary = run.summary(full=True)
    assert "unknown-literal" in summary
    assert "Findings about gold queries, by rule" in summary
    markdown = (tmp_path / "report.md").read_text()
    assert "Findings about gold queries, by rule" in markdown
    with ZipFile(tmp_path / "report.xlsx") as book:
        sheets = b"".join(book.read(name) for name in book.namelist() if name.startswith("xl/worksheets/"))
    assert b"Findings about gold queries, by rule" in sheets
    assert b"never occurs" in sheets
    report = RunReport(run.record)
    [case] = [report.case(item, report.room()) for item in run.record.evidence if item.case.id == "typo"]
    assert set(case.rules) == {"unknown-literal", "empty-result"}
    assert case.findings[0].startswith("unknown-literal (error): 'japan' never occurs")


def test_a_report_without_a_lint_says_nothing_of_one(evaluate: Callable[..., assay.Run], tmp_path: Path) -> None:
    run = evaluate()
    run.report(tmp_path / "report.json")
    document = json.loads((tmp_path / "report.json").read_bytes())
    assert document["lint"] is None
    assert all("gold_findings" not in case for case in document["cases"])
    assert "oubt" not in run.summary(full=True)


def test_the_findings_are_stored_with_the_run_and_read_again(
    evaluate: Callable[..., assay.Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    run = evaluate(output=folder, lint=True)
    assert assay.load_run(folder).record.lint == run.record.lint
    table = duckdb.sql(f"SELECT case_id, gold_findings FROM '{folder}/results.parquet'").fetchall()
    assert {case_id: set(rules) for case_id, rules in table} == {
        "tie": {"limit-over-tie"},
        "typo": {"unknown-literal", "empty-result"},
        "fine": set(),
        "wrong": set(),
    }

    def never(*_: object, **__: object) -> None:
        raise AssertionError("the golds are looked at again, though nothing has changed")

    monkeypatch.setattr("assay.api.linting.lint_located", never)
    again = evaluate(output=folder, lint=True)
    assert again.record.lint == run.record.lint
    assert evaluate(output=folder).record.lint == run.record.lint
    with pytest.raises(AssertionError):
        evaluate(output=folder, lint=LintOptions(ignore=frozenset({"empty-result"})))


def test_a_finished_run_gets_its_findings_later_without_being_judged_again(
    evaluate: Callable[..., assay.Run], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    evaluate(output=folder)
    journal = (folder / "journal.jsonl").read_bytes()
    assert duckdb.sql(f"SELECT gold_findings FROM '{folder}/results.parquet'").fetchall() == [(None,)] * 4
    run = evaluate(output=folder, lint=True)
    assert (folder / "journal.jsonl").read_bytes() == journal
    assert run.aggregates.sound is not None
    assert assay.load_run(folder).aggregates.sound == run.aggregates.sound
    changed = evaluate({**CASES, "typo": "SELECT name FROM singer WHERE country = 'Japan'"}, output=folder, lint=True)
    assert changed.record.lint.doubtful() == {"tie"}
    assert evaluate({**CASES, "tie": "SELECT 1"}, output=folder).record.lint is None  # those findings were of others
    assert not (folder / "lint.json").exists()


def test_a_comparison_is_the_same_whether_gold_was_linted(evaluate: Callable[..., assay.Run], tmp_path: Path) -> None:
    linted, plain = evaluate(lint=True), evaluate(answers=CASES)
    with_lint, without = assay.diff(linted, plain), assay.diff(evaluate(), plain)
    assert (with_lint.summary(), with_lint.changes) == (without.summary(), without.changes)


def test_repeated_answers_have_their_golds_looked_at_once(evaluate: Callable[..., assay.Run]) -> None:
    run = evaluate(answers=LiveSystem(lambda case: ANSWERS[case.id]), lint=True, repeats=2)
    assert run.record.lint.golds == 4
    assert run.aggregates.sound.cases == 2
