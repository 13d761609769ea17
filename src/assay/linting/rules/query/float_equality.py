"""Equality of computed numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.query import Query

if TYPE_CHECKING:
    from sqlglot import exp

RULE = LintRule(
    name="float-equality",
    severity="warning",
    needs="query",
    finds="an equality with an average or a quotient of real numbers",
    why="Computed fractions are rounded. Two that should be equal may differ in the last digit, and which do "
    "differs between databases.",
    remedy="Compare with a range, round both sides, or compare integers.",
    bad="SELECT name FROM team WHERE wins / 3.0 = 0.1",
    good="SELECT name FROM team WHERE ABS(wins / 3.0 - 0.1) < 1e-9",
)

_QUALIFIER = re.compile(r"\b[A-Za-z_]\w*\.")
_MOST_HOPS = 60
"""Limit for the subqueries and CTEs through which a column is traced."""


def check_query(_: Gold, query: Query) -> Iterator[Found]:
    from sqlglot import exp

    for one in query.predicates:
        if one.operator not in ("=", "<>") or one.clause == "output":
            continue
        sides = (one.left, one.right[0])
        if any(isinstance(side, exp.Query) for side in sides) or _is_own_value(query, *sides):
            continue
        if any(_is_computed(query, side) for side in sides):
            yield Found(
                evidence=f"{query.shown(one.node)} compares computed fractions for equality.",
                place=query.span(one.node),
            )


def _is_own_value(query: Query, left: exp.Expr, right: exp.Expr) -> bool:
    """Whether a fraction is compared with its own MIN or MAX, or with another row's: computed identically, it is the
    same."""
    for side, other in ((left, right), (right, left)):
        if query.value_of(other) is None and _is_extreme(query, side):
            return True
    plain = [_QUALIFIER.sub("", query.shown(side)).casefold() for side in (left, right)]
    return plain[0] == plain[1]


def _is_extreme(query: Query, node: exp.Expr | None) -> bool:
    """Whether it is a MIN, a MAX, or the first row by an order: by itself, or in the subquery whose column it is."""
    from sqlglot import exp

    for _ in range(_MOST_HOPS):
        while isinstance(node, exp.Window | exp.Filter | exp.Alias | exp.Paren | exp.Coalesce | exp.Cast):
            node = node.this
        if not isinstance(node, exp.Column):
            return isinstance(node, exp.Min | exp.Max | exp.FirstValue)
        node = query.behind(node)
        select = None if node is None else query.select_of(node)
        if select is not None and select.limit_node is not None and select.order:
            return True
    return False


def _is_computed(query: Query, node: exp.Expr) -> bool:
    """Whether it is an average or a quotient of real numbers that is not rounded."""
    from sqlglot import exp

    if isinstance(node, exp.Column) or node.find(exp.Div, exp.Avg) is None or node.find(exp.Round) is not None:
        return False
    return query.type_of(node) == "real"
