"""What a table's statement says of its columns' values: collations and formulas."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from assay.sql.schema.create_table import table_clauses
from assay.sql.schema.ddl import read_ddl
from many_cases import each


@each(
    ("definition", "column", "text"),
    [
        ("s INT GENERATED ALWAYS AS (a + (b)) VIRTUAL", "s", "GENERATED ALWAYS AS (a + (b)) VIRTUAL"),
        ("s AS (a) stored NOT NULL", "s", "GENERATED ALWAYS AS (a) STORED"),
        ("s INT NOT NULL CONSTRAINT x AS (a || ')')", "s", "GENERATED ALWAYS AS (a || ')')"),
        ("n TEXT COLLATE NOCASE DEFAULT 'collate rtrim'", "n", "COLLATE NOCASE"),
        ("n COLLATE \"RTRIM\" CHECK (n COLLATE nocase <> 'x')", "n", 'COLLATE "RTRIM"'),
        ('"c ""as" TEXT /* AS (1) */ COLLATE binary -- , AS (2)\n', 'c "as', "COLLATE binary"),
        ("[as] INT COLLATE nocase", "as", "COLLATE nocase"),
        ("x TEXT DEFAULT (CAST(1 AS TEXT))", "x", ""),
        ("x CANVAS(3) DEFAULT 'a'", "x", ""),
        ("x INT CHECK (EXISTS (SELECT 1 AS y))", "x", ""),
        ("x TEXT, CHECK (x COLLATE nocase = 'a')", "x", ""),
    ],
)
def test_clauses_of_a_column(definition: str, column: str, text: str) -> None:
    """Wherever they stand, and nothing that only looks like one."""
    ddl = f"CREATE TABLE t (a INT, b INT, {definition})"
    found = table_clauses(ddl, "sqlite").columns.get(column)
    assert ("" if found is None else found.text) == text
    if text and "CONSTRAINT" not in ddl:  # SQLite itself reads what is kept as it reads the whole
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(f'CREATE TABLE t (a INT, b INT, "x" {text})')


def test_clauses_of_duckdb_and_of_whole_tables() -> None:
    """Collations with dots, DuckDB's double parentheses; STRICT beside other options; what is no table."""
    ddl = "CREATE TABLE b(v DECIMAL(10,2), g INTEGER GENERATED ALWAYS AS((v + 1)), h VARCHAR COLLATE nocase.noaccent);"
    found = table_clauses(ddl, "duckdb")
    assert {name: clauses.text for name, clauses in found.columns.items() if clauses.text} == {
        "g": "GENERATED ALWAYS AS ((v + 1))",
        "h": "COLLATE nocase.noaccent",
    }
    assert {name: clauses.type for name, clauses in found.columns.items()} == {
        "v": "DECIMAL(10,2)",
        "g": "INTEGER",
        "h": "VARCHAR",
    }
    assert not found.strict
    assert table_clauses("CREATE TABLE t (a ANY, strict INT) WITHOUT ROWID, STRICT", "sqlite").strict
    assert not table_clauses("CREATE TABLE t (a INT, strict INT)", "sqlite").strict
    assert table_clauses("CREATE TABLE t AS SELECT 'it", "sqlite").columns == {}
    assert table_clauses("", "sqlite").columns == {}


@each("options", ["STRICT", "WITHOUT ROWID", "strict, Without rowid", "WITHOUT ROWID, STRICT"])
def test_tables_with_options_are_read(options: str) -> None:
    """Their types as written, their keys, and what their own options say of NULL."""
    found = read_ddl(f"CREATE TABLE t (k TEXT PRIMARY KEY, v BLOB, CHECK (v <> k)) {options};", "sqlite")
    assert not found.unread
    (table,) = found.schema.tables
    assert [(column.name, column.type) for column in table.columns] == [("k", "TEXT"), ("v", "BLOB")]
    assert table.columns[0].not_null
    assert table.checks == ("v <> k",)
