"""A question for different values, and a gold that repeats them."""

import re
from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.linting.words import has
from assay.model.lint import LintRule
from assay.sql.facts import ColumnRef

RULE = LintRule(
    name="different-without-distinct",
    severity="warning",
    needs="question",
    finds="'different', 'distinct' or 'unique' in the question and no DISTINCT, GROUP BY or set operation in the gold",
    why="The gold counts or lists a value as often as it occurs.",
    remedy="Add DISTINCT.",
    bad="Q: How many different countries are there?\nSELECT COUNT(country) FROM singer",
    good="Q: How many different countries are there?\nSELECT COUNT(DISTINCT country) FROM singer",
)


def check(gold: Gold) -> Iterator[Found]:
    facts, top = gold.facts, gold.top
    if facts is None or top is None or not has(gold.question, "different|distinct|unique"):
        return
    if re.search(r"\bdifferent\w* (?:from|than|to)\b|\bdifferently\b", gold.question, re.IGNORECASE):
        return
    if any(level.distinct or level.group for level in facts.levels) or any(one.distinct for one in facts.aggregates):
        return
    if facts.set_operations or facts.windowed:
        return
    counted = [one for one in facts.aggregates if one.level == top.index and one.clause == "output"]
    if not counted:
        yield from _listed(gold)
        return
    count = next((one for one in counted if one.function == "count"), None)
    if count is None:
        return
    if count.argument is not None and count.argument.column is not None:
        unique = gold.database is not None and gold.database.is_unique(count.argument.column) and len(top.sources) == 1
        if unique or (gold.names is not None and len(top.sources) == 1 and _is_key(gold, count.argument.column)):
            return
        yield Found(evidence=f"COUNT({count.argument.text}) counts a value as often as it occurs.", place=count.place)
    elif len(top.sources) > 1:
        yield Found(
            evidence="COUNT(*) over a join counts rows, and the question asks for different ones.", place=count.place
        )


def _is_key(gold: Gold, column: ColumnRef) -> bool:
    return column.table is not None and gold.names is not None and gold.names.is_key(column.table, column.column)


def _listed(gold: Gold) -> Iterator[Found]:
    rows = gold.rows
    if gold.database is None:
        return  # whether values repeat shows only in data
    if rows is None:
        return
    repeated = len(rows) - len({repr(row) for row in rows})
    if repeated:
        yield Found(
            evidence=f"The question asks for different ones, and {repeated:,} of the {len(rows):,} rows repeat others."
        )
