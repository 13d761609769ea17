"""The tables and views of a Spark schema. Its keys are not enforced, so none is returned."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal

from msgspec.structs import replace

from assay.engines.ddl import with_ddl
from assay.engines.samples import Executes, with_samples
from assay.model import ColumnSchema, DatabaseSchema, TableSchema, quoted


def read_schema(session: Any, *, dialect: str) -> DatabaseSchema:
    """The tables and views of the session's schema, sorted by name. Raises what the driver raises."""
    names = sorted(row.tableName for row in session.sql("SHOW TABLES").collect() if not row.isTemporary)
    views: set[str] = set()
    with suppress(Exception):  # some catalogues have no views
        views = {row.viewName for row in session.sql("SHOW VIEWS").collect()}
    tables = []
    for name in names:
        try:
            fields = session.table(quoted(name, "`")).schema
        except Exception:  # noqa: BLE001 - a view whose table is gone: a query may name it, and fails likewise
            continue
        columns = tuple(
            ColumnSchema(name=field.name, type=field.dataType.simpleString().upper(), not_null=not field.nullable)
            for field in fields
        )
        kind: Literal["view", "table"] = "view" if name in views else "table"
        tables.append(with_ddl(TableSchema(name=name, quote="`", kind=kind, ddl="", columns=columns)))
    return DatabaseSchema(dialect=dialect, tables=tuple(tables))


def with_values(engine: Executes, schema: DatabaseSchema) -> DatabaseSchema:
    """The schema with a few values of its tables."""
    return replace(schema, tables=tuple(with_samples(engine, table) for table in schema.tables))
