"""A column of the gold result contains only NULL."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule

RULE = LintRule(
    name="all-null",
    severity="warning",
    needs="database",
    finds="a result in which a column is NULL in every row",
    why="Any empty column matches it, so the case tests less than it seems to.",
    remedy="Check the join and the column. If the data has no value, ask for another column.",
    bad="SELECT name, death_year FROM singer WHERE death_year IS NULL",
    good="SELECT name FROM singer WHERE death_year IS NULL",
)


def check(gold: Gold) -> Iterator[Found]:
    rows = gold.rows
    if not rows:
        return
    if len(rows) == 1 and all(cell is None or cell == 0 for cell in rows[0]):
        return  # perhaps computed over an empty input, which another rule reports
    query = gold.query
    outputs = () if query is None or query.top is None else query.top.outputs
    names = gold.execution.columns if gold.execution is not None else ()
    width = len(rows[0])
    empty = [place for place in range(width) if all(row[place] is None for row in rows)]
    for place in empty:
        name, span = names[place] if place < len(names) else f"column {place + 1}", None
        if query is not None and len(outputs) == width:
            name, span = query.shown(outputs[place]), query.span(outputs[place])
        count = f"all {len(rows):,} rows" if len(rows) > 1 else "the only row"
        yield Found(
            evidence=f"{name} is NULL in {count}.",
            place=span,
            severity="note" if len(rows) == 1 and len(empty) < width else None,
        )
