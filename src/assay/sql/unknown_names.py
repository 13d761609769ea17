"""The names in a query that a database does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.model import DatabaseSchema
from assay.sql.query import Query, Unreadable, read_query
from assay.sql.schema import names_of
from assay.sql.select import Source

if TYPE_CHECKING:
    from sqlglot import exp


class UnknownColumn(Struct, frozen=True, kw_only=True):
    """A column that does not exist."""

    name: str
    tables: tuple[str, ...] = ()
    """The tables, in lower case, that may have been meant."""
    unknown_qualifier: str = ""
    """``T3`` of ``T3.name``, if no table or alias in scope has this name."""
    sources: tuple[str, ...] = ()
    """With an unknown qualifier: the names in scope, for example ``singer AS T1``."""
    is_out_of_scope: bool = False
    """The qualifier is a table or an alias of another part of the query."""


class UnknownNames(Struct, frozen=True, kw_only=True):
    """Tables and columns that do not exist, as the query writes them, without duplicates."""

    tables: tuple[str, ...] = ()
    columns: tuple[UnknownColumn, ...] = ()


def unknown_names(text: str, dialect: str, schema: DatabaseSchema | None) -> UnknownNames | Unreadable:
    """The names that no table or column of the schema has. Without a schema nothing is unknown."""
    query = read_query(text, dialect, None if schema is None else names_of(schema))
    if isinstance(query, Unreadable):
        return query
    if query.names is None:
        return UnknownNames()
    tables = {
        source.table.lower(): source.table
        for select in query.selects
        for source in select.sources.values()
        if source.table is not None and not source.is_known
    }
    columns: dict[tuple[str, str], UnknownColumn] = {}
    for column in query.unresolved:
        found = _unknown(column, query)
        columns.setdefault((found.name.lower(), found.unknown_qualifier.lower()), found)
    return UnknownNames(tables=tuple(tables.values()), columns=tuple(columns.values()))


def _unknown(column: exp.Column, query: Query) -> UnknownColumn:
    source, usable = query.meaning(column).source, list(_usable(column, query))
    if source is not None and source.table is not None:
        return UnknownColumn(name=column.name, tables=(source.table.lower(),))
    qualifier = column.table
    if source is None and qualifier and qualifier.lower() not in {one.alias for one in usable}:
        aliases = {alias for select in query.selects for alias in select.sources}
        return UnknownColumn(
            name=column.name,
            unknown_qualifier=qualifier,
            sources=tuple(dict.fromkeys(map(_written, usable))),
            is_out_of_scope=qualifier.lower() in aliases,
        )
    tables = (one.table.lower() for one in usable if one.table is not None and one.is_known)
    return UnknownColumn(name=column.name, tables=tuple(dict.fromkeys(tables)))


def _usable(column: exp.Column, query: Query) -> Iterator[Source]:
    """What the SELECT of a column reads, and then the outer ones."""
    select = query.select_of(column)
    while select is not None:
        yield from select.sources.values()
        select = select.outer


def _written(source: Source) -> str:
    """``singer AS T1``, ``singer``, or the alias of a subquery."""
    name, alias = source.node.name if source.node.key == "table" else "", source.node.alias_or_name
    return f"{name} AS {alias}" if name and name.lower() != alias.lower() else alias
