"""Probes are edited copies of a query's tree: what is kept of the query, and which part of it runs by itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from sqlglot import exp

from assay.sql import empty_input_probe, tie_probes, visible_keys
from assay.sql.probes.any_row import any_rows
from assay.sql.probes.edits import Edit, alone, read_for_probes
from assay.sql.probes.inner_limit import inner_limits
from assay.sql.probes.row_number import row_numbers, tie_breaks
from assay.sql.trees import written
from many_cases import each

SETUP = "CREATE TABLE t(id INTEGER, g INTEGER, v INTEGER); INSERT INTO t VALUES (1, 1, 10), (2, 1, 20), (3, 2, 30)"


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SETUP)
        yield connection


@each("key", ["+1", "+(1)", "+a", "-a", "a + +1"])
@each("dialect", ["sqlite", "duckdb", "postgres", "mysql"])
def test_signs_that_the_parser_drops_are_kept(dialect: str, key: str) -> None:
    query = read_for_probes(f"SELECT a FROM t ORDER BY {key}", dialect)
    assert query is not None
    assert Edit(query).written().replace(" ", "").endswith(f"ORDERBY{key}".replace(" ", ""))


def test_an_edit_leaves_the_query_as_it_is() -> None:
    query = read_for_probes("SELECT a, (SELECT MAX(b) FROM u) FROM t ORDER BY a", "sqlite")
    before = written(query.tree, "sqlite")
    edit = Edit(query)
    for node in query.all_of(exp.Column, exp.Subquery):
        edit.twin(node).replace(exp.Literal.number(1))
    assert edit.written() == "SELECT 1, 1 FROM t ORDER BY 1"
    assert written(query.tree, "sqlite") == before


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT * FROM t WHERE id IN (SELECT id AS x FROM t WHERE g = 1)", [(1,), (2,)]),
        ("WITH a AS (SELECT 1 AS n), b AS (SELECT n + 1 AS x FROM a) SELECT * FROM b", [(2,)]),
        ("WITH a AS (SELECT 5 AS n) SELECT * FROM (SELECT n AS x FROM a) AS q", [(5,)]),
        ("WITH a AS (SELECT 5 AS n) SELECT (WITH c AS (SELECT n FROM a) SELECT n + 1 AS x FROM c) FROM t", [(6,)]),
        ("WITH a AS (SELECT 5 AS n), b AS (SELECT * FROM (SELECT n AS x FROM a) AS q) SELECT x FROM b", [(5,)]),
        (
            "WITH RECURSIVE a(n) AS (SELECT 1 UNION SELECT n + 1 FROM a WHERE n < 3) SELECT (SELECT MAX(n) x FROM a)",
            [(3,)],
        ),
    ],
)
def test_an_inner_query_runs_by_itself_with_the_ctes_that_it_reads(
    database: sqlite3.Connection, query: str, rows: list[tuple[object, ...]]
) -> None:
    read = read_for_probes(query, "sqlite")
    inner = next(
        select.node for select in read.selects if any(output.alias == "x" for output in select.node.expressions)
    )
    assert database.execute(written(alone(inner), "sqlite")).fetchall() == rows


@each(
    ("query", "limited"),
    [
        ("SELECT id FROM t ORDER BY v LIMIT 1", []),
        ("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM t LIMIT 1)", []),
        ("SELECT * FROM (SELECT id FROM t ORDER BY v) AS q LIMIT 1", []),
        ("SELECT * FROM (SELECT id FROM t ORDER BY v LIMIT 2) AS q LIMIT 1", []),
        ("SELECT id FROM t WHERE id IN (SELECT id FROM t ORDER BY v LIMIT 2)", ["SELECT id FROM t ORDER BY v LIMIT 2"]),
        ("WITH q AS (SELECT id FROM t LIMIT 2 OFFSET 1) SELECT COUNT(*) FROM q", ["SELECT id FROM t LIMIT 2 OFFSET 1"]),
    ],
)
def test_a_limit_inside_is_found(query: str, limited: list[str]) -> None:
    assert [limit.alone for limit in inner_limits(query, "sqlite")] == limited


@pytest.mark.parametrize("rows", [[0], [2], [0, 1], [0, 2], [1, 2]])
def test_chosen_rows_of_an_inner_query_are_taken(database: sqlite3.Connection, rows: list[int]) -> None:
    query = "SELECT id FROM t WHERE id IN (SELECT id FROM t ORDER BY g DESC LIMIT 2) ORDER BY id"
    [limit] = inner_limits(query, "sqlite")
    in_order = [3, 1, 2]
    taken = database.execute(limit.taking(rows, 1)).fetchall()
    assert taken == sorted((in_order[row],) for row in rows)


def test_the_place_of_a_key_is_its_output_through_parentheses_and_not_through_a_sign() -> None:
    assert visible_keys("SELECT a, b FROM t ORDER BY (2), 1", "sqlite") == (1, 0)
    assert visible_keys("SELECT a, b FROM t ORDER BY +2", "sqlite") is None
    assert visible_keys("SELECT *, b FROM t ORDER BY 2", "sqlite") is None
    assert visible_keys("SELECT a FROM t LIMIT 2", "sqlite") is None


@each("text", ["", "SELECT FROM WHERE", "DELETE FROM t", "SELECT 1; SELECT 2", "ROW_NUMBER() LIMIT"])
def test_what_cannot_be_read_has_no_probes(text: str) -> None:
    assert list(tie_probes(text, "sqlite", 1)) == []
    assert inner_limits(text, "sqlite") == []
    assert tie_breaks(text, "sqlite") == []
    assert row_numbers(text, "sqlite") is None
    assert empty_input_probe(text, "sqlite") is None
    assert visible_keys(text, "sqlite") is None


CHAINS = {"- ": "a", "NOT ": "a", "~ ": "a", "a + ": "a", "a AND ": "a", "a - b + ": "a", "+ ": "a"}


@each("link", CHAINS)
def test_no_depth_of_an_expression_breaks_a_probe(link: str) -> None:
    chain = link * 400 + CHAINS[link]
    inner = f"SELECT b FROM (SELECT b, ROW_NUMBER() OVER (ORDER BY {chain}) AS n FROM u LIMIT 3) AS q"
    for text in (f"SELECT a FROM t ORDER BY {chain}", f"SELECT b, COUNT(*), {chain} FROM t WHERE b = ({inner})"):
        list(tie_probes(text, "sqlite", 1))
        visible_keys(text, "sqlite")
        empty_input_probe(text, "sqlite")
        for limit in inner_limits(text, "sqlite"):
            assert limit.alone
            assert all(limit.extremes(1))
        for place in tie_breaks(text, "sqlite"):
            assert next(place.ways(("b",)))
        row_numbers(text, "sqlite")
        for read in any_rows(text, "sqlite"):
            assert (read.check() is None) == (read.kind == "row order")
            assert next(read.ways())
