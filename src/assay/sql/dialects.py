"""The names of the SQL dialects that can be read."""

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
