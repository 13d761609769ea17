"""Run a query with the rows of its tables in another order, if an aggregate or a window function shows that order.

SQLite joins the values of ``GROUP_CONCAT(v)`` in the order in which it reads the rows, and that order decides which of
several tied rows ``FIRST_VALUE(v) OVER (ORDER BY g)`` reads. Each table is replaced by itself, sorted::

    SELECT GROUP_CONCAT(v) FROM t
    SELECT GROUP_CONCAT(v) FROM (SELECT * FROM t ORDER BY ROW_NUMBER() OVER () DESC LIMIT -1) AS t

A table has no order, so each result is one that the query itself might have returned. The LIMIT prevents SQLite from
omitting the sort.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.sql.probes.edits import Edit
from assay.sql.query import Query

if TYPE_CHECKING:
    from sqlglot import exp

_COLLECTING = frozenset(
    {"group_concat", "string_agg", "listagg", "array_agg", "json_group_array", "json_group_object", "json_agg"}
    | {"jsonb_group_array", "jsonb_group_object", "json_arrayagg", "json_objectagg", "list", "first", "last"}
    | {"arg_max", "arg_min", "max_by", "min_by", "mode"}
)
_SAFE_WINDOWS = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})
_ROW_NUMBERS = frozenset({"rowid", "oid", "_rowid_"})
_ORDERS = (
    "ROW_NUMBER() OVER () DESC",
    "ROW_NUMBER() OVER () * 3571 % 10007",
    "ROW_NUMBER() OVER () * 6373 % 10007",
    "ROW_NUMBER() OVER () * ROW_NUMBER() OVER () * 2000 % 10007",
)
"""Backwards, and three that mix the rows."""
_FURTHER_ORDERS = tuple(f"ROW_NUMBER() OVER () * {factor} % 11" for factor in range(2, 10))
"""Orders of few rows in which each comes first, before others and after them."""


def name_of(node: exp.Func) -> str:
    """The name of a function in lower case."""
    from sqlglot import exp

    return node.name.lower() if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc) else node.key


def collects(function: exp.Expr) -> bool:
    """Whether an aggregate shows the order in which it reads its rows."""
    from sqlglot import exp

    return isinstance(function, exp.GroupConcat | exp.ArrayAgg | exp.JSONArrayAgg | exp.JSONObjectAgg) or (
        isinstance(function, exp.Func) and name_of(function) in _COLLECTING
    )


def is_safe_window(window: exp.Window) -> bool:
    """Whether tied rows in a window's order get the same value: ranks, and aggregates over whole ties.

    A frame of RANGE or GROUPS, the default, begins and ends with whole ties.
    """
    from sqlglot import exp

    function = window.this
    name = name_of(function) if isinstance(function, exp.Func) else ""
    if name in _SAFE_WINDOWS or isinstance(function, exp.Rank | exp.DenseRank):
        return True
    inner = function.this if isinstance(function, exp.Filter) else function
    if not isinstance(inner, exp.Count | exp.Sum | exp.Avg | exp.Min | exp.Max):
        return False
    return not _has_row_frame(window)


def _has_row_frame(window: exp.Window) -> bool:
    """Whether a window counts rows, or may do so: named windows are not looked up."""
    spec = window.args.get("spec")
    if window.args.get("alias") is not None:
        return True
    return spec is not None and str(spec.args.get("kind") or "").upper() not in ("RANGE", "GROUPS")


def shows_row_order(query: Query) -> exp.Expr | None:
    """The first aggregate or window function whose result may depend on the order of rows; None if there is none, or if
    rows are selected by their number."""
    from sqlglot import exp

    found: exp.Expr | None = None
    for node in query.all_of(exp.Column, exp.Func, exp.Window):
        if isinstance(node, exp.Column) and node.name.lower() in _ROW_NUMBERS:
            return None
        if found is None and isinstance(node, exp.Func) and collects(node):
            found = node
        if found is None and isinstance(node, exp.Window) and not is_safe_window(node):
            found = node
    return found


def reordered(query: Query, *, often: bool = False) -> Iterator[str]:
    """The query with the rows of every stored table in other orders; ``often``: in more of them."""
    from sqlglot import exp

    own = {cte.alias.lower() for cte in query.all_of(exp.CTE)}
    tables = [table for table in query.all_of(exp.Table) if isinstance(table.this, exp.Identifier)]
    stored = [table for table in tables if table.db or table.name.lower() not in own]
    orders = (*_ORDERS, *_FURTHER_ORDERS) if often else _ORDERS
    for order in orders if stored else ():
        edit = Edit(query)
        for table in stored:
            twin = edit.twin(table)
            alias = exp.TableAlias(this=exp.to_identifier(table.alias_or_name, quoted=True))
            joins = twin.args.get("joins")
            bare = exp.Table(this=twin.this, db=twin.args.get("db"), catalog=twin.args.get("catalog"))
            rows = exp.select("*").from_(bare, copy=False).order_by(order, dialect="sqlite", copy=False)
            twin.replace(exp.Subquery(this=rows.limit("-1", dialect="sqlite", copy=False), alias=alias, joins=joins))
        yield edit.written()
