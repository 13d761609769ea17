"""A selected column that is the same in every row."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule

_LEAST_ROWS = 3

RULE = LintRule(
    name="constant-column",
    severity="note",
    needs="database",
    finds=f"a column with one value in all of at least {_LEAST_ROWS} rows, beside others, that no condition fixes",
    why="A wrong column that happens to hold the same value would match it: the case tests less than it seems to.",
    remedy="Check that the column is the one that is asked for; add data in which it varies.",
    bad="SELECT name, country FROM singer  -- all are from France",
    good="SELECT name FROM singer",
)


def check(gold: Gold) -> Iterator[Found]:
    top, rows = gold.top, gold.rows
    if top is None or gold.facts is None or rows is None or len(rows) < _LEAST_ROWS or len(top.outputs) != len(rows[0]):
        return
    if len(top.outputs) < 2:
        return
    fixed = {
        one.left.column.key
        for one in gold.facts.conditions
        if one.left.column is not None and one.operator in ("=", "in", "like") and one.level == top.index
    }
    for place, output in enumerate(top.outputs):
        column = output.term.column
        if column is None or column.key in fixed or rows[0][place] is None:
            continue
        if len({repr(row[place]) for row in rows}) == 1:
            yield Found(
                evidence=f"{output.term.text} is {str(rows[0][place])[:60]!r} in all {len(rows):,} rows.",
                place=output.term.place,
            )
