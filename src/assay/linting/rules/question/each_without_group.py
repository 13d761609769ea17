"""A question for one figure per group, and a gold query with one for all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.expressions import has_aggregate
from assay.sql.query import Query

if TYPE_CHECKING:
    from sqlglot import exp

RULE = LintRule(
    name="each-without-group",
    severity="warning",
    needs="question",
    finds="'for each' or 'per' in the question, and one aggregate over everything in the gold query",
    why="The gold query returns one number, but the question asks for one per group.",
    remedy="Add GROUP BY, and select the group's columns.",
    bad="Q: the number of singers in each country\nSELECT COUNT(*) FROM singer",
    good="Q: the number of singers in each country\nSELECT country, COUNT(*) FROM singer GROUP BY country",
)
_EACH = re.compile(r"\b(?:for|in|of|by|to|from|does|do|with|on|at) (?:each|every)\b|\beach of the\b", re.IGNORECASE)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    from sqlglot import exp

    top = query.top
    found = _EACH.search(gold.question)
    if top is None or found is None or any(query.all_of(exp.Window, exp.SetOperation)):
        return
    if any(select.group for select in query.selects) or not top.is_aggregated:
        return
    if not all(has_aggregate(output) and not query.columns_in(output, bare=True) for output in top.outputs):
        return
    if len(top.outputs) > 3 or (len(top.outputs) > 1 and all(map(_is_of_some, top.outputs))):
        return  # one column per group
    yield Found(
        evidence=f"The question says {found[0].lower()!r}, but the query returns one row over everything.",
        place=query.span(top.outputs[0]),
    )


def _is_of_some(node: exp.Expr) -> bool:
    """Whether an aggregate only takes some rows: those of one value."""
    from sqlglot import exp

    return node.find(exp.Case, exp.If, exp.Filter, exp.Predicate) is not None
