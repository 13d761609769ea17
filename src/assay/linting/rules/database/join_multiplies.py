"""A join that multiplies the rows of an aggregate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.errors import plural
from assay.linting.column_probes import probe_of_outermost, quoted
from assay.linting.gold import Found, Gold
from assay.model.lint import LintRule
from assay.sql.expressions import argument_of, is_distinct
from assay.sql.query import Query
from assay.sql.schema import SchemaNames
from assay.sql.select import StoredColumn

if TYPE_CHECKING:
    from sqlglot import exp

RULE = LintRule(
    name="join-multiplies",
    severity="warning",
    needs="database",
    finds="a SUM or AVG over a table's column, or a COUNT of its key, if a join repeats the table's rows",
    why="A row with three partners counts three times: sums are too large, averages are weighted.",
    remedy="Aggregate before joining, or test with EXISTS or IN instead of a join.",
    bad="SELECT SUM(s.salary) FROM singer AS s JOIN concert AS c ON c.singer_id = s.id",
    good="SELECT SUM(salary) FROM singer WHERE id IN (SELECT singer_id FROM concert)",
)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    from sqlglot import exp

    top = query.top
    if top is None or gold.database is None or len(top.sources) < 2 or gold.names is None:
        return
    seen: set[str] = set()
    groups = {query.identity(column) for key in top.group if (column := query.column_of(key)) is not None}
    for aggregate in top.aggregates:
        argument = argument_of(aggregate)
        column = None if argument is None else query.column_of(argument)
        if is_distinct(aggregate) or column is None or not isinstance(aggregate, exp.Sum | exp.Avg | exp.Count):
            continue
        source = query.meaning(column).source
        if source is None or source.alias in seen:
            continue
        stored = query.stored(column)
        key = None if stored is None else _key(gold.names, stored)
        if stored is None or key is None or (isinstance(aggregate, exp.Count) and key.key != stored.key):
            continue
        if isinstance(aggregate, exp.Avg) and query.identity(column) in groups:
            continue  # each group has one value
        found = _repeated(gold, query, aggregate, stored, quoted(source.alias, key.column, dialect=gold.dialect))
        if found is not None:
            seen.add(source.alias)
            yield found


def _key(names: SchemaNames, column: StoredColumn) -> StoredColumn | None:
    """The one column that identifies the rows of the table."""
    table = names.table(column.table)
    if table is None or len(table.primary_key) != 1:
        return None
    return StoredColumn(column.table, table.primary_key[0])


def _repeated(gold: Gold, query: Query, aggregate: exp.AggFunc, column: StoredColumn, key: str) -> Found | None:
    """``key``: the key of the column's table, as the query must write it."""
    from sqlglot import exp

    if isinstance(aggregate, exp.Count) and query.selects[0].group:
        return None  # per group, the joined rows are counted
    probe = probe_of_outermost(query, [f"COUNT({key})", f"COUNT(DISTINCT {key})"])
    rows = gold.database.rows(probe) if gold.database is not None else None
    taken = [(all_, own) for all_, own in rows or () if isinstance(all_, int) and isinstance(own, int) and all_ > own]
    if isinstance(aggregate, exp.Avg):
        # An average of one row's value is that value, however often it is taken.
        taken = [(all_, own) for all_, own in taken if own > 1]
    if not taken:
        return None
    rows_taken, own_rows = max(taken, key=lambda pair: pair[0] - pair[1])
    where = f"in {len(taken)} of {len(rows or ())} groups, for example " if len(rows or ()) > 1 else ""
    return Found(
        evidence=f"{query.shown(aggregate)}: {where}{plural(own_rows, 'row')} of {column.table} are counted "
        f"{rows_taken:,} times, because the join repeats them.",
        place=query.span(aggregate),
    )
