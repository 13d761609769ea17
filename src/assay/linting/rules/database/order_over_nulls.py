"""An order that begins with missing values."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.linting.root_causes import without_values
from assay.model.lint import LintRule
from assay.sql.facts import OrderKey, column_name, probe_of_level

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


def check(gold: Gold) -> Iterator[Found]:
    top = gold.top
    if top is None or gold.database is None or not top.order or not top.limited:
        return
    key = top.order[0]
    values = gold.database.values(key.term.column)
    if key.term.column is None or values is None or not values.nulls or not _is_taken(gold, key):
        return
    name = column_name(key.term.column, gold.dialect)
    counted = f"SUM(CASE WHEN {name} IS NULL THEN 1 ELSE 0 END)"
    rows = gold.database.rows(probe_of_level(gold.query, gold.dialect, [counted], grouped=False))
    nulls = 0 if not rows or not rows[0][0] else int(str(rows[0][0]))
    if nulls:
        yield Found(
            evidence=f"{nulls:,} of the rows to be ordered have no {key.term.column.name}, and NULL comes first.",
            place=key.term.place,
            root_cause=without_values(key.term.column.name),
        )


def _is_taken(gold: Gold, key: OrderKey) -> bool:
    """Whether NULL stands where the LIMIT takes rows."""
    if gold.dialect == "denodo" or key.nulls_first is None:
        return key.descending if gold.dialect == "denodo" else not key.descending
    return key.nulls_first
