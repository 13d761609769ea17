"""An order that begins with missing values."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule

RULE = LintRule(
    name="order-over-nulls",
    severity="warning",
    needs="database",
    finds="an ORDER BY … LIMIT whose rows are NULL in the key",
    why="A missing value is not the smallest or the largest; and databases disagree on where NULL stands.",
    remedy="Add WHERE key IS NOT NULL.",
    bad="SELECT name FROM singer ORDER BY age LIMIT 1  -- some ages are NULL",
    good="SELECT name FROM singer WHERE age IS NOT NULL ORDER BY age LIMIT 1",
)
_NULLS_LARGEST = frozenset({"postgres", "oracle", "snowflake", "redshift", "denodo"})


def check(gold: Gold) -> Iterator[Found]:
    top = gold.top
    if top is None or gold.database is None or not top.order or not top.limited:
        return
    key = top.order[0]
    values = gold.database.values(key.term.column)
    if key.term.column is None or values is None or not values.nulls or not _is_taken(gold, key.descending):
        return
    for condition in gold.facts.conditions if gold.facts is not None else ():
        if condition.level == top.index and condition.left.column is not None and condition.certain:
            if condition.left.column.key == key.term.column.key and (condition.operator != "is" or condition.negated):
                return  # the condition leaves NULL out
    if top.group or top.distinct or len(top.sources) > 1:
        rows = gold.rows or ()
        shown = [place for place, one in enumerate(top.outputs) if one.term.column == key.term.column]
        if not any(row[place] is None for row in rows for place in shown):
            return
    yield Found(
        evidence=f"{values.nulls:,} rows have no {key.term.column.name}, and NULL comes first in this order.",
        place=key.term.place,
    )


def _is_taken(gold: Gold, descending: bool) -> bool:  # noqa: FBT001
    """Whether NULL stands where the LIMIT takes rows."""
    return descending if gold.dialect in _NULLS_LARGEST else not descending
