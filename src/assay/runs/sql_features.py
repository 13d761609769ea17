"""Which features of SQL a query uses, by which causes of wrong answers are counted: `features_of`."""

from __future__ import annotations

import re
from functools import lru_cache

_HIDDEN = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL)
_FEATURES: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (name, tuple(words.split()), re.compile(pattern, re.IGNORECASE))
    for name, words, pattern in (
        ("join", "join", r"\bjoin\b"),
        (
            "aggregate",
            "count sum avg min max total group_concat string_agg",
            r"\b(?:count|sum|avg|min|max|total|group_concat|string_agg)\s*\(",
        ),
        ("GROUP BY", "group", r"\bgroup\s+by\b"),
        ("HAVING", "having", r"\bhaving\b"),
        ("ORDER BY", "order", r"\border\s+by\b"),
        ("LIMIT", "limit fetch top", r"\b(?:limit|fetch\s+(?:first|next)|top\s*\(?\s*\d)"),
        ("DISTINCT", "distinct", r"\bdistinct\b"),
        ("subquery", "select", r"\(\s*select\b"),
        ("CTE", "with", r"^\s*with\b"),
        ("set operation", "union intersect except minus", r"\b(?:union|intersect|except|minus)\b"),
        ("window", "over", r"\bover\s*\("),
        ("CASE", "case iif", r"\bcase\b|\biif\s*\("),
        ("LIKE", "like", r"\bi?like\b"),
        (
            "dates",
            "date julianday extract strftime year month",
            r"\b(?:strftime|date|datetime|julianday|extract|date_trunc|year|month)\s*\(",
        ),
    )
)
"""A feature's name, words one of which every query with it has, and its pattern, which takes longer to look for."""


@lru_cache(maxsize=8192)
def features_of(query: str) -> tuple[str, ...]:
    """The features in a query's text, literals, names in quotes and comments left aside. Searched, not parsed."""
    text = _HIDDEN.sub(" ' ", query)
    has = text.lower().__contains__
    found = tuple(name for name, words, pattern in _FEATURES if any(map(has, words)) and pattern.search(text))
    return found or ("none of these",)
