"""What is known of a real database is what it holds at the time of the question, and a sentence says what was seen."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import assay


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
