"""NOT IN over values that include NULL."""

from collections.abc import Iterator

from assay.errors import plural
from assay.linting.gold import Found, Gold
from assay.linting.root_causes import without_values
from assay.model.lint import LintRule
from assay.sql.query import Query

RULE = LintRule(
    name="not-in-null",
    severity="error",
    needs="database",
    finds="NOT IN with a subquery that returns NULL",
    why="No comparison with NULL is true, so the condition is never true and the query returns nothing.",
    remedy="Add WHERE column IS NOT NULL to the subquery, or write NOT EXISTS.",
    bad="SELECT name FROM singer WHERE id NOT IN (SELECT singer_id FROM concert)  -- some are NULL",
    good="SELECT name FROM singer WHERE id NOT IN (SELECT singer_id FROM concert WHERE singer_id IS NOT NULL)",
)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    from sqlglot import exp

    if gold.database is None:
        return
    for one in query.predicates:
        if one.operator != "in" or not one.is_negated or not one.right or not isinstance(one.right[-1], exp.Select):
            continue
        inner = query.select_of(one.right[-1])
        if inner is None or inner.group or len(inner.sources) > 1:
            continue
        outputs = query.twin(inner.node).expressions  # a star stands for its columns there
        column = query.column_of(outputs[0]) if len(outputs) == 1 else None
        stored = None if column is None else query.stored(column)
        values = gold.database.values(stored)
        if stored is None or values is None or not values.nulls:
            continue
        if any(condition.is_required for condition in inner.predicates):
            continue  # a condition may exclude the NULLs
        yield Found(
            evidence=f"{stored.table} has {plural(values.nulls, 'row')} without {stored.column}: NOT IN is never true.",
            place=query.span(one.node),
            root_cause=without_values(str(stored)),
        )
