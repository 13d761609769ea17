"""Statements that come from elsewhere and are executed to make empty tables: what they may say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import Token

_BEFORE_KIND = frozenset({"or", "replace", "temp", "temporary", "virtual"})
_QUOTED = ("IDENTIFIER", "STRING")
_FILLS = frozenset({"as", "select", "values", "from"})
"""Words after a table's columns by which it would be filled as it is made."""


def only_makes(statement: str, kind: str, dialect: str) -> bool:
    """Whether a statement makes one empty table, or one view, and does nothing else."""
    tokens = _tokens(statement, dialect)
    words = ["" if token.token_type.name in _QUOTED else token.text.lower() for token in tokens]
    if tokens and tokens[-1].token_type.name == "SEMICOLON":
        tokens, words = tokens[:-1], words[:-1]
    place = next((number for number, word in enumerate(words[1:], 1) if word not in _BEFORE_KIND), len(words))
    if not words or words[0] != "create" or place == len(words) or words[place] != kind or not _is_one(tokens):
        return False
    if kind == "view" or "virtual" in words[:place]:
        return True
    # Between its outermost parentheses stand the columns. Without these it would be filled by a query.
    first = next((number for number, token in enumerate(tokens) if token.token_type.name == "L_PAREN"), len(tokens))
    named = words[place + 1 : first]
    end = _end(tokens, first)
    return 0 < len(named) <= 6 and _FILLS.isdisjoint(named) and end > 0 and _FILLS.isdisjoint(words[end + 1 :])


def only_makes_index(statement: str, dialect: str) -> bool:
    """Whether a statement makes one index and does nothing else."""
    tokens = _tokens(statement, dialect)
    words = [token.text.lower() for token in tokens[:3]]
    return words[:1] == ["create"] and words[1:2] in (["index"], ["unique"]) and _is_one(tokens)


def stays_inside(fragment: str, dialect: str) -> bool:
    """Whether a part of a statement, such as a column's type, ends where it seems to: no parenthesis closes early."""
    if not fragment.strip():
        return True
    tokens = _tokens(fragment, dialect)
    depth = 0
    for token in tokens:
        kind = token.token_type.name
        depth += (kind == "L_PAREN") - (kind == "R_PAREN")
        if depth < 0 or kind == "SEMICOLON":
            return False
    return bool(tokens) and depth == 0


def _tokens(text: str, dialect: str) -> Sequence[Token]:
    from sqlglot import Dialect
    from sqlglot.errors import SqlglotError

    try:
        return Dialect.get_or_raise(dialect).tokenize(text)
    except (SqlglotError, ValueError):
        return ()


def _is_one(tokens: Sequence[Token]) -> bool:
    return all(token.token_type.name != "SEMICOLON" for token in tokens)


def _end(tokens: Sequence[Token], first: int) -> int:
    """The place of the parenthesis that closes the one at ``first``; -1: there is none."""
    depth = 0
    for number in range(first, len(tokens)):
        kind = tokens[number].token_type.name
        depth += (kind == "L_PAREN") - (kind == "R_PAREN")
        if depth == 0:
            return number
    return -1
