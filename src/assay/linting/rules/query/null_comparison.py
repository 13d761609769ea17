"""A comparison with NULL."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.query import Query

RULE = LintRule(
    name="null-comparison",
    severity="error",
    needs="query",
    finds="a comparison with NULL by =, <>, < or IN",
    why="Such a comparison is never true.",
    remedy="Write IS NULL or IS NOT NULL.",
    bad="SELECT name FROM singer WHERE country = NULL",
    good="SELECT name FROM singer WHERE country IS NULL",
)


def check_query(_: Gold, query: Query) -> Iterator[Found]:
    from sqlglot import exp

    for one in query.predicates:
        if one.operator in ("is", "like"):
            continue
        if any(isinstance(side, exp.Null) for side in (one.left, *one.right)):
            yield Found(
                evidence=f"{query.shown(one.node)} compares with NULL, which is never true.",
                place=query.span(one.node),
            )
