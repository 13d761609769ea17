"""A DISTINCT that removes no row."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.model import TableSchema
from assay.model.lint import LintRule
from assay.sql.dialects import DECLARED_KEYS
from assay.sql.expressions import has_aggregate
from assay.sql.query import Query

RULE = LintRule(
    name="distinct-does-nothing",
    severity="note",
    needs="query",
    finds="a DISTINCT over one table's key, over one aggregate's row, or with a GROUP BY of the same columns",
    why="It implies that rows may repeat, which they cannot: a sign that another query was meant.",
    remedy="Remove the DISTINCT, or check what it was meant for.",
    bad="SELECT DISTINCT id, name FROM singer  -- id is the key",
    good="SELECT id, name FROM singer",
)

_ROW_NUMBERS = frozenset({"rowid", "ctid"})
"""Unique columns that no schema lists."""


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    for select in query.selects:
        if not select.is_distinct or not select.sources or select.has_more_rows:
            continue
        keys = [query.column_of(key) for key in select.group]
        columns = [query.column_of(output) for output in select.outputs]
        chosen = {query.identity(column) for column in columns if column is not None}
        source = next(iter(select.sources.values()))
        table = None if source.table is None or gold.names is None else gold.names.table(source.table)
        alone = table if len(select.sources) == 1 else None
        own = {name for index, alias, name in chosen if (index, alias) == (select.index, source.alias)}
        if select.is_aggregated and not select.group and all(map(has_aggregate, select.outputs)):
            why = "the query returns one row"
        elif keys and all(key is not None and query.identity(key) in chosen for key in keys):
            why = "its groups differ already"
        elif alone is not None and _is_key(own, alone, gold.dialect):
            why = f"the key of {alone.name} is among the columns"
        elif alone is not None and (own & _ROW_NUMBERS).difference(column.name.lower() for column in alone.columns):
            why = f"the row number of {alone.name} is among the columns"
        else:
            continue
        yield Found(evidence=f"DISTINCT removes nothing: {why}.", place=query.span(select.outputs[0]))


def _is_key(names: set[str], table: TableSchema, dialect: str) -> bool:
    """Whether the primary key is among the columns, and no two rows share it.

    In SQLite several rows may have NULL as their key, unless the table is WITHOUT ROWID or STRICT, or the column is
    INTEGER or NOT NULL.
    """
    if dialect in DECLARED_KEYS:
        return False
    key = set(map(str.lower, table.primary_key))
    if dialect == "sqlite" and not all(column.not_null for column in table.columns if column.name.lower() in key):
        return False
    return bool(key) and key <= names
