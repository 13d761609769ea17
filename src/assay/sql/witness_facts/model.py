"""The facts of a pair of queries, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

ColumnKey: TypeAlias = tuple[str, str]
"""A stored table's name and a column's, in lower case."""

Use = Literal[
    "equal", "above", "below", "pattern", "part", "date_part", "length", "sum", "negative", "padded", "numeral", "other"
]
"""How a constant is used: compared for equality; a column above it or below it passes; a pattern of LIKE or GLOB;
compared with a part of a text; with a part of a date; with a text's length; with an aggregate over the column.
``negative``, ``padded`` and ``numeral`` say what else a function tells apart, whatever the value: numbers below zero,
blanks round a text, numbers written as texts."""

Doubt = Literal[
    "limit", "inner_limit", "window", "tied_window", "collected", "bare_column", "scalar_subquery", "distinct_on"
]
"""A construct by which a query may leave its answer to the order in which rows are stored. A ``tied_window`` only shows
tied rows of one table: trying all orders of these shows all its choices."""


class Constant(Struct, frozen=True):
    """A value in a query's text, and how it is used."""

    value: str | int | float
    use: Use = "equal"
    detail: str = ""
    """For ``date_part``: ``year``, ``month`` or ``day``."""


class QueryReading(Struct, frozen=True, kw_only=True):
    """What one query does that matters here."""

    doubts: frozenset[Doubt] = frozenset()
    by_luck: bool = False
    """It uses chance, the clock, or an aggregate that may return any value."""
    ordered: bool = False
    """Its outermost level orders the rows."""
    by_key: str | None = None
    """Its text with numbers of rows read by the keys that they are; None if it reads none."""


class PairFacts(Struct, frozen=True, kw_only=True):
    """What two queries and the schema say together."""

    first: QueryReading
    second: QueryReading
    tables: tuple[str, ...]
    """The stored tables that the queries read, also through views, in lower case, in the schema's order."""
    read: frozenset[str]
    """Those of ``tables`` that the queries name, or views that they name; the others are referred to by keys."""
    columns: frozenset[ColumnKey]
    """The columns that they read."""
    classes: tuple[frozenset[ColumnKey], ...]
    """Columns that the queries or foreign keys compare with one another; those compared with none are left out."""
    constants: Mapping[ColumnKey, tuple[Constant, ...]]
    loose: tuple[Constant, ...] = ()
    """Constants that no column is compared with."""
    counts: tuple[int, ...] = ()
    """Numbers of rows on which something turns: of LIMIT, and those that COUNT is compared with."""
    unknown: tuple[str, ...] = ()
    """Tables that the queries read and the schema lacks."""
