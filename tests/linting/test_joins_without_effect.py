"""A join that is said to change nothing changes no row, on any data that honours the declared keys."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from contextlib import closing

from golds import one_case

from assay.linting.apply import lint_gold
from assay.model.lint import LintOptions
from assay.sql.schema import SchemaNames
from assay.sql.schema.ddl import read_ddl

TABLES = """
CREATE TABLE parent (id INTEGER PRIMARY KEY, v INTEGER);
CREATE TABLE child (id INTEGER PRIMARY KEY, own INTEGER REFERENCES parent (id), v INTEGER,
                    sure INTEGER NOT NULL REFERENCES parent (id));
CREATE TABLE other (id INTEGER PRIMARY KEY, v INTEGER);
"""
NAMES = SchemaNames(read_ddl(TABLES, "sqlite").schema)
ON = ("p.id = c.own", "c.sure = p.id", "c.sure = p.rowid", "c.own = p.id")
WHERE = (
    "",
    "c.own IS NOT NULL",
    "c.own > 0",
    "c.own IS NULL",
    "c.own IS NOT 1",
    "NOT c.own = 1",
    "c.v = 1 OR c.own = 1",
)


def _query(chance: random.Random) -> tuple[str, str]:
    """A query that joins the parents for nothing else, and the same without them."""
    side, on = chance.choice(("", "LEFT ", "RIGHT ")), chance.choice(ON)
    tables = ["child AS c", "parent AS p"]
    chance.shuffle(tables)
    third = chance.choice(("", " LEFT JOIN other AS o ON o.id = c.v", " JOIN other AS o ON o.id = c.v"))
    joined = f"{tables[0]} {side}JOIN {tables[1]} ON {on}"
    condition = chance.choice(WHERE)
    where = f" WHERE {condition}" if condition else ""
    return f"SELECT c.v FROM {joined}{third}{where}", f"SELECT c.v FROM child AS c{third}{where}"


def _fill(connection: sqlite3.Connection, chance: random.Random) -> None:
    for table in ("parent", "child", "other"):
        connection.execute(f"DELETE FROM {table}")
    parents = range(1, chance.randint(2, 4))
    connection.executemany("INSERT INTO parent VALUES (?, ?)", [(number, chance.randint(1, 2)) for number in parents])
    connection.executemany(
        "INSERT INTO child VALUES (NULL, ?, ?, ?)",
        [(chance.choice([None, *parents]), chance.randint(1, 3), chance.choice(parents)) for _ in range(4)],
    )
    connection.execute("INSERT INTO other VALUES (1, 1), (3, 1)")


def test_a_query_without_a_join_that_does_nothing_gives_the_same_rows() -> None:
    found: Counter[bool] = Counter()
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(TABLES)
        for seed in range(600):
            chance = random.Random(seed)
            query, without = _query(chance)
            done = lint_gold(
                one_case(query),
                LintOptions(only=frozenset({"unused-join"})),
                dialect="sqlite",
                names=NAMES,
                database=None,
            )
            found[bool(done.findings)] += 1
            for _ in range(6 if done.findings else 0):
                _fill(connection, chance)
                rows = [Counter(connection.execute(text)) for text in (query, without)]
                assert rows[0] == rows[1], query
    assert min(found.values()) > 100
