"""Pairs that are equivalent are never refuted, whatever makes their rows come differently."""

from __future__ import annotations

import pytest
from looking import look

from many_cases import each

DDL = """CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT, age INT);
CREATE TABLE song (id INTEGER PRIMARY KEY, singer_id INT NOT NULL REFERENCES singer(id), title TEXT, plays INT);
CREATE TABLE gig (singer_id INT REFERENCES singer(id), year INT, PRIMARY KEY (singer_id, year))"""

SAME = {
    "join order": (
        "SELECT s.name, t.title FROM singer s JOIN song t ON s.id = t.singer_id",
        "SELECT s.name, t.title FROM song t JOIN singer s ON t.singer_id = s.id",
    ),
    "aliases": ("SELECT a.name FROM singer a WHERE a.age > 3", "SELECT singer.name FROM singer WHERE singer.age > 3"),
    "commuted": (
        "SELECT name FROM singer WHERE age > 20 AND country = 'France'",
        "SELECT name FROM singer WHERE 'France' = country AND 20 < age",
    ),
    "columns in another order": ("SELECT name, age FROM singer", "SELECT age, name FROM singer"),
    "in and exists": (
        "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM song)",
        "SELECT name FROM singer WHERE EXISTS (SELECT 1 FROM song WHERE singer_id = singer.id)",
    ),
    "join over a foreign key": (
        "SELECT title FROM song",
        "SELECT title FROM song JOIN singer ON singer_id = singer.id",
    ),
    "distinct over a key": ("SELECT DISTINCT id, name FROM singer", "SELECT id, name FROM singer"),
    "count of a column without null": ("SELECT count(name) FROM singer", "SELECT count(*) FROM singer"),
    "between": ("SELECT id FROM singer WHERE age BETWEEN 3 AND 9", "SELECT id FROM singer WHERE age >= 3 AND age <= 9"),
    "group by the key and its name": (
        "SELECT singer.name, count(*) FROM singer JOIN song ON singer.id = singer_id GROUP BY singer.id",
        "SELECT singer.name, count(*) FROM singer JOIN song ON singer.id = singer_id GROUP BY singer.id, singer.name",
    ),
    "having for where": (
        "SELECT country, count(*) FROM singer GROUP BY country HAVING country = 'x'",
        "SELECT country, count(*) FROM singer WHERE country = 'x' GROUP BY country",
    ),
    "a composite key": (
        "SELECT singer_id, year FROM gig WHERE singer_id IS NOT NULL GROUP BY singer_id, year",
        "SELECT singer_id, year FROM gig WHERE singer_id IS NOT NULL",
    ),
    "union for or": (
        "SELECT DISTINCT name FROM singer WHERE age = 1 OR age = 2",
        "SELECT name FROM singer WHERE age = 1 UNION SELECT name FROM singer WHERE age = 2",
    ),
    "texts in double quotes": ('SELECT id FROM singer WHERE name = "Bob"', "SELECT id FROM singer WHERE name = 'Bob'"),
    "cte": (
        "WITH old AS (SELECT * FROM singer WHERE age > 60) SELECT name FROM old",
        "SELECT name FROM singer WHERE age > 60",
    ),
    "natural join": (
        "SELECT plays FROM song NATURAL JOIN (SELECT id AS singer_id FROM singer)",
        "SELECT plays FROM song JOIN singer ON singer.id = singer_id",
    ),
}

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


@each("seed", [0, 1])
@each("name", SAME)
def test_equivalent_pairs_are_not_refuted(name: str, seed: int) -> None:
    """In both directions: neither is told from the other."""
    one, two = SAME[name]
    for first, second in ((one, two), (two, one)):
        outcome = look(first, second, DDL, trials=800, seed=seed)
        assert (outcome.kind, outcome.why) == ("unknown", "no_difference"), outcome
        assert outcome.trials > 400


@each("name", LEFT_OPEN)
def test_what_only_a_choice_explains_is_no_refutation(name: str) -> None:
    """The engine chooses: a tie, or no difference at all."""
    one, two = LEFT_OPEN[name]
    for first, second in ((one, two), (two, one)):
        assert look(first, second, DDL, trials=600).kind in ("tie", "unknown")


@pytest.mark.parametrize("name", ["which of those that tie", "which inside", "which of a group"])
def test_a_tie_is_shown(name: str) -> None:
    """With the database on which the choice matters."""
    outcome = look(*LEFT_OPEN[name], DDL, trials=600)
    assert outcome.kind == "tie"
    assert outcome.witness.first.rows != outcome.witness.second.rows


def test_order_counts_as_far_as_the_first_query_asks_for_it() -> None:
    """A finer order is no difference; a coarser one is, and so is none."""
    plain, coarse, fine = (f"SELECT name FROM singer{order}" for order in ("", " ORDER BY age", " ORDER BY age, name"))
    assert look(coarse, fine, DDL, trials=600).why == "no_difference"
    assert look(plain, fine, DDL, trials=600).why == "no_difference"
    for first, second in ((fine, coarse), (coarse, plain), (fine, plain)):
        outcome = look(first, second, DDL, trials=600)
        assert outcome.kind == "refuted"
        assert "order_only" in outcome.tags


def test_a_tie_does_not_hide_a_difference() -> None:
    """Where one query gives one row and the other all that tie, no choice makes them agree."""
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
    """Constructs of every kind, and conditions that few rows meet."""
    one, two = DIFFERENT[name]
    assert look(one, two, STAFF, trials=4000).kind == "refuted"
