"""How deeply the parser would have to go into a text, told from its tokens. Importing this module loads sqlglot."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import Token, TokenType

MOST_LEVELS = 30
"""A text with more levels of brackets, CASE, types, signs or joins without ON is not parsed. sqlglot's interpreted
parser reads 40 to 120 of them, its compiled one some thousands of some kinds."""
MOST_WORDS = 4_000
"""Nor is one with more words that may begin a level, whatever they are. The compiled parser does not check how much of
the stack is left: it survives 4,000 levels of any kind that was tried, and 8,000 subqueries end the process."""
OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_NESTED_TYPES = frozenset(
    {TokenType.ARRAY, TokenType.STRUCT, TokenType.MAP, TokenType.LIST, TokenType.OBJECT, TokenType.NESTED}
    | {TokenType.ROW, TokenType.VAR}
)
_NO_TYPES = frozenset(
    {TokenType.AND, TokenType.OR, TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.END, TokenType.ON}
    | {TokenType.WHERE, TokenType.HAVING, TokenType.ALIAS, TokenType.SELECT}
)
"""No type contains one of these: ``<`` before it was a comparison."""
_SIGNS = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE})
_ENDS_JOIN = frozenset({TokenType.ON, TokenType.USING})
_NEVER_OPENS = CLOSING | frozenset(
    {TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING, TokenType.NULL, TokenType.TRUE}
    | {TokenType.FALSE, TokenType.COMMA, TokenType.DOT, TokenType.STAR, TokenType.SEMICOLON, TokenType.ALIAS}
    | {TokenType.EQ, TokenType.NEQ, TokenType.GT, TokenType.GTE, TokenType.LTE, TokenType.AND, TokenType.OR}
    | {TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.END, *_ENDS_JOIN}
)
"""What a list, a condition or a CASE may have any number of, without one being inside another."""


def check_depth(tokens: Sequence[Token]) -> None:
    """Raise RecursionError if the parser would call itself too deeply for these tokens."""
    kinds = [token.token_type for token in tokens]
    opening = [kind for kind in kinds if kind not in _NEVER_OPENS]
    if len(opening) <= MOST_LEVELS:
        return
    if sum(kind not in OPENING and kind not in _SIGNS for kind in opening) > MOST_WORDS:
        raise RecursionError(f"more than {MOST_WORDS:,} words may begin another level")
    brackets = cases = types = joins = signs = 0
    before: TokenType | None = None
    for kind, token in zip(kinds, tokens, strict=True):
        brackets = brackets + 1 if kind in OPENING else max(0, brackets - (kind in CLOSING))
        cases = cases + 1 if kind is TokenType.CASE else max(0, cases - (kind is TokenType.END))
        if kind is TokenType.LT and before in _NESTED_TYPES:
            types += 1
        elif kind in _NO_TYPES:
            types = 0
        elif kind is TokenType.GT:
            types = max(0, types - 1)
        joins = joins + 1 if kind is TokenType.JOIN else max(0, joins - (kind in _ENDS_JOIN))
        signs = signs + 1 if kind in _SIGNS or (kind is before and kind not in _NEVER_OPENS) else 0
        if max(brackets, cases, types, joins, signs) > MOST_LEVELS:
            raise RecursionError(f"{token.text} at {token.start} begins level {MOST_LEVELS + 1}")
        before = kind
