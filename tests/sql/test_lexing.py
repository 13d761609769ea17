"""SQL text in pieces, by PostgreSQL's lexical rules: each kind of piece in any company."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from assay.sql import without_comments
from assay.sql.lexing import Piece, pieces
from many_cases import each

PIECES = {
    "word": ["a", "SELECT", "_x$1", "größe", "1", "1.5", ".5", "5.", "1e5", "1.e-3", "0x4F", "0b01", "1_000", "\u2028"],
    "name": ['"a"', '"a b"', '""', '"a""b"', 'U&"d\\0061"', 'u&"x"'],
    "text": [
        *("'a'", "''", "'it''s'", "'a\n;b'", "'\\'", "E'\\''", "E'\\\n'", "e'a''b'", "B'01'", "x'41'", "N'a'"),
        "U&'\\0061'",
        *("$$a;'b$$", "$tag$ $$ ; $tag$", "E'a'\n  'b\\''", "E'a' -- c\n 'b'", "$ä$x\ny$ä$"),
    ],
    "sign": [",", ";", "(", ")", "*", "+", "=", "<", ">", "!", "|", ":", "[", "]", "%", "?", "@", "#", "\\"],
}
OPEN = ["'a", "'a''", "E'a\\'", "$$a", "$x$ $$", '"a', '"a""', "/* a", "/* /* */", "U&'a", 'U&"a']
BETWEEN = [" ", "\n", "\t\r\f\v", " -- a ; ' \n", "/* ; ' */", "/* a /* b */ c */", "/**/", "--\n", "/*\n*/"]
KINDS = [(kind, text) for kind, texts in PIECES.items() for text in texts]


def _cut(text: str) -> list[tuple[str, str]]:
    return [(piece.kind, piece.text) for piece in pieces(text)]


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(BETWEEN)), max_size=8), st.sampled_from(["", *OPEN]))
def test_a_text_is_cut_into_what_it_was_made_of(made: list[tuple[tuple[str, str], str]], last: str) -> None:
    """A literal goes on in one behind a line's end where it is an E'', so that then a word stands between."""
    parts: list[tuple[str, str]] = []
    text = ""
    for piece, between in made:
        parts += [piece, ("word", "x")]
        text += f"{piece[1]}{between} x\n"
    if last:
        parts.append(("open", last))
    assert _cut(text + last) == parts


@each(
    ("text", "expected"),
    [
        ("1a", ["1", "a"]),
        ("a.b", ["a", ".", "b"]),
        ("a-- b\n-c", ["a", "-", "c"]),
        ("a/b", ["a", "/", "b"]),
        ("'a' 'b'", ["'a'", "'b'"]),
        ("E'a' 'b'", ["E'a'", "'b'"]),
        ("E'a'\n'b'", ["E'a'\n'b'"]),
        ("$1$", ["$", "1", "$"]),
        ("a$b$c", ["a$b$c"]),
        ("\u00a0a", ["\u00a0a"]),
        ("-- a", []),
        ("", []),
    ],
)
def test_what_runs_into_each_other_is_told_apart(text: str, expected: list[str]) -> None:
    assert [piece.text for piece in pieces(text)] == expected


@each(
    ("text", "name", "escaped"),
    [
        ("AZaz_[", "azaz_", False),
        ("GRÖSSE", "grÖsse", False),
        ('"A Z"', "A Z", False),
        ('"a""b"', 'a"b', False),
        ('U&"A"', "A", True),
        ('u&"A"', "A", True),
        *((sign, sign, False) for sign in "[]@`"),  # a sign that follows Z in the alphabet of codes has no other case
    ],
)
def test_a_name_is_read_as_the_server_reads_it(text: str, name: str, escaped: bool) -> None:
    first = next(pieces(text))
    assert (first.name, first.is_unicode_escaped) == (name, escaped)


@given(st.text(alphabet="eEuU&'\"$a;/*-(\\\n \u00a0\u00e9", max_size=40))
def test_pieces_stand_where_they_say_and_only_the_last_is_open(text: str) -> None:
    found: list[Piece] = list(pieces(text))
    assert all(text[piece.start : piece.end] == piece.text for piece in found)
    assert all(one.end <= two.start and one.kind != "open" for one, two in pairwise(found))
    if found and found[-1].kind == "open":
        assert found[-1].end == len(text)


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
