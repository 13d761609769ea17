"""Hash a PostgreSQL database's content, and find what a role may do to it."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any

import psycopg
from psycopg import sql

from assay.engines.postgres.session import Session, unusable
from assay.model import DatabaseUrl, Limits
from assay.model.witness import SCRATCH_PREFIX

CONTENT_BYTES = 64 * 1024 * 1024
"""Up to this size of all tables together, their rows are read; beyond it, the server's counters are used."""

_LIMITS = Limits(timeout_s=60.0)
NOT_SYSTEM = (
    "n.nspname NOT IN ('pg_catalog', 'information_schema') "
    f"AND n.nspname !~ '^pg_(toast|temp)' AND left(n.nspname, {len(SCRATCH_PREFIX)}) <> '{SCRATCH_PREFIX}'"
)
"""Excludes the server's own schemas, and scratch schemas of a counterexample search."""

_SHAPE = f"""
SELECT n.nspname, c.relname, c.relkind, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
       CASE WHEN c.relkind IN ('v', 'm') AND a.attnum = 1 THEN md5(pg_get_viewdef(c.oid)) END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE {NOT_SYSTEM} AND c.relkind IN ('r', 'p', 'm', 'v', 'f') ORDER BY 1, 2, a.attnum
"""

_TABLES = f"""
SELECT n.nspname, c.relname, pg_relation_size(c.oid), c.relfilenode::bigint,
       coalesce(s.n_tup_ins + s.n_tup_upd + s.n_tup_del, 0)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
WHERE {NOT_SYSTEM} AND c.relkind IN ('r', 'm')
      AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') ORDER BY 1, 2
"""

_RIGHTS = f"""
SELECT r.rolsuper, r.rolcreatedb OR r.rolcreaterole OR r.rolreplication,
  (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE {NOT_SYSTEM} AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
         AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')),
  (SELECT array_agg(n.nspname ORDER BY 1) FROM pg_namespace n
   WHERE {NOT_SYSTEM} AND has_schema_privilege(n.oid, 'CREATE')),
  (SELECT array_agg(g.rolname ORDER BY 1) FROM pg_roles g
   WHERE g.rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program',
                       'pg_signal_backend', 'pg_write_all_data') AND pg_has_role(g.oid, 'USAGE')),
  r.rolname
FROM pg_roles r WHERE r.rolname = session_user
"""


def fingerprint(url: DatabaseUrl) -> str:
    """A hash of the server's version, the tables' and views' definitions, and their content.

    If all tables that the role may read take `CONTENT_BYTES` at most, every row is hashed, in any order, and the
    fingerprint begins with ``content``. Beyond that it begins with ``counters``, and covers each table's size, file and
    the server's count of changed rows. These differ between restored copies, and may change although the content does
    not. Raises DatabaseError if the database cannot be read.
    """
    with _Reading(url) as reading:
        digest = blake2b(digest_size=12)
        digest.update(reading.server_version.encode())
        digest.update(_json(reading.rows(_SHAPE)))
        tables = reading.rows(_TABLES)
        whole = sum(size for _, _, size, _, _ in tables) <= CONTENT_BYTES
        for schema, table, *counted in tables:
            found = reading.rows(_checksum(schema, table)) if whole else counted
            digest.update(_json([schema, table, found]))
        kind = "content" if whole else "counters"
        return f"{kind}-{digest.hexdigest()} (PostgreSQL {reading.server_version})"


def warnings(url: DatabaseUrl) -> tuple[str, ...]:
    """What the role may do beyond reading, one sentence each; empty for one that may only read.

    Raises DatabaseError if the database cannot be read.
    """
    with _Reading(url) as reading:
        superuser, manages, writable, schemas, groups, role = reading.rows(_RIGHTS, as_session_user=True)[0]
    advice = "use a role that may only read: see assay docs warehouse"
    if superuser:
        return (f"{url}: the role {role!r} is a superuser, without any restrictions: {advice}",)
    can: list[str] = []
    if writable:
        can.append(f"write to {writable} tables" if writable > 1 else "write to a table")
    if schemas:
        can.append(f"create objects in {', '.join(schemas)}")
    if manages:
        can.append("create databases or roles, or replicate")
    if groups:
        can.append(f"act as {', '.join(groups)}")
    return (f"{url}: the role {role!r} may {'; '.join(can)}: {advice}",) if can else ()


class _Reading:
    """A read-only session for Assay's own queries."""

    def __init__(self, url: DatabaseUrl) -> None:
        self._url = url
        self._session = Session.connect(url, _LIMITS)
        version = self._session.connection.info.server_version
        self.server_version = f"{version // 10000}.{version % 10000}"

    def __enter__(self) -> _Reading:
        try:
            self._session.begin()
        except psycopg.Error as error:
            self._session.close()
            raise unusable(self._url, error) from None
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def rows(self, query: str | sql.Composed, *, as_session_user: bool = False) -> list[tuple[Any, ...]]:
        """All rows. ``as_session_user``: not under the restricted role that a superuser's queries run as."""
        try:
            if as_session_user:
                self._session.connection.execute("RESET ROLE")
            text = query if isinstance(query, sql.Composed) else query.encode()
            return self._session.connection.execute(text).fetchall()
        except psycopg.Error as error:
            raise unusable(self._url, error) from None


def _checksum(schema: str, table: str) -> sql.Composed:
    """The number of rows and the sum of their hashes, both independent of the rows' order."""
    return sql.SQL("SELECT count(*), coalesce(sum(hashtextextended(t::text, 0)), 0)::text FROM ONLY {} t").format(
        sql.Identifier(schema, table)
    )


def _json(value: object) -> bytes:
    return json.dumps(value, default=str, ensure_ascii=True).encode()
