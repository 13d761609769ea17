"""The names in a query that a database does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.model import DatabaseSchema
from assay.sql.query import Query, Unreadable, read_query
from assay.sql.schema import names_of

if TYPE_CHECKING:
    from sqlglot import exp


class UnknownNames(Struct, frozen=True, kw_only=True):
    """Tables and columns that do not exist, as the query writes them, each once."""

    tables: tuple[str, ...] = ()
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Each with the tables, in small letters, that it may have been meant to be in."""


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
    columns = {column.name.lower(): column for column in reversed(query.unresolved)}
    return UnknownNames(
        tables=tuple(tables.values()),
        columns=tuple((column.name, tuple(_owners(column, query))) for column in reversed(columns.values())),
    )


def _owners(column: exp.Column, query: Query) -> Iterator[str]:
    """The stored tables that a column's name may be looked for in."""
    source = query.meaning(column).source
    if source is not None and source.table is not None:
        yield source.table.lower()
        return
    seen = set()
    select = query.select_of(column)
    while select is not None:
        for one in select.sources.values():
            if one.table is not None and one.is_known and one.table.lower() not in seen:
                seen.add(one.table.lower())
                yield one.table.lower()
        select = select.outer
