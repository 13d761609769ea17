"""Queries that ask a database about what another query reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.sql.facts.model import ColumnRef
from assay.sql.shape import outermost, parse_query

if TYPE_CHECKING:
    from sqlglot import exp


def _name(text: str, dialect: str) -> str:
    from sqlglot import exp

    return exp.to_identifier(text, quoted=True).sql(dialect=dialect)


def column_probe(table: str, column: str, dialect: str, most: int) -> str:
    """A query for a column's distinct values, each with its number of rows, NULL among them."""
    name = _name(column, dialect)
    return f"SELECT {name}, COUNT(*) FROM {_name(table, dialect)} GROUP BY {name} LIMIT {most}"


def pairs_probe(left: ColumnRef, right: ColumnRef, dialect: str) -> str:
    """A query that gives one row where two columns share a value, and none where they share none."""
    a, b = _name(left.table or "", dialect), _name(right.table or "", dialect)
    x, y = _name(left.column, dialect), _name(right.column, dialect)
    return f"SELECT 1 FROM {a} WHERE {a}.{x} IN (SELECT {b}.{y} FROM {b}) LIMIT 1"


def probe_of_level(query: str, dialect: str, selected: Sequence[str], *, grouped: bool = True) -> str | None:
    """The outermost SELECT with other selected expressions: the same FROM and WHERE, and GROUP BY if ``grouped``, but
    neither HAVING, ORDER BY nor LIMIT. None where the query's outermost level is no SELECT, or cannot be written again.
    """
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    parsed = parse_query(query, dialect)
    if parsed is None:
        return None
    try:
        tree = outermost(parsed.tree)
        if not isinstance(tree, exp.Select) or tree is not parsed.tree:
            return None
        copied = tree.copy()
        group = copied.args.get("group")
        if grouped and group is not None and any(isinstance(one, exp.Literal) for one in group.expressions):
            return None  # positions would name other expressions
        for name in ("having", "order", "limit", "offset", "distinct", "qualify", *(() if grouped else ("group",))):
            copied.set(name, None)
        made: exp.Select = copied.select(*selected, append=False, dialect=dialect, copy=False)
        return made.sql(dialect=dialect, comments=False)
    except (SqlglotError, RecursionError, ValueError):
        return None


def value_probe(column: ColumnRef, value: str, *, is_number: bool, dialect: str) -> str:
    """A query that gives one row where a column holds a value, by the database's own rules of equality."""
    from sqlglot import exp

    literal = value if is_number else exp.Literal.string(value).sql(dialect=dialect)
    return (
        f"SELECT 1 FROM {_name(column.table or '', dialect)} WHERE {_name(column.column, dialect)} = {literal} LIMIT 1"
    )


def column_name(column: ColumnRef, dialect: str) -> str:
    """The column as a query on the same sources must write it."""
    name = _name(column.column, dialect)
    return f"{_name(column.source, dialect)}.{name}" if column.source else name
