"""The fingerprint of a MySQL or MariaDB database's content."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

MOST_BYTES = 256 * 1024 * 1024
"""Bytes of data and indexes. Reading more for a fingerprint alone takes too long."""

_OWN = "('information_schema', 'performance_schema', 'mysql', 'sys')"
_COLUMNS = f"""
SELECT table_schema, table_name, column_name, column_type, is_nullable, collation_name FROM information_schema.columns
WHERE CASE WHEN DATABASE() IS NULL THEN table_schema NOT IN {_OWN} ELSE table_schema = DATABASE() END
ORDER BY table_schema, table_name, ordinal_position
"""
_TABLES = f"""
SELECT table_schema, table_name, COALESCE(data_length, 0) + COALESCE(index_length, 0), create_time, update_time
FROM information_schema.tables
WHERE table_type = 'BASE TABLE'
  AND CASE WHEN DATABASE() IS NULL THEN table_schema NOT IN {_OWN} ELSE table_schema = DATABASE() END
ORDER BY table_schema, table_name
"""


def fingerprint_content(connection: Any) -> str:
    """A hash of the server's version, the tables' columns and their content (``CHECKSUM TABLE``).

    For databases above `MOST_BYTES`, the hash covers the server's times of creation and last change in place of the
    content, and begins with ``schema-``: InnoDB forgets the time of the last change when the server restarts. Without a
    database in the URL, the hash covers all databases that the user sees.
    """
    digest = blake2b(digest_size=16)
    if not connection.dialect.is_mariadb and connection.dialect.server_version_info >= (8, 0, 3):
        # Otherwise MySQL gives sizes and times that may be a day old.
        connection.exec_driver_sql("SET SESSION information_schema_stats_expiry = 0")
    digest.update(str(connection.exec_driver_sql("SELECT VERSION()").scalar()).encode())
    for row in connection.exec_driver_sql(_COLUMNS):
        digest.update(repr(tuple(row)).encode("utf-8", "surrogatepass"))
    tables = [tuple(row) for row in connection.exec_driver_sql(_TABLES)]
    if sum(int(row[2]) for row in tables) > MOST_BYTES:
        for schema, table, _, *times in tables:
            digest.update(repr((schema, table, times)).encode("utf-8", "surrogatepass"))
        return f"schema-{digest.hexdigest()}"
    for schema, table, *_ in tables:
        name = ".".join(f"`{part.replace('`', '``')}`" for part in (schema, table))
        checksum = connection.exec_driver_sql(f"CHECKSUM TABLE {name}").fetchone()[1]
        digest.update(f"{name} {checksum}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
