"""sqlglot's dialects with other settings, for texts that engines read differently. Its parsers stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlglot import Dialect, Token, exp

_TYPES = """
bfloat16 datetime32 inet4 inet6 multipoint qbit signed single time64 unsigned year
intervalday intervalhour intervalmicrosecond intervalmillisecond intervalminute intervalmonth intervalnanosecond
intervalquarter intervalsecond intervalweek intervalyear
"""
CLICKHOUSE_TYPES = frozenset(_TYPES.split())
"""ClickHouse's types that sqlglot reads only as types of a user."""

MOST_LEVELS = 30
"""A text with more levels of brackets, CASE, types, signs or joins without ON is not parsed. sqlglot's interpreted
parser reads 40 to 120 of them. Its compiled one ends the process at some thousands, since it does not check how much of
the stack is left."""
_OPENS = frozenset({"L_PAREN", "L_BRACKET", "L_BRACE"})
_CLOSES = frozenset({"R_PAREN", "R_BRACKET", "R_BRACE"})
_NESTED_TYPES = frozenset({"ARRAY", "STRUCT", "MAP", "LIST", "OBJECT", "NESTED", "ROW", "VAR"})
_NO_TYPES = frozenset({"AND", "OR", "WHEN", "THEN", "ELSE", "END", "ON", "WHERE", "HAVING", "ALIAS", "SELECT"})
"""No type contains one of these: ``<`` before it was a comparison."""
_SIGNS = frozenset({"NOT", "DASH", "PLUS", "TILDE"})


def statements(text: str, dialect: str | None, tokens: Sequence[Token] | None = None) -> list[exp.Expr]:
    """The trees of a text's statements. ``tokens``: those of the text, if they differ from the reader's.

    Raises what sqlglot raises for a text that it cannot parse, and RecursionError for too many levels.
    """
    speaks = reader(dialect)
    tokens = speaks.tokenize(text) if tokens is None else tokens
    if len(tokens) > MOST_LEVELS:
        _check_levels(tokens)
    return [tree for tree in speaks.parser().parse(list(tokens), text) if tree is not None]


def _check_levels(tokens: Sequence[Token]) -> None:
    """Raise RecursionError if the parser would call itself too deeply for these tokens."""
    brackets = cases = types = joins = signs = 0
    before = ""
    for token in tokens:
        kind = token.token_type.name
        brackets = brackets + 1 if kind in _OPENS else max(0, brackets - (kind in _CLOSES))
        cases = cases + 1 if kind == "CASE" else max(0, cases - (kind == "END"))
        types = types + 1 if kind == "LT" and before in _NESTED_TYPES else max(0, types - (kind == "GT"))
        types *= kind not in _NO_TYPES
        joins = joins + 1 if kind == "JOIN" else max(0, joins - (kind in ("ON", "USING")))
        signs = signs + 1 if kind in _SIGNS or kind == before else 0
        if max(brackets, cases, types, joins, signs) > MOST_LEVELS:
            raise RecursionError(f"{token.text} at {token.start} begins level {MOST_LEVELS + 1}")
        before = kind


def first_statement(text: str, dialect: str) -> exp.Expr:
    """The tree of a text's first statement. Raises as `statements`, and ParseError for a text without one."""
    from sqlglot.errors import ParseError

    trees = statements(text, dialect)
    if not trees:
        raise ParseError("the text has no statement")
    return trees[0]


@lru_cache(maxsize=64)
def reader(dialect: str | None) -> Dialect:
    """sqlglot's dialect, which reads texts as the engine does:

    - Template signs have no special meaning: for sqlglot, ``{# … #}`` is a comment in every dialect.
    - BigQuery has MATCH_RECOGNIZE, ClickHouse has types that sqlglot does not know.

    Raises ValueError for an unknown dialect.
    """
    from sqlglot import Dialect

    speaks = Dialect.get_or_raise(dialect)
    speaks.tokenizer_class = _tokenizer(speaks.tokenizer_class, dialect)
    if dialect == "clickhouse":
        speaks.SUPPORTS_USER_DEFINED_TYPES = True
    return speaks


def _tokenizer(base: Any, dialect: str | None) -> Any:
    from sqlglot import TokenType

    of_templates = (TokenType.BLOCK_START, TokenType.BLOCK_END)
    words = {word: token for word, token in base.KEYWORDS.items() if token not in of_templates}
    if dialect == "bigquery":
        words["MATCH_RECOGNIZE"] = TokenType.MATCH_RECOGNIZE
    made: Any = type("Tokenizer", (base,), {"KEYWORDS": words})
    made._COMMENTS = {start: end for start, end in made._COMMENTS.items() if start != "{#"}
    return made
