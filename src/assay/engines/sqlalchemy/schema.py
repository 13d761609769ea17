"""Read the tables and views of any database that SQLAlchemy's inspector understands."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from assay.engines.ddl import with_ddl
from assay.model import ColumnSchema, DatabaseSchema, ForeignKey, TableSchema

_MOST_TABLES = 2_000


def read_schema(connection: Any, dialect: str) -> DatabaseSchema:
    """Tables and views of the default schema, sorted by name, with what the dialect can tell of their keys."""
    from sqlalchemy import inspect

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it cannot read: that is left out, here as everywhere
        tables = _tables(inspect(connection), _quote(connection))
    return DatabaseSchema(dialect=dialect, tables=tuple(map(with_ddl, tables)))


def _tables(inspector: Any, quote: str) -> list[TableSchema]:
    named = [(name, False) for name in sorted(inspector.get_table_names())]
    named += [(name, True) for name in sorted(_told(inspector.get_view_names))]
    return [
        table
        for name, is_view in named[:_MOST_TABLES]
        if (table := _table(inspector, name, is_view=is_view, quote=quote)) is not None
    ]


def _table(inspector: Any, name: str, *, is_view: bool, quote: str) -> TableSchema | None:
    columns = _told(inspector.get_columns, name)
    if not columns:
        return None  # a view on a table that is gone, or a table that the account may not read
    if is_view:
        return TableSchema(name=name, kind="view", quote=quote, ddl="", columns=tuple(map(_column, columns)))
    key: Any = _told(inspector.get_pk_constraint, name)
    unique = [_names(one["column_names"]) for one in _told(inspector.get_unique_constraints, name)]
    unique += [_names(one["column_names"]) for one in _told(inspector.get_indexes, name) if _is_whole(one)]
    return TableSchema(
        name=name,
        quote=quote,
        ddl="",
        columns=tuple(map(_column, columns)),
        primary_key=_names(key["constrained_columns"]) if key else (),
        unique=tuple(dict.fromkeys(unique)),
        checks=tuple(str(one["sqltext"]) for one in _told(inspector.get_check_constraints, name)),
        foreign_keys=tuple(
            ForeignKey(
                columns=_names(one["constrained_columns"]),
                table=str(one["referred_table"]),
                referenced=_names(one["referred_columns"]),
            )
            for one in _told(inspector.get_foreign_keys, name)
        ),
    )


def _column(found: Mapping[str, Any]) -> ColumnSchema:
    return ColumnSchema(name=str(found["name"]), type=str(found["type"]), not_null=not found.get("nullable", True))


def _names(found: Iterable[str] | None) -> tuple[str, ...]:
    return tuple(map(str, found or ()))


def _is_whole(index: Mapping[str, Any]) -> bool:
    """Whether an index keeps whole columns of all rows unique."""
    options = index.get("dialect_options") or {}
    partial = any("where" in name and value is not None for name, value in options.items())
    return bool(index.get("unique")) and not (partial or index.get("expressions") or None in index["column_names"])


def _told(ask: Callable[..., Any], *arguments: object) -> Any:
    """What an inspector tells; nothing where the dialect cannot, or the account may not see it."""
    try:
        return ask(*arguments) or ()
    except NotImplementedError:
        return ()
    except Exception:  # noqa: BLE001 - dialects and drivers raise what they like
        ask.__self__.bind.rollback()  # type: ignore[attr-defined] # else the failure spoils what is asked next
        return ()


def _quote(connection: Any) -> str:
    quote = connection.dialect.identifier_preparer.initial_quote
    return quote if quote in ('"', "`") else '"'
