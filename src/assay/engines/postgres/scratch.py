"""Small PostgreSQL databases for trying untrusted queries: a scratch schema on a server that the user provides for it.

A schema has a unique name, ``assay_scratch_`` and random letters, and is dropped at the end. The session that created
it holds an advisory lock of that name: a schema without its lock was left by a process that was killed, and the next
one drops it. Nothing else on the server is written. Queries run on another connection, through the engine that guards
them, and only see the schema's tables.

Tables outside the default schema are created in one scratch schema per schema, whose name replaces it in queries and
views. Enumerations are created again from their labels.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from urllib.parse import quote, urlencode

import psycopg

from assay.engines import outcomes
from assay.engines.postgres.session import unusable
from assay.engines.scratch import EVERY_CONSTRAINT, Scratch, table_body
from assay.errors import DatabaseError
from assay.model import Cell, DatabaseSchema, DatabaseUrl, Execution, Limits, Row, TableSchema, quoted
from assay.ports import Engine
from assay.sql.lexing import pieces

_CONNECT_TIMEOUT_S = 10
_LEFT = """SELECT nspname FROM pg_namespace
WHERE left(nspname, length(%(one)s)) = %(one)s AND pg_has_role(nspowner, 'MEMBER')"""
_LOCKED = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))"
_AWAITED = "SELECT pg_advisory_lock(hashtextextended(%s, 0)) IS NOT NULL"
_NAME = re.compile(r'[a-z_][a-z0-9_]*|"[^"]+"')
_DEFINED = re.compile(r"\bas\s+(?:select|with|values|\()", re.IGNORECASE)
_FIRST_OF_USERS = 16384
"""The server's built-in types have smaller numbers."""
_LEAST_WAIT_S = 2.0
"""A query of a killed process ends a moment later, and locks the tables until then."""
_UNLOCK = "SELECT pg_advisory_unlock(hashtextextended(%s, 0))"


class _Elsewhere(Exception):
    """A query names a schema that is not its own."""


class PostgresScratch(Scratch):
    """A scratch database in a schema of a server. Using it raises DatabaseError if the server is gone."""

    dialect = "postgres"
    has_boolean_type = True
    errors = (psycopg.Error,)
    placeholder = "%s"

    def __init__(
        self,
        url: DatabaseUrl,
        schema: DatabaseSchema,
        opens: type[Engine],
        *,
        limits: Limits,
        without_keys: bool = False,
        prefix: str,
    ) -> None:
        super().__init__(schema)
        self._url = url
        self._connection = _connected(url)
        self._name = f"{prefix}{os.urandom(6).hex()}"
        self._locations: dict[str, str] = {}
        """The location of each table, by its name as a query writes it."""
        outside = sorted({table.namespace for table in schema.tables if table.namespace is not None})
        self._spaces = {namespace: f"{self._name}_{number}" for number, namespace in enumerate(outside)}
        """The scratch schemas that replace schemas other than the default one."""
        with contextlib.ExitStack() as undone:
            undone.callback(self._release)
            try:
                for name in (self._name, *self._spaces.values()):
                    self._connection.execute(_LOCKED, (name,))
                names = self._connection.execute("SELECT nspname FROM pg_namespace WHERE nspname <> 'pg_catalog'")
                self._others = {row[0] for row in names}
                for name in (self._name, *self._spaces.values()):
                    self._connection.execute(f"CREATE SCHEMA {quoted(name)}")
                version = self._connection.info.server_version
                self.engine = f"postgresql {version // 10000}.{version % 10000}"
                self._make(schema, without_keys=without_keys)
                self._engine = opens.open(_within(url, self._name), limits)
            except psycopg.Error as error:
                raise unusable(url, error) from None
            undone.pop_all()

    def fill(self, rows: Sequence[Sequence[Row]]) -> bool:
        """Replace every row. False if a constraint rejected one. Raises DatabaseError if the server is gone."""
        try:
            with self._connection.transaction():
                return super().fill(rows)
        except psycopg.Error as error:
            if self._connection.closed:
                raise unusable(self._url, error) from None
            self._stored = [[] for _ in self._filled]
            return False

    def execute(self, query: str) -> Execution:
        """Like `rows`, with the columns' names, or the reason of the failure.

        Raises DatabaseError if the server is gone.
        """
        try:
            execution = super().execute(self._here(query))
        except _Elsewhere as error:
            message = f"refused: it reads the schema {error.args[0]!r} instead of the scratch database"
            return outcomes.failed(query, "refused", "refused", message)
        if execution.failure is not None and execution.failure.kind == "unreadable_database":
            raise DatabaseError(execution.failure.message)
        return execution

    def close(self) -> None:
        """Drop the schema. Closing twice is harmless."""
        self._engine.close()
        self._release()

    def _execute(self, statement: str) -> object:
        return self._connection.execute(statement.encode())

    def _write(self, statement: str, cells: Sequence[Cell]) -> None:
        with self._connection.transaction():
            self._connection.execute(statement, list(map(_cell, cells)))

    def _location(self, table: str) -> str:
        return self._locations[table]

    def _here(self, query: str) -> str:
        """The query with schemas replaced by their scratch schemas; the guard checks everything else.

        Raises _Elsewhere if it names another schema of the server.
        """
        parts: list[str] = []
        done = 0
        for piece, after in pairwise(pieces(query)):
            if after.text == "." and piece.kind in ("word", "name"):
                if piece.is_unicode_escaped:
                    raise _Elsewhere(piece.text)
                if (own := self._spaces.get(piece.name)) is not None:
                    parts += (query[done : piece.start], quoted(own))
                    done = piece.end
                elif piece.name in self._others:
                    raise _Elsewhere(piece.name)
        return "".join((*parts, query[done:]))

    def _release(self) -> None:
        if not self._connection.closed:
            with contextlib.suppress(psycopg.Error):
                for name in (self._name, *self._spaces.values()):
                    self._connection.execute(f"DROP SCHEMA IF EXISTS {quoted(name)} CASCADE")
            self._connection.close()

    def _make(self, schema: DatabaseSchema, *, without_keys: bool) -> None:
        """Create the tables and views."""
        self._made += [(None, f"CREATE SCHEMA {quoted(namespace)}") for namespace in self._spaces]
        # Types and functions of extensions are found in their own schema.
        self._execute(f"SET search_path = {quoted(self._name)}, public")
        for table in schema.tables:
            if table.kind != "table":
                continue
            name, why = table.quoted_name, f"the table {table.name} cannot be created"
            space = self._name if table.namespace is None else self._spaces[table.namespace]
            location = f"{quoted(space)}.{quoted(table.name)}"
            constraints = frozenset() if without_keys else EVERY_CONSTRAINT
            body = table_body(table, default_type="text", constraints=constraints)
            try:
                self._make_types(table)
            except psycopg.Error as error:
                self._refuse(why, error)
                continue
            shown = f"CREATE TABLE {name} ({body})"
            if self._try(why, f"CREATE TABLE {location} ({body})", table=name, shown=shown):
                self._locations[name] = location
                self._names[name] = tuple(column.name for column in table.columns)
        self._execute(f"SET search_path = {quoted(self._name)}")  # a view reads these tables only
        for view in schema.tables:
            if view.kind != "view" or not view.ddl:
                continue
            why = f"the view {view.name} cannot be created"
            if not _DEFINED.search(view.ddl):
                self.refused += (f"{why}: the database's schema only lists its columns",)
                continue
            try:
                here = self._here(view.ddl)
            except _Elsewhere as error:
                self._refuse(why, error)
                continue
            self._try(why, here, shown=view.ddl)

    def _make_types(self, table: TableSchema) -> None:
        """Create the enumerations of a table's columns: the schema lists their labels as a condition, in order."""
        for column in table.columns:
            start = f"{quoted(column.name)} IN ("
            labels = next((check for check in table.checks if check.startswith(start)), None)
            if labels is None or not _NAME.fullmatch(column.type):
                continue
            known = self._connection.execute("SELECT to_regtype(%s)::oid::int8", (column.type,)).fetchone()
            own = f"CREATE TYPE {column.type} AS ENUM {labels[len(start) - 1 :]}"
            if (known is None or known[0] is None or known[0] >= _FIRST_OF_USERS) and (None, own) not in self._made:
                self._connection.execute(own.encode())
                self._made.append((None, own))


