"""A quotient that loses its fraction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.expressions import inside
from assay.sql.query import Query

if TYPE_CHECKING:
    from sqlglot import exp

_CUTS = frozenset({"sqlite", "postgres", "tsql", "redshift", "denodo", "presto", "trino", "athena"})

RULE = LintRule(
    name="integer-division",
    severity="warning",
    needs="query",
    finds="an integer division in a dialect that truncates the result",
    why="1 / 2 is 0 there: ratios and percentages come out as 0 or too small.",
    remedy="Make one side a real number before dividing: CAST(a AS REAL) / b, or 1.0 * a / b.",
    bad="SELECT SUM(wins) / COUNT(*) FROM team",
    good="SELECT CAST(SUM(wins) AS REAL) / COUNT(*) FROM team",
)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    from sqlglot import exp

    if gold.dialect not in _CUTS:
        return
    for division in query.all_of(exp.Div):
        left, right = inside(division.this), inside(division.expression)
        if _is_undone(division) or not query.type_of(left) == query.type_of(right) == "integer":
            continue
        values = [query.value_of(side) for side in (left, right)]
        if None in values or int(values[0] or 0) % (int(values[1] or 1) or 1):
            yield Found(
                evidence=f"Both {query.shown(left)} and {query.shown(right)} are integers, and so is their quotient.",
                place=query.span(division),
            )


def _is_undone(division: exp.Div) -> bool:
    """Whether a quotient is multiplied by its own divisor again, as in ``year / 10 * 10``: truncation is intended."""
    from sqlglot import exp

    above: exp.Expr | None = division.parent
    inner: exp.Expr = division
    while isinstance(above, exp.Paren):
        inner, above = above, above.parent
    if not isinstance(above, exp.Mul):
        return False
    other = above.expression if above.this is inner else above.this
    return inside(other) == inside(division.expression)
