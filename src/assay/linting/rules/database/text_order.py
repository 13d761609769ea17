"""Texts sorted alphabetically although they contain numbers or dates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from assay.linting.gold import ColumnValues, Found, Gold
from assay.linting.root_causes import as_texts
from assay.linting.words import as_number
from assay.model.lint import LintRule
from assay.sql.expressions import argument_of
from assay.sql.query import Query

if TYPE_CHECKING:
    from sqlglot import exp

RULE = LintRule(
    name="text-order",
    severity="warning",
    needs="database",
    finds="ORDER BY, MAX, MIN over texts that contain numbers, or dates that do not begin with the year; such dates "
    "compared by size",
    why="Texts are sorted alphabetically: '9' comes after '10', and 31/01/2020 after 01/02/2021.",
    remedy="Convert first: ORDER BY CAST(x AS REAL), or store dates as 2020-01-31.",
    bad="SELECT name FROM player ORDER BY weight DESC LIMIT 1  -- weight is TEXT",
    good="SELECT name FROM player ORDER BY CAST(weight AS REAL) DESC LIMIT 1",
)
_DATE = re.compile(r"\s*\d{1,2}[/.-]\d{1,2}[/.-](?:\d{4}|\d{2})\b|\s*\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}")
_MONTH = re.compile(r"\s*(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d{1,2},? \d{4}", re.IGNORECASE)
_SHARE = 0.8
_BY_SIZE = ("<", "<=", ">", ">=", "between")


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    if gold.database is None:
        return
    seen = set()
    for what, node, earlier in _ordered(query):
        column = query.column_of(node)
        stored = None if column is None else query.stored(column)
        if column is None or stored in seen or query.type_of(column) in ("integer", "real", "numeric"):
            continue
        values = gold.database.values(stored)
        found = None if values is None else _misordered(values, by_length=_is_by_length(query, column, earlier))
        if found is not None:
            seen.add(stored)
            kind, first, second = found
            yield Found(
                evidence=f"{what} {stored}: it contains {kind} as texts, and {first!r} comes before {second!r}.",
                place=query.span(column),
                root_cause=as_texts(str(stored), "numbers" if kind == "numbers" else "dates"),
            )


def _ordered(query: Query) -> Iterator[tuple[str, exp.Expr, Sequence[exp.Expr]]]:
    """What the query orders or compares by size, by which word, and the earlier keys of the same direction."""
    from sqlglot import exp

    for select in query.selects:
        for place, key in enumerate(select.order):
            before = [one for one in select.order[:place] if bool(one.args.get("desc")) == bool(key.args.get("desc"))]
            yield "ORDER BY", select.meant(key), [select.meant(one) for one in before]
    for select in query.selects:
        for aggregate in select.aggregates:
            argument = argument_of(aggregate)
            if isinstance(aggregate, exp.Max | exp.Min) and argument is not None:
                yield aggregate.key.upper(), argument, ()
    for one in query.predicates:
        if one.operator in _BY_SIZE and any(_DATE.match(query.value_of(side) or "") for side in one.right):
            yield one.operator, one.left, ()


def _is_by_length(query: Query, column: exp.Column, earlier: Sequence[exp.Expr]) -> bool:
    """Whether an earlier key is the length of the same texts: ``ORDER BY LENGTH(code), code``."""
    from sqlglot import exp

    measured = [query.column_of(key.this) for key in earlier if isinstance(key, exp.Length)]
    return any(one is not None and query.identity(one) == query.identity(column) for one in measured)


def _misordered(values: ColumnValues, *, by_length: bool) -> tuple[str, str, str] | None:
    """What the texts are, and two of them that are in the wrong order. ``by_length``: shorter texts come first."""
    rank = (lambda text: (len(text), text)) if by_length else (lambda text: (0, text))
    texts = [value for value in values.counts if isinstance(value, str) and value.strip()]
    if len(texts) < 2 or len(texts) < _SHARE * len(values.counts):
        return None
    dates = [text for text in texts if _DATE.match(text) or _MONTH.match(text)]
    if len(dates) >= _SHARE * len(texts):
        ordered = sorted(dates, key=rank)
        return "dates that do not begin with the year", ordered[0], ordered[-1]
    read = ((text, as_number(text.replace(",", ""))) for text in sorted(texts, key=rank))
    numbers = [(text, number) for text, number in read if number is not None]
    if len(numbers) >= _SHARE * len(texts):
        for (first, a), (second, b) in pairwise(numbers):
            if a > b:
                return "numbers", first, second
    return None
