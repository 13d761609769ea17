"""Recognise the plainest of queries by their text, where parsing would take longer than running them.

Such a query takes one column, or one aggregate of one, from one table, by a condition without brackets. A benchmark
such as LLMSQL has hardly any other. Whatever is not surely plain is left to the parser.
"""

from __future__ import annotations

import re
from functools import lru_cache

_QUOTED = r'"(?:[^"]|"")+"'
_PLAIN = re.compile(
    rf"\s*SELECT\s+(?:(?P<column>{_QUOTED})|(?P<aggregate>(?:MIN|MAX|SUM|AVG|COUNT)\({_QUOTED}\)))"
    rf"(?P<rest>\s+FROM\s+{_QUOTED}(?:\s+WHERE\s(?P<condition>.*?))?)\s*",
    re.IGNORECASE | re.DOTALL,
)
_LITERAL = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")
_NOT_PLAIN = re.compile(
    r"""[^\s\w.,=<>!|*/%+'-]|--|/\*|'"""
    r"|\b(?:select|from|join|where|group|having|window|over|filter|order|limit|offset|fetch|top"
    r"|union|intersect|except|values|collate|escape|case|exists|raise"
    r"|current_date|current_time|current_timestamp)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def plain_aggregate(query: str) -> tuple[str, str | None, str] | None:
    """The text before the aggregate's end, the aggregate, and the rest, of a plain query in SQLite's dialect.

    The aggregate is None where the query takes a column as it is. None for a query that is not plain.
    """
    found = _PLAIN.fullmatch(query)
    if found is None:
        return None
    condition = found["condition"]
    if condition is not None and _NOT_PLAIN.search(_LITERAL.sub("0", condition)):
        return None
    return query[: found.start("rest")], found["aggregate"], found["rest"]


def is_plain(query: str) -> bool:
    """Whether nothing about the query needs a parser: it has no order and no limit, and no chance or clock is in it."""
    return plain_aggregate(query) is not None
