"""When each engine reads a name as the alias of a selected expression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from assay.sql.nodes import exp

if TYPE_CHECKING:
    from assay.sql.select import Select

_CLAUSES_THAT_SEE_ALIASES: Mapping[str, frozenset[str]] = {
    "sqlite": frozenset({"where", "group", "having", "order", "joins", "windows"}),
    "duckdb": frozenset({"expressions", "where", "group", "having", "order", "qualify"}),
    "mysql": frozenset({"expressions", "group", "having", "order"}),
    "postgres": frozenset({"group"}),
}
"""By dialect: clauses in which an output's alias comes before the columns of the outer queries."""
_ALIAS_FIRST_IN_ORDER = frozenset({"bigquery", "snowflake"})
"""Dialects in which a name within an expression of ORDER BY is an output's alias first, and a column second."""
_ALIAS_UNDER_COLLATE = frozenset({"sqlite", "duckdb"})
"""Dialects in which ``ORDER BY name COLLATE c`` is ordered by the output called name, if there is one."""
_COLUMN_FIRST_IN_HAVING = frozenset({"sqlite", "postgres"})
"""Dialects in which a name in HAVING may be an ungrouped column."""


def alias_seen(select: Select, column: exp.Column, dialect: str) -> exp.Expr | None:
    """The output of a SELECT whose alias a column names, if the column's clause sees aliases."""
    clauses = _CLAUSES_THAT_SEE_ALIASES.get(dialect, frozenset())
    node: exp.Expr = column
    while node.parent is not None and node.parent is not select.node:
        node = node.parent
    if node.arg_key not in clauses or (dialect == "postgres" and column.parent is not node):
        return None
    output = select.output_called(column.name)
    return None if output is None or output.parent is node else output


def takes_alias_first(column: exp.Column, select: Select, dialect: str) -> bool:
    """Whether a name means the output of that alias, even if there is a column of that name."""
    if dialect == "clickhouse":
        output = select.output_called(column.name)
        return output is not None and not _is_within(column, output)
    node: exp.Expr = column
    above, is_whole = column.parent, True
    while above is not None and not isinstance(above, exp.Query):
        if isinstance(above, exp.Window | exp.WithinGroup | exp.AggFunc):
            return False
        is_collated = isinstance(above, exp.Collate) and dialect in _ALIAS_UNDER_COLLATE
        is_key = isinstance(above, exp.Paren | exp.Tuple | exp.Ordered | exp.Order | exp.Distinct)
        is_whole = is_whole and (is_key or is_collated)
        node, above = above, above.parent
    if node.arg_key in ("order", "distinct"):
        return is_whole or dialect in _ALIAS_FIRST_IN_ORDER
    if node.arg_key == "having" and dialect not in _COLUMN_FIRST_IN_HAVING:
        group = select.node.args.get("group")
        keys = () if group is None else group.expressions
        return not any(isinstance(key, exp.Column) and key.name.lower() == column.name.lower() for key in keys)
    return False


def _is_within(node: exp.Expr | None, outer: exp.Expr) -> bool:
    while node is not None and node is not outer:
        node = node.parent
    return node is outer
