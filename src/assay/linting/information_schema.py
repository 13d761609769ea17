"""The tables of a database whose engine cannot describe them, by the views that the SQL standard has for that."""

from __future__ import annotations

from collections import defaultdict

from assay.model import ColumnSchema, DatabaseSchema, DatabaseUrl, TableSchema
from assay.ports import QueryExecutor

_HERE = {
    "postgres": "CURRENT_SCHEMA()",
    "redshift": "CURRENT_SCHEMA()",
    "mysql": "DATABASE()",
    "tsql": "SCHEMA_NAME()",
    "snowflake": "CURRENT_SCHEMA()",
}
"""Per dialect, the schema in which unqualified names are looked up."""
_POSTGRES_KEYS = """
SELECT c.relname, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
WHERE i.indisprimary AND n.nspname = CURRENT_SCHEMA() ORDER BY 1, a.attnum
"""
"""The standard's views show constraints only to who may do more than read."""
_MOST_COLUMNS = 50_000


def read_information_schema(executor: QueryExecutor, url: DatabaseUrl) -> DatabaseSchema | None:
    """Tables of the default schema with types and keys; None where the database does not have these views."""
    dialect = executor.dialect(url)
    here = _HERE.get(dialect)
    if here is None:
        return None
    columns = _rows(
        executor,
        url,
        "SELECT table_name, column_name, data_type FROM information_schema.columns "
        f"WHERE table_schema = {here} ORDER BY table_name, ordinal_position",
    )
    if not columns or len(columns) > _MOST_COLUMNS:
        return None
    keys = _rows(executor, url, _POSTGRES_KEYS if dialect == "postgres" else _standard_keys(here))
    key_of: dict[str, list[str]] = defaultdict(list)
    for row in keys or ():
        key_of[_text(row[0])].append(_text(row[1]))
    by_table: dict[str, list[ColumnSchema]] = defaultdict(list)
    for row in columns:
        by_table[_text(row[0])].append(ColumnSchema(name=_text(row[1]), type=_text(row[2])))
    return DatabaseSchema(
        dialect=dialect,
        tables=tuple(
            TableSchema(name=name, ddl="", columns=tuple(own), primary_key=tuple(key_of[name]))
            for name, own in by_table.items()
        ),
    )


def _standard_keys(here: str) -> str:
    return (
        "SELECT k.table_name, k.column_name FROM information_schema.table_constraints c "
        "JOIN information_schema.key_column_usage k ON k.constraint_name = c.constraint_name "
        "AND k.table_schema = c.table_schema AND k.table_name = c.table_name "
        f"WHERE c.constraint_type = 'PRIMARY KEY' AND c.table_schema = {here} ORDER BY 1, k.ordinal_position"
    )


def _rows(executor: QueryExecutor, url: DatabaseUrl, query: str) -> tuple[tuple[object, ...], ...] | None:
    done = executor.execute(url, query)
    return tuple(done.result.rows) if done.succeeded and done.result is not None else None


def _text(cell: object) -> str:
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
