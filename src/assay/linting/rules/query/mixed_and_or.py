"""OR next to AND without parentheses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.predicates import Predicate
from assay.sql.query import Query

if TYPE_CHECKING:
    from sqlglot import exp

RULE = LintRule(
    name="mixed-and-or",
    severity="warning",
    needs="query",
    finds="alternatives for one column, only one of them combined with the other conditions",
    why="AND has precedence over OR: in a AND b = 1 OR b = 2, rows with b = 2 are returned regardless of a.",
    remedy="Put parentheses around the alternatives, or write IN.",
    bad="SELECT name FROM singer WHERE age > 20 AND country = 'France' OR country = 'Japan'",
    good="SELECT name FROM singer WHERE age > 20 AND (country = 'France' OR country = 'Japan')",
)


def check_query(_: Gold, query: Query) -> Iterator[Found]:
    for select in query.selects:
        together: dict[int, list[Predicate]] = defaultdict(list)
        for one in select.predicates:
            if one.clause in ("where", "having", "on") and not one.is_required:
                together[id(one.conjunction)].append(one)
        # The alternatives of several conditions, by the column and the operator of each condition.
        tied: dict[object, list[tuple[Predicate, Predicate]]] = defaultdict(list)
        for group in (group for group in together.values() if len(group) > 1):
            columns = [_column(query, one) for one in group]
            for index, one in enumerate(group):
                if columns[index] is not None and columns.count(columns[index]) == 1:
                    tied[columns[index], one.operator].append((one, group[index == 0]))
        for (lone,) in (group for group in together.values() if len(group) == 1):
            if lone.disjunction is None or lone.operator not in ("=", "like"):
                continue
            others = tied.get((_column(query, lone), lone.operator), ())
            rest = next((rest for one, rest in others if _is_side_of(one.conjunction, lone.disjunction)), None)
            if rest is not None:
                yield Found(
                    evidence=f"{query.shown(lone.node)} is alone in its OR: {query.shown(rest.node)} does not apply to "
                    "it.",
                    place=query.span(lone.node),
                )


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
