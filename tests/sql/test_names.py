"""A name means the table, the CTE or the column that SQL lets it mean at its place, and nothing else."""

from __future__ import annotations

import sqlite3

from assay.model import ColumnSchema, DatabaseSchema, TableSchema
from assay.sql.query import Query, read_query
from assay.sql.schema import SchemaNames
from many_cases import each

_TABLES = {"t": ("a", "b"), "u": ("a", "c")}
NAMES = SchemaNames(
    DatabaseSchema(
        dialect="sqlite",
        tables=tuple(
            TableSchema(
                name=name, ddl="", columns=tuple(ColumnSchema(name=column, type="INTEGER") for column in columns)
            )
            for name, columns in _TABLES.items()
        ),
    )
)


@each(
    ("query", "stands_for"),
    [
        ("WITH t AS (SELECT c AS x FROM u) SELECT x FROM t", "u.c"),
        ("WITH t AS (SELECT a FROM t) SELECT a FROM u", "u.a"),
        ("WITH x AS (SELECT a FROM t), y AS (SELECT a FROM x) SELECT a FROM y", "t.a"),
        ("WITH x(p, q) AS (SELECT a, b FROM t) SELECT q FROM x", "t.b"),
        ("WITH x(b, a) AS (SELECT a, b FROM t) SELECT a FROM x", "t.b"),
        ("WITH x AS (SELECT a FROM t) SELECT z.a FROM (WITH x AS (SELECT c AS a FROM u) SELECT a FROM x) z", "u.c"),
        (
            "WITH x AS (SELECT b AS a FROM t) SELECT a FROM x WHERE a IN (WITH x AS (SELECT a FROM u) SELECT a FROM x)",
            "t.b",
        ),
        ("WITH u AS (SELECT b AS a FROM t) SELECT a FROM main.u", "u.a"),
        ("SELECT v.a FROM ((t v JOIN u w ON v.a = w.a))", "t.a"),
        ("SELECT c FROM (t JOIN u ON t.a = u.a)", "u.c"),
        ("SELECT c FROM t JOIN (u JOIN t AS s ON u.a = s.a) ON t.a = u.a", "u.c"),
        ("SELECT x FROM (SELECT b AS x FROM t UNION SELECT c FROM u)", "x"),
        ("SELECT (SELECT t.b) FROM t", None),
        ("WITH RECURSIVE n(a) AS (SELECT b FROM t UNION ALL SELECT a + 1 FROM n WHERE a < 9) SELECT a FROM n", "a"),
    ],
)
def test_a_name_stands_for_the_column_that_sql_says(query: str, stands_for: str | None) -> None:
    database = sqlite3.connect(":memory:")
    for name, columns in _TABLES.items():
        database.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
    if "WITH t AS (SELECT a FROM t)" not in query:  # SQLite takes it for a circle, PostgreSQL for the stored table
        database.execute(query)
    database.close()
    read = read_query(query, "sqlite", NAMES)
    assert isinstance(read, Query)
    assert read.unresolved == ()
    column = read.column_of(read.selects[0].outputs[0])
    assert (None if column is None else read.name_of(column)) == stands_for
