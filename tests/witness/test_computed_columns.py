"""Columns that are computed, compare by a collation of their own, or hold lists: their values are the engine's own."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from looking import look, made_by_sqlite

import assay
from many_cases import each

GENERATED = "CREATE TABLE g (id INTEGER PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, s INT GENERATED ALWAYS AS (a + b))"
COLLATED = "CREATE TABLE c (id INTEGER PRIMARY KEY, n TEXT COLLATE NOCASE, r TEXT)"


@each(
    ("first", "second", "ddl"),
    [
        ("SELECT id FROM g WHERE s > 6", "SELECT id FROM g WHERE s > 7", GENERATED),
        ("SELECT count(*) FROM g", "SELECT count(*) FROM g WHERE s <> 0", GENERATED),
        ("SELECT id FROM c WHERE n = 'ABC'", "SELECT id FROM c WHERE n COLLATE BINARY = 'ABC'", COLLATED),
        ("SELECT count(DISTINCT n) FROM c", "SELECT count(DISTINCT n || '') FROM c", COLLATED),
    ],
)
def test_differences_of_computed_and_collated_columns_are_no_ties(first: str, second: str, ddl: str) -> None:
    outcome = look(first, second, ddl, trials=600)
    assert outcome.kind == "refuted", outcome
    one, two = made_by_sqlite(outcome, (first, second))
    assert sorted(map(repr, one)) != sorted(map(repr, two))


@each(
    ("first", "second", "ddl"),
    [
        ("SELECT id FROM g WHERE s > 6", "SELECT id FROM g WHERE a + b > 6", GENERATED),
        ("SELECT id FROM c WHERE n = 'ABC'", "SELECT id FROM c WHERE lower(n) = 'abc'", COLLATED),
        ("SELECT max(s) FROM g", "SELECT max(a + b) FROM g", GENERATED),
    ],
)
@each("engine", ["sqlite", "duckdb"])
def test_what_the_definition_makes_equal_is_never_told_apart(first: str, second: str, ddl: str, engine: str) -> None:
    ddl = ddl.replace("TEXT", "VARCHAR") if engine == "duckdb" else ddl
    outcome = look(first, second, ddl, trials=60, engine=engine)
    assert not outcome.differs, outcome


def test_lists_and_structures_of_the_real_data_are_rows_of_a_witness(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "n.duckdb")) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, l INTEGER[], s STRUCT(x INTEGER, y VARCHAR))")
        connection.execute("INSERT INTO t SELECT i, [i, i], {'x': i, 'y': 'q'} FROM range(1, 7) n(i)")
    for first in ("SELECT l[1] FROM t", "SELECT s.x FROM t"):
        outcome = assay.refute(first, "SELECT id FROM t", database=f"duckdb:///{tmp_path}/n.duckdb")
        assert outcome.kind == "refuted", outcome
        assert all(cell is not None for table in outcome.witness.tables for row in table.rows for cell in row)
        with duckdb.connect() as made:
            for statement in outcome.witness.statements:
                made.execute(statement)
            assert made.execute(first).fetchall() != made.execute("SELECT id FROM t").fetchall()


def test_values_too_long_for_a_small_database_are_left_out(make_sqlite: Callable[..., Path]) -> None:
    path = make_sqlite("CREATE TABLE t (id INTEGER PRIMARY KEY, b BLOB); INSERT INTO t VALUES (1, zeroblob(2000000))")
    outcome = assay.refute("SELECT length(b) FROM t", "SELECT 2000000", database=f"sqlite:///{path}")
    assert outcome.kind in ("refuted", "conditional"), outcome


def written(scheme: str, path: Path, *statements: str) -> str:
    """The URL of a file that these statements have changed."""
    if scheme == "duckdb":
        import duckdb

        with duckdb.connect(str(path)) as connection:  # which no other process may have open meanwhile
            for statement in statements:
                connection.execute(statement)
    else:
        with closing(sqlite3.connect(path)) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()
    return f"{scheme}:///{path}"


def asked(url: str, second: str = "SELECT DISTINCT a FROM t") -> Any:
    return assay.refute("SELECT a FROM t", second, database=url)


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
def test_a_database_may_change_between_questions(scheme: str, tmp_path: Path) -> None:
    path = tmp_path / "shop"
    url = written(scheme, path, "CREATE TABLE t (a INTEGER)")
    assert "if t has rows, which the data never shows" in asked(url).reason, "no row says what is plausible"
    written(scheme, path, "INSERT INTO t VALUES (1), (1), (2)")
    assert "on data like the database's own" in asked(url).reason
    written(scheme, path, "DELETE FROM t", *(f"INSERT INTO t VALUES ({number})" for number in range(20)))
    found = asked(url)
    assert found.kind == "conditional", "twenty values differ, and none is NULL"
    assert {one.kind for one in found.broken} <= {"unique", "never_null"}
    assert asked(url, "SELECT a FROM t WHERE b = 1").kind == "unknown"
    written(scheme, path, "ALTER TABLE t ADD COLUMN b INTEGER")
    assert asked(url, "SELECT a FROM t WHERE b = 1").kind != "unknown", "a new column is known"
