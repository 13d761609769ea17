"""`assay sql`, as a user runs it: the tables of finished and unfinished runs, and nothing besides them."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import plain, sqlite_file

import assay
from assay.reports.text.query_table import MOST_ROWS, aligned_rows
from assay.runs.store.run_tables import TABLES, answered, named_runs

NAMES = ("right", "wrong", "failing")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs ``a`` and ``below/b``, of which the second is not finished: its last case is not judged yet."""
    folder = tmp_path_factory.mktemp("sql")
    sqlite_file(folder / "t.sqlite", "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)")
    cases = [assay.Case(id=name, question=f"{name}?", golds=("SELECT a FROM t",), tags=("x",)) for name in NAMES]
    queries = ("SELECT a FROM t", "SELECT a FROM t WHERE a = 1", "SELECT b FROM t")
    answers = [assay.Prediction(case_id=name, query=query) for name, query in zip(NAMES, queries, strict=True)]
    databases = f"sqlite:///{folder / 't.sqlite'}"
    assay.evaluate(
        cases, answers, databases=databases, metrics=["match", "bird_ex"], workers=1, output=folder / "a", tags=["n"]
    )
    other = folder / "below" / "b"
    shutil.copytree(folder / "a", other)
    head = json.loads((other / "run.json").read_bytes())
    (other / "run.json").write_text(json.dumps({**head, "status": "running", "order": [], "aggregates": None}))
    lines = (other / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (other / "journal.jsonl").write_bytes(b"".join(lines[:2]) + lines[2][:40])
    (other / "results.parquet").unlink()
    return folder


def _sql(folder: Path, *arguments: str) -> Any:
    return plain("sql", *arguments, cwd=folder)


def _rows(folder: Path, *arguments: str) -> list[list[object]]:
    shown = _sql(folder, *arguments, "--json")
    assert shown.returncode == 0, shown.stderr
    rows: list[list[object]] = json.loads(shown.stdout)["rows"]
    return rows


def test_a_table_on_the_terminal_and_as_csv(folder: Path) -> None:
    query = "SELECT case_id, match, tags FROM cases ORDER BY match DESC, case_id"
    shown = _sql(folder, "a", query)
    assert shown.stdout.splitlines()[:3] == [
        "case_id  match  tags",
        "-------  -----  -----",
        'right      1.0  ["x"]',
    ]
    rows = list(csv.reader(io.StringIO(_sql(folder, "a", query, "--csv").stdout)))
    assert rows == [["case_id", "match", "tags"], *([name, *rest] for name, *rest in rows[1:])]
    assert rows[1] == ["right", "1.0", '["x"]']


def test_several_runs_and_one_that_is_not_finished(folder: Path) -> None:
    """A folder stands for its runs; a run given twice is there once; the unfinished one has what was judged."""
    rows = _rows(folder, ".", "a", "SELECT run, count(*), count(match) FROM cases GROUP BY 1 ORDER BY 1")
    assert rows == [["a", 3, 3], ["below/b", 2, 2]]
    runs = _rows(folder, "a", "below/b", "SELECT run, status, cases, tags, headline_metric FROM runs ORDER BY run")
    assert runs == [["a", "finished", 3, ["n"], "match"], ["b", "running", None, ["n"], "match"]]


def test_every_table_says_what_the_evidence_says(folder: Path) -> None:
    """Scores, near misses, failures and causes of each answer, joined to its case."""
    found = {
        name: _rows(folder, "a", f"SELECT * FROM {name} ORDER BY ALL")
        for name in ("scores", "near_misses", "failures", "causes")
    }
    evidence = assay.load_run(folder / "a").evidence
    assert len(found["scores"]) == sum(len(item.scores) for item in evidence) == 6
    misses = [[item.case.id, miss.kind] for item in evidence if item.comparison for miss in item.comparison.near_misses]
    assert [[row[1], row[3]] for row in found["near_misses"]] == misses != []
    assert [row[1:5] for row in found["failures"]] == [["failing", 1, "system", "error"]]
    causes = {item.case.id: len(item.diagnosis.causes) for item in evidence if item.diagnosis}
    assert {row[1]: row[3] for row in found["causes"]} == causes


def test_the_tables_are_listed_and_documented(folder: Path) -> None:
    """By the verb without a query, and in the documents; a metric is a column of cases."""
    shown = _rows(folder, "a")
    assert {(table, column): kind for table, column, kind in shown} == {
        (table, column): kind
        for table, columns in TABLES.items()
        for column, kind in (columns | ({"match": "DOUBLE", "bird_ex": "DOUBLE"} if table == "cases" else {})).items()  # type: ignore[operator]
    }
    text = (Path(__file__).parents[2] / "docs" / "guides" / "sql.md").read_text("utf-8")
    told = {
        name: re.findall(r"`(\w+)`", row) for name, row in re.findall(r"^\| `(\w+)` \| [^|]+ \| (.*) \|$", text, re.M)
    }
    del told["cases"]
    assert told == {name: list(columns) for name, columns in TABLES.items() if name != "cases"}


def test_gates_are_kept_with_the_run(tmp_path: Path) -> None:
    """The list of runs and the tables say what was demanded and missed; the same command without gates keeps that."""
    sqlite_file(tmp_path / "t.sqlite")
    (tmp_path / "cases.csv").write_text(
        "id,question,gold_sql,predicted_sql\na,A?,SELECT 1,SELECT 1\nb,B?,SELECT 1,SELECT 2\n"
    )
    making = ["run", "cases.csv", "--db", "sqlite:///t.sqlite", "--metrics", "match", "--workers", "1", "-o", "runs/a"]
    gates = ["--min", "match=0.9", "--must-pass", "id:a"]
    assert plain(*making, *gates, cwd=tmp_path).returncode == 1
    assert plain(*making, cwd=tmp_path).returncode == 0
    assert "1 of 2 missed" in plain("runs", "runs", cwd=tmp_path).stdout
    (point,) = json.loads(plain("runs", "runs", "--json", cwd=tmp_path).stdout)["runs"]
    assert [(one["gate"], one["passed"]) for one in point["point"]["gates"]] == [
        ("min match=0.9", False),
        ("must-pass id:a", True),
    ]
    assert _rows(tmp_path, "runs/a", "SELECT gates, gates_missed FROM runs") == [[2, 1]]


@pytest.mark.parametrize(
    ("query", "limits", "said"),
    [
        ("SELECT count(*) FROM range(100000000) a, range(100000000) b", assay.Limits(timeout_s=0.2), "limit of 0.2 s"),
        (
            "SELECT a.a FROM range(1000000) a(a), range(100000000) b(b) WHERE a.a + b.b = -1",
            assay.Limits(timeout_s=0.2),
            "limit of 0.2 s",
        ),
        ("SELECT list(a) FROM range(100000000) t(a)", assay.Limits(max_memory_bytes=2**24), "limit of 16 MiB"),
    ],
)
def test_a_query_without_an_end_is_stopped(folder: Path, query: str, limits: assay.Limits, said: str) -> None:
    """Whether it ends at its first row or never has one; the tables themselves do not count."""
    runs, _ = named_runs([folder / "a"])
    with pytest.raises(assay.InputError, match=said), answered(runs, query, limits=limits) as result:
        list(result.rows)
    with answered(runs, "SELECT count(*) FROM cases") as result:
        assert list(result.rows) == [(3,)]


@pytest.mark.parametrize("timeout_s", [1e12, sys.float_info.max])
def test_a_limit_may_be_longer_than_any_clock_counts(folder: Path, timeout_s: float) -> None:
    """What cannot be waited for would raise in the thread that waits, which fails a test."""
    runs, _ = named_runs([folder / "a"])
    with answered(runs, "SELECT count(*) FROM range(1000000)", limits=assay.Limits(timeout_s=timeout_s)) as result:
        assert list(result.rows) == [(1_000_000,)]


def test_the_limit_of_a_query_is_an_option(folder: Path) -> None:
    query = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t"
    shown = _sql(folder, "a", query, "--timeout", "0.2")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert "no answer within the limit of 0.2 s" in shown.stderr


def test_no_more_rows_are_made_than_somebody_reads(folder: Path) -> None:
    """Whoever wants the first lines of very many does not wait for the rest."""
    command = [sys.executable, "-m", "assay", "sql", "a", "SELECT * FROM range(10000000000)", "--csv"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"range\n"
        process.stdout.close()
        assert process.wait() == 0


def test_rows_that_nobody_sees_are_not_counted_for_ever(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.reports.text.query_table._COUNTED", 5_000)
    runs, _ = named_runs([folder / "a"])
    with answered(runs, "SELECT * FROM range(100000000000)") as result:
        text = aligned_rows(result.columns, result.rows)
    assert text.count("\n") == MOST_ROWS + 3
    assert text.endswith("… and more than 5,000 more rows: --csv and --json have all of them\n")
