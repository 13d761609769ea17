"""The fingerprint of a MySQL or MariaDB database's content, and what its account may do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

MOST_BYTES = 256 * 1024 * 1024
"""Bytes of data and indexes. Reading more only for a fingerprint takes too long."""

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

    For databases above `MOST_BYTES`, the hash covers the server's times of creation and last change instead of the
    content, and begins with ``schema-``: InnoDB loses the time of the last change when the server restarts. Without a
    database in the URL, the hash covers all databases that the user sees.
    """
    digest = blake2b(digest_size=16)
    if not connection.dialect.is_mariadb and connection.dialect.server_version_info >= (8, 0, 3):
        # Otherwise MySQL returns sizes and times that may be a day old.
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


_GRANT = re.compile(r"GRANT (?P<rights>.+?) ON (?P<where>\S+|`.*?`\.\S+) TO ", re.DOTALL)
_RIGHT = re.compile(r"[A-Z][A-Z_ ]*[A-Z]")
_READS = frozenset({"USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES", "EXECUTE", "PROXY", "SHOW_ROUTINE"})
_REACHES = {
    "FILE": "read and write files of the server",
    "SUPER": "change the server's settings and end other sessions",
    "CONNECTION ADMIN": "end other sessions",
    "CONNECTION_ADMIN": "end other sessions",
    "PROCESS": "see the queries of other sessions",
    "SHUTDOWN": "stop the server",
    "READ_ONLY ADMIN": "write to a server that is set to read-only",
}
_ALL = "ALL PRIVILEGES"


def beyond_reading(grants: Iterable[str]) -> str:
    """What an account may do beyond reading, from the lines of SHOW GRANTS; empty if it may only read."""
    reaches: set[str] = set()
    others: set[str] = set()
    for line in grants:
        found = _GRANT.match(line)
        if found is None:  # a role granted to the account, whose own rights are in other lines
            continue
        # A right may be followed by columns in parentheses.
        rights = set(_RIGHT.findall(re.sub(r"\(.*?\)", "", found["rights"])))
        if _ALL in rights and found["where"] == "*.*":
            return "do everything, including reading and writing files of the server"
        reaches |= rights & _REACHES.keys()
        others |= rights - _REACHES.keys() - _READS
    told = [f"{meaning} ({right})" for right, meaning in _REACHES.items() if right in reaches]
    if others:
        shown = sorted(others)
        more = f" and {len(shown) - 4} more" if len(shown) > 4 else ""
        told.append(f"do more than read ({', '.join(shown[:4])}{more})")
    return "; ".join(told)


def loaded_functions(connection: Any) -> frozenset[str]:
    """The names, in lower case, of functions that the server loaded from libraries.

    Empty if the account may not see them. Functions with known names are always refused.
    """
    from sqlalchemy.exc import DBAPIError

    try:
        return frozenset(str(name).lower() for (name,) in connection.exec_driver_sql("SELECT name FROM mysql.func"))
    except DBAPIError:  # drivers raise various errors if a table may not be read
        return frozenset()
