"""Choices that SQLite leaves to storage order, windows over ties, and witnesses with foreign keys enforced."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from looking import look

from assay.sql.query import Query, read_query
from assay.witness.query_reading import doubts_of
from many_cases import each

DDL = """CREATE TABLE t(k INT, a TEXT, x INT); CREATE TABLE s(v INT, w INT);
CREATE TABLE p(id INTEGER PRIMARY KEY, x INT, y INT);"""
ROWS = "ROWS UNBOUNDED PRECEDING"
ANY = "SELECT COUNT(*) FROM t WHERE k = (SELECT v FROM s)"

ONE_OF_THE_CHOICES = [
    (ANY, "SELECT COUNT(*) FROM t WHERE k = (SELECT v FROM s ORDER BY v)"),
    ("SELECT COUNT(*) FROM t WHERE k = (SELECT v FROM s ORDER BY v)", ANY),
    (ANY, "SELECT COUNT(*) FROM t WHERE k = (SELECT v FROM s LIMIT 1)"),
    (ANY, "SELECT COUNT(*) FROM t WHERE k = (SELECT v FROM s UNION SELECT v FROM s)"),
    ("SELECT (SELECT v FROM s WHERE w = t.x) FROM t", "SELECT (SELECT v FROM s WHERE w = t.x ORDER BY v DESC) FROM t"),
    ("SELECT a, COUNT(*) FROM t GROUP BY k", "SELECT MAX(a), COUNT(*) FROM t GROUP BY k"),
    (
        "SELECT u.v, COUNT(*) FROM t LEFT JOIN s AS u ON u.w = t.x GROUP BY t.k",
        "SELECT MAX(u.v), COUNT(*) FROM t LEFT JOIN s AS u ON u.w = t.x GROUP BY t.k",
    ),
    (
        "SELECT u.v, COUNT(*) FROM s AS o JOIN s AS u ON o.v = u.v GROUP BY o.v",
        "SELECT o.v, COUNT(*) FROM s AS o JOIN s AS u ON o.v = u.v GROUP BY o.v",
    ),
    ("SELECT a, MAX(x) FROM t", "SELECT MAX(a), MAX(x) FROM t WHERE x IS (SELECT MAX(x) FROM t)"),
]
DIFFERENT = [
    (ANY, "SELECT COUNT(*) FROM t WHERE k IN (SELECT v FROM s)"),
    ("SELECT a, COUNT(*) FROM t GROUP BY k", "SELECT a, COUNT(*) FROM t GROUP BY k, a"),
    ("SELECT a, COUNT(*) FROM t GROUP BY k", "SELECT a, SUM(x) FROM t GROUP BY k"),
    (
        "SELECT id, SUM(x) OVER (ORDER BY x) FROM p",
        "SELECT id, SUM(x) OVER (ORDER BY x ROWS UNBOUNDED PRECEDING) FROM p",
    ),
    (
        "SELECT id, SUM(y) OVER (ORDER BY x) FROM p",
        "SELECT id, SUM(y) OVER (ORDER BY x ROWS UNBOUNDED PRECEDING) FROM p",
    ),
    ("SELECT id, RANK() OVER (ORDER BY x) FROM p", "SELECT id, ROW_NUMBER() OVER (ORDER BY x) FROM p"),
    (
        "SELECT id, COUNT(*) OVER (PARTITION BY y ORDER BY x) FROM p",
        "SELECT id, COUNT(*) OVER (PARTITION BY y ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM p",
    ),
    (
        "SELECT id, AVG(x) OVER (ORDER BY x GROUPS 1 PRECEDING) FROM p",
        "SELECT id, AVG(x) OVER (ORDER BY x ROWS 1 PRECEDING) FROM p",
    ),
]
WINDOWS_THAT_CHOOSE = [
    ("SELECT id, ROW_NUMBER() OVER (ORDER BY x) FROM p", "SELECT id, ROW_NUMBER() OVER (ORDER BY x, id DESC) FROM p"),
    (
        "SELECT id, SUM(y) OVER (ORDER BY x ROWS UNBOUNDED PRECEDING) FROM p",
        "SELECT id, SUM(y) OVER (ORDER BY x, id DESC ROWS UNBOUNDED PRECEDING) FROM p",
    ),
    (
        "SELECT MAX(r) FROM (SELECT SUM(y) OVER (ORDER BY x ROWS UNBOUNDED PRECEDING) AS r FROM p) AS q",
        "SELECT MAX(r) FROM (SELECT SUM(y) OVER (ORDER BY x, y DESC ROWS UNBOUNDED PRECEDING) AS r FROM p) AS q",
    ),
]


@each(("first", "second"), [*ONE_OF_THE_CHOICES, *WINDOWS_THAT_CHOOSE])
@each("seed", [0, 1, 2])
def test_a_choice_of_the_engine_is_no_counterexample(first: str, second: str, seed: int) -> None:
    found = look(first, second, DDL, seed=seed)
    assert found.kind in ("tie", "unknown"), found.reason


@each(("first", "second"), DIFFERENT)
def test_what_no_choice_explains_is_a_counterexample(first: str, second: str) -> None:
    assert look(first, second, DDL).kind == "refuted"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("SELECT COUNT(*) FROM t WHERE k = (SELECT v FROM s ORDER BY v)", ANY),
        ("SELECT (SELECT v FROM s ORDER BY w)", "SELECT (SELECT v FROM s)"),
        ("SELECT (SELECT v FROM s ORDER BY w)", "SELECT (SELECT v FROM s ORDER BY w DESC)"),
    ],
)
def test_an_order_in_a_subquery_for_one_value_is_not_proved_away(first: str, second: str) -> None:
    assert look(first, second, DDL, proves=True).kind not in ("proved", "bounded")


@each(
    ("query", "doubts"),
    [
        ("SELECT SUM(x) OVER (ORDER BY x) FROM p", set()),
        ("SELECT SUM(x) OVER (ORDER BY x RANGE UNBOUNDED PRECEDING) FROM p", set()),
        ("SELECT SUM(x) OVER (ORDER BY x GROUPS 1 PRECEDING) FROM p", set()),
        ("SELECT SUM(x) OVER (ORDER BY x ROWS 1 PRECEDING) FROM p", {"tied_window"}),
        ("SELECT LAG(x) OVER (ORDER BY x) FROM p", {"tied_window"}),
        ("SELECT FIRST_VALUE(y) OVER (ORDER BY x) FROM p", {"tied_window"}),
        ("SELECT ROW_NUMBER() OVER (ORDER BY p.x) FROM p JOIN s ON p.x = s.v", {"window"}),
        ("SELECT r FROM (SELECT ROW_NUMBER() OVER (ORDER BY x) AS r FROM p) AS q", {"window"}),
        ("WITH p AS (SELECT x FROM t) SELECT ROW_NUMBER() OVER (ORDER BY x) FROM p", {"window"}),
        ("SELECT (SELECT v FROM s UNION ALL SELECT 1)", {"scalar_subquery"}),
        ("SELECT x IN (SELECT v FROM s), (SELECT v FROM s) IN (1, 2) FROM p", {"scalar_subquery"}),
        ("SELECT MAX(v), (SELECT 1) FROM s", set()),
        ("SELECT MAX(v, w), COUNT(*) FROM s", {"bare_column"}),
    ],
)
def test_what_may_choose_is_read_from_the_text(query: str, doubts: set[str]) -> None:
    read = read_query(query, "sqlite")
    assert isinstance(read, Query)
    assert doubts_of(read) == doubts


@each(
    ("ddl", "first", "second"),
    [
        (
            """CREATE TABLE g(id INTEGER PRIMARY KEY); CREATE TABLE q(id INTEGER PRIMARY KEY, g REFERENCES g);
            CREATE TABLE c(x INT, q INT REFERENCES q)""",
            "SELECT x FROM c",
            "SELECT DISTINCT x FROM c",
        ),
        (
            """CREATE TABLE c(x INT, q INT NOT NULL REFERENCES q);
            CREATE TABLE q(id INTEGER PRIMARY KEY, g NOT NULL REFERENCES g); CREATE TABLE g(id INTEGER PRIMARY KEY)""",
            "SELECT x FROM c WHERE q > 0",
            "SELECT DISTINCT x FROM c WHERE q > 0",
        ),
        (
            """CREATE TABLE e(id INTEGER PRIMARY KEY, boss INT REFERENCES e(id), d INT NOT NULL REFERENCES d(id));
            CREATE TABLE d(id INTEGER PRIMARY KEY, head INT NOT NULL REFERENCES e(id))""",
            "SELECT COUNT(*) FROM e",
            "SELECT COUNT(*) FROM e WHERE boss IS NULL",
        ),
        (
            "CREATE TABLE c(code TEXT PRIMARY KEY, size INT, boss INT REFERENCES c(code))",
            "SELECT c.code FROM c JOIN c AS b ON c.boss = b.code",
            "SELECT code FROM c WHERE boss IS NOT NULL AND code <> boss",
        ),
        *(
            (
                f"CREATE TABLE c(code {code} PRIMARY KEY, size INT, boss {boss} REFERENCES c(code))",
                "SELECT size FROM c WHERE boss IS NOT NULL",
                "SELECT DISTINCT size FROM c WHERE boss IS NOT NULL",
            )
            for code, boss in (("TEXT", "INT"), ("INT", "TEXT"), ("VARCHAR(3)", "NUMERIC"), ("INT", "INT"))
        ),
        (
            "CREATE TABLE c(code TEXT PRIMARY KEY, size INT, boss INT REFERENCES c(code))",
            "SELECT size FROM c WHERE boss = 10",
            "SELECT size FROM c WHERE boss >= 10",
        ),
    ],
)
def test_a_witness_can_be_made_with_foreign_keys_enforced(ddl: str, first: str, second: str) -> None:
    witness = look(first, second, ddl).witness
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        for statement in witness.statements:
            connection.execute(statement)
        results = [sorted(connection.execute(query).fetchall()) for query in (first, second)]
        assert results == [sorted(witness.first.rows), sorted(witness.second.rows)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
