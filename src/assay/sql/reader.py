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


def statements(text: str, dialect: str | None, tokens: Sequence[Token] | None = None) -> list[exp.Expr]:
    """The trees of a text's statements. ``tokens``: those of the text, if they differ from the reader's.

    Raises what sqlglot raises for a text that it cannot parse, and RecursionError for too many levels.
    """
    from assay.sql.depth import check_depth

    speaks = reader(dialect)
    tokens = speaks.tokenize(text) if tokens is None else tokens
    check_depth(tokens)
    return [tree for tree in speaks.parser().parse(list(tokens), text) if tree is not None]


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
