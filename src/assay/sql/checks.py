"""The CHECK conditions in the statement that made a table."""

from __future__ import annotations

_LONGEST = 200_000
"""Characters of a statement that are looked at."""


def check_conditions(statement: str, dialect: str) -> tuple[str, ...]:
    """The conditions as they are written, in order; none where the statement cannot be cut into words.

    CHECK is a reserved word: a column of that name stands in quotes, so that the word itself is always a constraint's.
    """
    if "check" not in statement.lower() or len(statement) > _LONGEST:
        return ()
    from sqlglot import Dialect, TokenType
    from sqlglot.errors import SqlglotError

    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(statement)
    except (SqlglotError, ValueError):
        return ()
    found: list[str] = []
    depth = start = 0
    follows = False
    for token in tokens:
        kind = token.token_type
        if depth:
            depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
            if not depth:
                found.append(statement[start : token.start].strip())
        elif follows and kind is TokenType.L_PAREN:
            depth, start = 1, token.end + 1
        follows = token.text.upper() == "CHECK" and kind not in (TokenType.IDENTIFIER, TokenType.STRING)
    return tuple(found)
