"""Which files are collected, in which formats, and what is said of those that cannot be used."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import commands

Write = Callable[..., Path]
ONE = {"id": "a", "question": "Q", "sql": "SELECT 1", "db_id": "city"}
CASE = "cases: [{id: a, question: Q, sql: SELECT 1}]\n"
PREDICT = "import pytest\n@pytest.fixture\ndef assay_predict(): return lambda case: 'SELECT 1'\n"
INI = "assay_cases = data/*.jsonl data/more.csv\nassay_db = sqlite:///{db_id}.sqlite\nassay_timeout = 10\n"


@pytest.mark.parametrize("name", ["pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml"])
def test_the_ini_file_names_case_files_of_any_format(project: pytest.Pytester, write: Write, name: str) -> None:
    (project.path / "tox.ini").unlink()
    toml = '[tool.pytest.ini_options]\nassay_cases = ["data/*.jsonl", "data/more.csv"]\n'
    toml += 'assay_db = "sqlite:///{db_id}.sqlite"\nassay_timeout = "10"\n'
    head = "[tool:pytest]\n" if name == "setup.cfg" else "[pytest]\n"
    write(name, toml if name.endswith("toml") else head + INI)
    write("conftest.py", PREDICT)
    write("data/b.jsonl", [ONE])
    write("data/a.jsonl", [ONE])
    write("data/more.csv", "id,question,sql,db_id\nb,Q,SELECT 2,city\n")
    write("data/other.json", json.dumps([ONE]))
    result = project.runpytest("-v", "-p", "no:randomly")
    result.stdout.fnmatch_lines(["data/a.jsonl::a PASSED*", "data/b.jsonl::a PASSED*", "data/more.csv::b FAILED*"])
    result.assert_outcomes(passed=2, failed=1)


def test_benchmarks_own_layouts(project: pytest.Pytester, write: Write) -> None:
    write("conftest.py", PREDICT)
    write("spider.json", json.dumps([{"db_id": "city", "question": "Q", "query": "SELECT 1", "sql": {}}]))
    bird = {
        "question_id": 7,
        "db_id": "city",
        "question": "Q",
        "evidence": "",
        "SQL": "SELECT 1",
        "difficulty": "simple",
    }
    write("bird.json", json.dumps([bird]))
    result = project.runpytest(
        "-v", "-o", "assay_cases=spider.json bird.json", "-o", "assay_db=sqlite:///{db_id}.sqlite"
    )
    result.stdout.fnmatch_lines(["bird.json::7 PASSED*", "spider.json::0 PASSED*"])


def test_named_files_outside_of_testpaths_are_collected(project: pytest.Pytester, write: Write) -> None:
    write("tox.ini", "[pytest]\ntestpaths = tests\n" + INI.replace(" data/more.csv", ""))
    write("conftest.py", PREDICT)
    write("data/a.jsonl", [ONE])
    write("tests/test_one.py", "def test_one(): pass")
    project.runpytest().assert_outcomes(passed=2)
    project.runpytest("tests").assert_outcomes(passed=1)
    project.runpytest("data/a.jsonl", "-v").stdout.fnmatch_lines(["data/a.jsonl::a PASSED*"])


def test_a_named_file_that_is_not_there_is_a_usage_error(project: pytest.Pytester) -> None:
    result = project.runpytest("-o", "assay_cases=gone.jsonl")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*assay_cases names *gone.jsonl: the file does not exist"])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (CASE + "timout_s: 3\n", "*unknown setting 'timout_s' (did you mean 'timeout_s'[?])*"),
        (CASE.replace("]", ", {id: a, question: R, sql: SELECT 1}]"), '*the id "a" occurs twice: in*item 1*item 2*'),
        (CASE.replace("Q", "''"), '*bad.assay.yaml, item 1, column "question": the question is blank*'),
        ("cases: cases.jsonl\n", "*cases.jsonl*line 2*"),
        ("cases: gone.jsonl\n", "*gone.jsonl*does not exist*"),
        ("cases: [{id: a\n", "*bad.assay.yaml, line 1, column 9: is not valid YAML: *"),
        ("- id: a\n", "*bad.assay.yaml: contains no settings*"),
        ("predictions: x.jsonl\n", "*bad.assay.yaml: names no cases*"),
        (
            CASE + "columns: some\n",
            "*bad.assay.yaml, line *, column 10: columns is 'some' (a text), and any or strict*",
        ),
        (CASE + "db: sqlte:///x\n", "*sqlte*"),
        (CASE + "db: 'sqlite:///{db_id}'\n", "*item 1: *needs a db_id for each case*"),
    ],
)
def test_a_collection_error_says_where(project: pytest.Pytester, write: Write, text: str, told: str) -> None:
    write("bad.assay.yaml", text)
    write("conftest.py", PREDICT)
    write("cases.jsonl", json.dumps(ONE) + '\n{"id": "b", "question"\n')
    result = project.runpytest("-o", "assay_db=sqlite:///city.sqlite")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*ERROR collecting bad.assay.yaml*", told])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_database_must_be_named(project: pytest.Pytester, write: Write) -> None:
    write("bad.assay.yaml", CASE)
    project.runpytest().stdout.fnmatch_lines(["*bad.assay.yaml: has no database: write  db: URL*assay_db*"])


@pytest.mark.parametrize("text", ["soon", "0", "-1", "inf"])
def test_a_timeout_must_be_seconds(project: pytest.Pytester, write: Write, text: str) -> None:
    write("a.assay.yaml", CASE)
    project.runpytest("-o", f"assay_timeout={text}").stdout.fnmatch_lines([f"*assay_timeout is '{text}'*"])


def test_the_same_file_serves_assay_run(answered: pytest.Pytester) -> None:
    environment = {**os.environ, "PYTHONPATH": ":".join(map(str, sys.path)), "PATH": ""}
    done = commands.run(["run", "city.assay.yaml", "--json", "-q"], env=environment)
    assert done.returncode == 0, done.stderr
    headline = json.loads(done.stdout)["headline"]
    assert (headline["numerator"], headline["n"], headline["unscored"]) == (1, 2, 2)


def test_what_a_case_file_says_of_judging_holds_as_in_a_run(project: pytest.Pytester, write: Write) -> None:
    """Gold's own database, what is no mistake, tolerances: each case is right by one of them alone."""
    golds = {
        "gold_db": ("SELECT n FROM old", "SELECT count(*) FROM city"),
        "extra_columns": ("SELECT 1", "SELECT 1, 2"),
        "duplicates": ("SELECT 1 UNION SELECT 1", "SELECT 1 UNION ALL SELECT 1"),
        "case": ("SELECT 'a'", "SELECT 'A'"),
        "relative_tolerance": ("SELECT 2.0", "SELECT 2.001"),
        "absolute_tolerance": ("SELECT 0.0", "SELECT 0.001"),
    }
    settings = "gold_db: sqlite:///old.sqlite\nextra_columns: allowed\nduplicates: ignored\ncase: ignored\n"
    with closing(sqlite3.connect(project.path / "old.sqlite")) as connection:
        connection.executescript("CREATE TABLE old (n INTEGER); INSERT INTO old VALUES (5);")
    write("cases.jsonl", [{"id": name, "question": "Q", "sql": gold} for name, (gold, _) in golds.items()])
    write("answers.jsonl", {name: answer for name, (_, answer) in golds.items()})
    plain = "db: sqlite:///city.sqlite\ncases: cases.jsonl\npredictions: answers.jsonl\n"
    write("plain.assay.yaml", plain)
    write("said.assay.yaml", f"{plain}{settings}relative_tolerance: 0.01\nabsolute_tolerance: 0.01\n")
    project.runpytest("plain.assay.yaml").assert_outcomes(errors=1, failed=5)
    project.runpytest("said.assay.yaml").assert_outcomes(passed=6)
