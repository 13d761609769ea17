"""Small databases in memory, on which untrusted queries are tried."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assay.engines.duckdb import DuckdbEngine
from assay.engines.sqlite import SqliteEngine
from assay.ports import TrialDatabase
from assay.sql.ddl import read_ddl

DDL = """CREATE TABLE a (id INTEGER PRIMARY KEY, name TEXT NOT NULL, size INT CHECK (size <> 3), UNIQUE (name));
CREATE TABLE b (aid INTEGER REFERENCES a(id), v DOUBLE);
CREATE VIEW w AS SELECT name FROM a"""
FILLED = {'"a"': ("id", "name", "size"), '"b"': ("aid", "v")}


@pytest.fixture(params=["sqlite", "duckdb"])
def trial(request: pytest.FixtureRequest) -> Iterator[TrialDatabase]:
    """An empty database with two tables and a view."""
    engine = SqliteEngine if request.param == "sqlite" else DuckdbEngine
    made = engine.trial(read_ddl(DDL, "sqlite").schema, timeout_s=0.2)
    made.prepare(FILLED)
    yield made
    made.close()


def test_rows_are_replaced(trial: TrialDatabase) -> None:
    """Each filling begins anew, and the view sees it."""
    assert trial.refused == ()
    assert trial.fill([[(1, "x", 1), (2, "y", None)], [(1, 2.5)]])
    assert trial.content() == [[(1, "x", 1), (2, "y", None)], [(1, 2.5)]]
    assert trial.rows("SELECT name FROM w ORDER BY name") == [("x",), ("y",)]
    assert trial.fill([[], []])
    assert trial.rows("SELECT count(*) FROM a") == [(0,)]


def test_rows_that_a_constraint_refuses_are_left_out(trial: TrialDatabase) -> None:
    """And it says so."""
    assert not trial.fill([[(1, "x", 3), (2, None, 1), (3, "y", 1)], []])
    assert trial.content()[0] == [(3, "y", 1)]


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM a",
        'DELETE FROM "a"',
        'INSERT INTO "b" ("aid", "v") VALUES (1, 2)',
        "UPDATE a SET size = 1",
        "DROP TABLE a",
        "CREATE TABLE c (x INT)",
        "ATTACH 'x.db' AS other",
        "PRAGMA writable_schema = ON",
        "SELECT 1; SELECT 2",
        "SELECT nothing FROM a",
        "SELECT * FROM absent",
        "",
    ],
)
def test_untrusted_text_that_is_no_query_gives_nothing(trial: TrialDatabase, query: str) -> None:
    """It fails with a reason, and what is stored stays, for the queries that follow."""
    trial.fill([[(1, "x", 1)], [(1, 1.0)]])
    assert trial.rows(query) is None
    assert trial.execute(query).failure is not None
    assert trial.content() == [[(1, "x", 1)], [(1, 1.0)]]


def test_a_query_without_end_is_interrupted(trial: TrialDatabase) -> None:
    """By time or by the number of its rows; others go on."""
    endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT {} FROM r"
    assert trial.rows(endless.format("count(*)")) is None
    assert trial.execute(endless.format("count(*)")).status == "timeout"
    assert trial.rows(endless.format("n")) is None
    assert trial.rows("SELECT 1") == [(1,)]


def test_sqlite_scans_in_either_order() -> None:
    """Where no order is asked for."""
    trial = SqliteEngine.trial(read_ddl(DDL, "sqlite").schema, keyless=True)
    trial.prepare(FILLED)
    trial.fill([[(2, "x", 3), (1, "x", 3)], []])
    assert trial.rows("SELECT id FROM a") == [(2,), (1,)], "without keys rows stay as they were given"
    assert trial.reverse(True)
    assert trial.rows("SELECT id FROM a") == [(1,), (2,)]
    assert trial.reverse(False)
    assert trial.rows("SELECT id FROM a") == [(2,), (1,)]
    trial.close()


def test_statements_make_the_tables_and_the_views_that_are_named(trial: TrialDatabase) -> None:
    """No others."""
    assert len(trial.statements_for({'"b"'}, ["SELECT 1 FROM b"])) == 1
    made = trial.statements_for({'"a"'}, ["SELECT name FROM w"])
    assert len(made) == 2
    assert "VIEW w" in made[1]
