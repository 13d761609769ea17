"""Read the tables and views of a DuckDB file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
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
SELECT schema_name, table_name, column_name, data_type, NOT is_nullable FROM duckdb_columns() WHERE {_OURS}
ORDER BY schema_name, table_name, column_index
"""
_CONSTRAINTS = """
SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names,
expression FROM duckdb_constraints() WHERE database_name = current_database()
AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY', 'UNIQUE', 'CHECK')
ORDER BY schema_name, table_name, constraint_index
"""
_INDEXES = """
SELECT schema_name, table_name, expressions FROM duckdb_indexes()
WHERE database_name = current_database() AND is_unique AND NOT is_primary
ORDER BY schema_name, table_name, index_name
"""


def read_schema(engine: Engine, *, with_values: bool) -> DatabaseSchema:
    """Tables and views, sorted by name: no other order is stable. Raises DatabaseError if reading fails."""
    listed = rows_of(engine, _TABLES)
    columns = _by_table(rows_of(engine, _COLUMNS))
    constraints = _by_table(rows_of(engine, _CONSTRAINTS))
    indexes = _by_table(rows_of(engine, _INDEXES))
    found = [
        _table(row, columns.get(row[:2], []), constraints.get(row[:2], []), indexes.get(row[:2], [])) for row in listed
    ]
    tables = [table for table in found if table.kind == "table" or _stands(engine, table)]
    if with_values:
        tables = [with_samples(engine, table) for table in tables]
    return DatabaseSchema(dialect=engine.dialect, tables=tuple(tables))


def _stands(engine: Engine, view: TableSchema) -> bool:
    """Whether the view's own query still works: otherwise no query can read the view."""
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


def _table(row: Row, columns: list[Any], constraints: list[Any], indexes: list[Any]) -> TableSchema:
    namespace, name, kind, ddl = row
    own = {str(column): ColumnSchema(name=column, type=type_, not_null=bool(kept)) for column, type_, kept in columns}
    of_kind: dict[str, list[Any]] = defaultdict(list)
    for kind_, *rest in constraints:
        of_kind[str(kind_)].append(rest)
    unique = [tuple(names) for names, *_ in of_kind["UNIQUE"]]
    unique += [names for (expressions,) in indexes if (names := _indexed(str(expressions), own))]
    return TableSchema(
        name=str(name),
        namespace=None if namespace == _DEFAULT else str(namespace),
        kind="view" if kind == "view" else "table",
        ddl=str(ddl).strip().rstrip(";").rstrip(),
        columns=tuple(own.values()),
        primary_key=next((tuple(names) for names, *_ in of_kind["PRIMARY KEY"]), ()),
        unique=tuple(unique),
        checks=tuple(str(expression) for *_, expression in of_kind["CHECK"] if expression is not None),
        foreign_keys=tuple(
            ForeignKey(columns=tuple(names), table=other, referenced=tuple(others))
            for names, other, others, _ in of_kind["FOREIGN KEY"]
        ),
    )


def _indexed(expressions: str, columns: Mapping[str, ColumnSchema]) -> tuple[str, ...]:
    """The columns of a unique index, which DuckDB returns as a list of names and expressions; empty if one is an
    expression."""
    parts = [part.strip().strip("'") for part in expressions.strip("[]").split(",")]
    names = [part[1:-1].replace('""', '"') if part.startswith('"') and part.endswith('"') else part for part in parts]
    return tuple(names) if all(name in columns for name in names) else ()
