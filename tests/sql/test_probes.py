"""Probes are edited copies of a query's tree: what is kept of the query, and which part of it runs by itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress

import duckdb
import pytest
from sqlglot import exp

from assay.sql import TieProbe, empty_input_probe, tie_probes, visible_keys
from assay.sql.probes.any_row import any_rows
from assay.sql.probes.edits import Edit, alone, read_for_probes
from assay.sql.probes.inner_limit import inner_limits
from assay.sql.probes.row_number import row_numbers, tie_breaks
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
    before = query.tree.sql("sqlite")
    edit = Edit(query)
    for node in query.all_of(exp.Column, exp.Subquery):
        edit.twin(node).replace(exp.Literal.number(1))
    assert edit.written() == "SELECT 1, 1 FROM t ORDER BY 1"
    assert query.tree.sql("sqlite") == before


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
def test_an_inner_query_runs_by_itself(
    database: sqlite3.Connection, query: str, rows: list[tuple[object, ...]]
) -> None:
    read = read_for_probes(query, "sqlite")
    inner = next(
        select.node for select in read.selects if any(output.alias == "x" for output in select.node.expressions)
    )
    assert database.execute(alone(inner).sql("sqlite")).fetchall() == rows


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
    assert database.execute(limit.taking(rows, 1)).fetchall() == sorted((in_order[row],) for row in rows)


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


TIED = (
    "CREATE TABLE t(id INTEGER, n TEXT, v DOUBLE, g TEXT)",
    "INSERT INTO t VALUES (1,'a',1.0,'x'),(2,'B',2.0,'x'),(3,'b',2.0,'y'),(4,'d',NULL,'y'),(5,'e',NULL,'z')",
)
PROBED = [
    "SELECT n FROM t ORDER BY v",
    "SELECT n FROM t ORDER BY v DESC LIMIT 2",
    "SELECT n, v AS w FROM t ORDER BY w DESC, 1",
    "SELECT v * 2 w, n FROM t ORDER BY w + 1",
    "SELECT n FROM t ORDER BY 1 LIMIT 3 OFFSET 1",
    "SELECT g, count(*) c FROM t GROUP BY g ORDER BY c DESC LIMIT 1",
    "SELECT g FROM t GROUP BY g ORDER BY count(*) DESC, max(v)",
    "SELECT DISTINCT g FROM t ORDER BY g DESC",
    "SELECT t.n FROM t AS t JOIN t AS s ON s.id = t.id WHERE s.v IS NOT NULL ORDER BY s.v, t.g",
    "WITH s AS (SELECT * FROM t WHERE id < 5) SELECT n FROM s ORDER BY v LIMIT 2",
    "(SELECT n FROM t ORDER BY g);",
    "SELECT n FROM t WHERE g IS NOT DISTINCT FROM 'x' ORDER BY lower(n)",
    "SELECT id FROM t ORDER BY CASE WHEN g = 'x' THEN 0 ELSE 1 END, v",
    "SELECT n /* , FROM */ FROM t -- ORDER BY id\n ORDER BY g LIMIT 2 -- the end",
]


def tie_probe(query: str, dialect: str) -> TieProbe | None:
    return next(tie_probes(query, dialect), None)


def _run(engine: str, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(":memory:") if engine == "sqlite" else duckdb.connect(":memory:")
    try:
        for statement in TIED:
            connection.execute(statement)
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def _first_understood(query: str, engine: str) -> tuple[TieProbe, list[tuple[object, ...]]]:
    for probe in tie_probes(query, engine):
        with suppress(sqlite3.Error, duckdb.Error):
            return probe, _run(engine, probe.query)
    raise AssertionError(f"no probe of {query} runs")


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize("query", PROBED)
def test_the_probe_is_the_query_with_a_rank_beside_it(engine: str, query: str) -> None:
    if engine == "sqlite" and query.startswith("("):
        pytest.skip("SQLite takes no parentheses round a whole query")
    probe, whole = _first_understood(query, engine)
    assert probe.ranked
    ranks = [row[-1] for row in whole]
    assert ranks == sorted(ranks), "the rows come in gold's order"
    rows = [row[:-1] for row in whole]
    plain = _run(engine, query.rstrip("; "))
    window = rows[probe.offset : probe.offset + len(plain)]
    # Within ties an engine may choose: per rank the rows must be those of the query.
    for rank in set(ranks[probe.offset : probe.offset + len(plain)]):
        offered = [row for row, other in zip(rows, ranks, strict=True) if other == rank]
        returned = [plain[place] for place in range(len(window)) if ranks[probe.offset + place] == rank]
        assert all(offered.count(row) >= returned.count(row) for row in returned)


def test_ranks_show_ties_of_keys_that_are_not_in_the_output() -> None:
    probe = tie_probe("SELECT id FROM t ORDER BY v DESC", "sqlite")
    ties: dict[object, set[object]] = {}
    for number, rank in _run("sqlite", probe.query):
        ties.setdefault(rank, set()).add(number)
    assert list(ties.values()) == [{2, 3}, {1}, {4, 5}]


def test_collation_decides_what_ties() -> None:
    probe = tie_probe("SELECT n FROM t ORDER BY n COLLATE NOCASE", "sqlite")
    assert [rank for _, rank in _run("sqlite", probe.query)] == [1, 2, 2, 3, 4]


def test_set_operations_show_ties_in_their_output_columns() -> None:
    probe = tie_probe("SELECT n, g FROM t UNION ALL SELECT n, g FROM t ORDER BY g, n LIMIT 3", "sqlite")
    assert (probe.ranked, probe.key_columns) == (False, (1, 0))
    assert len(_run("sqlite", probe.query)) == 10


def test_without_order_all_rows_tie() -> None:
    probe = tie_probe("SELECT n FROM t LIMIT 2 OFFSET 1", "sqlite")
    assert (probe.ranked, probe.key_columns, probe.offset) == (False, (), 1)
    assert len(_run("sqlite", probe.query)) == 5
    assert len(_run("sqlite", probe.first(2))) == 2


def test_a_key_over_a_window_is_read_from_the_output() -> None:
    probe = tie_probe("SELECT n, rank() OVER (ORDER BY v) AS r FROM t ORDER BY r", "sqlite")
    assert (probe.ranked, probe.key_columns) == (False, (1,))


@each(
    "query",
    [
        "SELECT DISTINCT t.* FROM t JOIN t AS u ON u.g = t.g ORDER BY u.v",
        "SELECT n FROM t ORDER BY v LIMIT 2 OFFSET (SELECT 1)",
        "SELECT n FROM t UNION SELECT g FROM t ORDER BY n COLLATE NOCASE",
        "SELECT nonsense FROM FROM t ORDER BY",
    ],
)
def test_where_ties_cannot_be_seen_there_is_no_probe(query: str) -> None:
    assert tie_probe(query, "sqlite") is None


@each(
    "query",
    [
        "SELECT a, COUNT(*) FROM t GROUP BY a",
        "SELECT T1.a, count(*) AS n FROM t AS T1 JOIN u ON T1.a = u.a GROUP BY T1.a HAVING count(*) > 2 ORDER BY n",
        "SELECT a FROM t WHERE b > (SELECT AVG(b) FROM t)",
        "SELECT a FROM t WHERE b IN (SELECT b FROM u WHERE c = 'x') ORDER BY a LIMIT 3 OFFSET 1;",
        "SELECT a FROM t WHERE b = (SELECT b FROM u ORDER BY c LIMIT 1)",
        "SELECT MAX(a), MIN(a) FROM t WHERE b = 1",
        "SELECT a FROM t UNION SELECT a FROM u",
        "SELECT n FROM (SELECT a, COUNT(*) AS n FROM t GROUP BY a) AS w ORDER BY n",
    ],
)
def test_common_queries_read_no_row_of_several(query: str) -> None:
    assert not any_rows(query, "sqlite")


@each(
    "query",
    [
        "SELECT a, b, COUNT(*) FROM t GROUP BY a",
        "SELECT a, MAX(b) FROM t",
        "SELECT COUNT(*) FROM t HAVING a > 1",
        "SELECT a FROM t GROUP BY a ORDER BY b",
        "SELECT a FROM t WHERE b = (SELECT b FROM u)",
        "SELECT a FROM t WHERE b = (SELECT b FROM u GROUP BY b HAVING COUNT(*) > 1)",
        "SELECT DISTINCT a FROM t ORDER BY b",
        "SELECT name FROM t GROUP BY id HAVING COUNT(*) = (SELECT COUNT(*) FROM u)",
        "SELECT name FROM t GROUP BY id UNION SELECT a FROM u",
    ],
)
def test_a_row_of_several_is_noticed(query: str) -> None:
    assert any_rows(query, "sqlite")
