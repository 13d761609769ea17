"""The SQL dialects that can be read, and how the parser refuses a text."""

from __future__ import annotations

from difflib import get_close_matches


def is_dialect(name: str) -> bool:
    """Whether the parser knows a dialect by that name."""
    from sqlglot import Dialect

    return bool(name) and Dialect.get(name.lower()) is not None


def closest_dialect(name: str) -> str | None:
    """The dialect with the most similar name; None where none is similar."""
    from sqlglot.dialects import DIALECTS

    return next(iter(get_close_matches(name.lower(), [one.lower() for one in DIALECTS], n=1)), None)


def parser_errors() -> tuple[type[Exception], ...]:
    """What sqlglot raises for a text that it cannot parse: its own errors, and Python's where one of its parsers meets
    what it does not expect.
    """
    from sqlglot.errors import SqlglotError

    return (SqlglotError, RecursionError, ValueError, AttributeError, TypeError, LookupError)
