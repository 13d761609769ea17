"""A join that repeats the rows that an aggregate takes."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.facts import Aggregate, ColumnRef, Level, column_name, probe_of_level

RULE = LintRule(
    name="join-multiplies",
    severity="warning",
    needs="database",
    finds="a SUM or AVG over a table's column, or a COUNT of its key, where a join repeats the table's rows",
    why="A row with three partners is taken three times: sums are too large, averages are weighted.",
    remedy="Aggregate before joining, or test with EXISTS or IN instead of a join.",
    bad="SELECT SUM(s.salary) FROM singer AS s JOIN concert AS c ON c.singer_id = s.id",
    good="SELECT SUM(salary) FROM singer WHERE id IN (SELECT singer_id FROM concert)",
)


def check(gold: Gold) -> Iterator[Found]:
    top = gold.top
    if top is None or gold.facts is None or gold.database is None or len(top.sources) < 2 or gold.names is None:
        return
    seen: set[str | None] = set()
    for one in gold.facts.aggregates:
        column = None if one.argument is None else one.argument.column
        if one.level != top.index or one.distinct or column is None or column.table is None or column.source in seen:
            continue
        if one.function not in ("sum", "avg", "count"):
            continue
        key = _key(gold, column)
        if key is None or (one.function == "count" and key.key != column.key):
            continue
        seen.add(column.source)
        yield from _repeated(gold, top, one, column, key)


def _key(gold: Gold, column: ColumnRef) -> ColumnRef | None:
    """The one column that tells the rows of the table apart."""
    table = None if gold.names is None or column.table is None else gold.names.table(column.table)
    if table is None or len(table.primary_key) != 1:
        return None
    name = table.primary_key[0]
    return ColumnRef(column=name, table=column.table, source=column.source, level=column.level)


def _repeated(gold: Gold, top: Level, one: Aggregate, column: ColumnRef, key: ColumnRef) -> Iterator[Found]:
    name = column_name(key, gold.dialect)
    probe = probe_of_level(gold.query, gold.dialect, [f"COUNT({name})", f"COUNT(DISTINCT {name})"])
    rows = gold.database.rows(probe) if gold.database is not None else None
    taken = [(all_, own) for all_, own in rows or () if isinstance(all_, int) and isinstance(own, int) and all_ > own]
    if not taken:
        return
    if one.function == "count" and top.group:
        return  # for each group the joined rows are what is counted
    rows_taken, own_rows = max(taken, key=lambda pair: pair[0] - pair[1])
    where = f"in {len(taken)} of {len(rows or ())} groups, for example " if len(rows or ()) > 1 else ""
    yield Found(
        evidence=f"{gold.shown(one.place) or one.function.upper()}({column.name}): {where}{own_rows:,} rows of "
        f"{column.table} are taken {rows_taken:,} times, because the join repeats them.",
        place=one.place,
    )
