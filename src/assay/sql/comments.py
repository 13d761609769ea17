"""The comments of a query, and the query without them, if all dialects agree on what a comment is."""

from __future__ import annotations

import re
from functools import lru_cache

from assay.sql.reader import reader

_COMMENT = re.compile(r"--[^\r\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
# Where dialects differ on comments: nested comments, MySQL's executed comments, templates, strings with unusual quotes
# or escapes, and a line that ends in a carriage return only.
_DOUBTFUL = re.compile(r"/\*(?:(?!\*/).)*/\*|/\*!|\{#|\\['\"`]|\$\w*\$|--[^\n]*\r(?!\n)", re.DOTALL)
_MYSQL_FAMILY = frozenset({"mysql", "doris", "starrocks", "singlestore", "mariadb"})
# There, two hyphens open a comment only before a blank.
_TWO_MINUSES = re.compile(r"--(?![\s\0]|\Z)")


def without_comments(query: str, dialect: str | None = None) -> str:
    """The query with each comment and optimizer hint replaced by a blank.

    All other characters stay as they are, strings above all. The text is returned unchanged if it cannot be read, or if
    dialects disagree on what is a comment in it: one dialect's comment may be executed by another, and nothing that may
    be executed must be hidden.
    """
    if "--" not in query and "/*" not in query:
        return query
    if _DOUBTFUL.search(query) or (dialect in _MYSQL_FAMILY and _TWO_MINUSES.search(query)):
        return query
    from sqlglot import TokenType
    from sqlglot.errors import SqlglotError

    try:
        tokens = reader(dialect).tokenize(query)
    except (SqlglotError, ValueError):
        return query
    kept: list[str] = []
    place = 0
    for token in tokens:
        if token.token_type == TokenType.HINT:
            continue  # a hint is one token, and is dropped with the gap
        kept += [_without(query[place : token.start]), query[token.start : token.end + 1]]
        place = token.end + 1
    return "".join([*kept, _without(query[place:])])


@lru_cache(maxsize=4096)
def comments_of(query: str, dialect: str) -> tuple[str, ...]:
    """The texts of a query's comments; empty if it cannot be tokenized."""
    from sqlglot.errors import SqlglotError

    if "--" not in query and "/*" not in query and "#" not in query:
        return ()
    try:
        tokens = reader(dialect).tokenize(query)
    except (SqlglotError, ValueError):
        return ()
    return tuple(comment for token in tokens for comment in token.comments)


def _without(gap: str) -> str:
    """The text between two tokens, which holds blanks and comments, without its comments."""
    return _COMMENT.sub(" ", gap)
