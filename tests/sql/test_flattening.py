"""A query without its empty wrappers gives the same rows; its tokens for a reader, and what differs between two."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from assay.sql.differences.flattening import flattened
from assay.sql.display import LONGEST, differing, tokens_of
from many_cases import each

_WRAPPED = {
    "SELECT * FROM (SELECT name FROM emp WHERE age > 3)": "SELECT name FROM emp WHERE age > 3",
    "WITH w AS (SELECT dept, COUNT(*) FROM emp GROUP BY dept) SELECT * FROM w": (
        "SELECT dept, COUNT(*) FROM emp GROUP BY dept"
    ),
    "SELECT n FROM (SELECT DISTINCT name AS n FROM emp) AS x": "SELECT DISTINCT name AS n FROM emp",
    "SELECT * FROM (SELECT name FROM emp UNION SELECT title FROM dept)": (
        "SELECT name FROM emp UNION SELECT title FROM dept"
    ),
    "SELECT * FROM (SELECT name FROM emp ORDER BY age LIMIT 2)": "SELECT name FROM emp ORDER BY age LIMIT 2",
    "SELECT e.name FROM (SELECT * FROM emp) AS e JOIN dept AS d ON e.dept = d.id": (
        "SELECT e.name FROM emp AS e JOIN dept AS d ON e.dept = d.id"
    ),
    "SELECT name FROM (SELECT * FROM emp WHERE age > 3) AS x WHERE dept = 1": (
        "SELECT name FROM emp AS x WHERE dept = 1 AND x.age > 3"
    ),
    "SELECT x.n FROM (SELECT name AS n, age AS a FROM emp) AS x WHERE x.a > 3": (
        "SELECT x.name FROM emp AS x WHERE x.age > 3"
    ),
    "WITH old AS (SELECT id, name FROM emp WHERE age > 3) SELECT name FROM old": ("SELECT name FROM emp WHERE age > 3"),
    "SELECT COUNT(*) FROM (SELECT name FROM emp WHERE age > 3)": "SELECT COUNT(*) FROM emp WHERE emp.age > 3",
    "WITH a AS (SELECT * FROM emp), b AS (SELECT * FROM a WHERE age > 3) SELECT * FROM b": (
        "SELECT * FROM emp AS a WHERE age > 3"
    ),
}
_TRAPS = (
    "SELECT * FROM (SELECT name FROM emp LIMIT 2) LIMIT 1",
    "SELECT name FROM (SELECT name, age FROM emp ORDER BY 2 LIMIT 2)",
    "SELECT a FROM (SELECT name, age AS a FROM emp ORDER BY 1 LIMIT 3)",
    "SELECT name FROM (SELECT name, age AS a FROM emp ORDER BY a LIMIT 2)",
    "SELECT name FROM (SELECT DISTINCT name, dept FROM emp)",
    "SELECT name FROM (SELECT name, dept FROM emp UNION SELECT title, id FROM dept)",
    "SELECT d.title, x.name FROM dept AS d LEFT JOIN (SELECT * FROM emp WHERE age > 4) AS x ON x.dept = d.id",
    "SELECT d.title, x.name FROM (SELECT * FROM emp WHERE age > 4) AS x RIGHT JOIN dept AS d ON x.dept = d.id",
    "SELECT d.title, x.n FROM dept AS d LEFT JOIN (SELECT dept, name AS n FROM emp) AS x ON x.dept = d.id",
    "SELECT age AS name FROM (SELECT age, id AS name FROM emp) ORDER BY name",
    "SELECT name AS age, age AS name FROM (SELECT age AS name, name AS age FROM emp)",
    "SELECT x.*, 1 FROM (SELECT name FROM emp) AS x",
    "SELECT * FROM (SELECT name FROM emp) AS x JOIN dept ON dept.id = 1",
    "SELECT x.name, title FROM (SELECT id, name FROM emp) AS x JOIN dept ON x.id = dept.id WHERE boss > 1",
    "SELECT n FROM (SELECT name AS n, dept AS k FROM emp) WHERE k IN (SELECT id FROM dept WHERE id = k)",
    "SELECT n FROM (SELECT MAX(age) AS n FROM emp)",
    "SELECT a.name, b.name FROM (SELECT * FROM emp WHERE age > 3) AS a JOIN (SELECT * FROM emp) AS b ON a.id = b.boss",
    "WITH w AS (SELECT * FROM emp WHERE age > 3) SELECT a.name FROM w AS a JOIN w AS b ON a.id = b.boss",
    "WITH w AS (SELECT * FROM emp WHERE age > 3) SELECT name FROM emp WHERE id IN (SELECT id FROM w)",
    "WITH w(n) AS (SELECT name FROM emp) SELECT * FROM w",
    "WITH w(n) AS (SELECT name FROM emp) SELECT n FROM w WHERE n > 'b'",
    "WITH emp AS (SELECT * FROM dept) SELECT * FROM emp",
    "WITH w AS (SELECT id FROM dept) SELECT * FROM (WITH w AS (SELECT id FROM emp) SELECT * FROM w)",
    "WITH RECURSIVE w AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM w WHERE n < 3) SELECT * FROM w",
    "SELECT DISTINCT * FROM (SELECT dept FROM emp)",
    "SELECT * FROM (SELECT name FROM emp WHERE age > 3) WHERE name > 'b'",
    "SELECT name FROM emp WHERE dept IN (SELECT * FROM (SELECT id FROM dept WHERE title > 'm'))",
    "SELECT * FROM (SELECT name FROM emp) UNION ALL SELECT * FROM (SELECT title FROM dept)",
    "SELECT age, age FROM (SELECT age, name FROM emp)",
    "SELECT COUNT(*), MAX(k) FROM (SELECT dept AS k FROM emp WHERE age > 1) GROUP BY k",
)


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:")
    made.executescript("CREATE TABLE dept(id, title, boss); CREATE TABLE emp(id, name, age, dept, boss);")
    made.executemany("INSERT INTO dept VALUES (?, ?, ?)", [(1, "mill", 1), (2, "ward", 3), (3, "yard", 2)])
    rows = [(1, "Ana", 3, 1, 2), (2, "Bo", 5, 1, 3), (3, "Cy", 4, 2, 1), (4, "Di", 7, None, 2), (5, "Bo", 2, 2, 4)]
    made.executemany("INSERT INTO emp VALUES (?, ?, ?, ?, ?)", rows)
    yield made
    made.close()


def _flat(query: str) -> str:
    tree = sqlglot.parse_one(query, dialect="sqlite")
    assert isinstance(tree, exp.Query)
    return flattened(tree).sql("sqlite")


@each("query", [*_WRAPPED, *_TRAPS])
def test_the_flat_query_gives_the_same_rows(connection: sqlite3.Connection, query: str) -> None:
    rows, flat = (connection.execute(one).fetchall() for one in (query, _flat(query)))
    if "SELECT name AS age" in query or "name, age AS a" in query or "SELECT age AS name" in query:
        assert rows == flat  # column by column
    assert Counter(rows) == Counter(flat)


@each(("query", "bare"), _WRAPPED.items())
def test_empty_wrappers_are_taken_away(query: str, bare: str) -> None:
    assert "(SELECT" not in _flat(query)
    assert "WITH" not in _flat(query)
    assert _flat(query) == bare


_WORDS = ["SELECT", "FROM", "WHERE", "GROUP", "BY", "AND", "OR", "AS", "T1", "'x", *'(),.a"`1;']
TEXTS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(_WORDS), max_size=30).map(" ".join))


def _marked(gold: str, predicted: str, alike: tuple[str, ...] = ()) -> str:
    sides = tokens_of(gold), tokens_of(predicted)
    found = [
        " ".join(token.text for token in side if token.place in places)
        for side, places in zip(sides, differing(*sides, alike), strict=True)
    ]
    return " / ".join(found)


@given(TEXTS)
def test_the_tokens_are_the_text_and_differ_from_nothing_of_their_own(text: str) -> None:
    tokens = tokens_of(text)
    assert "".join(token.text for token in tokens) == text
    assert [token.place for token in tokens] == list(range(len(tokens)))
    assert differing(tokens, tokens_of(text)) == (frozenset(), frozenset())


@given(TEXTS, TEXTS)
def test_what_differs_are_places_of_tokens_that_count(gold: str, predicted: str) -> None:
    sides = tokens_of(gold), tokens_of(predicted)
    for side, places in zip(sides, differing(*sides, ["SELECT"]), strict=True):
        assert all(side[place].is_meaningful for place in places)


@each(
    ("gold", "predicted", "marked"),
    [
        ("SELECT a FROM t", "select A  from T; -- the same", " / "),
        ("SELECT a FROM t", "SELECT a, b FROM t", " / , b"),
        ("SELECT a FROM t WHERE b = 1 AND c = 2", "SELECT a FROM t WHERE c = 3 AND b = 1", "2 / 3"),
        ("SELECT a FROM t", "SELECT a FROM t ORDER BY a", " / ORDER BY a"),
        ("SELECT a FROM t WHERE c = 'x'", 'SELECT a FROM t WHERE c = "x"', " / "),
        (
            "SELECT T1.n FROM s AS T1 JOIN p AS T2 ON T1.i = T2.i WHERE T1.x = 'F'",
            "SELECT T2.n FROM s AS T2 JOIN p AS T1 ON T2.i = T1.i WHERE T2.x = 'f'",
            "T1 T2 'F' / T2 T1 'f'",  # where the aliases are declared they differ
        ),
        ("SELECT T1.n FROM db.s AS T1", "SELECT s.n FROM db.s", "AS T1 / "),
        ("SELECT a.n FROM s AS a JOIN s AS b ON a.i = b.j", "SELECT b.n FROM s AS a JOIN s AS b ON a.i = b.j", "a / b"),
        ("SELECT 'open", "SELECT 'other", "'open / 'other"),
    ],
)
def test_marked(gold: str, predicted: str, marked: str) -> None:
    assert _marked(gold, predicted) == marked


def test_clauses_that_say_the_same_are_not_marked_unless_nothing_else_is() -> None:
    gold = "SELECT n FROM x AS a JOIN y AS b ON a.i = b.j WHERE n > 1"
    swapped = "SELECT n FROM y AS b JOIN x AS a ON b.j = a.i WHERE n > 2"
    assert _marked(gold, swapped, ("FROM",)) == "1 / 2"
    assert _marked(gold, swapped.replace("2", "1"), ("FROM",)) != " / "


def test_of_a_long_text_the_rest_is_one_token() -> None:
    text = "SELECT 1" + " " * LONGEST + "FROM t"
    tokens = tokens_of(text)
    assert "".join(token.text for token in tokens) == text
    assert tokens[-1].text.strip() == "FROM t"
    assert differing(tokens_of("a " * 2_000), tokens_of("b " * 2_000)) == (frozenset(), frozenset())
