"""A query without its comments, where it is beyond doubt what a comment is."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"--[^\r\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
# Where dialects differ on what a comment is: one within another, MySQL's executed ones, templates, strings
# with other signs round them or in them, a line that ends in a carriage return alone.
_DOUBTFUL = re.compile(r"/\*(?:(?!\*/).)*/\*|/\*!|\{#|\\['\"`]|\$\w*\$|--[^\n]*\r(?!\n)", re.DOTALL)
_MYSQL_FAMILY = frozenset({"mysql", "doris", "starrocks", "singlestore", "mariadb"})
# There, two hyphens open a comment only before a blank.
_TWO_MINUSES = re.compile(r"--(?![\s\0]|\Z)")


def without_comments(query: str, dialect: str | None = None) -> str:
    """The query with a blank in the place of each comment and optimizer hint; else as it is.

    What is no comment stays sign for sign, strings above all. The text comes back whole where it cannot
    be read, and where dialects disagree on what is a comment in it: what one takes for a comment,
    another would execute, and nothing that may be executed is to be hidden.
    """
    if "--" not in query and "/*" not in query:
        return query
    if _DOUBTFUL.search(query) or (dialect in _MYSQL_FAMILY and _TWO_MINUSES.search(query)):
        return query
    from sqlglot import Dialect, TokenType
    from sqlglot.errors import SqlglotError

    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(query)
    except (SqlglotError, ValueError):
        return query
    kept: list[str] = []
    place = 0
    for token in tokens:
        if token.token_type == TokenType.HINT:
            continue  # the whole of it is one token, and goes with the gap
        kept += [_without(query[place : token.start]), query[token.start : token.end + 1]]
        place = token.end + 1
    return "".join([*kept, _without(query[place:])])


def _without(gap: str) -> str:
    """What stands between two tokens: blanks and comments."""
    return _COMMENT.sub(" ", gap)
