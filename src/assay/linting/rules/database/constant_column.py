"""A selected column that is the same in every row."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.query import Query

_LEAST_ROWS = 3

RULE = LintRule(
    name="constant-column",
    severity="note",
    needs="database",
    finds=(
        f"a column with the same value in all of at least {_LEAST_ROWS} rows, together with others, that no "
        "condition fixes"
    ),
    why="A wrong column that happens to have the same value would match it, so the case tests less than it seems to.",
    remedy="Check that the column is the requested one; add data in which it varies.",
    bad="SELECT name, country FROM singer  -- all are from France",
    good="SELECT name FROM singer",
)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    top, rows = query.top, gold.rows
    if top is None or rows is None or len(rows) < _LEAST_ROWS or len(top.outputs) != len(rows[0]):
        return
    if len(top.outputs) < 2:
        return
    compared = [query.column_of(one.left) for one in top.predicates if one.operator in ("=", "in", "like")]
    fixed = {query.identity(column) for column in compared if column is not None}
    for place, output in enumerate(top.outputs):
        column = query.column_of(output)
        if column is None or query.identity(column) in fixed or rows[0][place] is None:
            continue
        if len({repr(row[place]) for row in rows}) == 1:
            yield Found(
                evidence=f"{query.shown(column)} is {str(rows[0][place])[:60]!r} in all {len(rows):,} rows.",
                place=query.span(column),
            )
