"""Which subqueries are values, and which of these return at most one row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.sql.probes.bare_terms import is_aggregate

if TYPE_CHECKING:
    from sqlglot import exp


def is_scalar(query: exp.Query) -> bool:
    """Whether a query is used as a value, so that one row is read."""
    from sqlglot import exp

    if isinstance(query, exp.Subquery) or not isinstance(query.parent, exp.Subquery):
        return False
    inner: exp.Expr = query.parent
    while isinstance(inner.parent, exp.Subquery | exp.Paren):
        inner = inner.parent
    above = inner.parent
    if isinstance(above, exp.In) and inner.arg_key == "query":
        return inner is not query.parent  # in a second pair of parentheses it is a list of one value
    return above is not None and not isinstance(
        above, exp.From | exp.Join | exp.SetOperation | exp.Exists | exp.All | exp.Any | exp.Lateral | exp.CTE
    )


def gives_one_row(query: exp.Query) -> bool:
    """Whether a query certainly returns at most one row, regardless of the data. A LIMIT of 1 chooses it: see
    `inner_limit`."""
    from sqlglot import exp

    limit = query.args.get("limit")
    if isinstance(limit, exp.Limit) and limit.expression is not None and limit.expression.name in ("0", "1"):
        return True
    if not isinstance(query, exp.Select):
        return isinstance(query, exp.Values) and len(query.expressions) == 1
    if query.args.get("from_") is None:
        return True
    return not query.args.get("group") and any(
        is_aggregate(node) and node.parent_select is query for output in query.expressions for node in output.walk()
    )
