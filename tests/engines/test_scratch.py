"""Small databases in memory, on which untrusted queries are tried."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from assay.engines.duckdb import DuckdbEngine
from assay.engines.sqlite import SqliteEngine
from assay.model import ColumnSchema, TableSchema
from assay.ports import ScratchDatabase
from assay.sql.schema.ddl import read_ddl

DDL = """CREATE TABLE a (id INTEGER PRIMARY KEY, name TEXT NOT NULL, size INT CHECK (size <> 3), UNIQUE (name));
CREATE TABLE b (aid INTEGER REFERENCES a(id), v DOUBLE);
CREATE VIEW w AS SELECT name FROM a"""
FILLED = {'"a"': ("id", "name", "size"), '"b"': ("aid", "v")}


@pytest.fixture(params=["sqlite", "duckdb"])
def scratch(request: pytest.FixtureRequest) -> Iterator[ScratchDatabase]:
    """An empty database with two tables and a view."""
    engine = SqliteEngine if request.param == "sqlite" else DuckdbEngine
    made = engine.scratch(read_ddl(DDL, "sqlite").schema, timeout_s=0.2)
    made.prepare(FILLED)
    yield made
    made.close()


def test_rows_are_replaced(scratch: ScratchDatabase) -> None:
    """Each filling begins anew, and the view sees it."""
    assert scratch.refused == ()
    assert scratch.fill([[(1, "x", 1), (2, "y", None)], [(1, 2.5)]])
    assert scratch.content() == [[(1, "x", 1), (2, "y", None)], [(1, 2.5)]]
    assert scratch.rows("SELECT name FROM w ORDER BY name") == [("x",), ("y",)]
    assert scratch.fill([[], []])
    assert scratch.rows("SELECT count(*) FROM a") == [(0,)]


def test_rows_that_a_constraint_refuses_are_left_out(scratch: ScratchDatabase) -> None:
    """And it says so."""
    assert not scratch.fill([[(1, "x", 3), (2, None, 1), (3, "y", 1)], []])
    assert scratch.content()[0] == [(3, "y", 1)]


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
def test_untrusted_text_that_is_no_query_gives_nothing(scratch: ScratchDatabase, query: str) -> None:
    """It fails with a reason, and what is stored stays, for the queries that follow."""
    scratch.fill([[(1, "x", 1)], [(1, 1.0)]])
    assert scratch.rows(query) is None
    assert scratch.execute(query).failure is not None
    assert scratch.content() == [[(1, "x", 1)], [(1, 1.0)]]


def test_a_query_without_end_is_interrupted(scratch: ScratchDatabase) -> None:
    """By time or by the number of its rows; others go on."""
    endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT {} FROM r"
    assert scratch.rows(endless.format("count(*)")) is None
    assert scratch.execute(endless.format("count(*)")).status == "timeout"
    assert scratch.rows(endless.format("n")) is None
    assert scratch.rows("SELECT 1") == [(1,)]


def test_sqlite_scans_in_either_order() -> None:
    """Where no order is asked for."""
    scratch = SqliteEngine.scratch(read_ddl(DDL, "sqlite").schema, without_keys=True)
    scratch.prepare(FILLED)
    scratch.fill([[(2, "x", 3), (1, "x", 3)], []])
    assert scratch.rows("SELECT id FROM a") == [(2,), (1,)], "without keys rows stay as they were given"
    assert scratch.reverse_scan(on=True)
    assert scratch.rows("SELECT id FROM a") == [(1,), (2,)]
    assert scratch.reverse_scan(on=False)
    assert scratch.rows("SELECT id FROM a") == [(2,), (1,)]
    scratch.close()


def test_statements_make_the_tables_and_the_views_that_are_named(scratch: ScratchDatabase) -> None:
    """No others."""
    assert len(scratch.statements_for({'"b"'}, ["SELECT 1 FROM b"])) == 1
    made = scratch.statements_for({'"a"'}, ["SELECT name FROM w"])
    assert len(made) == 2
    assert "VIEW w" in made[1]


SQLITE_VALUES = (
    "CREATE TABLE t (id INTEGER PRIMARY KEY, n TEXT COLLATE NOCASE UNIQUE, "
    "twice INT AS (id * 2) STORED CHECK (id <> 9), x ANY) STRICT; CREATE VIRTUAL TABLE f USING fts5(body)"
)
DUCKDB_VALUES = (
    "CREATE TABLE t (id INTEGER PRIMARY KEY, n VARCHAR COLLATE NOCASE, twice INTEGER GENERATED ALWAYS AS (id * 2))"
)


@pytest.mark.parametrize("without_keys", [False, True])
def test_columns_compute_and_compare_their_values_with_keys_or_without(*, without_keys: bool) -> None:
    """Generated columns are given no value, collations hold, STRICT keeps texts; a virtual table stays one."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(SQLITE_VALUES)
    own = {name: ddl for name, ddl in connection.execute("SELECT name, sql FROM sqlite_master") if name in ("t", "f")}
    connection.close()
    schema = read_ddl(own["t"].replace("ANY", "TEXT"), "sqlite").schema
    table = replace(schema.tables[0], ddl=own["t"])
    columns = tuple(replace(one, type="ANY" if one.name == "x" else one.type) for one in table.columns)
    virtual = TableSchema(name="f", ddl=own["f"], columns=(ColumnSchema(name="body", type=""),))
    scratch = SqliteEngine.scratch(
        replace(schema, tables=(replace(table, columns=columns), virtual)), without_keys=without_keys, timeout_s=0.5
    )
    assert scratch.refused == ()
    assert scratch.columns('"t"') == ("id", "n", "x")
    scratch.prepare({'"t"': ("id", "n", "x"), '"f"': ("body",)})
    assert scratch.fill([[(2, "Ab", "1"), (3, "c", 1)], [("hello world",)]])
    assert scratch.rows("SELECT twice, typeof(x) FROM t WHERE n = 'aB'") == [(4, "text")]
    assert scratch.rows("SELECT count(*) FROM f WHERE f MATCH 'hello'") == [(1,)]
    scratch.close()


@pytest.mark.parametrize("without_keys", [False, True])
def test_duckdb_computes_and_compares_its_values_too(*, without_keys: bool) -> None:
    """As for SQLite; lists and structures come back as keys that can be looked up."""
    ddl = f"{DUCKDB_VALUES}; CREATE TABLE l (x INTEGER[], s STRUCT(a INTEGER))"
    scratch = DuckdbEngine.scratch(read_ddl(ddl, "duckdb").schema, without_keys=without_keys)
    assert scratch.refused == ()
    assert scratch.columns('"t"') == ("id", "n")
    scratch.prepare({'"t"': ("id", "n"), '"l"': ("x", "s")})
    assert scratch.fill([[(2, "Ab"), (3, "c")], [((1, 2), {"a": 3})]])
    assert scratch.rows("SELECT twice FROM t WHERE n = 'aB'") == [(4,)]
    assert len({row for table in scratch.content() for row in table}) == 3
    assert scratch.fill(scratch.content())
    scratch.close()
