"""Queries about the columns that another query reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.model import TableSchema
from assay.sql.query import Query
from assay.sql.schema import SchemaNames
from assay.sql.select import StoredColumn

if TYPE_CHECKING:
    from sqlglot import exp


def quoted(*names: str | None, dialect: str) -> str:
    """Names as a query must write them, joined by dots, without those that are None."""
    from sqlglot import exp

    return ".".join(exp.to_identifier(name, quoted=True).sql(dialect=dialect) for name in names if name is not None)


def table_name(table: TableSchema, dialect: str) -> str:
    """The table as a query must write it, with its schema if that is not the default one."""
    return quoted(table.namespace, table.name, dialect=dialect)


def column_probe(table: TableSchema, column: str, dialect: str, most: int) -> str:
    """A query for a column's distinct values, each with its number of rows, NULL among them."""
    from sqlglot import exp, select

    name = exp.column(exp.to_identifier(column, quoted=True))
    counted = select(name, exp.Count(this=exp.Star())).from_(table_name(table, dialect), dialect=dialect)
    return counted.group_by(name.copy()).limit(most).sql(dialect=dialect)


def pairs_probe(left: StoredColumn, right: StoredColumn, names: SchemaNames, dialect: str) -> str:
    """A query for the number of rows of the left table whose value the right column has."""
    a, b = (table_name(names.tables[column.table.lower()].schema, dialect) for column in (left, right))
    x, y = quoted(left.column, dialect=dialect), quoted(right.column, dialect=dialect)
    return f"SELECT COUNT(*) FROM {a} a WHERE a.{x} IN (SELECT b.{y} FROM {b} b)"


def value_probe(column: StoredColumn, value: str, names: SchemaNames, *, is_number: bool, dialect: str) -> str:
    """A query for the number of rows that have a value, by the database's own rules of equality."""
    from sqlglot import exp

    literal = value if is_number else exp.Literal.string(value).sql(dialect=dialect)
    table = table_name(names.tables[column.table.lower()].schema, dialect)
    return f"SELECT COUNT(*) FROM {table} WHERE {quoted(column.column, dialect=dialect)} = {literal}"


def probe_of_outermost(query: Query, selected: Sequence[str], *, grouped: bool = True) -> str | None:
    """The outermost SELECT with other selected expressions: the same FROM and WHERE, and GROUP BY if ``grouped``, but
    without HAVING, ORDER BY and LIMIT. None if the query's outermost level is not a SELECT, or cannot be written."""
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        if not isinstance(query.tree, exp.Select):
            return None
        copied = query.tree.copy()
        group = copied.args.get("group")
        if grouped and group is not None and any(isinstance(key, exp.Literal) for key in group.expressions):
            return None  # positions would name other expressions
        for name in ("having", "order", "limit", "offset", "distinct", "qualify", *(() if grouped else ("group",))):
            copied.set(name, None)
        made: exp.Select = copied.select(*selected, append=False, dialect=query.dialect, copy=False)
        return made.sql(dialect=query.dialect, comments=False)
    except (SqlglotError, RecursionError, ValueError):
        return None
