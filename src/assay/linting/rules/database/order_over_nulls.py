"""An order that begins with NULL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.linting.column_probes import probe_of_outermost
from assay.linting.gold import Found, Gold
from assay.linting.root_causes import without_values
from assay.model.lint import LintRule
from assay.sql.query import Query
from assay.sql.select import Select

if TYPE_CHECKING:
    from sqlglot import exp

RULE = LintRule(
    name="order-over-nulls",
    severity="warning",
    needs="database",
    finds="an ORDER BY … LIMIT whose rows are NULL in the key",
    why="A missing value is neither the smallest nor the largest, and databases sort NULL differently.",
    remedy="Add WHERE key IS NOT NULL.",
    bad="SELECT name FROM singer ORDER BY age LIMIT 1  -- some ages are NULL",
    good="SELECT name FROM singer WHERE age IS NOT NULL ORDER BY age LIMIT 1",
)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    top = query.top
    if top is None or gold.database is None or not top.order or top.limit_node is None:
        return
    key = top.order[0]
    column = query.column_of(top.meant(key))
    stored = None if column is None else query.stored(column)
    values = gold.database.values(stored)
    if column is None or values is None or not values.nulls or not _is_taken(gold, key):
        return
    counted = f"SUM(CASE WHEN {column.sql(dialect=gold.dialect)} IS NULL THEN 1 ELSE 0 END)"
    rows = gold.database.rows(probe_of_outermost(query, [counted, "COUNT(*)"], grouped=False))
    nulls, ordered = (int(str(number or 0)) for number in rows[0]) if rows else (0, 0)
    if nulls and _cuts(gold, top, ordered):
        yield Found(
            evidence=f"{nulls:,} of the rows to be ordered have no {stored}, and NULL comes first.",
            place=query.span(column),
            root_cause=without_values(str(stored)),
        )


def _cuts(gold: Gold, top: Select, ordered: int) -> bool:
    """Whether LIMIT or OFFSET cuts off any of the rows. ``ordered``: how many there are, without groups."""
    if top.limit is None or top.node.args.get("offset") is not None:
        return True
    given = ordered if gold.rows is None else len(gold.rows)
    return top.limit < ordered and top.limit <= given


def _is_taken(gold: Gold, key: exp.Expr) -> bool:
    """Whether NULL is where the LIMIT takes rows."""
    is_descending, nulls_first = bool(key.args.get("desc")), key.args.get("nulls_first")
    if gold.dialect == "denodo":
        return is_descending
    return not is_descending if nulls_first is None else bool(nulls_first)
