"""Split SQL text into words, names, literals and signs, by PostgreSQL's lexical rules, without parsing it.

Every text can be split, in time linear in its length. This serves to inspect untrusted texts, and to distinguish a
semicolon that separates statements from one in a literal. Literals follow the server's rules
(``standard_conforming_strings`` on): E'' with backslashes and its continuation on the next line, dollar quotes, nested
comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_lowercase, ascii_uppercase
from typing import Literal, NamedTuple

PieceKind = Literal["word", "name", "text", "sign", "open"]
"""``word`` a keyword, bare name or number (letters right after a number are a separate piece); ``name`` a name in
double quotes; ``text`` a literal; ``sign`` one other character; ``open`` a literal, name or comment without its end.
Blanks and comments are omitted."""


class Piece(NamedTuple):
    """One piece of a text, from ``start`` up to ``end``."""

    kind: PieceKind
    text: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """The name as the server reads it: bare names in lower case, others without their quotes."""
        if self.kind != "name":
            return self.text.translate(_LOWER)
        return self.text[self.text.index('"') + 1 : -1].replace('""', '"')

    @property
    def is_unicode_escaped(self) -> bool:
        """Whether it is a name or literal written as U&"...", whose escapes stand for other characters."""
        return self.text[:2] in ("U&", "u&")


_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
_CONTINUES = r"(?>[ \t\f\v]|--[^\n\r]*+)*+[\n\r](?>[ \t\n\r\f\v]++|--[^\n\r]*+[\n\r])*+'"
_ESCAPED_BODY = r"(?>[^'\\]++|\\.|'')*+'"
# Negated classes of ASCII: classes up to the last character take 15 ms to compile.
_FIRST = r"[^\x00-\x40\x5b-\x5e\x60\x7b-\x7f]"
_IN_TAG = r"[^\x00-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]"
_IN_WORD = r"[^\x00-\x23\x25-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]"
_PIECE = re.compile(
    rf"""
      (?P<blank> [ \t\n\r\f\v]++ | --[^\n\r]*+ )
    | (?P<comment> /\* )
    | (?P<text> [eE]'{_ESCAPED_BODY}(?>{_CONTINUES}{_ESCAPED_BODY})*+
              | (?:[bBxXnN]|[uU]&)?'(?>[^']++|'')*+'
              | \$(?P<tag>(?:{_FIRST}{_IN_TAG}*+)?)\$ )
    | (?P<name> (?:[uU]&)?"(?>[^"]++|"")*+" )
    | (?P<open> (?:[eEbBxXnN]|[uU]&)?' | (?:[uU]&)?" )
    | (?P<word> {_FIRST}{_IN_WORD}*+
              | 0[xXoObB][0-9A-Fa-f_]++ | (?:[0-9][0-9_]*+(?>\.[0-9_]*+)?+|\.[0-9][0-9_]*+)(?>[eE][+-]?[0-9]++)?+ )
    | (?P<sign> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_MARK = re.compile(r"/\*|\*/")


def pieces(text: str) -> Iterator[Piece]:
    """The pieces of a text, in order. Never raises; an ``open`` piece is the last."""
    place, length = 0, len(text)
    while place < length:
        found = _PIECE.match(text, place)
        assert found is not None, "the last alternative takes any character"
        start, place = place, found.end()
        kind = found.lastgroup
        if kind == "blank":
            continue
        if kind == "comment":
            place = _comment_end(text, place)
            if place < 0:
                yield Piece("open", text[start:], start, length)
                return
            continue
        if kind == "open":
            place = length
        elif kind == "text" and (tag := found["tag"]) is not None:
            mark = f"${tag}$"
            end = text.find(mark, place)
            place = length if end < 0 else end + len(mark)
            kind = "open" if end < 0 else "text"
        yield Piece(kind, text[start:place], start, place)  # type: ignore[arg-type]


def _comment_end(text: str, place: int) -> int:
    """The end of the comment whose content begins at ``place``, with nested comments; -1 if it does not end."""
    depth = 1
    while found := _COMMENT_MARK.search(text, place):
        depth += 1 if found[0] == "/*" else -1
        place = found.end()
        if depth == 0:
            return place
    return -1
