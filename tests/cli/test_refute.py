"""`assay refute`, as a user runs it."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import assay, plain, sqlite_file

SCHEMA = "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INT);\n"
PAIR = ("SELECT name FROM t", "SELECT DISTINCT name FROM t")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A schema file and a database with six rows, no two of one name."""
    (tmp_path / "schema.sql").write_text(SCHEMA)
    rows = ", ".join(f"({number}, 'name {number}', {20 + number % 3})" for number in range(1, 7))
    sqlite_file(tmp_path / "real.sqlite", f"{SCHEMA}INSERT INTO t VALUES {rows}")
    return tmp_path


def _refute(folder: Path, *arguments: str) -> Any:
    return plain("refute", *arguments, cwd=folder)


def test_shows_tables_and_both_results(folder: Path) -> None:
    """With the rows that only one of them has, and the condition under which they differ."""
    shown = _refute(folder, *PAIR, "--db", "sqlite:///real.sqlite")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("CONDITIONAL: they differ if two rows of t share name")
    assert "the first query returns" in shown.stdout
    assert any(line.startswith("> ") for line in shown.stdout.splitlines())


def test_json(folder: Path) -> None:
    """One document that holds everything."""
    shown = _refute(folder, *PAIR, "--schema", "schema.sql", "--json")
    document = json.loads(shown.stdout)
    assert (document["format"], document["kind"], document["why"]) == ("assay-refutation", "refuted", None)
    assert document["witness"]["tables"][0]["columns"] == ["id", "name"]
    assert len(document["witness"]["first"]["rows"]) == 2
    assert document["witness"]["only_first"] == [1]


def test_sql_makes_the_witness(folder: Path) -> None:
    """The statements run as they are, and the queries differ on what they make."""
    shown = _refute(folder, *PAIR, "--schema", "schema.sql", "--sql")
    connection = sqlite3.connect(":memory:")
    connection.executescript(shown.stdout)
    counts = [len(connection.execute(query).fetchall()) for query in PAIR]
    connection.close()
    assert counts == [2, 1]


def test_test_fails_while_the_queries_differ(folder: Path) -> None:
    """The file is a test as it stands; it passes once the second query is the first."""
    shown = _refute(folder, *PAIR, "--schema", "schema.sql", "--test", "test_pair.py")
    assert shown.returncode == 0, shown.stderr
    path = folder / "test_pair.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", str(path)]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stdout + run.stderr
    assert "1 failed" in run.stdout
    path.write_text(path.read_text().replace(PAIR[1], PAIR[0]))
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_queries_from_files(folder: Path) -> None:
    """Named after an @."""
    for name, query in zip(("a.sql", "b.sql"), PAIR, strict=True):
        (folder / name).write_text(query + ";\n")
    shown = _refute(folder, "@a.sql", "@b.sql", "--schema", "schema.sql", "--test", "-")
    assert "def test_queries_agree" in shown.stdout


def test_no_test_of_what_is_not_refuted(folder: Path) -> None:
    """Nothing is written, and that is said."""
    shown = _refute(folder, PAIR[0], "SELECT name FROM t WHERE id = id", "--schema", "schema.sql", "--test", "x.py")
    assert shown.returncode == 0
    assert not (folder / "x.py").exists()
    assert "no test is written" in shown.stderr


def test_a_proof_is_told_with_its_rules(folder: Path) -> None:
    """As text and as JSON; nothing is left to make a test or a database of."""
    pair = (PAIR[0], "SELECT a.name FROM t a JOIN t b ON a.id = b.id")
    shown = _refute(folder, *pair, "--db", "sqlite:///real.sqlite")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("PROVED EQUIVALENT: the queries give the same answer on every database")
    assert "\n  A table joined with itself over a key is the table once\n" in shown.stdout
    document = json.loads(_refute(folder, *pair, "--schema", "schema.sql", "--json").stdout)
    assert (document["kind"], document["why"], document["witness"]) == ("proved", None, None)
    assert document["proof"]["rules"] == ["A table joined with itself over a key is the table once"]
    assert document["trials"] > 0
    none = _refute(folder, *pair, "--schema", "schema.sql", "--sql")
    assert "no counterexample was found: the queries give" in none.stderr


def test_neither_found_nor_proved(folder: Path) -> None:
    """What stopped the proof is said, and how many databases were tried."""
    pair = ("SELECT name FROM t WHERE age * 2 > 10", "SELECT name FROM t WHERE age > 5")
    shown = _refute(folder, *pair, "--schema", "schema.sql", "--rows", "0")
    assert shown.stdout.startswith("UNKNOWN: no difference on any of ")
    assert "not proved either: conditions, groups" in shown.stdout
    document = json.loads(_refute(folder, *pair, "--schema", "schema.sql", "--rows", "0", "--json").stdout)
    assert (document["kind"], document["why"], document["proof"]) == ("unknown", "no_difference", None)
    assert document["not_proved"].startswith("conditions, groups")


@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
def test_other_engines_queries_may_be_proved(folder: Path, dialect: str) -> None:
    """Though nothing can be executed."""
    pair = ("SELECT name FROM t WHERE NOT age > 10", "SELECT name FROM t WHERE age <= 10")
    shown = _refute(folder, *pair, "--schema", "schema.sql", "--dialect", dialect)
    assert shown.stdout.startswith("PROVED EQUIVALENT")
    assert "databases tried" not in shown.stdout
    shown = _refute(folder, *PAIR, "--schema", "schema.sql", "--dialect", dialect)
    assert shown.stdout.startswith("UNKNOWN: databases to try queries on are made for SQLite and DuckDB")
    assert re.search(r"^not proved either: .*DISTINCT", shown.stdout, re.MULTILINE)


def test_hostile_text_does_not_steer_a_terminal(folder: Path) -> None:
    """A name of the schema may hold control characters."""
    (folder / "evil.sql").write_text('CREATE TABLE "t\x1b[31m" (id INTEGER PRIMARY KEY, a INT)')
    shown = _refute(folder, 'SELECT a FROM "t\x1b[31m"', 'SELECT DISTINCT a FROM "t\x1b[31m"', "--schema", "evil.sql")
    assert "REFUTED" in shown.stdout
    assert "\x1b" not in shown.stdout


def test_another_process_finds_the_same_witness(folder: Path) -> None:
    """Nothing depends on how a process hashes text."""
    documents = []
    for seed in ("1", "2"):
        arguments = ("refute", *PAIR, "--db", "sqlite:///real.sqlite", "--json")
        documents.append(json.loads(assay(*arguments, env={"PYTHONHASHSEED": seed}, cwd=folder).stdout))
        del documents[-1]["seconds"]
    assert documents[0] == documents[1]