def drop_left(url: DatabaseUrl, prefix: str, *, wait_s: float = 0.0) -> tuple[str, ...]:
    """Drop the scratch schemas that a terminated process left behind, and return their names.

    With a longer ``prefix``, those of one process, which the caller ends first: the server notices this a moment later,
    hence ``wait_s``. Raises DatabaseError if the server cannot be used, or its role may not create schemas.
    """
    connection = _connected(url)
    dropped = []
    try:
        row = connection.execute("SELECT has_database_privilege(current_database(), 'CREATE'), current_user").fetchone()
        if row is not None and not row[0]:
            raise DatabaseError(
                f"the role {row[1]} may not create schemas in {url}: name a server for scratch schemas on which "
                "it may (GRANT CREATE ON DATABASE …)"
            )
        connection.execute(f"SET lock_timeout = {int(1000 * max(wait_s, _LEAST_WAIT_S))}")
        for (name,) in connection.execute(_LEFT, {"one": prefix}).fetchall():
            with contextlib.suppress(psycopg.errors.LockNotAvailable):  # in use: the next one drops it
                row = connection.execute(_AWAITED if wait_s else _LOCKED, (name,)).fetchone()
                if row is not None and row[0]:
                    connection.execute(f"DROP SCHEMA IF EXISTS {quoted(name)} CASCADE")
                    connection.execute(_UNLOCK, (name,))
                    dropped.append(name)
    except psycopg.Error as error:
        raise unusable(url, error) from None
    finally:
        connection.close()
    return tuple(dropped)


def _connected(url: DatabaseUrl) -> psycopg.Connection[Any]:
    try:
        connection = psycopg.connect(
            url.reveal(), autocommit=True, connect_timeout=_CONNECT_TIMEOUT_S, fallback_application_name="assay"
        )
    except (psycopg.Error, UnicodeError) as error:
        raise unusable(url, error) from None
    return connection


def _within(url: DatabaseUrl, name: str) -> DatabaseUrl:
    """The URL with the scratch schema as the only one in which names are looked up."""
    option = urlencode({"options": f"-csearch_path={name}"}, quote_via=quote)
    text = url.reveal()
    return DatabaseUrl.parse(f"{text}{'&' if '?' in text else '?'}{option}")


def _cell(value: Cell) -> str | bytes | None:
    """A value as the server reads it into a column of any type: a text without a type."""
    if value is None or isinstance(value, bytes):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)
