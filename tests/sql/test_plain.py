"""Plain queries are known by their text: what is said of them is what the parser says, and nothing else is plain."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st

from assay.sql import empty_input_probe, is_plain
from assay.sql.probes.empty_input import traced_probe
from many_cases import each

ROWS = [("a", 1, None), ("it's", 0, 2.5), ('say "x"', -3, 0.0), ("select (1); --", 7, None)]
LITERALS = st.sampled_from(["1", "-3", "2.5", "0", "'a'", "'it''s'", "'select (1); --'", "'order by limit'", "NULL"])
NAMES = st.sampled_from(['"name"', '"No. of"', '"x"'])
CONDITIONS = st.builds(lambda n, o, v: f"{n} {o} {v}", NAMES, st.sampled_from(["=", ">", "<=", "<>", "!="]), LITERALS)
WHERES = st.lists(CONDITIONS, max_size=3).map(lambda found: f" WHERE {' AND '.join(found)}" if found else "")
ITEMS = NAMES | st.builds(
    lambda f, n: f"{f}({n})", st.sampled_from(["MIN", "max", "SUM", "AVG", "count", "COUNT"]), NAMES
)
QUERIES = st.builds(
    lambda item, blank, where: f'SELECT {item}{blank}FROM{blank}"t 1"{where}',
    ITEMS,
    st.sampled_from([" ", "\n", "  "]),
    WHERES,
)


def rows_of(query: str | None) -> list[tuple[object, ...]] | None:
    if query is None:
        return None
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute('CREATE TABLE "t 1" ("name" TEXT, "No. of" INT, "x" REAL)')
        connection.executemany('INSERT INTO "t 1" VALUES (?, ?, ?)', ROWS)
        return connection.execute(query).fetchall()


@given(query=QUERIES)
def test_the_probe_of_a_plain_query_is_the_parsers(query: str) -> None:
    assert is_plain(query)
    probe, traced = empty_input_probe(query, "sqlite"), traced_probe(query, "sqlite")
    assert rows_of(probe) == rows_of(traced)


@each(
    "query",
    [
        'SELECT "a" FROM "t" WHERE "b" IN (1, 2)',
        'SELECT "a" FROM "t" WHERE "b" = 1 ORDER BY "a"',
        'SELECT "a" FROM "t" WHERE "b" = 1 limit 1',
        'SELECT COUNT("a") FROM "t" WHERE "b" = 1 GROUP BY "c"',
        'SELECT MAX("a") FROM "t" WHERE "b" = 1 HAVING MAX("a") > 1',
        'SELECT MAX("a") FROM "t" WHERE "b" = 1 UNION SELECT 1',
        'SELECT MAX("a") FROM "t" WHERE "b" = (SELECT 1)',
        'SELECT MAX("a") FROM "t" WHERE "b" = 1; SELECT 1',
        'SELECT MAX("a") FROM "t" -- a comment',
        'SELECT MAX("a") FROM "t" WHERE "b" = 1 /* a comment */',
        'SELECT MAX("a") FROM "t", "u"',
        'SELECT MAX("a"), MIN("a") FROM "t"',
        'SELECT COUNT(DISTINCT "a") FROM "t"',
        'SELECT COUNT(*) FROM "t"',
        'SELECT MAX("a") FROM "t" WHERE "b" = \'open',
        'SELECT MAX("a") FROM "t" WHERE "b" = 1 WINDOW w AS "c"',
        'SELECT DISTINCT "a" FROM "t"',
        'SELECT "a" FROM "t" JOIN "u"',
        'SELECT "a" FROM "t" LIMIT 1',
        "SELECT a FROM t",
        "VALUES 1",
        "",
    ],
)
def test_what_needs_a_closer_look_is_not_plain(query: str) -> None:
    assert not is_plain(query)
