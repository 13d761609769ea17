"""Small PostgreSQL databases for trying untrusted queries: a scratch schema on a server that the user names for it.

A schema has a name of its own, ``assay_scratch_`` and random letters, and is dropped at the end. As long as the session
that made it lives, it holds an advisory lock of that name: a schema without its lock was left by a process that was
killed, and the next one drops it. Nothing else on the server is written. Queries run on another connection, through the
engine that guards them, and see the schema's tables only.

Tables outside the default schema are made in a scratch schema for each of theirs, whose name stands in for it in
queries and views. Enumerations are made anew from their labels.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any
from urllib.parse import quote, urlencode

import psycopg

from assay.engines import outcomes
from assay.engines.postgres.session import unusable
from assay.errors import DatabaseError
from assay.model import Cell, DatabaseSchema, DatabaseUrl, Execution, Row, TableSchema, quoted
from assay.ports import Engine
from assay.sql.lexing import pieces

MOST_ROWS = 5_000
_CONNECT_TIMEOUT_S = 10
_LEFT = """SELECT nspname FROM pg_namespace
WHERE left(nspname, length(%(one)s)) = %(one)s AND pg_has_role(nspowner, 'MEMBER')"""
_LOCKED = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))"
_AWAITED = "SELECT pg_advisory_lock(hashtextextended(%s, 0)) IS NOT NULL"
_NAME = re.compile(r'[a-z_][a-z0-9_]*|"[^"]+"')
_DEFINED = re.compile(r"\bas\s+(?:select|with|values|\()", re.IGNORECASE)
_FIRST_OF_USERS = 16384
"""The types that come with the server have smaller numbers."""
_LEAST_WAIT_S = 2.0
"""A query of a process that was killed ends a moment later, and holds the tables until then."""
_UNLOCK = "SELECT pg_advisory_unlock(hashtextextended(%s, 0))"


class _Elsewhere(Exception):
    """A query names a schema that is not its own."""


class PostgresScratch:
    """Implements `assay.ports.ScratchDatabase`."""

    dialect = "postgres"
    has_boolean_type = True

    __slots__ = (
        "_connection",
        "_content",
        "_engine",
        "_filled",
        "_given",
        "_made",
        "_name",
        "_names",
        "_others",
        "_places",
        "_spaces",
        "_triggered",
        "_url",
        "_views",
        "engine",
        "refused",
    )

    def __init__(
        self,
        url: DatabaseUrl,
        schema: DatabaseSchema,
        opens: type[Engine],
        *,
        limits: Any,
        without_keys: bool = False,
        prefix: str,
    ) -> None:
        self._url = url
        self._connection = _connected(url)
        self._name = f"{prefix}{os.urandom(6).hex()}"
        self._filled: list[tuple[str, int, str]] = []
        self._given: list[str] = []
        self._triggered = {table.quoted_name for table in schema.tables if table.triggers}
        self._content: list[list[Row]] = []
        self._names: dict[str, tuple[str, ...]] = {}
        self._views = {view.name: view.ddl for view in schema.tables if view.kind == "view"}
        self._made: list[tuple[str | None, str]] = []
        self._places: dict[str, str] = {}
        """Where each table is, by its name as a query writes it."""
        outside = sorted({table.namespace for table in schema.tables if table.namespace is not None})
        self._spaces = {one: f"{self._name}_{number}" for number, one in enumerate(outside)}
        """The scratch schemas that stand in for others than the default one."""
        with contextlib.ExitStack() as undone:
            undone.callback(self._release)
            try:
                self._begin(url, schema, opens, limits, without_keys=without_keys)
            except psycopg.Error as error:
                raise unusable(url, error) from None
            undone.pop_all()

    def _begin(
        self, url: DatabaseUrl, schema: DatabaseSchema, opens: type[Engine], limits: Any, *, without_keys: bool
    ) -> None:
        for name in (self._name, *self._spaces.values()):
            self._connection.execute(_LOCKED, (name,))
        names = self._connection.execute("SELECT nspname FROM pg_namespace WHERE nspname <> 'pg_catalog'")
        self._others = {row[0] for row in names}
        for name in (self._name, *self._spaces.values()):
            self._connection.execute(f"CREATE SCHEMA {quoted(name)}")
        version = self._connection.info.server_version
        self.engine: str = f"postgresql {version // 10000}.{version % 10000}"
        self.refused: tuple[str, ...] = tuple(self._make(schema, without_keys=without_keys))
        self._engine: Engine = opens.open(_within(url, self._name), limits)

    def statements_for(self, tables: Collection[str], queries: Sequence[str]) -> tuple[str, ...]:
        """What made these tables, and the views that the queries may name."""
        return outcomes.wanted_statements(self._made, self._views, tables, queries)

    def columns(self, table: str) -> tuple[str, ...]:
        """The columns of a table that rows may be given for."""
        return self._names.get(table, ())

    def prepare(self, filled: Mapping[str, Sequence[str]]) -> None:
        """Say which columns of which tables `fill` will be given."""
        self._given = list(filled)
        self._filled = [
            (self._places[table], len(names), ", ".join(map(quoted, names))) for table, names in filled.items()
        ]

    def fill(self, rows: Sequence[Sequence[Row]]) -> bool:
        """Replace every row. False where a constraint refused one. Raises DatabaseError where the server is gone."""
        self._content = []
        complete = True
        try:
            with self._connection.transaction():
                for table, _, _ in self._filled:
                    self._connection.execute(f"DELETE FROM {table}")
                for (table, width, names), given in zip(self._filled, rows, strict=True):
                    kept = self._inserted(f"INSERT INTO {table} ({names}) VALUES ", width, given)
                    complete = complete and len(kept) == len(given)
                    self._content.append(kept)
        except psycopg.Error as error:
            if self._connection.closed:
                raise unusable(self._url, error) from None
            self._content = [[] for _ in self._filled]
            return False
        return complete

    def content(self) -> list[list[Row]]:
        """The rows that the prepared tables hold now, as they were given."""
        return [list(rows) for rows in self._content]

    def rejected_rows(self, rows: Sequence[Sequence[Row]]) -> tuple[str, ...]:
        """The tables with rows and triggers on inserting them, whose functions are not at hand here."""
        return tuple(name for name, given in zip(self._given, rows, strict=True) if given and name in self._triggered)

    def rows(self, query: str) -> list[Row] | None:
        """The rows of a query; None where it fails, takes too long or gives too many."""
        found = self.execute(query)
        return None if found.result is None or found.status == "truncated" else list(found.result.rows)

    def execute(self, query: str) -> Execution:
        """As `rows`, with the columns' names, or the reason of the failure.

        Raises DatabaseError where the server is gone.
        """
        try:
            found = self._engine.execute(self._here(query))
        except _Elsewhere as error:
            message = f"refused: it reads the schema {error.args[0]!r}, and not the small database that it is tried on"
            return outcomes.failed(query, "refused", "refused", message)
        if found.failure is not None and found.failure.kind == "unreadable_database":
            raise DatabaseError(found.failure.message)
        if found.status == "truncated":
            return outcomes.failed(query, "error", "error", f"it gives more than {MOST_ROWS:,} rows")
        return found

    def reverse_scan(self, *, on: bool) -> bool:  # noqa: ARG002 - the port's
        """PostgreSQL has no such switch: rows are permuted instead."""
        return False

    def close(self) -> None:
        """Drop the schema. Closing twice is harmless."""
        self._engine.close()
        self._release()

    def _here(self, query: str) -> str:
        """The query with scratch schemas in place of those that they stand for; the guard sees to everything else.

        Raises _Elsewhere where it names another schema of the server.
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

    def _make(self, schema: DatabaseSchema, *, without_keys: bool) -> Iterator[str]:
        """Make the tables and views; a sentence for each that cannot be."""
        self._made += [(None, f"CREATE SCHEMA {quoted(one)}") for one in self._spaces]
        # Types and functions of extensions are found where they are.
        self._connection.execute(f"SET search_path = {quoted(self._name)}, public")
        for table in schema.tables:
            if table.kind == "table":
                yield from self._make_table(table, without_keys=without_keys)
        self._connection.execute(f"SET search_path = {quoted(self._name)}")  # a view reads these tables or none
        for view in schema.tables:
            if view.kind == "view" and view.ddl:
                if not _DEFINED.search(view.ddl):
                    yield f"the view {view.name} cannot be made: the database's schema tells its columns alone"
                    continue
                try:
                    self._connection.execute(self._here(view.ddl).encode())
                except (psycopg.Error, _Elsewhere) as error:
                    yield f"the view {view.name} cannot be made: {outcomes.first_line(error)}"
                else:
                    self._made.append((None, view.ddl))

    def _make_table(self, table: TableSchema, *, without_keys: bool) -> Iterator[str]:
        shown = table.quoted_name
        space = self._name if table.namespace is None else self._spaces[table.namespace]
        place = f"{quoted(space)}.{quoted(table.name)}"
        body = _body(table, without_keys=without_keys)
        try:
            self._make_types(table)
            self._connection.execute(f"CREATE TABLE {place} ({body})".encode())
        except psycopg.Error as error:
            yield f"the table {table.name} cannot be made: {outcomes.first_line(error)}"
            return
        self._made.append((shown, f"CREATE TABLE {shown} ({body})"))
        self._places[shown] = place
        self._names[shown] = tuple(column.name for column in table.columns)

    def _make_types(self, table: TableSchema) -> None:
        """Make the enumerations of a table's columns: the schema tells their labels as a condition, in their order."""
        for column in table.columns:
            start = f"{quoted(column.name)} IN ("
            labels = next((one for one in table.checks if one.startswith(start)), None)
            if labels is None or not _NAME.fullmatch(column.type):
                continue
            known = self._connection.execute("SELECT to_regtype(%s)::oid::int8", (column.type,)).fetchone()
            own = f"CREATE TYPE {column.type} AS ENUM {labels[len(start) - 1 :]}"
            if (known is None or known[0] is None or known[0] >= _FIRST_OF_USERS) and (None, own) not in self._made:
                self._connection.execute(own.encode())
                self._made.append((None, own))

    def _inserted(self, insert: str, width: int, given: Sequence[Row]) -> list[Row]:
        """Insert rows, at once where no constraint refuses one, else one by one; those that are in the table now."""
        if not given:
            return []
        places = f"({', '.join(['%s'] * width)})"
        try:
            with self._connection.transaction():
                cells = [_cell(cell) for row in given for cell in row]
                self._connection.execute(insert + ", ".join([places] * len(given)), cells)
        except psycopg.Error:
            pass
        else:
            return list(given)
        kept = []
        for row in given:
            with contextlib.suppress(psycopg.Error):
                with self._connection.transaction():
                    self._connection.execute(insert + places, list(map(_cell, row)))
                kept.append(row)
        return kept


