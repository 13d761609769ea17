"""A run without causes computes none, scores the same, and says so in its reports."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import assay
import commands
from assay.errors import RunError, UsageError
from running import sqlite_url

CASES = [
    {"id": "a", "question": "?", "gold": "SELECT x FROM t WHERE x > 1"},
    {"id": "b", "question": "?", "gold": "SELECT 1"},
]
ANSWERS = {"a": "SELECT x FROM t", "b": "SELECT 1"}
NOTE = "The causes of incorrect predictions were not computed."


@pytest.fixture
def database(tmp_path: Path) -> str:
    return sqlite_url(tmp_path / "t.sqlite", "CREATE TABLE t (x); INSERT INTO t VALUES (1), (2)")


def test_no_cause_is_computed_and_the_scores_are_the_same(database: str) -> None:
    with_causes = assay.evaluate(CASES, ANSWERS, databases=database)
    without = assay.evaluate(CASES, ANSWERS, databases=database, diagnose=False)
    assert with_causes.evidence[0].diagnosis is not None
    assert [one.diagnosis for one in without.evidence] == [None, None]
    assert not without.record.aggregates.causes
    assert [one.scores for one in without.evidence] == [one.scores for one in with_causes.evidence]
    assert not without.record.settings.diagnose


@pytest.mark.parametrize("suffix", ["md", "html"])
def test_reports_say_that_causes_were_not_computed(database: str, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"report.{suffix}"
    for cases, diagnose in ((CASES, True), (CASES, False), (CASES[1:], False)):
        answers = {case["id"]: ANSWERS[case["id"]] for case in cases}
        assay.evaluate(cases, answers, databases=database, diagnose=diagnose).report(path)
        assert (NOTE in path.read_text(encoding="utf-8")) is (cases is CASES and not diagnose)


def test_a_run_is_not_resumed_with_the_other_setting(database: str, tmp_path: Path) -> None:
    assay.evaluate(CASES, ANSWERS, databases=database, diagnose=False, output=tmp_path / "run")
    with pytest.raises(RunError, match="diagnose was False, now True"):
        assay.evaluate(CASES, ANSWERS, databases=database, output=tmp_path / "run")
    with pytest.raises(UsageError, match="diagnose is 'no'"):
        assay.evaluate(CASES, ANSWERS, databases=database, diagnose="no")  # type: ignore[arg-type]


@pytest.mark.parametrize("in_file", [False, True], ids=["option", "file"])
def test_the_command_has_the_option(database: str, tmp_path: Path, *, in_file: bool) -> None:
    rows = [{**case, "prediction": ANSWERS[case["id"]]} for case in CASES]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "eval.yaml").write_text(f"cases: cases.jsonl\ndb: {database}\ndiagnose: false\n", encoding="utf-8")
    arguments = ["eval.yaml"] if in_file else ["cases.jsonl", "--db", database, "--no-causes"]
    done = commands.here(["run", *arguments, "-o", "run"], env=dict(os.environ), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "not computed" in done.stdout
    done = commands.here(["explain", "run", "a"], env=dict(os.environ), cwd=tmp_path)
    assert "no cause: the causes of incorrect predictions were not computed" in done.stdout
