"""Rows that a join repeats."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.query import Query

RULE = LintRule(
    name="repeated-rows",
    severity="warning",
    needs="database",
    finds="whole rows that occur several times, because a join repeats the only table whose columns are selected",
    why="The question asks which ones there are, and the gold query lists one once per partner. An answer that "
    "lists each once is marked wrong.",
    remedy="Add DISTINCT, or test with EXISTS or IN instead of a join.",
    bad="SELECT s.name FROM singer AS s JOIN concert AS c ON c.singer_id = s.id",
    good="SELECT DISTINCT s.name FROM singer AS s JOIN concert AS c ON c.singer_id = s.id",
)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    top, rows = query.top, gold.rows
    if top is None or rows is None or gold.database is None or len(top.sources) < 2 or top.is_distinct or top.group:
        return
    if top.is_aggregated or top.limit_node is not None or len(rows) < 2 or not top.join_pairs:
        return
    columns = [column for output in top.outputs if (column := query.column_of(output)) is not None]
    if len(columns) != len(top.outputs) or len({query.identity(column)[:2] for column in columns}) != 1:
        return
    if not any(gold.database.is_unique(query.stored(column)) for column in columns):
        return  # rows of different origin may look the same
    counted: dict[str, int] = {}
    for row in rows:
        counted[repr(row)] = counted.get(repr(row), 0) + 1
    repeated = len(rows) - len(counted)
    if repeated:
        most = max(rows, key=lambda row: counted[repr(row)])
        shown = " | ".join(map(str, most))[:80]
        yield Found(
            evidence=f"{repeated:,} of {len(rows):,} rows repeat others, for example {shown!r}, "
            f"{counted[repr(most)]:,} "
            "times.",
            place=query.span(columns[0]),
        )
