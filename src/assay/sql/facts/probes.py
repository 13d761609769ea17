"""Queries that ask a database about what another query reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.model import TableSchema
from assay.sql.facts.model import ColumnRef
from assay.sql.schema_names import SchemaNames
from assay.sql.shape import outermost, parse_query

if TYPE_CHECKING:
    from sqlglot import exp


def _name(text: str, dialect: str) -> str:
    from sqlglot import exp

    return exp.to_identifier(text, quoted=True).sql(dialect=dialect)


def table_name(table: TableSchema, dialect: str) -> str:
    """The table as a query must write it, with its schema where that is not the default one."""
    return ".".join(_name(part, dialect) for part in (table.namespace, table.name) if part is not None)


def column_probe(table: TableSchema, column: str, dialect: str, most: int) -> str:
    """A query for a column's distinct values, each with its number of rows, NULL among them."""
    from sqlglot import exp, select

    name = exp.to_identifier(column, quoted=True)
    made = select(exp.column(name), exp.Count(this=exp.Star())).from_(
        exp.table_(exp.to_identifier(table.name, quoted=True), db=_quoted(table.namespace))
    )
    return made.group_by(exp.column(name.copy())).limit(most).sql(dialect=dialect)


def _quoted(name: str | None) -> exp.Identifier | None:
    from sqlglot import exp

    return None if name is None else exp.to_identifier(name, quoted=True)


def pairs_probe(left: ColumnRef, right: ColumnRef, names: SchemaNames, dialect: str) -> str:
    """A query for the number of rows of the left table whose value the right column has."""
    a, b = (table_name(names.tables[(one.table or "").lower()].schema, dialect) for one in (left, right))
    x, y = _name(left.column, dialect), _name(right.column, dialect)
    return f"SELECT COUNT(*) FROM {a} a WHERE a.{x} IN (SELECT b.{y} FROM {b} b)"


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


def value_probe(column: ColumnRef, value: str, names: SchemaNames, *, is_number: bool, dialect: str) -> str:
    """A query for the number of rows that have a value, by the database's own rules of equality."""
    from sqlglot import exp

    literal = value if is_number else exp.Literal.string(value).sql(dialect=dialect)
    table = table_name(names.tables[(column.table or "").lower()].schema, dialect)
    return f"SELECT COUNT(*) FROM {table} WHERE {_name(column.column, dialect)} = {literal}"


def column_name(column: ColumnRef, dialect: str) -> str:
    """The column as a query on the same sources must write it."""
    name = _name(column.column, dialect)
    return f"{_name(column.source, dialect)}.{name}" if column.source else name