def drop_left(url: DatabaseUrl, prefix: str, *, wait_s: float = 0.0) -> tuple[str, ...]:
    """Drop the scratch schemas that a process left behind which is gone, and return their names.

    With a longer ``prefix`` those of one process, which its caller ends first: the server learns of that a moment
    later, which ``wait_s`` is for. Raises DatabaseError where the server cannot be used, or its role may make none.
    """
    connection = _connected(url)
    dropped = []
    try:
        row = connection.execute("SELECT has_database_privilege(current_database(), 'CREATE'), current_user").fetchone()
        if row is not None and not row[0]:
            raise DatabaseError(
                f"the role {row[1]} may make no schema in {url}: name a server for scratch schemas where it may "
                "(GRANT CREATE ON DATABASE …)"
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
    """A value as the server reads it into a column of whatever type: a text of no type yet."""
    if value is None or isinstance(value, bytes):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def _body(table: TableSchema, *, without_keys: bool) -> str:
    """The columns and constraints of a table, without foreign keys: rows are chosen so that these hold."""
    parts = [
        f"{quoted(column.name)} {column.type or 'text'}{' NOT NULL' if column.not_null and not without_keys else ''}"
        for column in table.columns
    ]
    if not without_keys:
        if table.primary_key:
            parts.append(f"PRIMARY KEY ({', '.join(map(quoted, table.primary_key))})")
        parts += [f"UNIQUE ({', '.join(map(quoted, columns))})" for columns in table.unique]
        parts += [f"CHECK ({check})" for check in table.checks]
    return ", ".join(parts)
