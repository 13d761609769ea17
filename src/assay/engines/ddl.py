"""The statement that would create a table, for databases that do not store it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from assay.model import TableSchema, quoted


def with_ddl(table: TableSchema) -> TableSchema:
    """The table with a CREATE statement derived from its other fields."""
    return replace(table, ddl=_statement(table))


def _statement(table: TableSchema) -> str:
    def listed(names: Iterable[str]) -> str:
        return "(" + ", ".join(quoted(name, table.quote) for name in names) + ")"

    parts = [
        f"{quoted(column.name, table.quote)} {column.type}".rstrip()
        + (" NOT NULL" if column.not_null and column.name not in table.primary_key else "")
        for column in table.columns
    ]
    if table.primary_key:
        parts.append(f"PRIMARY KEY {listed(table.primary_key)}")
    parts += [f"UNIQUE {listed(names)}" for names in table.unique]
    parts += [f"CHECK ({condition})" for condition in table.checks]
    parts += [
        f"FOREIGN KEY {listed(key.columns)} REFERENCES {quoted(key.table, table.quote)}"
        + (f" {listed(key.referenced)}" if key.referenced else "")
        for key in table.foreign_keys
    ]
    return f"CREATE {table.kind.upper()} {table.quoted_name} (\n  " + ",\n  ".join(parts) + "\n)"
