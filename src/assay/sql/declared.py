"""The constraints that each table's own statement declares, for schemas whose reader left these out."""

from __future__ import annotations

from msgspec.structs import replace

from assay.model import DatabaseSchema
from assay.sql.ddl import read_ddl


def with_declared(schema: DatabaseSchema) -> DatabaseSchema:
    """The schema with the constraints of each table's own statement, where whoever read it left these out."""
    tables = []
    for table in schema.tables:
        told = table.unique or table.checks or any(column.not_null for column in table.columns)
        read = () if told or table.kind == "view" else read_ddl(table.ddl, schema.dialect).schema.tables
        own = read[0] if len(read) == 1 else None
        if own is not None:
            never_null = {column.name.lower() for column in own.columns if column.not_null}
            columns = tuple(
                replace(column, not_null=True) if column.name.lower() in never_null else column
                for column in table.columns
            )
            table = replace(table, columns=columns, unique=own.unique, checks=own.checks)  # noqa: PLW2901
        tables.append(table)
    return replace(schema, tables=tuple(tables))
