"""Bad input through the command line: exit status 2, the place and the remedy, no traceback, nothing half-written."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import commands

CASES = [
    {"id": "a", "question": "how many?", "gold_sql": "SELECT count(*) FROM t", "db_id": "shop"},
    {"id": "b", "question": "which?", "gold_sql": "SELECT a FROM t", "db_id": "shop"},
]
ANSWERS = [{"id": "a", "predicted_sql": "SELECT count(*) FROM t"}, {"id": "b", "predicted_sql": "SELECT a FROM t"}]


def _write(path: Path, rows: Sequence[object]) -> Path:
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    return path


@pytest.fixture
def assay(tmp_path: Path, make_sqlite: Callable[..., Path]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `assay run` in a folder with a good question set, answers and database, unless told otherwise."""
    make_sqlite("CREATE TABLE t(a INTEGER); INSERT INTO t VALUES (1), (2);", "dbs/shop.sqlite")
    _write(tmp_path / "cases.jsonl", CASES)
    _write(tmp_path / "answers.jsonl", ANSWERS)

    def run(
        *more: str, cases: str = "cases.jsonl", answers: str = "answers.jsonl", db: str = "sqlite:///dbs/{db_id}.sqlite"
    ) -> subprocess.CompletedProcess[str]:
        plain = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "300"}
        arguments = ["run", cases, "-p", answers, "--db", db, "-o", "run", *more]
        return commands.run(arguments, cwd=tmp_path, env=plain)

    return run


def test_good_input_is_judged(assay: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    done = assay("--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["format"]
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"run.json", "journal.jsonl", "results.parquet"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"cases": "case.jsonl"}, ["case.jsonl", "does not exist", "cases.jsonl"]),
        ({"answers": "nowhere/answers.jsonl"}, ["nowhere/answers.jsonl", "does not exist", 'its folder "nowhere"']),
        ({"db": "sqlite:///dbs/shopp.sqlite"}, ["cases.jsonl, line 1", "shopp.sqlite", "shop.sqlite"]),
        ({"db": "sqlite:///cases.jsonl"}, ["cases.jsonl", "SQLite"]),
        ({"db": "dbs/shop.sqlite"}, ["is not a database URL", "sqlite:///"]),
        ({"db": "orakle://host/x"}, ["orakle", "sqlite", "duckdb"]),
        ({"more": ["--metrics", "macth"]}, ["macth", "match"]),
        ({"more": ["--metrics", "match,match"]}, ["match", "twice"]),
        ({"more": ["--columns", "loose"]}, ["loose", "strict"]),
        ({"more": ["--gold-column", "gold_sq"]}, ["gold_sq", "gold_sql"]),
        ({"more": ["--case-format", "jsnl"]}, ["jsnl", "jsonl"]),
        ({"more": ["--limt", "3"]}, ["--limt", "--limit"]),
        ({"more": ["--timeout", "0"]}, ["--timeout"]),
        ({"more": ["-o", "cases.jsonl"]}, ["cases.jsonl", "another folder"]),
    ],
    ids=lambda value: " ".join(map(str, value.values())) if isinstance(value, dict) else None,
)
def test_what_cannot_be_used_is_named_with_the_remedy(
    assay: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
    arguments: dict[str, object],
    said: list[str],
) -> None:
    more = arguments.get("more", [])
    named = {name: value for name, value in arguments.items() if name != "more"}
    _is_refused(assay(*more, **named), said, tmp_path)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("file", "rows", "said"),
    [
        ("cases.jsonl", [], ["cases.jsonl", "empty"]),
        ("cases.jsonl", [CASES[0], '{"id": "b", "question": '], ["cases.jsonl, line 2"]),
        ("cases.jsonl", [{"id": "a", "question": "q"}], ["cases.jsonl", "gold"]),
        ("cases.jsonl", [CASES[0], {**CASES[1], "id": "a"}], ["cases.jsonl", '"a"', "line 1", "line 2"]),
        ("cases.jsonl", [{**CASES[0], "gold_sql": 7}], ["cases.jsonl, line 1", "gold_sql"]),
        ("cases.jsonl", [CASES[0], {**CASES[1], "db_id": "shp"}], ["cases.jsonl, line 2", "shp", "shop"]),
        (
            "cases.jsonl",
            [{"id": one, "question": "q", "gold_sql": "SELECT 1"} for one in "ab"],
            ["cases.jsonl", "db_id", "--db-column"],
        ),
        ("answers.jsonl", [], ["answers.jsonl", "empty"]),
        ("answers.jsonl", [*ANSWERS, {"id": "zz", "predicted_sql": "SELECT 1"}], ["zz", "--allow-unmatched"]),
        ("answers.jsonl", [{"id": "x", "predicted_sql": "SELECT 1"}], ["no prediction matches a case", '"x"', '"a"']),
        ("answers.jsonl", [{"id": "a", "nothing": 1}], ["answers.jsonl"]),
        ("dbs/shop.sqlite", ["this is no database, but it is long enough to be taken for one"], ["shop.sqlite"]),
    ],
    ids=str,
)
def test_a_file_that_cannot_be_used_is_named_with_the_place(
    assay: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
    file: str,
    rows: list[object],
    said: list[str],
) -> None:
    _write(tmp_path / file, rows)
    _is_refused(assay(), said, tmp_path)


def _is_refused(done: subprocess.CompletedProcess[str], said: Sequence[str], folder: Path) -> None:
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for part in said:
        assert part in done.stderr
    assert not (folder / "run").exists(), "nothing half-written"


def test_unmatched_predictions_can_be_allowed_and_are_kept_in_mind(
    assay: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    _write(tmp_path / "answers.jsonl", [*ANSWERS, {"id": "zz", "predicted_sql": "SELECT 1"}])
    assert assay("--allow-unmatched").returncode == 0
    assert json.loads((tmp_path / "run" / "run.json").read_text())["provenance"]["unmatched_predictions"] == ["zz"]


def test_a_folder_that_is_no_run_is_no_report(tmp_path: Path) -> None:
    for folder, said in ((tmp_path, "run.json"), (tmp_path / "nowhere", "nowhere")):
        done = commands.run(["report", str(folder)], env=os.environ)
        assert done.returncode == 2
        assert said in done.stderr
        assert "Traceback" not in done.stderr


def test_settings_in_one_file(assay: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    settings = tmp_path / "eval.yaml"
    text = "cases: cases.jsonl\npredictions: answers.jsonl\ndb: sqlite:///dbs/{db_id}.sqlite\noutput: run\n"
    settings.write_text(f"{text}metrics: [match, bird_ex]\ntimeout_s: 50\n")
    command = ["run", str(settings), "--json"]
    done = commands.run(command, cwd=Path("/"), env=os.environ)
    assert done.returncode == 0, done.stderr
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (run["settings"]["metrics"], run["settings"]["limits"]["timeout_s"]) == (["match", "bird_ex"], 50)
    for line, said in (("metricks: [match]", ["metricks", "metrics"]), ("timeout_s: soon", ["timeout_s"])):
        settings.write_text(f"{text}{line}\n")
        done = commands.run(command, env=os.environ)
        assert done.returncode == 2
        assert all(part in done.stderr for part in ("eval.yaml", *said)), done.stderr
        assert "Traceback" not in done.stderr


def test_a_password_in_a_url_is_shown_nowhere(assay: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = assay(db="mysql://user:hunter2@host/x")
    assert done.returncode == 2
    assert "hunter2" not in done.stdout + done.stderr
    assert "***" in done.stderr
