"""Whether a row was computed over no rows, against a corpus whose truth the generator knows.

Each query is built from filters that the generator evaluates itself on the rows, in Python: so it
knows which relations are empty, without SQL. The probe then runs on SQLite and DuckDB.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator

import duckdb
import pytest

from assay.sql import empty_input_probe
from many_cases import each

Row = tuple[int, str, float | None, int]
ROWS: list[Row] = [(1, "a", 0.0, 0), (2, "a", 2.0, 0), (3, "b", -2.0, 0), (4, "b", None, 0), (5, "c", None, 0)]
SETUP = (
    "CREATE TABLE t(id INTEGER, g VARCHAR, x DOUBLE, z INTEGER)",
    "INSERT INTO t VALUES (1,'a',0.0,0),(2,'a',2.0,0),(3,'b',-2.0,0),(4,'b',NULL,0),(5,'c',NULL,0)",
    "CREATE TABLE u(id INTEGER, w INTEGER)",
    "INSERT INTO u VALUES (1, 10), (2, 20)",
)
FILTERS: list[tuple[str, Callable[[Row], bool]]] = [
    ("id > 9", lambda row: row[0] > 9),
    ("g = 'q'", lambda row: row[1] == "q"),
    ("g = 'a' AND id > 2", lambda row: row[1] == "a" and row[0] > 2),
    ("COALESCE(x, 0) > 100 OR g IN ('q', 'A')", lambda row: (row[2] or 0) > 100 or row[1] in ("q", "A")),
    ("id < 3", lambda row: row[0] < 3),
    ("g = 'c'", lambda row: row[1] == "c"),
    ("x IS NULL", lambda row: row[2] is None),
    ("id BETWEEN 1 AND 3", lambda row: 1 <= row[0] <= 3),
]
PLAIN = ["COUNT(*)", "COUNT(x)", "COUNT(DISTINCT g)", "SUM(x)", "SUM(z)", "MIN(x)", "MAX(g)", "AVG(z)", "SUM(x * z)"]
CONDITIONAL = [
    "COUNT(CASE WHEN {f} THEN 1 END)",
    "COUNT(DISTINCT CASE WHEN {f} THEN id ELSE NULL END)",
    "SUM(CASE WHEN {f} THEN z + 1 ELSE 0 END)",
    "SUM(CASE WHEN {f} THEN z END)",
    "AVG(CASE WHEN {f} THEN 1.0 ELSE 0.0 END)",
    "MAX(CASE WHEN {f} THEN z END)",
    "SUM(z) FILTER (WHERE {f})",
    "COUNT(*) FILTER (WHERE {f})",
    "SUM(CAST(({f}) AS INTEGER))",
    "COUNT(({f}) OR NULL)",
    "SUM(COALESCE(CASE WHEN {f} THEN z END, 0))",
    "SUM(z * CASE WHEN {f} THEN 1 ELSE 0 END)",
    "SUM(CASE WHEN NOT ({f}) THEN 0 ELSE z END)",
]
WRAPPED = [
    "{a}",
    "ROUND(CAST({a} AS REAL), 2)",
    "COALESCE({a}, 0)",
    "{a} * 100.0 / 7",
    "-({a})",
    "CASE WHEN {a} IS NULL THEN NULL ELSE {a} END",
]
NUMBERS = [aggregate for aggregate in PLAIN if "g" not in aggregate.replace("COUNT(DISTINCT g)", "").lower()]


Built = tuple[str, bool]
"""A query, and whether every relation that its row is computed over is empty."""


class Corpus:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def queries(self, count: int) -> Iterator[Built]:
        shapes = [self._wrapped, self._two, self._cte, self._nested, self._correlated, self._share, self._groups]
        shapes += [self._two, self._two, self._join, self._exists, self._sum_of_counts]
        for _ in range(count):
            yield self._random.choice(shapes)()

    def _filter(self) -> tuple[str, bool]:
        text, holds = self._random.choice(FILTERS)
        return text, not any(map(holds, ROWS))

    def _aggregate(self) -> tuple[str, str, bool]:
        """An aggregate, its FROM, and whether it is over nothing."""
        text, empty = self._filter()
        if self._random.random() < 0.5:
            return self._random.choice(NUMBERS), f"FROM t WHERE {text}", empty
        inner, _ = self._filter()
        holds, takes = dict(FILTERS)[text], dict(FILTERS)[inner]
        both = not any(holds(row) and takes(row) for row in ROWS)
        return self._random.choice(CONDITIONAL).format(f=inner), f"FROM t WHERE {text}", both

    def _wrapped(self) -> Built:
        aggregate, source, empty = self._aggregate()
        having = self._random.choice(["", " HAVING COUNT(*) >= 0", " ORDER BY 1 LIMIT 1"])
        return f"SELECT {self._random.choice(WRAPPED).format(a=aggregate)} AS a {source}{having}", empty

    def _two(self) -> Built:
        one, source, empty = self._aggregate()
        two, other, nothing = self._aggregate()
        outer = self._random.choice(["a - b", "p.a + q.b", "a, b", "*"])
        query = self._random.choice(
            [
                f"SELECT (SELECT {one} {source}), (SELECT {two} {other})",
                f"SELECT {outer} FROM (SELECT {one} AS a {source}) AS p, (SELECT {two} AS b {other}) AS q",
                f"SELECT {one} {source} UNION SELECT {two} {other}",
            ]
        )
        return query, empty and nothing

    def _cte(self) -> Built:
        aggregate, source, empty = self._aggregate()
        columns = self._random.choice(["", "(k)"])
        star = self._random.choice(["*", "k", "c.k", "COALESCE(k, 0)"])
        return f"WITH c{columns} AS (SELECT {aggregate} AS k {source}) SELECT {star} FROM c", empty

    def _nested(self) -> Built:
        text, empty = self._filter()
        return f"SELECT {self._random.choice(NUMBERS)} FROM (SELECT * FROM t WHERE {text}) AS d", empty

    def _correlated(self) -> Built:
        far = self._random.choice([0, 40])
        return f"SELECT (SELECT SUM(z) FROM t WHERE t.id = o.id + {far}) FROM u AS o WHERE o.id = 1", far == 40

    def _share(self) -> Built:
        inner, none = self._filter()
        aggregate = self._random.choice(["COUNT(CASE WHEN {f} THEN 1 END)", "SUM(CASE WHEN {f} THEN 1 ELSE 0 END)"])
        return f"SELECT {aggregate.format(f=inner)} * 100.0 / COUNT(*) FROM t", none

    def _groups(self) -> Built:
        text, _ = self._filter()
        many = self._random.choice([1, 5])
        # Of the groups that the filter leaves, those with many rows are counted.
        sizes = [sum(dict(FILTERS)[text](row) and row[1] == name for row in ROWS) for name in "abc"]
        counted = f"SELECT g FROM t WHERE {text} GROUP BY g HAVING COUNT(*) >= {many}"
        return f"SELECT COUNT(*) FROM ({counted}) AS d", max(sizes) < many

    def _join(self) -> Built:
        apart, aggregate = self._random.choice([0, 40]), self._random.choice(["SUM(z)", "COUNT(*)", "MIN(w)"])
        return f"SELECT {aggregate} FROM t JOIN u ON t.id = u.id + {apart}", apart == 40

    def _exists(self) -> Built:
        text, empty = self._filter()
        return f"SELECT EXISTS (SELECT 1 FROM t WHERE {text})", empty

    def _sum_of_counts(self) -> Built:
        aggregate, source, empty = self._aggregate()
        return f"SELECT SUM(n) FROM (SELECT {aggregate} AS n {source}) AS d", empty


def _connect(engine: str) -> sqlite3.Connection | duckdb.DuckDBPyConnection:
    connection = sqlite3.connect(":memory:") if engine == "sqlite" else duckdb.connect(":memory:")
    for statement in SETUP:
        connection.execute(statement)
    return connection


def _says_nothing(connection: sqlite3.Connection | duckdb.DuckDBPyConnection, query: str, engine: str) -> bool:
    probe = empty_input_probe(query, engine)
    if probe is None:
        return False
    rows = connection.execute(probe).fetchall()
    own = connection.execute(query).fetchall()
    if len(rows) == 1 and rows[0][-1] == 1:
        assert [row[:-1] for row in rows] == own, "the probe is the query with a column more"
    return len(rows) == 1 and rows[0][-1] == 1


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_row_is_over_nothing_exactly_where_every_relation_under_it_is_empty(engine: str) -> None:
    connection = _connect(engine)
    seen = {True: 0, False: 0}
    for query, over_nothing in Corpus(14).queries(1_000):
        rows = connection.execute(query).fetchall()
        if len(rows) != 1 or any(cell is not None and cell != 0 for cell in rows[0]):
            assert len(rows) != 1 or not over_nothing, query
            continue
        seen[over_nothing] += 1
        assert _says_nothing(connection, query, engine) == over_nothing, query
    connection.close()
    assert min(seen.values()) > 150


@each("engine", ["sqlite", "duckdb"])
@each(
    ("query", "over_nothing"),
    [
        ("SELECT COUNT(*) FROM t WHERE id > 9 EXCEPT SELECT COUNT(*) FROM t", True),
        ("SELECT COUNT(*) FROM t WHERE id > 9 UNION SELECT 0", False),
        ("SELECT COUNT(*) FROM t WHERE id > 9 INTERSECT SELECT COUNT(*) FROM t WHERE g = 'q'", True),
        ("SELECT COUNT(*) FROM t WHERE id > 9 INTERSECT SELECT SUM(z) FROM t", False),
        ("SELECT SUM(z) FROM t", False),
        ("SELECT COUNT(x) FROM t WHERE g = 'c'", False),
        ("SELECT MAX(x) FROM t WHERE g = 'c'", False),
        ("SELECT z FROM t WHERE id = 1", False),
        ("SELECT SUM(z) OVER () FROM t WHERE id = 1", False),
        ("SELECT 0", False),
        ("SELECT (SELECT g FROM t WHERE id > 9)", True),
        ("SELECT (SELECT x FROM t WHERE id = 5)", False),
        ("SELECT (SELECT x FROM t WHERE id > 9 ORDER BY x DESC LIMIT 1)", True),
        ("SELECT MAX(x) FROM t WHERE id > 3 HAVING COUNT(*) > 1", False),
        ("SELECT COUNT(CASE WHEN g = 'a' AND x = 7 THEN 1 END) FROM t GROUP BY g ORDER BY g LIMIT 1", True),
        ("SELECT 3 IN (SELECT id FROM t WHERE id > 9)", True),
        ("SELECT 7 IN (SELECT id FROM t)", False),
        ("SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM t WHERE id > 9) AS d WHERE n > 0", True),
        ("SELECT a.n FROM (SELECT 1 AS k) AS b LEFT JOIN (SELECT 2 AS k, COUNT(*) AS n FROM t) AS a USING (k)", False),
        ("WITH RECURSIVE r(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM r WHERE n < 0) SELECT n - 1 FROM r", False),
        ("SELECT d.* FROM (SELECT COUNT(*) FROM t WHERE id > 9) AS d", True),
        ("SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM t WHERE id > 9 UNION ALL SELECT SUM(z) FROM t) AS d", False),
        ("WITH c AS (SELECT COUNT(*) AS n FROM t WHERE id > 9) SELECT p.n + q.n FROM c AS p, c AS q", True),
    ],
)
def test_each_shape_has_its_own_meaning_of_nothing(engine: str, query: str, *, over_nothing: bool) -> None:
    connection = _connect(engine)
    assert _says_nothing(connection, query, engine) == over_nothing
    connection.close()


@each("query", ["SELECT FROM WHERE", "DELETE FROM t", "VALUES (0)", "SELECT id FROM t", ""])
def test_where_nothing_can_be_found_out_there_is_no_probe(query: str) -> None:
    assert empty_input_probe(query, "sqlite") is None


def test_deep_nesting_is_traced_once_per_level() -> None:
    query = "SELECT COUNT(*) AS n FROM t WHERE id > 9"
    for _ in range(20):
        query = f"SELECT d.n * d.n AS n FROM ({query}) AS d"
    connection = _connect("duckdb")
    assert _says_nothing(connection, query, "duckdb")
    connection.close()
