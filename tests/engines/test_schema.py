"""What a database says of itself: tables, keys and a few values, the same every time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from assay.engines.duckdb.engine import DuckdbEngine
from assay.engines.sqlite.engine import SqliteEngine
from assay.model import DatabaseSchema, DatabaseUrl, ForeignKey, Limits

_SQL = (
    'CREATE TABLE "odd ""name" ("a b" INTEGER PRIMARY KEY, "from" VARCHAR)',
    'CREATE TABLE visit (a INTEGER, b INTEGER, odd INTEGER REFERENCES "odd ""name" ("a b"), PRIMARY KEY (b, a))',
    "INSERT INTO \"odd \"\"name\" VALUES (7, 'it''s'), (8, NULL), (9, 'it''s'), (10, 'two\nlines'), (11, 'x')",
    "CREATE VIEW seen AS SELECT a FROM visit",
    "CREATE TABLE long (text VARCHAR, bytes BLOB)",
    f"INSERT INTO long VALUES ('{'z' * 5000}', NULL)",
)
Read = Callable[[Sequence[str]], DatabaseSchema]


def _built(engine: Any, connect: Callable[[str], Any]) -> Callable[[Path, Sequence[str]], DatabaseSchema]:
    def build(folder: Path, statements: Sequence[str]) -> DatabaseSchema:
        path = folder / f"one.{engine.name}"
        with closing(connect(str(path))) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()
        before = path.read_bytes()
        with closing(engine.open(DatabaseUrl.parse(f"{engine.name}:///{path}"), Limits())) as opened:
            found = opened.schema()
            assert opened.schema() == found
        assert path.read_bytes() == before
        return found

    return build


_sqlite = _built(SqliteEngine, sqlite3.connect)
_duckdb = _built(DuckdbEngine, duckdb.connect)


@pytest.fixture(params=[_sqlite, _duckdb], ids=["sqlite", "duckdb"])
def read(request: pytest.FixtureRequest, tmp_path: Path) -> Read:
    """Build a database of these statements, and read what it holds."""
    return lambda statements: request.param(tmp_path, statements)


def test_tables_views_and_keys_are_told_whatever_their_names(read: Read) -> None:
    schema = read(_SQL)
    assert sorted((table.name, table.kind) for table in schema.tables) == [
        ("long", "table"),
        ('odd "name', "table"),
        ("seen", "view"),
        ("visit", "table"),
    ]
    by_name = {table.name: table for table in schema.tables}
    odd, visit = by_name['odd "name'], by_name["visit"]
    assert (odd.quoted_name, odd.primary_key) == ('"odd ""name"', ("a b",))
    assert [column.name for column in odd.columns] == ["a b", "from"]
    assert visit.primary_key == ("b", "a")
    assert visit.foreign_keys == (ForeignKey(columns=("odd",), table='odd "name', referenced=("a b",)),)
    assert visit.ddl.startswith("CREATE TABLE visit")


def test_values_are_few_short_distinct_and_sql(read: Read) -> None:
    schema = read(_SQL)
    [odd] = [table for table in schema.tables if table.name.startswith("odd")]
    assert odd.columns[0].values == ("7", "8", "9")
    assert odd.columns[1].values == ("'it''s'", "'two lines'", "'x'")
    assert odd.first_row == ("7", "'it''s'")
    [long] = [table for table in schema.tables if table.name == "long"]
    assert long.columns[0].values == (f"'{'z' * 40}…'",)
    assert long.columns[1].values == ()
    [view] = [table for table in schema.tables if table.kind == "view"]
    assert view.columns[0].values == view.first_row == ()


def test_a_view_without_an_end_costs_nothing(read: Read) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    schema = read((*_SQL, f"CREATE VIEW endless AS {endless}"))
    assert [column.name for table in schema.tables if table.name == "endless" for column in table.columns] == ["i"]


def test_of_sqlite_neither_its_own_tables_nor_broken_views_are_listed(tmp_path: Path) -> None:
    schema = _sqlite(
        tmp_path,
        (
            "CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT, t TEXT)",
            "INSERT INTO a (t) VALUES ('x')",
            "CREATE VIRTUAL TABLE words USING fts5 (t)",
            "INSERT INTO words VALUES ('tea')",
            "CREATE VIEW broken AS SELECT * FROM gone",
        ),
    )
    names = [table.name for table in schema.tables]
    assert names[:2] == ["a", "words"]
    assert not {"sqlite_sequence", "broken"} & set(names)
    if sqlite3.sqlite_version_info >= (3, 37):
        assert names == ["a", "words"]
    assert schema.tables[1].columns[0].values == ("'tea'",)


def test_duckdb_says_which_schema_a_table_is_in_and_shows_its_types(tmp_path: Path) -> None:
    schema = _duckdb(
        tmp_path,
        (
            "CREATE TABLE gone (a INTEGER)",
            "CREATE VIEW broken AS SELECT * FROM gone",
            "DROP TABLE gone",
            "CREATE SCHEMA other",
            "CREATE TABLE other.t (d DATE, l INTEGER[], b BOOLEAN, p DECIMAL(5, 2), s STRUCT(x INTEGER))",
            "INSERT INTO other.t VALUES ('2024-02-29', [1, 2, 3, 4], true, 2.5, {'x': 1})",
        ),
    )
    [table] = schema.tables
    assert table.quoted_name == '"other"."t"'
    assert [column.type for column in table.columns][:2] == ["DATE", "INTEGER[]"]
    assert table.first_row == ("'2024-02-29'", "[1, 2, 3, …]", "TRUE", "2.50", "…")
