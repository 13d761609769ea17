"""Read the tables and views of a DuckDB file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from assay.engines.samples import rows_of, with_samples
from assay.errors import DatabaseError
from assay.model import ColumnSchema, DatabaseSchema, ForeignKey, Row, TableSchema
from assay.ports import Engine

_DEFAULT = "main"
_OURS = "database_name = current_database() AND NOT internal"
_TABLES = f"""
SELECT schema_name, table_name, 'table' AS kind, sql FROM duckdb_tables() WHERE {_OURS} AND NOT temporary
UNION ALL
SELECT schema_name, view_name, 'view', sql FROM duckdb_views() WHERE {_OURS} AND NOT temporary
ORDER BY schema_name, table_name
"""
_COLUMNS = f"""
SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() WHERE {_OURS}
ORDER BY schema_name, table_name, column_index
"""
_KEYS = """
SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names
FROM duckdb_constraints() WHERE database_name = current_database()
AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY') ORDER BY schema_name, table_name, constraint_index
"""


def read_schema(engine: Engine, *, with_values: bool) -> DatabaseSchema:
    """Tables and views, sorted by name: no other order is stable. Raises DatabaseError where reading fails."""
    listed = rows_of(engine, _TABLES)
    columns = _by_table(rows_of(engine, _COLUMNS))
    keys = _by_table(rows_of(engine, _KEYS))
    found = [_table(row, columns.get(row[:2], []), keys.get(row[:2], [])) for row in listed]
    tables = [table for table in found if table.kind == "table" or _stands(engine, table)]
    if with_values:
        tables = [with_samples(engine, table) for table in tables]
    return DatabaseSchema(dialect=engine.dialect, tables=tuple(tables))


def _stands(engine: Engine, view: TableSchema) -> bool:
    """Whether the view's own query still works: no query can read the view otherwise."""
    try:
        rows_of(engine, f"SELECT * FROM {view.quoted_name} LIMIT 0")
    except DatabaseError:
        return False
    return True


def _by_table(rows: Iterable[Row]) -> dict[Row, list[Any]]:
    found: dict[Row, list[Any]] = defaultdict(list)
    for row in rows:
        found[row[:2]].append(row[2:])
    return found


def _table(row: Row, columns: list[Any], keys: list[Any]) -> TableSchema:
    namespace, name, kind, ddl = row
    return TableSchema(
        name=str(name),
        namespace=None if namespace == _DEFAULT else str(namespace),
        kind="view" if kind == "view" else "table",
        ddl=str(ddl).strip().rstrip(";").rstrip(),
        columns=tuple(ColumnSchema(name=column, type=type_) for column, type_ in columns),
        primary_key=next((tuple(names) for type_, names, *_ in keys if type_ == "PRIMARY KEY"), ()),
        foreign_keys=tuple(
            ForeignKey(columns=tuple(names), table=other, referenced=tuple(others))
            for type_, names, other, others in keys
            if type_ == "FOREIGN KEY"
        ),
    )
