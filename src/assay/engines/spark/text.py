"""The text of a query within another one, by which a server says what it is without running it."""

from __future__ import annotations


def wrapped(text: str) -> str:
    """A query that parses only if the text is one query itself: the body of a common table expression is nothing else.

    In the place of a table it would not do: there ``(SHOW TABLES)`` is a table SHOW with an alias.
    """
    return f"WITH assay_query AS (\n{text}\n) SELECT * FROM assay_query"


def without_last_semicolon(text: str, dialect: str) -> str:
    """The text up to the semicolon after its last statement, which may stand before a comment."""
    if ";" not in text:
        return text
    from sqlglot import Dialect, TokenType

    from assay.sql.dialects import parser_errors

    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(text)
    except parser_errors():
        return text
    end = len(text)
    for token in reversed(tokens):
        if token.token_type is not TokenType.SEMICOLON:
            break
        end = token.start
    return text[:end]
