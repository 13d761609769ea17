"""OR beside AND without parentheses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
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


def check(gold: Gold) -> Iterator[Found]:
    query = gold.query
    for select in () if query is None else query.selects:
        conditions = [
            one for one in select.predicates if one.clause in ("where", "having", "on") and not one.is_required
        ]
        for lone in conditions:
            rest = _beside_alternative(lone, conditions)
            if rest is not None:
                yield Found(
                    evidence=f"{select.query.shown(lone.node)} stands alone beside OR: "
                    f"{select.query.shown(rest.node)} does not hold for it.",
                    place=select.query.span(lone.node),
                )


def _beside_alternative(lone: Predicate, conditions: list[Predicate]) -> Predicate | None:
    """A condition that an OR ties to another alternative for the column of ``lone``, and not to ``lone``."""
    column = _column(lone)
    if lone.disjunction is None or column is None or lone.operator not in ("=", "like"):
        return None
    if sum(one.conjunction is lone.conjunction for one in conditions) > 1:
        return None
    for other in conditions:
        if other is lone or _column(other) != column or other.operator != lone.operator:
            continue
        if not _is_side_of(other.conjunction, lone.disjunction):
            continue
        rest = [one for one in conditions if one.conjunction is other.conjunction and one is not other]
        if rest and not any(_column(one) == column for one in rest):
            return rest[0]
    return None


def _column(one: Predicate) -> tuple[int, str, str] | None:
    column = one.select.query.column_of(one.left)
    return None if column is None else one.select.query.identity(column)


def _is_side_of(conjunction: exp.Expr, disjunction: exp.Expr) -> bool:
    """Whether an AND is one of an OR's alternatives, without parentheses around it."""
    from sqlglot import exp

    above = conjunction.parent
    while isinstance(above, exp.Or | exp.Paren) and above is not disjunction:
        above = above.parent
    return isinstance(conjunction, exp.And) and above is disjunction
