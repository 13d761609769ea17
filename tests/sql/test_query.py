"""Names mean what the engine says that they mean."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from odd_names import ODD, SCRIPT, TABLES

from assay.model import ColumnSchema, DatabaseSchema, TableSchema
from assay.sql.query import Query, read_query
from assay.sql.schema_names import SchemaNames
from assay.sql.trees import nodes_of

NAMES = SchemaNames(
    DatabaseSchema(
        dialect="sqlite",
        tables=tuple(
            TableSchema(
                name=table,
                ddl="",
                columns=tuple(ColumnSchema(name=name, type=kind) for name, kind in columns.items()),
                primary_key=("id",) if table == "a" else (),
            )
            for table, columns in TABLES.items()
        ),
    )
)


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:")
    made.executescript(SCRIPT)
    yield made
    made.close()


def _read_by_sqlite(connection: sqlite3.Connection, query: str) -> set[tuple[str, str]]:
    """The stored columns that SQLite's authorizer is asked about while it prepares a query."""
    found: set[tuple[str, str]] = set()

    def see(action: int, table: str | None, column: str | None, *_: object) -> int:
        if action == sqlite3.SQLITE_READ and column:
            found.add(((table or "").lower(), column.lower()))
        return sqlite3.SQLITE_OK

    connection.set_authorizer(see)
    try:
        connection.execute(f"EXPLAIN {query}").fetchall()
    finally:
        connection.set_authorizer(None)
    return found


def _read_by_us(query: Query) -> set[tuple[str, str]]:
    from sqlglot import exp

    columns = [node for node in nodes_of(query.bound) if isinstance(node, exp.Column) and not node.is_star]
    found = set()
    for column in (*query.columns, *columns):
        source = query.meaning(column).source
        if source is not None and source.table is not None:
            stored = query.stored(column)
            assert stored is not None
            found.add(stored.key)
    return found


NOT_REPORTED = {
    # SQLite reports one side of USING and NATURAL, nothing of a CTE that nothing reads, and every column of joins in
    # parentheses.
    "SELECT n, e FROM a JOIN (b JOIN e ON e.e = b.id) ON a.b_id = b.id",
    "WITH q AS (SELECT id FROM a) SELECT x FROM b WHERE id IN (WITH q AS (SELECT e FROM e) SELECT e FROM q)",
}


@pytest.mark.parametrize("text", ODD)
def test_the_columns_read_are_those_that_sqlite_reads(connection: sqlite3.Connection, text: str) -> None:
    query = read_query(text, "sqlite", NAMES)
    assert isinstance(query, Query), query
    assert not query.unresolved
    theirs, ours = _read_by_sqlite(connection, text), _read_by_us(query)
    if "USING" in text or "NATURAL" in text:
        assert theirs <= ours
        assert {column for _, column in ours - theirs} <= {"id", "x"}  # the joined columns themselves
    elif text in NOT_REPORTED:
        assert ours != theirs
    else:
        assert ours == theirs
