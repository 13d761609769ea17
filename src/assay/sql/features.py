"""Which features of SQL a query uses, by which causes of wrong answers are counted: `features_of`."""

from __future__ import annotations

import re
from functools import lru_cache

_HIDDEN = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL)
_FEATURES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("join", r"\bjoin\b"),
        ("aggregate", r"\b(?:count|sum|avg|min|max|total|group_concat|string_agg)\s*\("),
        ("GROUP BY", r"\bgroup\s+by\b"),
        ("HAVING", r"\bhaving\b"),
        ("ORDER BY", r"\border\s+by\b"),
        ("LIMIT", r"\b(?:limit|fetch\s+(?:first|next)|top\s*\(?\s*\d)"),
        ("DISTINCT", r"\bdistinct\b"),
        ("subquery", r"\(\s*select\b"),
        ("CTE", r"^\s*with\b"),
        ("set operation", r"\b(?:union|intersect|except|minus)\b"),
        ("window", r"\bover\s*\("),
        ("CASE", r"\bcase\b|\biif\s*\("),
        ("LIKE", r"\bi?like\b"),
        ("dates", r"\b(?:strftime|date|datetime|julianday|extract|date_trunc|year|month)\s*\("),
    )
)


@lru_cache(maxsize=8192)
def features_of(query: str) -> tuple[str, ...]:
    """The features in a query's text, literals, names in quotes and comments left aside. Searched, not parsed."""
    text = _HIDDEN.sub(" ' ", query)
    return tuple(name for name, pattern in _FEATURES if pattern.search(text)) or ("none of these",)
