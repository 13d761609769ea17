"""Statements that a system under test might answer with, and what must become of each.

A row is a name, the statement, and the kinds of failure that are right for it; ``rows`` stands for
no failure. Several kinds where it depends on the library's version or the machine's speed which
limit a statement meets first.
"""

from __future__ import annotations

from typing import NamedTuple


class Hostile(NamedTuple):
    name: str
    sql: str
    kinds: frozenset[str]


class Gap(NamedTuple):
    """What an engine does not hold where it is connected as an administrator: only a role without the right does."""

    name: str
    sql: str
    reason: str


_LARGE = ("rows", "error", "timeout", "out_of_memory")
"""Of a text so large that reading it meets a limit, whichever is first: each is a harmless end."""


def row(name: str, sql: str, *kinds: str) -> Hostile:
    return Hostile(name, sql, frozenset(kinds))


def once(rows: list[Hostile]) -> list[Hostile]:
    """Each statement once: where a family spells what a later row asks, that row counts."""
    return list({hostile.sql: hostile for hostile in rows}.values())


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"


def doubling(steps: int) -> str:
    """A query of so few lines whose result has 2 ** 2 ** steps rows."""
    links = [f"c{step} AS (SELECT x.v FROM c{step - 1} x, c{step - 1} y)" for step in range(1, steps + 1)]
    return f"WITH c0(v) AS (SELECT 1 UNION ALL SELECT 2), {', '.join(links)} SELECT count(*) FROM c{steps}"


NESTED = "(" * 20_000 + "1" + ")" * 20_000
LONG = "SELECT 1 -- " + "x" * 10_000_000

ANYWHERE = [
    row("insert", "INSERT INTO t VALUES (9, 'x')", "writes"),
    row("update", "UPDATE t SET b = 'x'", "writes"),
    row("delete", "DELETE FROM t", "writes"),
    row("delete behind a comment", "/* SELECT 1 */ DELETE FROM t", "writes"),
    row("insert after a with clause", "WITH x AS (SELECT 9 AS a, 'x' AS b) INSERT INTO t SELECT * FROM x", "writes"),
    row("create table", "CREATE TABLE evil AS SELECT * FROM t", "writes"),
    row("create temporary table", "CREATE TEMP TABLE evil(a INTEGER)", "writes"),
    row("create view", "CREATE VIEW evil AS SELECT * FROM t", "writes"),
    row("create index", "CREATE INDEX evil ON t(a)", "writes"),
    row("drop table", "DROP TABLE t", "writes"),
    row("drop if exists", "DROP TABLE IF EXISTS t", "writes"),
    row("alter table", "ALTER TABLE t ADD COLUMN evil INTEGER", "writes"),
    row("rename table", "ALTER TABLE t RENAME TO evil", "writes"),
    row("vacuum", "VACUUM", "writes"),
    row("explain a delete", "EXPLAIN DELETE FROM t", "writes"),
    row("second statement", "SELECT 1; DROP TABLE t", "several_statements"),
    row("second statement behind a comment", "SELECT 1; -- that was all\nDROP TABLE t", "several_statements"),
    row(
        "second statement hidden by comments",
        "SELECT 1 /* ; */ ; /* -- */ DELETE FROM t /*",
        "several_statements",
        "error",
    ),
    row("two queries", "SELECT 1; SELECT 2", "several_statements"),
    row("begin", "BEGIN", "refused"),
    row("commit", "COMMIT", "refused"),
    row("empty", "", "no_query"),
    row("only a comment", "-- DROP TABLE t", "no_query"),
    row("only semicolons", ";;;", "no_query"),
    row("prose", "I am sorry, but I cannot answer that.", "error"),
    row("endless recursion", f"{ENDLESS} SELECT count(*) FROM n", "timeout"),
    row("endless rows", f"{ENDLESS} SELECT i FROM n", "truncated", "timeout"),
    row("ten million rows", f"{ENDLESS} SELECT i FROM n LIMIT 10000000", "truncated", "timeout"),
    row("deep nesting", f"SELECT {NESTED}", "error", "crashed"),
    row("long sum", "SELECT " + "1+" * 50_000 + "1", "error", "crashed"),
    row("10 MB of text", LONG, *_LARGE),
    row("null byte outside of text", "SELECT 1 \0 ; DROP TABLE t", "error", "several_statements"),
    row("null byte first", "\0", "error"),
    row("lone surrogate", "SELECT '\ud800'", "error"),
    row("surrogate escape", "SELECT * FROM \udcff", "error"),
    row("parameter", "SELECT * FROM t WHERE a = ?", "error"),
    row("byte order mark first", "\ufeffDELETE FROM t", "writes", "error"),
    row("other spaces", "\u00a0DELETE\u2003FROM\u3000t", "error", "writes"),
    row("text turned around", "SELECT '\u202e' ; DROP TABLE t -- \u202d", "several_statements"),
    row("open text", "SELECT 'open; DROP TABLE t", "error"),
    row("open name", 'SELECT "open; DROP TABLE t', "error"),
    row("dropped after a commit", "COMMIT; DROP TABLE t; BEGIN", "several_statements", "refused"),
    row("query, commit, drop", "SELECT 1; COMMIT; DROP TABLE t", "several_statements"),
    row("a million columns", "SELECT " + "1," * 999_999 + "1", "error", "timeout", "out_of_memory", "truncated"),
    row(
        "five thousand tables",
        "SELECT count(*) FROM t" + ", t".join(f" a{i}" for i in range(5000)),
        "error",
        "timeout",
        "crashed",
    ),
    row("rows that double and double", doubling(7), "timeout", "out_of_memory"),
    row(
        "subqueries in subqueries", "SELECT * FROM (" * 3000 + "SELECT 1" + ") x" * 3000, "error", "crashed", "timeout"
    ),
    row("case in case", "SELECT " + "CASE WHEN 1=1 THEN " * 5000 + "1" + " END" * 5000, "error", "crashed", "timeout"),
    row("not not not", "SELECT " + "NOT " * 100_000 + "(1=1)", "error", "crashed", "timeout"),
    row("a number of a million digits", "SELECT " + "9" * 900_000, *_LARGE),
    row("a list of a hundred thousand", "SELECT 1 IN (" + "1," * 100_000 + "1)", *_LARGE),
    row("a name of a million letters", f'SELECT 1 AS "{"x" * 900_000}"', *_LARGE),
    row("missing table", "SELECT * FROM no_such_table", "error"),
]
