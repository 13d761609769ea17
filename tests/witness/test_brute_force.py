"""The search against brute force: every database of up to two rows per table over a tiny domain."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, combinations_with_replacement, product

import pytest
from looking import look, made_by_sqlite

ONE = "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT, b INT NOT NULL)"
TWO = """CREATE TABLE p (k INTEGER PRIMARY KEY, x INT);
CREATE TABLE c (p INT REFERENCES p(k), y INT)"""

ON_ONE = (
    "SELECT a FROM t",
    "SELECT DISTINCT a FROM t",
    "SELECT a FROM t WHERE a IS NOT NULL",
    "SELECT a FROM t WHERE a = a",
    "SELECT a FROM t WHERE b > 0",
    "SELECT a FROM t WHERE b >= 0",
    "SELECT a FROM t WHERE b > 0 OR b <= 0",
    "SELECT a FROM t WHERE NOT b <= 0",
    "SELECT a FROM t GROUP BY id",
    "SELECT a FROM t GROUP BY a",
    "SELECT a FROM t WHERE b IN (SELECT b FROM t)",
    "SELECT a FROM t WHERE a IN (SELECT a FROM t)",
    "SELECT a FROM t UNION SELECT a FROM t",
    "SELECT a FROM t UNION ALL SELECT a FROM t WHERE b <> b",
    "SELECT count(*) FROM t",
    "SELECT count(a) FROM t",
    "SELECT count(b) FROM t",
    "SELECT count(DISTINCT a) FROM t",
    "SELECT sum(b) FROM t",
    "SELECT total(b) FROM t",
    "SELECT max(b) FROM t",
    "SELECT b FROM t WHERE b = (SELECT max(b) FROM t)",
    "SELECT DISTINCT b FROM t WHERE b >= (SELECT max(b) FROM t)",
)
ON_TWO = (
    "SELECT x FROM p",
    "SELECT x FROM p WHERE k IN (SELECT p FROM c)",
    "SELECT x FROM p JOIN c ON k = p",
    "SELECT DISTINCT x FROM p JOIN c ON k = p",
    "SELECT x FROM p WHERE EXISTS (SELECT * FROM c WHERE p = k)",
    "SELECT x FROM p LEFT JOIN c ON k = p",
    "SELECT x FROM p WHERE k NOT IN (SELECT p FROM c)",
    "SELECT x FROM p WHERE NOT EXISTS (SELECT * FROM c WHERE p = k)",
    "SELECT x FROM p LEFT JOIN c ON k = p WHERE p IS NULL",
    "SELECT x FROM c JOIN p ON p = k",
    "SELECT x FROM p WHERE k IN (SELECT p FROM c WHERE y = 1)",
    "SELECT x FROM p JOIN c ON k = p WHERE y = 1",
    "SELECT x FROM p JOIN c ON k = p AND y = 1",
    "SELECT x FROM p LEFT JOIN c ON k = p AND y = 1",
)


def _bags(rows: Sequence[tuple[object, ...]], most: int) -> Iterator[tuple[tuple[object, ...], ...]]:
    for size in range(most + 1):
        yield from combinations_with_replacement(rows, size)


def _databases_of_one() -> Iterator[list[str]]:
    for size in range(3):
        for ids in combinations((1, 2), size):
            for cells in product(product((None, 0, 1), (0, 1)), repeat=size):
                yield [
                    f"INSERT INTO t VALUES ({key}, {'NULL' if a is None else a}, {b})"
                    for key, (a, b) in zip(ids, cells, strict=True)
                ]


def _databases_of_two() -> Iterator[list[str]]:
    for size in range(3):
        for keys in combinations((1, 2), size):
            for xs in product((0, 1), repeat=size):
                parents = [f"INSERT INTO p VALUES ({key}, {x})" for key, x in zip(keys, xs, strict=True)]
                possible = list(product((None, *keys), (0, 1)))
                for children in _bags(possible, 2):
                    yield parents + [
                        f"INSERT INTO c VALUES ({'NULL' if key is None else key}, {y})" for key, y in children
                    ]


def _told_apart(ddl: str, databases: Iterator[list[str]], queries: Sequence[str]) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.executescript(ddl)
        for statements in databases:
            connection.execute("BEGIN")
            for statement in statements:
                connection.execute(statement)
            results = {query: Counter(connection.execute(query).fetchall()) for query in queries}
            connection.execute("ROLLBACK")
            for one, two in combinations(queries, 2):
                if results[one] != results[two]:
                    found.add((one, two))
    finally:
        connection.close()
    return found


APART_ONE = _told_apart(ONE, _databases_of_one(), ON_ONE)
APART_TWO = _told_apart(TWO, _databases_of_two(), ON_TWO)


@pytest.mark.parametrize(("ddl", "queries", "apart"), [(ONE, ON_ONE, APART_ONE), (TWO, ON_TWO, APART_TWO)])
def test_search_and_brute_force_say_the_same(ddl: str, queries: Sequence[str], apart: set[tuple[str, str]]) -> None:
    """What brute force tells apart the search refutes; what the search refutes, plain sqlite3 confirms."""
    assert apart, "the domain tells nothing apart"
    assert len(apart) < len(queries) * (len(queries) - 1) // 2, "no pair is equivalent"
    for one, two in combinations(queries, 2):
        outcome = look(one, two, ddl)
        assert outcome.kind in ("refuted", "unknown"), (one, two, outcome)
        if (one, two) in apart:
            assert outcome.kind == "refuted", (one, two, outcome)
        if outcome.kind == "refuted":
            first, second = made_by_sqlite(outcome, (one, two))
            assert Counter(first) != Counter(second), (one, two, outcome)
            assert (list(outcome.witness.first.rows), list(outcome.witness.second.rows)) == (first, second)
