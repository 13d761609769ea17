"""Which tables and columns of the schema a query uses, and how two queries compare in this."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from assay.model.verdicts.diagnosis import SchemaUse
from assay.sql.nodes import exp
from assay.sql.query import Query, Unreadable, read_query
from assay.sql.schema import SchemaNames

_FROM_NEAREST: tuple[SchemaUse, ...] = ("same", "other_columns", "other_tables")


class SchemaItems(Struct, frozen=True):
    """The tables and columns that a query uses, in lower case: ``singer``, and ``singer.age``.

    A table or column that the schema lacks is included as the query names it, so that it never equals one of the gold
    query.
    """

    tables: frozenset[str]
    columns: frozenset[str]

    def beside(self, gold: SchemaItems) -> SchemaUse:
        """Whether these items are those of the gold query."""
        if self.tables != gold.tables:
            return "other_tables"
        return "same" if self.columns == gold.columns else "other_columns"


@lru_cache(maxsize=128)
def schema_items(text: str, dialect: str, names: SchemaNames) -> SchemaItems | Unreadable:
    """The items that a query uses in any of its clauses, subqueries and CTEs. Never raises.

    ``*`` uses every column of its tables, but not in COUNT(*) or directly in an EXISTS. USING and NATURAL use the
    joined columns of both sides.
    """
    query = read_query(text, dialect, names)
    if isinstance(query, Unreadable):
        return query
    try:
        return _items_of(query)
    except RecursionError:
        return Unreadable("is nested too deeply to be read")


def nearest_use(golds: Iterable[str], predicted: str, dialect: str, names: SchemaNames) -> SchemaUse | None:
    """How a prediction's use of the schema compares with that of the nearest gold query.

    None: the prediction, or every gold query, cannot be read.
    """
    used = schema_items(predicted, dialect, names)
    if isinstance(used, Unreadable):
        return None
    read = [schema_items(gold, dialect, names) for gold in golds]
    found = [used.beside(items) for items in read if isinstance(items, SchemaItems)]
    return min(found, key=_FROM_NEAREST.index, default=None)


def _items_of(query: Query) -> SchemaItems:
    tables = {
        source.table.lower()
        for select in query.selects
        for source in select.sources.values()
        if source.table is not None
    }
    columns = {*_columns_of(query, query.columns), *_behind_stars(query)}
    if any(join.args.get("using") or join.method for join in query.all_of(exp.Join)):
        columns |= set(_columns_of(query, joined_columns(query)))
    return SchemaItems(frozenset(tables), frozenset(columns))


def _columns_of(query: Query, columns: Iterable[exp.Column]) -> Iterable[str]:
    for column in columns:
        source = query.meaning(column).source
        if source is not None and source.table is not None:
            stored = query.stored(column)
            yield f"{source.table}.{column.name}".lower() if stored is None else ".".join(stored.key)
    for column in query.unresolved:
        if query.meaning(column).source is None:
            yield column.name.lower()


def _behind_stars(query: Query) -> Iterable[str]:
    """The columns of the stored tables that a selected star stands for, except directly in an EXISTS.

    Those of a subquery or CTE are among the columns that this selects itself.
    """
    for select in query.selects:
        if not isinstance(select.node.parent, exp.Exists):
            yield from (".".join(column.key) for column in query.behind_stars(select))


def joined_columns(query: Query) -> Iterable[exp.Column]:
    """The columns that USING and NATURAL compare, which the text does not name: those of the bound tree's joins."""
    written = {id(query.twin(column)) for column in query.columns}
    for join in list(query.bound.find_all(exp.Join)):
        if (condition := join.args.get("on")) is not None:
            yield from (column for column in condition.find_all(exp.Column) if id(column) not in written)
