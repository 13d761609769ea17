"""The SQL dialects that can be read, and the parser's errors."""

from __future__ import annotations

from difflib import get_close_matches

SPARK = frozenset({"spark", "databricks"})
DECLARED_KEYS = frozenset({"snowflake", "bigquery", "clickhouse", "redshift", *SPARK})
"""Dialects of engines in which rows may violate a declared key or reference: nothing follows from these."""


def is_dialect(name: str) -> bool:
    """Whether the parser knows a dialect by that name."""
    from sqlglot import Dialect

    return bool(name) and Dialect.get(name.lower()) is not None


def closest_dialect(name: str) -> str | None:
    """The dialect with the most similar name; None if none is similar."""
    from sqlglot.dialects import DIALECTS

    return next(iter(get_close_matches(name.lower(), [one.lower() for one in DIALECTS], n=1)), None)


def parser_errors() -> tuple[type[Exception], ...]:
    """What sqlglot raises for a text that it cannot parse: its own errors, and Python's if one of its parsers meets
    something unexpected."""
    from sqlglot.errors import SqlglotError

    own = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
    return (SqlglotError, *own)
