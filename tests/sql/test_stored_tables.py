"""A table of another schema is not the table of that name, and the number of a row is the column that it stands for."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from name_oracles import Refused, SqliteOracle, named_by_us, unresolved_by_us

from assay.engines.duckdb.engine import DuckdbEngine
from assay.model import ColumnSchema, DatabaseSchema, DatabaseUrl, Limits, TableSchema
from assay.sql.query import Query, read_query
from assay.sql.schema import SchemaNames
from assay.sql.schema.ddl import read_ddl
from assay.sql.schema_items import SchemaItems, schema_items
from assay.sql.unknown_names import UnknownNames, unknown_names
from many_cases import each

SCRIPT = """
CREATE TABLE numbered (id INTEGER PRIMARY KEY, v);
CREATE TABLE small (id INT PRIMARY KEY, v);
CREATE TABLE big (id BIGINT PRIMARY KEY, v);
CREATE TABLE texts (id TEXT PRIMARY KEY, v);
CREATE TABLE pairs (id INTEGER, v INTEGER, PRIMARY KEY (id, v));
CREATE TABLE later (v, id integer, PRIMARY KEY (id));
CREATE TABLE own (rowid TEXT, id INTEGER PRIMARY KEY, v);
CREATE TABLE bare (id INTEGER PRIMARY KEY, v) WITHOUT ROWID;
CREATE TABLE strict_one (id INTEGER PRIMARY KEY, v TEXT) STRICT;
"""
TABLES = ("numbered", "small", "big", "texts", "pairs", "later", "own", "bare", "strict_one")


@pytest.fixture(scope="module")
def sqlite() -> Iterator[SqliteOracle]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCRIPT)
        yield SqliteOracle(connection)


@each("name", ["rowid", "OID", "_rowid_"])
@each("table", TABLES)
def test_the_number_of_a_row_is_the_column_that_sqlite_reads(sqlite: SqliteOracle, table: str, name: str) -> None:
    names = SchemaNames(read_ddl(SCRIPT, "sqlite").schema)
    for text in (f"SELECT {name} FROM {table}", f"SELECT v FROM {table} AS q WHERE q.{name} > 1 ORDER BY q.{name}"):
        query = read_query(text, "sqlite", names)
        assert isinstance(query, Query)
        try:
            theirs = sqlite.columns_named(text)
        except Refused:
            assert unresolved_by_us(query), text
            continue
        assert not unresolved_by_us(query), text
        assert named_by_us(query) == theirs, text


def _names(dialect: str, *tables: tuple[str | None, str, str]) -> SchemaNames:
    return SchemaNames(
        DatabaseSchema(
            dialect=dialect,
            tables=tuple(
                TableSchema(
                    name=name,
                    namespace=schema,
                    ddl="",
                    columns=tuple(ColumnSchema(name=column, type="INTEGER") for column in columns),
                )
                for schema, name, columns in tables
            ),
        )
    )


ONE = (None, "a", "xy")
TWO = (ONE, ("foo", "a", "pq"), ("foo", "c", "rs"))


@each(
    ("dialect", "tables", "text", "used"),
    [
        ("sqlite", (ONE,), "SELECT x FROM main.a", "a a.x"),
        ("sqlite", (ONE,), "SELECT MAIN.A.X FROM MAIN.A", "a a.x"),
        ("sqlite", (ONE,), "SELECT x FROM temp.a", "temp.a temp.a.x"),
        ("sqlite", (ONE,), "SELECT * FROM foo.a AS b", "foo.a"),
        (
            "sqlite",
            (ONE,),
            "SELECT main.a.x FROM main.a JOIN temp.a AS b ON b.y = main.a.y",
            "a temp.a a.x a.y temp.a.y",
        ),
        ("sqlite", (ONE,), "SELECT x FROM a WHERE x IN temp.a", "a temp.a a.x"),
        ("duckdb", (ONE,), "SELECT x FROM main.a", "a a.x"),
        ("duckdb", (ONE,), "SELECT x FROM shop.a", "a a.x"),
        ("duckdb", (ONE,), "SELECT x FROM shop.main.a", "a a.x"),
        ("duckdb", (ONE,), "SELECT x FROM temp.a", "temp.a temp.a.x"),
        ("duckdb", TWO, "SELECT * FROM foo.a", "foo.a foo.a.p foo.a.q"),
        ("duckdb", TWO, "SELECT * FROM a", "a a.x a.y"),
        ("duckdb", TWO, "SELECT p FROM shop.FOO.a AS b WHERE q > 1", "foo.a foo.a.p foo.a.q"),
        ("duckdb", TWO, "SELECT r FROM foo.c", "c c.r"),
        ("postgres", (ONE,), "SELECT x FROM public.a", "a a.x"),
        ("postgres", (ONE,), "SELECT x FROM pg_temp.a", "pg_temp.a pg_temp.a.x"),
        ("postgres", TWO, "SELECT b.q, c.s FROM foo.a AS b, foo.c", "foo.a c foo.a.q c.s"),
        ("denodo", (ONE,), "SELECT x FROM vdb.a", "a a.x"),
        ("mysql", (ONE,), "SELECT x FROM shop.a", "a a.x"),
    ],
)
def test_a_table_is_that_of_its_schema(
    dialect: str, tables: tuple[tuple[str | None, str, str], ...], text: str, used: str
) -> None:
    found = schema_items(text, dialect, _names(dialect, *tables))
    assert isinstance(found, SchemaItems)
    assert {*found.tables, *found.columns} == set(used.split())


def test_a_table_that_no_schema_has_is_unknown() -> None:
    schema = read_ddl("CREATE TABLE a (x INTEGER)", "sqlite").schema
    found = unknown_names("SELECT x FROM temp.a AS p, main.a AS q, foo.A AS r", "sqlite", schema)
    assert isinstance(found, UnknownNames)
    assert found.tables == ("temp.a", "foo.A")


def test_tables_of_one_name_in_two_schemas_of_duckdb(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "shop.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE SCHEMA foo; CREATE TABLE a (x INT, y INT); CREATE TABLE foo.a (p INT, q INT)")
    engine = DuckdbEngine.open(DatabaseUrl.parse(f"duckdb:///{path}"), Limits())
    try:
        names = SchemaNames(engine.schema(with_values=False))
    finally:
        engine.close()
    for text in ("SELECT * FROM foo.a", "SELECT p, q FROM shop.foo.a", "SELECT b.p, b.q FROM foo.a AS b"):
        query = read_query(text, "duckdb", names)
        assert isinstance(query, Query)
        assert named_by_us(query) == {("foo.a", "p"), ("foo.a", "q")}
    query = read_query("SELECT * FROM main.a", "duckdb", names)
    assert isinstance(query, Query)
    assert named_by_us(query) == {("a", "x"), ("a", "y")}
