"""Findings that one change mends are one group, in every output."""

from __future__ import annotations

import json

import pytest

import assay
from assay.model import Case
from assay.model.lint import LintReport
from assay.reports.lint import lint_html, lint_json, lint_sarif, lint_text
from assay.reports.screen.lint import lint_screen
from assay.reports.screen.run import screen_text
from running import sqlite_url

SCRIPT = """
CREATE TABLE port (code TEXT PRIMARY KEY, city TEXT, size TEXT);
CREATE TABLE trip (id INTEGER PRIMARY KEY, origin TEXT, goal TEXT, kind TEXT, captain INTEGER);
CREATE TABLE captain (id INTEGER, name TEXT);
CREATE TABLE storm (id INTEGER, name TEXT);
INSERT INTO port VALUES ('AAA', 'Aberdeen ', '9'), ('BBB', 'Bath', '100'), ('CCC', 'Cork ', '20');
INSERT INTO trip VALUES (1, ' AAA', ' BBB', 'Fast', 1), (2, ' BBB', ' CCC', 'Fast', NULL),
  (3, ' CCC', ' AAA', 'Slow', 2);
INSERT INTO captain VALUES (1, 'Ann'), (NULL, 'Bob');
"""
ON = "trip AS t JOIN port AS p ON"
GOLDS = {
    "a": "SELECT code FROM port WHERE city = 'Aberdeen'",
    "b": "SELECT COUNT(*) FROM trip WHERE origin = 'AAA'",
    "c": f"SELECT t.id FROM {ON} t.origin = p.code",
    "d": f"SELECT COUNT(*) FROM {ON} t.goal = p.code WHERE p.city = 'Cork'",
    "e": "SELECT id FROM trip WHERE kind = 'fast'",
    "f": "SELECT COUNT(*) FROM trip WHERE kind = 'slow'",
    "g": "SELECT code FROM port ORDER BY size DESC LIMIT 1",
    "h": "SELECT code FROM port WHERE size > 50",
    "i": "SELECT name FROM storm",
    "j": "SELECT COUNT(*) FROM storm WHERE id > 3",
    "k": "SELECT name FROM captain WHERE id NOT IN (SELECT captain FROM trip)",
    "l": "SELECT t.id FROM trip AS t ORDER BY t.captain LIMIT 1",
    "m": "SELECT kind, id FROM trip GROUP BY kind",
    "n": "SELECT kind,  id FROM trip GROUP BY kind;",
    "o": "SELECT MAX(name) FROM captain",
}
BLANKS = "blanks at the ends of texts, or repeated blanks between words"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> LintReport:
    folder = tmp_path_factory.mktemp("ports")
    for name in ("here", "there"):
        sqlite_url(folder / f"{name}.sqlite", SCRIPT)
    cases = [Case(id=key, question="", database="here", golds=(gold,)) for key, gold in GOLDS.items()]
    cases.append(Case(id="other", question="", database="there", golds=(GOLDS["a"],)))
    return assay.lint(cases, databases=f"sqlite:///{folder}/{{db_id}}.sqlite", workers=1)


def test_findings_are_grouped_by_what_lies_behind_them(report: LintReport) -> None:
    groups = {(one.database, one.cause): (set(one.cases), set(one.rules)) for one in report.root_causes()}
    assert groups["here", BLANKS] == (
        {"a", "b", "c", "d"},
        {"unknown-literal", "empty-result", "join-shares-no-value"},
    )
    assert groups["here", "the letter case of values of trip.kind"][0] == {"e", "f"}
    assert groups["here", "port.size contains numbers as texts"] == (
        {"g", "h"},
        {"text-order", "text-compared-as-number"},
    )
    assert groups["here", "tables without rows"][0] == {"i", "j"}
    assert groups["here", "trip.captain has rows without a value"][0] == {"k", "l"}
    assert {"m", "n"} in [cases for cases, _ in groups.values()]
    assert groups["there", BLANKS][0] == {"other"}  # another database's texts are mended elsewhere
    assert all("o" not in cases for cases, _ in groups.values())


def test_each_finding_is_in_at_most_one_group_and_none_is_lost(report: LintReport) -> None:
    grouped = [finding for one in report.root_causes() for finding in one.findings]
    assert len(grouped) == len(set(grouped)) <= len(report.findings)
    sizes = [len(one.findings) for one in report.root_causes()]
    assert sizes == sorted(sizes, reverse=True)
    assert min(sizes) > 1


def test_every_output_has_the_groups(report: LintReport) -> None:
    stored = json.loads(lint_json(report))
    assert [(one["cause"], one["findings"]) for one in stored["root_causes"]] == [
        (one.cause, len(one.findings)) for one in report.root_causes()
    ]
    assert {one["root_cause"] for one in stored["findings"]} >= {one["cause"] for one in stored["root_causes"]}
    page, sarif = lint_html(report).decode(), json.loads(lint_sarif(report))
    for one in report.root_causes():
        assert one.cause.replace("'", "&#39;") in page
    assert BLANKS in {result["properties"]["rootCause"] for result in sarif["runs"][0]["results"]}
    largest = report.root_causes()[0]
    text = lint_text(report)
    assert f"{len(largest.findings)} findings in 4 cases: {BLANKS} (here)" in text
    summary = screen_text(lint_screen(report))
    assert f"{len(largest.findings)} findings in 4 cases: {BLANKS} (here)" in " ".join(summary.split())


def test_all_findings_are_printed_where_all_are_asked_for(report: LintReport) -> None:
    text = lint_text(report)
    assert text.count("\n  remedy:") == len(report.findings)
