"""Read the tables and views of a MySQL or MariaDB database, from catalogue views that a read-only account sees."""

from __future__ import annotations

from collections import defaultdict

from assay.engines.ddl import with_ddl
from assay.engines.samples import Executes, rows_of, with_samples
from assay.errors import DatabaseError
from assay.model import ColumnSchema, DatabaseSchema, ForeignKey, Row, TableSchema

_TABLES = """
SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name
"""
_COLUMNS = """
SELECT table_name, column_name, column_type, is_nullable FROM information_schema.columns
WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position
"""
_INDEXES = """
SELECT table_name, index_name, column_name FROM information_schema.statistics
WHERE table_schema = DATABASE() AND non_unique = 0 ORDER BY table_name, index_name, seq_in_index
"""
"""An index on prefixes counts, too: values with different prefixes differ."""
_FOREIGN_KEYS = """
SELECT table_name, constraint_name, column_name, referenced_table_name, referenced_column_name
FROM information_schema.key_column_usage WHERE table_schema = DATABASE() AND referenced_table_name IS NOT NULL
ORDER BY table_name, constraint_name, ordinal_position
"""
_CHECKS_OF_MARIADB = """
SELECT table_name, check_clause FROM information_schema.check_constraints
WHERE constraint_schema = DATABASE() ORDER BY table_name, constraint_name
"""
_CHECKS_OF_MYSQL = """
SELECT t.table_name, c.check_clause FROM information_schema.check_constraints c
JOIN information_schema.table_constraints t ON t.constraint_schema = c.constraint_schema
AND t.constraint_name = c.constraint_name AND t.constraint_type = 'CHECK' AND t.enforced = 'YES'
WHERE c.constraint_schema = DATABASE() ORDER BY t.table_name, c.constraint_name
"""


def read_schema(engine: Executes, *, with_values: bool) -> DatabaseSchema:
    """Tables and views, sorted by name. Raises DatabaseError if they cannot be listed."""
    columns, indexes, keys = (_by_table(engine, query) for query in (_COLUMNS, _INDEXES, _FOREIGN_KEYS))
    checks = _checks(engine)
    tables = []
    for name, kind in rows_of(engine, _TABLES):
        own = _text(name)
        unique = _grouped(indexes[own])
        tables.append(
            TableSchema(
                name=own,
                quote="`",
                kind="view" if "VIEW" in _text(kind) else "table",
                ddl="",
                columns=tuple(
                    ColumnSchema(name=_text(column), type=_text(shown), not_null=_text(nullable) == "NO")
                    for column, shown, nullable in columns[own]
                ),
                primary_key=_columns(unique.pop("PRIMARY", [])),
                # An expression has no name.
                unique=tuple(key for rows in unique.values() if (key := _columns(rows))),
                checks=tuple(_text(row[0]) for row in checks[own]),
                foreign_keys=tuple(
                    ForeignKey(
                        columns=_columns(rows),
                        table=_text(rows[0][1]),
                        referenced=tuple(_text(row[2]) for row in rows),
                    )
                    for rows in _grouped(keys[own]).values()
                ),
            )
        )
    if with_values:
        tables = [with_samples(engine, table, by_key=True) for table in tables]
    return DatabaseSchema(dialect="mysql", tables=tuple(map(with_ddl, tables)))


def _by_table(engine: Executes, query: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows_of(engine, query):
        found[_text(row[0])].append(row[1:])
    return found


def _checks(engine: Executes) -> dict[str, list[Row]]:
    for query in (_CHECKS_OF_MARIADB, _CHECKS_OF_MYSQL):
        try:
            return _by_table(engine, query)
        except DatabaseError:
            continue  # it is the other server, or one from before 10.2 or 8.0.16
    return defaultdict(list)


def _grouped(rows: list[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for name, *rest in rows:
        found[_text(name)].append(tuple(rest))
    return found


def _columns(rows: list[Row]) -> tuple[str, ...]:
    names = [row[0] for row in rows]
    return () if None in names else tuple(map(_text, names))


def _text(cell: object) -> str:
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
