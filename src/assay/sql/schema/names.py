"""The tables, columns and keys of a database by their names, for reading a query together with its schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from assay.model import ColumnSchema, DatabaseSchema, TableSchema

if TYPE_CHECKING:
    from sqlglot.schema import MappingSchema

TypeFamily: TypeAlias = Literal["integer", "real", "numeric", "text", "date", "other"]
"""The kind of values of a column; ``numeric`` may contain both integers and others, like SQLite's NUMERIC."""

_SQL_TYPES: Mapping[TypeFamily, str] = {
    "integer": "BIGINT",
    "real": "DOUBLE",
    "numeric": "DECIMAL",
    "text": "TEXT",
    "date": "TIMESTAMP",
    "other": "UNKNOWN",
}

_INTEGER = re.compile(r"\b(?:tiny|small|medium|big)?int(?:eger)?(?:2|4|8)?\b|\b(?:big|small)?serial\b|\bu?int\d+\b")
_REAL = re.compile(r"real|floa|doub")
_NUMERIC = re.compile(r"num|dec|money")
_TEXT = re.compile(r"char|text|clob|string|enum|uuid")
_DATE = re.compile(r"date|time|year")


def type_family(declared: str) -> TypeFamily:
    """The kind of values of a declared type."""
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


@lru_cache(maxsize=32)
def names_of(schema: DatabaseSchema) -> SchemaNames:
    """The names of a schema, made once."""
    return SchemaNames(schema)


class NamedTable(Struct, frozen=True, kw_only=True):
    """A stored table with its columns by their names in lower case."""

    schema: TableSchema
    columns: Mapping[str, ColumnSchema]


class SchemaNames:
    """A schema's tables and columns by name, case-insensitive. Without a schema, all names are unknown."""

    __slots__ = ("_mapping", "columns", "dialect", "keys", "references", "schemas", "tables")

    def __init__(self, schema: DatabaseSchema | None = None) -> None:
        self.dialect = "" if schema is None else schema.dialect
        self.tables: dict[str, NamedTable] = {}
        given = () if schema is None else schema.tables
        for table in sorted(given, key=lambda table: table.namespace is not None):
            columns = {column.name.lower(): column for column in table.columns}
            # If two tables have one name, it means that of the default schema; the others are called ``schema.table``.
            key = table.name.lower()
            if key in self.tables and table.namespace is not None:
                key = f"{table.namespace.lower()}.{key}"
            self.tables.setdefault(key, NamedTable(schema=table, columns=columns))
        self.schemas: frozenset[str] = frozenset(
            one.schema.namespace.lower() for one in self.tables.values() if one.schema.namespace is not None
        )
        """The schemas of tables outside the default one, in lower case."""
        self.columns: Mapping[str, tuple[str, ...]] = {name: tuple(one.columns) for name, one in self.tables.items()}
        """By table, all names in lower case."""
        self.keys: Mapping[str, frozenset[str]] = {
            name: frozenset(key.lower() for key in one.schema.primary_key)
            for name, one in self.tables.items()
            if len(one.schema.primary_key) == 1
        }
        """By table: the only column of its primary key, in lower case."""
        self.references: frozenset[frozenset[str]] = frozenset(self._references())
        """Pairs of a column and the column that it refers to, for example ``song.singer_id`` and ``singer.id``."""
        self._mapping: MappingSchema | None = None

    @property
    def mapping(self) -> MappingSchema:
        """The same for sqlglot's optimizer, made once: columns by table with their types, all in lower case."""
        if self._mapping is None:
            from sqlglot.schema import MappingSchema

            self._mapping = MappingSchema(
                {
                    table: {name: _SQL_TYPES[type_family(column.type)] for name, column in one.columns.items()}
                    for table, one in self.tables.items()
                },
                normalize=False,
            )
        return self._mapping

    def _references(self) -> Iterator[frozenset[str]]:
        for name, one in self.tables.items():
            for key in one.schema.foreign_keys:
                other = self.tables.get(key.table.lower())
                referenced = key.referenced or (other.schema.primary_key if other is not None else ())
                for own, column in zip(key.columns, referenced, strict=False):
                    yield frozenset((f"{name}.{own.lower()}", f"{key.table}.{column}".lower()))

    def table(self, name: str) -> TableSchema | None:
        """The table of that name."""
        found = self.tables.get(name.lower())
        return None if found is None else found.schema

    def column(self, table: str, name: str) -> ColumnSchema | None:
        """The table's column of that name."""
        found = self.tables.get(table.lower())
        return None if found is None else found.columns.get(name.lower())

    def type_of(self, table: str, name: str) -> TypeFamily | None:
        """The kind of values of a column; None if there is no such column."""
        column = self.column(table, name)
        return None if column is None else type_family(column.type)

    def is_key(self, table: str, name: str) -> bool:
        """Whether the column alone is the table's primary key."""
        return name.lower() in self.keys.get(table.lower(), ())
