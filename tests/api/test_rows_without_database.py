"""Results that are rows on both sides need no database; a query does, and the message names its case."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import assay
import commands
from assay.errors import InputError

CASES: list[dict[str, Any]] = [
    {"id": "a", "question": "q?", "gold_result": [[1, 2]]},
    {"id": "b", "question": "r?", "gold_result": [[3]], "db_id": "shop"},
    {"id": "c", "question": "s?", "gold_result": [[4]]},
]
ROWS: list[dict[str, Any]] = [{"id": "a", "rows": [[1, 2]]}, {"id": "b", "rows": [[4]]}, {"id": "c", "rows": None}]
NOTHING = pytest.mark.parametrize("databases", [{}, "", " "])


def outcomes(run: assay.Run) -> list[str]:
    return [one.verdict.outcome for one in run.evidence]


@NOTHING
@pytest.mark.parametrize("more", [{}, {"lint": True}, {"witness": True}], ids=["plain", "lint", "witness"])
def test_rows_are_scored_without_a_database(databases: Any, more: dict[str, Any]) -> None:
    assert outcomes(assay.evaluate(CASES, ROWS, databases=databases, **more)) == ["correct", "incorrect", "incorrect"]


@NOTHING
def test_a_callable_may_return_rows(databases: Any) -> None:
    run = assay.evaluate(CASES, lambda case: [[4]] if case.id != "a" else [[1, 2]], databases=databases)
    assert outcomes(run) == ["correct", "incorrect", "correct"]


@NOTHING
def test_a_query_names_its_case(databases: Any) -> None:
    with pytest.raises(InputError, match=r"item 1: no database is given, and its prediction, a query, must be exec"):
        assay.evaluate(CASES, [ROWS[0], {"id": "b", "query": "SELECT 4"}, ROWS[2]], databases=databases)
    gold = {"id": "b", "question": "r?", "gold_sql": "SELECT 3"}
    with pytest.raises(InputError, match=r"item 1: no database is given, and its gold query must be executed"):
        assay.evaluate([CASES[0], gold, CASES[2]], ROWS, databases=databases)


def test_a_system_that_answers_with_a_query_is_warned_of_and_unscored() -> None:
    class System:
        def describe(self) -> str:
            return "rows and a query"

        def answer(self, case: assay.Case) -> assay.Prediction:
            rows = assay.GivenResult.of([(1, 2)])
            return assay.Prediction(case_id=case.id, query="SELECT 3" if case.id == "b" else None, result=rows)

    with pytest.warns(UserWarning, match=r"3 of 3 questions .* unless the system answers with rows: give the URL"):
        run = assay.evaluate(CASES, System(), databases={})
    assert outcomes(run) == ["correct", "unscored", "incorrect"]
    assert "no database is given" in run.evidence[1].verdict.reason


def test_one_pair_of_rows_needs_no_database() -> None:
    one, two = assay.GivenResult.of([(1,)]), assay.GivenResult.of([(2,)])
    assert assay.check(one, one, database="").outcome == "correct"
    assert assay.check(one, [two, one], database="").outcome == "correct"
    assert assay.diagnose(one, two, database="") is not None
    with pytest.raises(InputError, match="is not a database URL"):
        assay.check("SELECT 1", one, database="")


def lines(path: Path, items: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    return path


def command(folder: Path, *arguments: str) -> tuple[int, str]:
    done = commands.here(["run", *arguments], env=dict(os.environ), cwd=folder)
    return done.returncode, done.stdout + done.stderr


def test_the_command_needs_no_database_for_rows(tmp_path: Path) -> None:
    lines(tmp_path / "cases.jsonl", CASES)
    lines(tmp_path / "rows.jsonl", ROWS)
    lines(tmp_path / "queries.jsonl", [ROWS[0], {"id": "b", "query": "SELECT 4"}])
    (tmp_path / "eval.yaml").write_text("cases: cases.jsonl\npredictions: rows.jsonl\n", encoding="utf-8")
    for arguments in (["cases.jsonl", "--predictions", "rows.jsonl"], ["eval.yaml"]):
        status, text = command(tmp_path, *arguments)
        assert (status, "1 of 3" in text) == (0, True), text
    status, text = command(tmp_path, "cases.jsonl", "--predictions", "queries.jsonl")
    assert status == 2
    assert "no database is given, and its prediction, a query, must be executed" in text
    status, text = command(tmp_path, "cases.jsonl", "--system", "command:cat")
    assert status == 2
    assert "--db must be given" in text
