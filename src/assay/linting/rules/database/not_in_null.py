"""NOT IN over values among which is NULL."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.linting.root_causes import without_values
from assay.model.lint import LintRule

RULE = LintRule(
    name="not-in-null",
    severity="error",
    needs="database",
    finds="NOT IN with a subquery that gives NULL",
    why="Nothing is known to differ from NULL: the condition is never true, and the query finds nothing.",
    remedy="Add WHERE column IS NOT NULL to the subquery, or write NOT EXISTS.",
    bad="SELECT name FROM singer WHERE id NOT IN (SELECT singer_id FROM concert)  -- some are NULL",
    good="SELECT name FROM singer WHERE id NOT IN (SELECT singer_id FROM concert WHERE singer_id IS NOT NULL)",
)


def check(gold: Gold) -> Iterator[Found]:
    if gold.facts is None or gold.database is None:
        return
    for one in gold.facts.conditions:
        if one.operator != "in" or not one.negated or one.right[-1].kind != "subquery" or one.right[-1].place is None:
            continue
        inner = next(
            (
                level
                for level in gold.facts.levels
                if level.in_condition
                and level.place is not None
                and one.right[-1].place.start <= level.place.start
                and level.place.end <= one.right[-1].place.end
            ),
            None,
        )
        if inner is None or len(inner.outputs) != 1 or inner.group or inner.parent is None:
            continue
        column = inner.outputs[0].term.column
        values = gold.database.values(column)
        if column is None or values is None or not values.nulls or len(inner.sources) > 1:
            continue
        if any(two.level == inner.index and two.certain for two in gold.facts.conditions):
            continue  # a condition may leave the NULLs out
        yield Found(
            evidence=f"{values.nulls:,} rows of {column.table} have no {column.column}, so NOT IN is never true.",
            place=one.place,
            root_cause=without_values(column.name),
        )
