"""The expressions of an aggregated query that its groups do not determine: over columns neither grouped nor
aggregated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.sql.expressions import plain_text
from assay.sql.nodes import exp

if TYPE_CHECKING:
    from assay.sql.select import Select


def bare_terms(select: Select) -> list[exp.Expr]:
    """The widest expressions over bare columns, without duplicates; a star stands for itself. Empty for a query without
    groups."""
    query, parts = select.query, _parts(select.node)
    if select.node.args.get("group") is None and not any(is_aggregate(node) for part in parts for node in within(part)):
        return []
    if any(isinstance(key, exp.Literal) and key.is_int for key in select.group):
        return []  # the position of a column that a star stands for
    keys = {_spelling(key) for key in select.group}
    columns = [key for key in select.group if isinstance(key, exp.Column)]
    found: dict[str, exp.Expr] = {}
    for part in parts:
        waiting: list[exp.Expr] = [part]
        while waiting:
            node = waiting.pop()
            if is_aggregate(node) or _spelling(node) in keys:
                continue
            if isinstance(node, exp.Query):
                own = (one for one in node.find_all(exp.Column) if query.meaning(one).select is select)
                if any(one.table and not _is_key(one, columns) for one in own):
                    found.setdefault(_spelling(node), node)
                continue
            if isinstance(node, exp.Star):
                found.setdefault("*", node)
                continue
            bare = [
                one
                for one in within(node)
                if isinstance(one, exp.Column)
                and not _is_key(one, columns)
                and (part.parent is select.node or query.meaning(one).output is None)
            ]
            if not bare:
                waiting += [one for one in node.iter_expressions() if one.find(exp.Query, exp.Star)]
            elif _is_whole(node):
                found.setdefault(_spelling(node), node)
            else:
                waiting += list(node.iter_expressions())
    return list(found.values())


def extremes(select: exp.Query) -> list[exp.Expr]:
    """The different MIN and MAX aggregates of an aggregated query."""
    found: dict[str, exp.Expr] = {}
    for part in _parts(select):
        for node in within(part):
            if isinstance(node, exp.Min | exp.Max) and is_aggregate(node):
                found.setdefault(_spelling(node.parent if isinstance(node.parent, exp.Filter) else node), node)
    return list(found.values())


def within(part: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of a part, without those of its subqueries."""
    waiting = [part]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Query) and node is not part:
            continue
        yield node
        waiting += list(node.iter_expressions())


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is a function of a whole group, not of a window."""
    if isinstance(node, exp.Anonymous):
        known = node.name.lower() in _OTHER_AGGREGATES
    else:
        # MIN and MAX of several arguments are functions of one row.
        known = isinstance(node, exp.AggFunc) and not (isinstance(node, exp.Min | exp.Max) and node.expressions)
    if not known:
        return False
    above = node.parent
    if isinstance(above, exp.Filter):
        above = above.parent
    return not isinstance(above, exp.Window)


_OTHER_AGGREGATES = frozenset(
    {"total", "json_group_array", "json_group_object", "jsonb_group_array", "product", "fsum", "favg", "mode"}
)
"""Aggregates of SQLite and DuckDB that sqlglot may read as unknown functions."""


def _parts(select: exp.Query) -> list[exp.Expr]:
    """What is computed after grouping."""
    parts: list[exp.Expr] = [output.unalias() for output in select.expressions]
    for clause in ("having", "order"):
        part = select.args.get(clause)
        if isinstance(part, exp.Order):
            parts += [key.this if isinstance(key, exp.Ordered) else key for key in part.expressions]
        elif part is not None:
            parts.append(part.this)
    return parts


def _is_whole(node: exp.Expr) -> bool:
    """Whether a node is an expression with a value per row: it contains no aggregate, window or subquery."""
    if not isinstance(node, exp.Condition) or (isinstance(node.parent, exp.Case) and isinstance(node, exp.If)):
        return False
    return not any(isinstance(one, exp.Window | exp.Query | exp.Star) or is_aggregate(one) for one in node.walk())


def _is_key(column: exp.Column, keys: list[exp.Column]) -> bool:
    return any(
        column.name.lower() == key.name.lower()
        and (not column.table or not key.table or column.table.lower() == key.table.lower())
        for key in keys
    )


def _spelling(node: exp.Expr) -> str:
    return plain_text(node).lower()
