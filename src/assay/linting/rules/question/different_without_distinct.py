"""A question for different values, and a gold query that repeats them."""

import re
from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.linting.words import has
from assay.model.lint import LintRule
from assay.sql.expressions import argument_of, is_distinct
from assay.sql.query import Query
from assay.sql.select import StoredColumn

RULE = LintRule(
    name="different-without-distinct",
    severity="warning",
    needs="question",
    finds=(
        "'different', 'distinct' or 'unique' in the question and no DISTINCT, GROUP BY or set operation in the gold "
        "query"
    ),
    why="The gold query counts or lists duplicates.",
    remedy="Add DISTINCT.",
    bad="Q: How many different countries are there?\nSELECT COUNT(country) FROM singer",
    good="Q: How many different countries are there?\nSELECT COUNT(DISTINCT country) FROM singer",
)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    from sqlglot import exp

    top = query.top
    if top is None or not has(gold.question, "different|distinct|unique"):
        return
    if re.search(r"\bdifferent\w* (?:from|than|to)\b|\bdifferently\b", gold.question, re.IGNORECASE):
        return
    if any(select.is_distinct or select.group or any(map(is_distinct, select.aggregates)) for select in query.selects):
        return
    if any(query.all_of(exp.SetOperation, exp.Window)):
        return
    counted = [node for node in top.nodes("output") if isinstance(node, exp.AggFunc)]
    if not counted:
        yield from _listed(gold)
        return
    count = next((node for node in counted if isinstance(node, exp.Count)), None)
    if count is None:
        return
    argument = argument_of(count)
    column = None if argument is None else query.column_of(argument)
    if column is not None:
        if len(top.sources) == 1 and _is_unique(gold, query.stored(column)):
            return
        yield Found(evidence=f"COUNT({query.shown(column)}) counts duplicates.", place=query.span(count))
    elif len(top.sources) > 1:
        yield Found(
            evidence="COUNT(*) over a join counts rows, but the question asks for different ones.",
            place=query.span(count),
        )


def _is_unique(gold: Gold, column: StoredColumn | None) -> bool:
    if gold.database is not None and gold.database.is_unique(column):
        return True
    return column is not None and gold.names is not None and gold.names.is_key(column.table, column.column)


def _listed(gold: Gold) -> Iterator[Found]:
    rows = gold.rows
    if gold.database is None:
        return  # only the data shows whether values repeat
    if rows is None:
        return
    repeated = len(rows) - len({repr(row) for row in rows})
    if repeated:
        yield Found(
            evidence=f"The question asks for different ones, but {repeated:,} of the {len(rows):,} rows are duplicates."
        )
