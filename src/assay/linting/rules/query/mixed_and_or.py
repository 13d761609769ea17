"""OR beside AND without parentheses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.query import Query
from assay.sql.select import Predicate

if TYPE_CHECKING:
    from sqlglot import exp

RULE = LintRule(
    name="mixed-and-or",
    severity="warning",
    needs="query",
    finds="alternatives for one column of which only one is tied to the other conditions",
    why="AND binds before OR: in a AND b = 1 OR b = 2, rows with b = 2 come back whatever a is.",
    remedy="Put parentheses around the alternatives, or write IN.",
    bad="SELECT name FROM singer WHERE age > 20 AND country = 'France' OR country = 'Japan'",
    good="SELECT name FROM singer WHERE age > 20 AND (country = 'France' OR country = 'Japan')",
)


def check_query(_: Gold, query: Query) -> Iterator[Found]:
    for select in query.selects:
        conditions = [
            one for one in select.predicates if one.clause in ("where", "having", "on") and not one.is_required
        ]
        for lone in conditions:
            rest = _beside_alternative(query, lone, conditions)
            if rest is not None:
                yield Found(
                    evidence=f"{query.shown(lone.node)} stands alone beside OR: "
                    f"{query.shown(rest.node)} does not hold for it.",
                    place=query.span(lone.node),
                )


def _beside_alternative(query: Query, lone: Predicate, conditions: list[Predicate]) -> Predicate | None:
    """A condition that an OR ties to another alternative for the column of ``lone``, and not to ``lone``."""
    column = _column(query, lone)
    if lone.disjunction is None or column is None or lone.operator not in ("=", "like"):
        return None
    if sum(one.conjunction is lone.conjunction for one in conditions) > 1:
        return None
    for other in conditions:
        if other is lone or _column(query, other) != column or other.operator != lone.operator:
            continue
        if not _is_side_of(other.conjunction, lone.disjunction):
            continue
        rest = [one for one in conditions if one.conjunction is other.conjunction and one is not other]
        if rest and not any(_column(query, one) == column for one in rest):
            return rest[0]
    return None


def _column(query: Query, one: Predicate) -> tuple[int, str, str] | None:
    column = query.column_of(one.left)
    return None if column is None else query.identity(column)


def _is_side_of(conjunction: exp.Expr, disjunction: exp.Expr) -> bool:
    """Whether an AND is one of an OR's alternatives, without parentheses around it."""
    from sqlglot import exp

    above = conjunction.parent
    while isinstance(above, exp.Or | exp.Paren) and above is not disjunction:
        above = above.parent
    return isinstance(conjunction, exp.And) and above is disjunction
