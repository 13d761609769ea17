"""The probe shows the ties of a query and is otherwise the same query. Tried on SQLite and DuckDB themselves."""

from __future__ import annotations

import sqlite3
from contextlib import suppress

import duckdb
import pytest

from assay.sql import TieProbe, tie_probes
from many_cases import each

SETUP = (
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
    """The first probe, which is asked before any other."""
    return next(tie_probes(query, dialect), None)


def _run(engine: str, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(":memory:") if engine == "sqlite" else duckdb.connect(":memory:")
    try:
        for statement in SETUP:
            connection.execute(statement)
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def _first_understood(query: str, engine: str) -> tuple[TieProbe, list[tuple[object, ...]]]:
    """The first probe that the engine can run, with what it gives."""
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
