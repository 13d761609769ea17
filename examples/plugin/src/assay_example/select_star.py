"""A lint rule: gold queries with ``SELECT *``."""

from __future__ import annotations

from collections.abc import Iterator

from assay.linting import Found, Gold
from assay.model.lint import LintRule
from assay.sql.query import Query

RULE = LintRule(
    name="select-star",
    severity="note",
    needs="query",
    finds="a SELECT * that is the result of the query",
    why="The result changes with every column that the table gets, and a prediction is compared with all of them.",
    remedy="List the columns that the question asks for.",
    bad="SELECT * FROM customers",
    good="SELECT id, name FROM customers",
)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    """Find the stars in the list of the outermost SELECT."""
    if query.top is None:
        return
    for output in query.top.node.expressions:
        if output.is_star:
            yield Found(evidence="The query returns whatever columns its tables have.", place=query.span(output))
