"""The tables and views of one Snowflake schema.

Its primary, unique and foreign keys are declared, but never enforced: rows may violate them, so none is returned.
"""

from __future__ import annotations

from collections import defaultdict

from assay.engines.ddl import with_ddl
from assay.engines.samples import Executes, rows_of, with_samples
from assay.model import ColumnSchema, DatabaseSchema, TableSchema

_COLUMNS = """
SELECT c.table_name, t.table_type, c.column_name, c.data_type, c.numeric_precision, c.numeric_scale, c.is_nullable
FROM information_schema.columns c JOIN information_schema.tables t
ON t.table_schema = c.table_schema AND t.table_name = c.table_name
WHERE c.table_schema = CURRENT_SCHEMA() ORDER BY c.table_name, c.ordinal_position
"""


def read_schema(engine: Executes, *, with_values: bool) -> DatabaseSchema:
    """Tables and views of the session's schema, sorted by name. Raises DatabaseError if they cannot be listed."""
    columns: dict[tuple[str, bool], list[ColumnSchema]] = defaultdict(list)
    for table, kind, name, data_type, precision, scale, nullable in rows_of(engine, _COLUMNS):
        shown = f"{data_type}({precision},{scale})" if data_type == "NUMBER" and precision is not None else data_type
        columns[str(table), "VIEW" in str(kind)].append(
            ColumnSchema(name=str(name), type=str(shown), not_null=nullable == "NO")
        )
    tables = [
        with_ddl(TableSchema(name=name, kind="view" if is_view else "table", ddl="", columns=tuple(found)))
        for (name, is_view), found in columns.items()
    ]
    if with_values:
        tables = [with_samples(engine, table) for table in tables]
    return DatabaseSchema(dialect="snowflake", tables=tuple(tables))
