"""Rows that a join repeats."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule

RULE = LintRule(
    name="repeated-rows",
    severity="warning",
    needs="database",
    finds="whole rows that come several times, because a join repeats the table whose columns alone are selected",
    why="The question asks which ones there are, and the gold names one as often as it has partners: "
    "an answer that names each once is called wrong.",
    remedy="Add DISTINCT, or test with EXISTS or IN instead of a join.",
    bad="SELECT s.name FROM singer AS s JOIN concert AS c ON c.singer_id = s.id",
    good="SELECT DISTINCT s.name FROM singer AS s JOIN concert AS c ON c.singer_id = s.id",
)


def check(gold: Gold) -> Iterator[Found]:
    top, rows = gold.top, gold.rows
    if top is None or rows is None or gold.database is None or len(top.sources) < 2 or top.distinct or top.group:
        return
    if top.aggregated or top.limited or len(rows) < 2 or not top.joins:
        return
    sources = {column.source for one in top.outputs for column in one.term.columns}
    if len(sources) != 1 or any(one.term.column is None for one in top.outputs):
        return
    columns = [one.term.column for one in top.outputs]
    if not any(gold.database.is_unique(column) for column in columns):
        return  # rows of different origin may look the same
    counted: dict[str, int] = {}
    for row in rows:
        counted[repr(row)] = counted.get(repr(row), 0) + 1
    repeated = len(rows) - len(counted)
    if repeated:
        most = max(rows, key=lambda row: counted[repr(row)])
        shown = " | ".join(map(str, most))[:80]
        yield Found(
            evidence=f"{repeated:,} of {len(rows):,} rows repeat others, "
            f"such as {shown!r}, {counted[repr(most)]:,} times.",
            place=columns[0].place if columns[0] is not None else None,
        )
