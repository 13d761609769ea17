"""Pairs that are equivalent are never refuted, whatever makes their rows come differently."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from looking import look

from assay.sql.query import Query, read_query
from assay.witness.query_reading import doubts_of
from many_cases import each

DDL = """CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT, age INT);
CREATE TABLE song (id INTEGER PRIMARY KEY, singer_id INT NOT NULL REFERENCES singer(id), title TEXT, plays INT);
CREATE TABLE gig (singer_id INT REFERENCES singer(id), year INT, PRIMARY KEY (singer_id, year))"""


LEFT_OPEN = {
    "which of those that tie": (
        "SELECT name FROM singer ORDER BY age LIMIT 1",
        "SELECT name FROM singer ORDER BY age, name LIMIT 1",
    ),
    "which without order": ("SELECT name FROM singer LIMIT 1", "SELECT name FROM singer ORDER BY id DESC LIMIT 1"),
    "the same by another plan": (
        "SELECT name FROM singer ORDER BY age DESC LIMIT 2",
        "SELECT name FROM (SELECT * FROM singer ORDER BY id DESC) ORDER BY age DESC LIMIT 2",
    ),
    "which inside": (
        "SELECT title FROM song WHERE singer_id = (SELECT id FROM singer ORDER BY age LIMIT 1)",
        "SELECT title FROM song WHERE singer_id = (SELECT id FROM singer ORDER BY age, id DESC LIMIT 1)",
    ),
    "which in a joined part": (
        "SELECT title FROM song JOIN (SELECT id FROM singer ORDER BY age DESC LIMIT 1) AS o ON singer_id = o.id",
        "SELECT title FROM song JOIN (SELECT id FROM singer ORDER BY age DESC, name LIMIT 1) AS o ON singer_id = o.id",
    ),
    "which of a group": (
        "SELECT country, name FROM singer GROUP BY country",
        "SELECT country, max(name) FROM singer GROUP BY country",
    ),
    "in which order they are collected": (
        "SELECT group_concat(name) FROM singer",
        "SELECT group_concat(name) FROM (SELECT name FROM singer ORDER BY name)",
    ),
    "numbered": (
        "SELECT id FROM (SELECT id, row_number() OVER (ORDER BY age) AS n FROM singer) WHERE n = 1",
        "SELECT id FROM (SELECT id, row_number() OVER (ORDER BY age, id DESC) AS n FROM singer) WHERE n = 1",
    ),
}


@each("name", LEFT_OPEN)
def test_what_only_a_choice_explains_is_no_refutation(name: str) -> None:
    one, two = LEFT_OPEN[name]
    for first, second in ((one, two), (two, one)):
        assert look(first, second, DDL, trials=300).kind in ("tie", "unknown")
    assert look(one, two, DDL, trials=150, proves=True).kind in ("tie", "unknown", "proved")


@each("name", ["which of those that tie", "which inside", "which of a group"])
def test_a_tie_is_shown(name: str) -> None:
    outcome = look(*LEFT_OPEN[name], DDL, trials=600)
    assert outcome.kind == "tie"
    assert outcome.witness.first.rows != outcome.witness.second.rows


def test_order_counts_as_far_as_the_first_query_asks_for_it() -> None:
    plain, coarse, fine = (f"SELECT name FROM singer{order}" for order in ("", " ORDER BY age", " ORDER BY age, name"))
    assert look(coarse, fine, DDL, trials=600).why == "no_difference"
    assert look(plain, fine, DDL, trials=600).why == "no_difference"
    for first, second in ((fine, coarse), (coarse, plain), (fine, plain)):
        outcome = look(first, second, DDL, trials=600)
        assert outcome.kind == "refuted"
        assert "order_only" in outcome.tags


def test_a_tie_does_not_hide_a_difference() -> None:
    outcome = look(
        "SELECT name FROM singer ORDER BY age DESC LIMIT 1",
        "SELECT name FROM singer WHERE age = (SELECT max(age) FROM singer)",
        DDL,
    )
    assert outcome.kind == "refuted"
    assert len(outcome.witness.first.rows) != len(outcome.witness.second.rows)


STAFF = """CREATE TABLE dept (deptno INT PRIMARY KEY, name TEXT);
CREATE TABLE emp (empno INT PRIMARY KEY, name TEXT, job TEXT, boss INT, hired DATE, pay INT, bonus INT,
    deptno INT NOT NULL REFERENCES dept(deptno))"""

DIFFERENT = {
    "a boundary behind four conditions": (
        "SELECT name FROM emp WHERE deptno = 10 AND job = 'CLERK' AND pay BETWEEN 100 AND 200 AND boss = 7",
        "SELECT name FROM emp WHERE deptno = 10 AND job = 'CLERK' AND pay BETWEEN 100 AND 199 AND boss = 7",
    ),
    "on or where": (
        "SELECT * FROM emp LEFT JOIN dept ON emp.deptno = dept.deptno WHERE dept.name = 'x'",
        "SELECT * FROM emp LEFT JOIN dept ON emp.deptno = dept.deptno AND dept.name = 'x'",
    ),
    "a count that is reached": (
        "SELECT name FROM dept d WHERE (SELECT count(*) FROM emp e WHERE e.deptno = d.deptno AND e.job = 'x') >= 4",
        "SELECT name FROM dept d WHERE (SELECT count(*) FROM emp e WHERE e.deptno = d.deptno AND e.job = 'x') > 4",
    ),
    "sum and count": (
        "SELECT job FROM emp GROUP BY job HAVING sum(pay) > 5000 AND count(*) > 3",
        "SELECT job FROM emp GROUP BY job HAVING sum(pay) > 5000 AND count(*) >= 3",
    ),
    "ranks": ("SELECT rank() OVER (ORDER BY pay) FROM emp", "SELECT dense_rank() OVER (ORDER BY pay) FROM emp"),
    "offset": (
        "SELECT name FROM emp ORDER BY pay DESC, empno LIMIT 3 OFFSET 1",
        "SELECT name FROM emp ORDER BY pay DESC, empno LIMIT 3",
    ),
    "correlated": (
        "SELECT name FROM emp e WHERE pay > (SELECT avg(pay) FROM emp WHERE deptno = e.deptno)",
        "SELECT name FROM emp e WHERE pay > (SELECT avg(pay) FROM emp)",
    ),
    "integer division": ("SELECT avg(pay) FROM emp", "SELECT sum(pay) / count(pay) FROM emp"),
    "three-valued": ("SELECT count(*) FROM emp WHERE bonus > 5 OR bonus <= 5", "SELECT count(*) FROM emp"),
    "dates": ("SELECT name FROM emp WHERE hired > '2010-01-01'", "SELECT name FROM emp WHERE hired >= '2010-01-01'"),
    "a part of a date": (
        "SELECT name FROM emp WHERE strftime('%Y', hired) = '2013'",
        "SELECT name FROM emp WHERE strftime('%Y', hired) = '2014'",
    ),
    "patterns": ("SELECT name FROM emp WHERE name LIKE 'A%'", "SELECT name FROM emp WHERE name LIKE '%A%'"),
    "a part of a text": (
        "SELECT name FROM emp WHERE substr(job, 1, 2) = 'ab'",
        "SELECT name FROM emp WHERE job = 'ab'",
    ),
    "values": ("SELECT * FROM (VALUES (1, 2), (3, 4))", "SELECT * FROM (VALUES (1, 2), (3, 5))"),
    "all and distinct": (
        "SELECT deptno FROM emp UNION ALL SELECT deptno FROM dept",
        "SELECT deptno FROM emp UNION SELECT deptno FROM dept",
    ),
}


@each("name", DIFFERENT)
def test_pairs_that_differ_are_refuted(name: str) -> None:
    one, two = DIFFERENT[name]
    assert look(one, two, STAFF, trials=4000).kind == "refuted"


FREE = """CREATE TABLE t(k INT, a TEXT, x INT); CREATE TABLE s(v INT, w INT);
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
DECIDED = [
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
@each("seed", [0, 1])
def test_a_choice_of_the_engine_is_no_counterexample(first: str, second: str, seed: int) -> None:
    found = look(first, second, FREE, seed=seed)
    assert found.kind in ("tie", "unknown"), found.reason


@each(("first", "second"), DECIDED)
def test_what_no_choice_explains_is_a_counterexample(first: str, second: str) -> None:
    assert look(first, second, FREE).kind == "refuted"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("SELECT COUNT(*) FROM t WHERE k = (SELECT v FROM s ORDER BY v)", ANY),
        ("SELECT (SELECT v FROM s ORDER BY w)", "SELECT (SELECT v FROM s)"),
        ("SELECT (SELECT v FROM s ORDER BY w)", "SELECT (SELECT v FROM s ORDER BY w DESC)"),
    ],
)
def test_an_order_in_a_subquery_for_one_value_is_not_proved_away(first: str, second: str) -> None:
    assert look(first, second, FREE, proves=True).kind not in ("proved", "bounded")


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
