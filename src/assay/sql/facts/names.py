"""Which table's column a name in a query means."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.model import ColumnSchema, DatabaseSchema, TableSchema
from assay.sql.facts.model import TypeFamily

_INTEGER = re.compile(r"\b(?:tiny|small|medium|big)?int(?:eger)?(?:2|4|8)?\b|\b(?:big|small)?serial\b|\bu?int\d+\b")
_REAL = re.compile(r"real|floa|doub")
_NUMERIC = re.compile(r"num|dec|money")
_TEXT = re.compile(r"char|text|clob|string|enum|uuid")
_DATE = re.compile(r"date|time|year")


def type_family(declared: str) -> TypeFamily:
    """The kind of values that a declared type stands for."""
    lowered = declared.lower()
    if _INTEGER.search(lowered):
        return "integer"
    found: Sequence[tuple[re.Pattern[str], TypeFamily]] = (
        (_TEXT, "text"),
        (_REAL, "real"),
        (_NUMERIC, "numeric"),
        (_DATE, "date"),
    )
    return next((family for pattern, family in found if pattern.search(lowered)), "other")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTable:
    """A stored table with its columns by their names in lower case."""

    schema: TableSchema
    columns: Mapping[str, ColumnSchema]


class SchemaNames:
    """A schema's tables and columns by name, whatever the case of letters."""

    __slots__ = ("dialect", "schema", "tables")

    def __init__(self, schema: DatabaseSchema) -> None:
        self.schema = schema
        self.dialect = schema.dialect
        self.tables: dict[str, NamedTable] = {}
        for table in schema.tables:
            columns = {column.name.lower(): column for column in table.columns}
            self.tables.setdefault(table.name.lower(), NamedTable(schema=table, columns=columns))

    def table(self, name: str) -> TableSchema | None:
        """The table of that name."""
        found = self.tables.get(name.lower())
        return None if found is None else found.schema

    def column(self, table: str, name: str) -> ColumnSchema | None:
        """The table's column of that name."""
        found = self.tables.get(table.lower())
        return None if found is None else found.columns.get(name.lower())

    def type_of(self, table: str, name: str) -> TypeFamily | None:
        """The kind of values of a column; None where there is no such column."""
        column = self.column(table, name)
        return None if column is None else type_family(column.type)

    def is_key(self, table: str, name: str) -> bool:
        """Whether the column alone is the table's primary key."""
        found = self.table(table)
        return found is not None and [one.lower() for one in found.primary_key] == [name.lower()]
