"""A lint as a whole: through Python and the command line, in every format, and on input that is hard to read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from golds import SCRIPT, found_by

import assay
from assay.cli.app import run_command_line
from assay.errors import UsageError
from assay.linting import catalogue
from assay.linting.apply import MOST_FOUND, ignored_rules
from assay.model import Limits
from assay.reports.lint import lint_html, lint_json, lint_sarif, lint_text
from many_cases import each
from running import sqlite_url


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    sqlite_url(tmp_path / "songs.sqlite", SCRIPT)
    cases = [
        {"id": "fine", "question": "How many singers?", "gold_sql": "SELECT COUNT(*) FROM singer"},
        {"id": "empty", "question": "Old singers", "gold_sql": "SELECT name\nFROM singer\nWHERE age > 400"},
        {"id": "typo", "question": "From the US", "gold_sql": "SELECT name FROM singer WHERE country = 'japan'"},
        {"id": "off", "question": "Old", "gold_sql": "SELECT name FROM singer WHERE age > 400 -- assay: ignore"},
    ]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    return tmp_path


def _lint(folder: Path, database: str = "songs.sqlite", **more: object) -> assay.LintReport:
    return assay.lint(folder / "cases.jsonl", databases=f"sqlite:///{folder}/{database}", workers=1, **more)  # type: ignore[arg-type]


def _command(folder: Path, *options: str) -> int:
    """The status of the command."""
    database = f"sqlite:///{folder}/songs.sqlite"
    arguments = ["lint", str(folder / "cases.jsonl"), "--db", database, "-q", "--workers", "1"]
    return run_command_line([*arguments, *options])


def test_findings_come_in_the_order_of_the_cases(folder: Path) -> None:
    report = _lint(folder)
    rules = [(one.case_id, one.rule) for one in report.findings]
    assert rules == [
        ("empty", "empty-result"),
        ("empty", "value-not-asked"),
        ("typo", "empty-result"),
        ("typo", "value-not-asked"),
        ("typo", "unknown-literal"),
    ]
    assert (report.cases, report.golds, report.ignored) == (4, 4, 2)
    placed = report.findings[1]
    assert (placed.line, placed.column, placed.end_line) == (3, 7, 3)
    assert placed.excerpt == "age > 400"
    assert report.doubtful("error") == {"typo"}


def test_rules_are_chosen_by_name(folder: Path) -> None:
    assert {one.rule for one in _lint(folder, only=["empty-result"]).findings} == {"empty-result"}
    assert "empty-result" not in {one.rule for one in _lint(folder, ignore=["empty-result"]).findings}
    with pytest.raises(UsageError, match=r"unknown rule 'empty-resul' \(did you mean 'empty-result'\?\)"):
        _lint(folder, only=["empty-resul"])
    with pytest.raises(UsageError, match="give a list"):
        _lint(folder, ignore="empty-result")


@each(
    ("comment", "off"),
    [
        ("-- assay: ignore", frozenset()),
        ("-- assay: ignore all", frozenset()),
        ("-- assay: ignore empty-result", {"empty-result"}),
        ("/* assay: ignore empty-result, limit-over-tie */", {"empty-result", "limit-over-tie"}),
        ("-- ASSAY:IGNORE empty-result because the table is empty", {"empty-result"}),
        ("-- nothing of the kind", None),
        ("-- assay: ignore no-such-rule", None),
    ],
)
def test_comments_turn_rules_off(comment: str, off: frozenset[str] | None) -> None:
    assert ignored_rules(f"SELECT 1 {comment}\n", "sqlite")[0] == off
    assert ignored_rules(f"{comment}\nSELECT 1", "sqlite")[0] == off
    assert ignored_rules("SELECT ' " + comment.replace("'", "") + " '", "sqlite")[0] is None


def test_unknown_names_are_told_with_the_closest() -> None:
    report = assay.lint([assay.Case(id="x", question="", golds=("SELECT 1 -- assay: ignore emty-result",))], workers=1)
    assert report.notes == ("case x ignores an unknown rule 'emty-result' (did you mean 'empty-result'?)",)
    with pytest.raises(UsageError, match=r"'postgress' \(did you mean 'postgres'\?\)"):
        assay.lint([assay.Case(id="a", question="", golds=("SELECT 1",))], dialect="postgress")


def test_without_a_database_the_other_rules_apply_and_it_is_said(folder: Path) -> None:
    report = assay.lint(folder / "cases.jsonl", workers=1)
    assert {one.rule for one in report.findings} == {"value-not-asked"}
    (gap,) = report.gaps
    assert "databases=" in gap.why
    assert "empty-result" in gap.rules


def test_a_database_that_is_gone_leaves_the_rules_that_need_none(folder: Path) -> None:
    report = _lint(folder, "gone.sqlite")
    assert {one.rule for one in report.findings} == {"value-not-asked"}
    (gap,) = report.gaps
    assert gap.cases == ("fine", "empty", "typo", "off")
    assert "gone.sqlite" in gap.why


def test_a_file_that_is_no_database_is_told(folder: Path) -> None:
    (folder / "torn.sqlite").write_bytes(b"SQLite format 3\0" + b"\xff" * 4000)
    report = _lint(folder, "torn.sqlite")
    assert len(report.gaps) == 1
    assert not {one.rule for one in report.findings} & {"empty-result", "unknown-literal"}


def test_duckdb_is_linted_too(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "songs.duckdb")) as made:
        made.execute("CREATE TABLE singer (id INTEGER, name TEXT, age INTEGER)")
        made.execute("INSERT INTO singer VALUES (1, 'Ann', 30), (2, 'Bob', 30)")
    cases = [
        assay.Case(id="tie", question="", golds=("SELECT name FROM singer ORDER BY age LIMIT 1",)),
        assay.Case(id="typo", question="", golds=("SELECT age FROM singer WHERE name = 'ann'",)),
        assay.Case(id="division", question="", golds=("SELECT SUM(age) / COUNT(*) FROM singer",)),
    ]
    report = assay.lint(cases, databases=f"duckdb:///{tmp_path}/songs.duckdb", workers=1)
    rules = [(one.case_id, one.rule) for one in report.findings if one.severity != "note"]
    assert rules == [("tie", "limit-over-tie"), ("typo", "empty-result"), ("typo", "unknown-literal")]


HARD = {
    "long": "SELECT name FROM singer WHERE " + " OR ".join(f"name = 'n{number}'" for number in range(8_000)),
    "deep": "SELECT " + "(" * 2_000 + "age" + ")" * 2_000 + " FROM singer",
    "tables": "WITH " + ", ".join(f"t{n} AS (SELECT {n} AS a)" for n in range(1_000)) + " SELECT * FROM t999",
    "chain": "WITH t0 AS (SELECT age AS a FROM singer), "
    + ", ".join(f"t{n} AS (SELECT a FROM t{n - 1})" for n in range(1, 400))
    + " SELECT a FROM t399 WHERE a = 3",
    "values": "SELECT name FROM singer WHERE name IN (" + ", ".join(f"'n{n}'" for n in range(5_000)) + ")",
    "mixed": "SELECT 1 FROM singer WHERE " + " OR ".join(f"name = 'n{n}' AND age = {n}" for n in range(1_200)),
    "circle": "WITH RECURSIVE t AS (SELECT a FROM u), u AS (SELECT a FROM t) SELECT a FROM t WHERE a = 'x'",
    "nested": "SELECT * FROM " + "(SELECT * FROM " * 300 + "singer" + ")" * 300,
    "unions": " UNION ".join(["SELECT 1"] * 1_500),
    "sum": "SELECT " + " + ".join(["age"] * 4_000) + " FROM singer",
    "zeros": "SELECT '\0' FROM singer",
    "quotes": "SELECT 'x",
    "surrogate": "SELECT '\udcff' FROM singer WHERE name = '\udcff'",
    "huge": "SELECT '" + "x" * 200_000 + "'",
}


@pytest.mark.parametrize("name", HARD)
def test_hard_queries_end_without_an_error_of_ours(name: str, folder: Path) -> None:
    case = assay.Case(id=name, question=HARD[name][:200], golds=(HARD[name],), database="songs")
    limits = Limits(timeout_s=20)
    report = assay.lint([case], databases=f"sqlite:///{folder}/songs.sqlite", limits=limits, workers=1)
    assert not [gap for gap in report.gaps if "could not be looked at" in gap.why], report.gaps
    assert max(report.counts().values(), default=0) <= MOST_FOUND
    for draw in (lint_text, lint_json, lint_html, lint_sarif):
        assert draw(report)  # type: ignore[operator]
    if report.gaps:
        assert [one.rule for one in report.findings if one.rule in ("unreadable-query", "gold-fails")]


def test_every_dialect_is_read_without_an_error() -> None:
    from sqlglot.dialects import DIALECTS

    for dialect in DIALECTS:
        found_by("limit-without-order", "SELECT a FROM t LIMIT 3", None, dialect=dialect.lower())


def test_sarif_is_what_its_schema_demands(folder: Path) -> None:
    sarif = json.loads(lint_sarif(_lint(folder)))
    assert sarif["version"] == "2.1.0"
    (run,) = sarif["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert len(run["results"]) == 5
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note", "none")
        assert result["message"]["text"]
        (location,) = result["locations"]
        assert location["physicalLocation"]["artifactLocation"]["uri"].endswith("cases.jsonl")
        assert location["physicalLocation"]["region"]["startLine"] in (2, 3)
    assert {key for result in run["results"] for key in result} <= {
        "ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints", "properties"
    }  # fmt: skip
    assert all(one["executionSuccessful"] is True for one in run["invocations"])


def test_the_page_holds_no_markup_of_the_cases(folder: Path) -> None:
    case = assay.Case(
        id="<b>x</b>", question="<script>alert(1)</script>", golds=("SELECT '<img src=x>' FROM t LIMIT 1",)
    )
    page = lint_html(assay.lint([case], workers=1)).decode()
    assert "limit-without-order" in page
    assert page.count("<script") == page.count("<script>") == 1  # the page's own
    assert "<img" not in page
    assert "<b>x" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_the_table_of_the_page_counts_what_its_head_counts(folder: Path) -> None:
    report = _lint(folder)
    page = lint_html(report).decode()
    table = page[page.index("By rule") :]
    rows = re.findall(r"<tr.*?</tr>", table[: table.index("</table>")], flags=re.DOTALL)
    head, *lines = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.DOTALL) for row in rows]
    plain = [[re.sub(r"<[^>]*>", "", cell).strip() for cell in line] for line in lines]
    counts = {name: [int(line[place] or 0) for line in plain] for place, name in enumerate(head) if place}
    assert {name: column[-1] for name, column in counts.items()} == {
        "findings": len(report.findings),
        "cases": len({one.case_id for one in report.findings}),
        **{f"{one}s": sum(each.severity == one for each in report.findings) for one in ("error", "warning", "note")},
    }
    for name in set(counts) - {"cases"}:
        *own, total = counts[name]
        assert sum(own) == total
    assert f'<b id="headline">{counts["findings"][-1]}</b>' in page


def test_json_holds_everything(folder: Path) -> None:
    report = _lint(folder)
    told = json.loads(lint_json(report))
    assert told["format"] == "assay-lint"
    assert told["severities"] == {"error": 1, "warning": 2, "note": 2}
    assert told["doubtful_cases"] == ["empty", "typo"]
    assert [one["rule"] for one in told["findings"]] == [one.rule for one in report.findings]
    assert told["ignored"] == 2


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ([], 0),
        (["--fail-on", "error"], 1),
        (["--fail-on", "note"], 1),
        (["--fail-on", "error", "--ignore", "unknown-literal"], 0),
        (["--fail-on", "warning", "--only", "gold-fails,slow-gold"], 0),
        (["--fail-on", "fatal"], 2),
        (["--only", "gold-fail"], 2),
        (["--dialect", "klingon"], 2),
        (["--json", "--sarif", "-"], 2),
    ],
)
def test_the_exit_status_says_whether_the_severity_is_reached(
    options: list[str], status: int, folder: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert _command(folder, *options) == status
    capsysbinary.readouterr()


def test_the_settings_file_turns_rules_off(folder: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    own = "lint:\n  ignore: [empty-result, value-not-asked]\n  fail_on: error\n"
    text = f"cases: cases.jsonl\ndb: sqlite:///songs.sqlite\n{own}"
    (folder / "eval.yaml").write_text(text, encoding="utf-8")
    assert run_command_line(["lint", str(folder / "eval.yaml"), "-q", "--json", "--workers", "1"]) == 1
    told = json.loads(capsysbinary.readouterr().out)
    assert [one["rule"] for one in told["findings"]] == ["unknown-literal"]
    (folder / "eval.yaml").write_text(text.replace("ignore:", "ignored:"), encoding="utf-8")
    assert run_command_line(["lint", str(folder / "eval.yaml"), "-q"]) == 2
    assert b"did you mean 'ignore'" in capsysbinary.readouterr().err


def test_the_terminal_shows_evidence_place_and_remedy(folder: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert _command(folder, "--html", str(folder / "lint.html")) == 0
    told = capsysbinary.readouterr().out.decode()
    assert "error  unknown-literal  case typo:1:41" in told
    assert "'japan' never occurs in singer.country" in told
    assert len(told.splitlines()) <= 41
    assert _command(folder, "--full") == 0
    told = capsysbinary.readouterr().out.decode()
    assert "error  unknown-literal  case typo:1:41" in told
    assert "'japan' never occurs in singer.country; 'Japan', which differs only in upper and lower case" in told
    assert "2 findings turned off by comments" in told
    assert (folder / "lint.html").read_bytes().startswith(b"<!doctype html>")
    assert run_command_line(["lint", "--rules"]) == 0
    told = capsysbinary.readouterr().out.decode()
    assert all(rule.about.name in told for rule in catalogue())


def test_stored_runs_show_where_systems_agree(folder: Path) -> None:
    cases = [assay.Case(id="a", question="How many singers?", golds=("SELECT COUNT(*) FROM singer",))]
    url = f"sqlite:///{folder}/songs.sqlite"
    runs = [
        assay.evaluate(cases, ["SELECT COUNT(age) FROM singer"], databases=url, metrics=["match"], workers=1, name=name)
        for name in ("one", "two")
    ]
    report = assay.lint(cases, databases=url, runs=runs, only=["systems-agree"], workers=1)
    assert [one.evidence for one in report.findings] == [
        "2 of 2 runs with a result agree on one that is not the gold result: one, two."
    ]
    (one, _) = report.accuracies
    assert (one.run, one.correct, one.scored, one.sound_correct, one.sound_scored) == ("one", 0, 1, 0, 1)
    other = [assay.Case(id="b", question="?", golds=("SELECT 1",))]
    with pytest.raises(assay.InputError, match="has none of the 1 cases"):
        assay.lint(other, databases=url, runs=runs, workers=1)


def test_accuracy_is_given_with_and_without_doubtful_cases(folder: Path) -> None:
    cases = [
        assay.Case(id="sound", question="How many?", golds=("SELECT COUNT(*) FROM singer",)),
        assay.Case(id="tied", question="Who?", golds=("SELECT name FROM singer ORDER BY age DESC LIMIT 1",)),
        assay.Case(id="broken", question="What?", golds=("SELECT nam FROM singer",)),
    ]
    url = f"sqlite:///{folder}/songs.sqlite"
    answers = ["SELECT COUNT(*) FROM singer", "SELECT 'Eve'", "SELECT 1"]
    run = assay.evaluate(cases, answers, databases=url, metrics=["match"], workers=1, name="first")
    report = assay.lint(cases, databases=url, runs=[run], workers=1)
    (one,) = report.accuracies
    assert (one.correct, one.scored, one.sound_correct, one.sound_scored) == (1, 2, 1, 1)
    assert "first: 50.0% (1 of 2) correct; without 1 doubtful answer 100.0% (1 of 1)" in lint_text(report)
    assert b"without 1 doubtful answer" in lint_html(report)
    assert json.loads(lint_json(report))["accuracies"][0]["sound_scored"] == 1
