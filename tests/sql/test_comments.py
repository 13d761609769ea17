"""Queries without their comments: nothing that may be executed goes, and what is left does the same."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st

from assay.sql import without_comments
from many_cases import each


@each(
    ("query", "left"),
    [
        ("SELECT 1 -- one\n, 2", "SELECT 1  \n, 2"),
        ("SELECT/* a */1/* b\nc */", "SELECT 1 "),
        ("-- first\nSELECT 1", " \nSELECT 1"),
        ("SELECT '-- a', \"/* b */\", [-- c], `-- d` -- e", "SELECT '-- a', \"/* b */\", [-- c], `-- d`  "),
        ("SELECT 'it''s -- fine'--x", "SELECT 'it''s -- fine' "),
        ("SELECT 1", "SELECT 1"),
        ("SELECT a - -1, b--1\r\nFROM t", "SELECT a - -1, b \r\nFROM t"),
    ],
)
def test_comments_go_and_all_else_stays(query: str, left: str) -> None:
    assert without_comments(query, "sqlite") == left


@each(
    ("query", "dialect"),
    [
        ("SELECT 1 /* /* */ WHERE 0 -- */", "sqlite"),  # nested comments: one dialect's comment is another's query
        ("SELECT 1 /*! + 1 */", "mysql"),
        ("SELECT 5--3", "mysql"),
        ("SELECT 'a\\' -- b', c", None),
        ("SELECT $x$ -- $x$, 2", None),
        ("SELECT 1 {# x #} -- y", None),
        ("SELECT 1 -- a\rWHERE 0", "sqlite"),
        ("SELECT 'open -- a", "sqlite"),
        ("SELECT 1 -- a", "no such dialect"),
    ],
)
def test_where_dialects_may_differ_the_query_stays_whole(query: str, dialect: str | None) -> None:
    assert without_comments(query, dialect) == query


_PIECES = st.sampled_from(["SELECT 1", ", 2", " ", "\n", "\r\n", "+ 1", "--", "/*", "*/", "''", *"'\"-/*x[]`;"])


@given(st.lists(_PIECES, max_size=12))
def test_a_query_means_the_same_to_sqlite_without_its_comments(pieces: list[str]) -> None:
    query = "SELECT 1, 2 " + "".join(pieces)
    assert _answer(without_comments(query, "sqlite")) == _answer(query)


def _answer(query: str) -> object:
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            return connection.execute(query).fetchall()
        except (sqlite3.Error, sqlite3.Warning):
            return "error"
