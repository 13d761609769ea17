"""Restrict what a query may do in SQLite: the authorizer and the progress handler of one connection."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from time import monotonic

from assay.model import FailureKind

_TICK_OPERATIONS = 10_000
"""Steps of SQLite's virtual machine between two checks of the clock: well under a millisecond."""

_HARMLESS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})

_DANGEROUS_FUNCTIONS = frozenset(
    {"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit", "fsdir", "lsmode", "eval"}
)

_PRAGMAS_WITH_ARGUMENT = frozenset(
    {
        "table_info",
        "table_xinfo",
        "table_list",
        "index_list",
        "index_info",
        "index_xinfo",
        "foreign_key_list",
    }
)
_PRAGMAS_WITHOUT_ARGUMENT = _PRAGMAS_WITH_ARGUMENT | {
    "application_id",
    "auto_vacuum",
    "busy_timeout",
    "cache_size",
    "collation_list",
    "compile_options",
    "data_version",
    "encoding",
    "foreign_key_check",
    "foreign_keys",
    "freelist_count",
    "function_list",
    "locking_mode",
    "page_count",
    "page_size",
    "schema_version",
    "synchronous",
    "user_version",
}

# Table-valued functions and virtual tables declare their columns when they are first named, by an UPDATE of the
# schema's table that the authorizer refuses. (An UPDATE in a query's own text never gets that far: SQLite forbids it
# first.) So each is named once without the authorizer.
_TABLE_FUNCTIONS = ("json_each", "json_tree", *(f"pragma_{name}" for name in sorted(_PRAGMAS_WITHOUT_ARGUMENT)))

_SCHEMA_TABLES = frozenset({"sqlite_master", "sqlite_temp_master", "sqlite_schema", "sqlite_temp_schema"})

_WRITES = {
    sqlite3.SQLITE_INSERT: "INSERT into",
    sqlite3.SQLITE_UPDATE: "UPDATE of",
    sqlite3.SQLITE_DELETE: "DELETE on",
    sqlite3.SQLITE_CREATE_INDEX: "CREATE INDEX",
    sqlite3.SQLITE_CREATE_TABLE: "CREATE TABLE",
    sqlite3.SQLITE_CREATE_TEMP_INDEX: "CREATE INDEX",
    sqlite3.SQLITE_CREATE_TEMP_TABLE: "CREATE TEMPORARY TABLE",
    sqlite3.SQLITE_CREATE_TEMP_TRIGGER: "CREATE TEMPORARY TRIGGER",
    sqlite3.SQLITE_CREATE_TEMP_VIEW: "CREATE TEMPORARY VIEW",
    sqlite3.SQLITE_CREATE_TRIGGER: "CREATE TRIGGER",
    sqlite3.SQLITE_CREATE_VIEW: "CREATE VIEW",
    sqlite3.SQLITE_CREATE_VTABLE: "CREATE VIRTUAL TABLE",
    sqlite3.SQLITE_DROP_INDEX: "DROP INDEX",
    sqlite3.SQLITE_DROP_TABLE: "DROP TABLE",
    sqlite3.SQLITE_DROP_TEMP_INDEX: "DROP INDEX",
    sqlite3.SQLITE_DROP_TEMP_TABLE: "DROP TABLE",
    sqlite3.SQLITE_DROP_TEMP_TRIGGER: "DROP TRIGGER",
    sqlite3.SQLITE_DROP_TEMP_VIEW: "DROP VIEW",
    sqlite3.SQLITE_DROP_TRIGGER: "DROP TRIGGER",
    sqlite3.SQLITE_DROP_VIEW: "DROP VIEW",
    sqlite3.SQLITE_DROP_VTABLE: "DROP TABLE",
    sqlite3.SQLITE_ALTER_TABLE: "ALTER TABLE",
    sqlite3.SQLITE_REINDEX: "REINDEX",
    sqlite3.SQLITE_ANALYZE: "ANALYZE",
}


class Guard:
    """Watches one connection: allows reading, remembers what it denied, and stops queries that take too long."""

    __slots__ = ("_deadline", "called", "denied", "timed_out")

    def __init__(self) -> None:
        self._deadline = float("inf")
        self.denied: tuple[int, str | None, str | None] | None = None
        """The first action that was denied since `start`, with its two names."""
        self.timed_out: bool = False
        self.called: set[str] = set()
        """The functions and pragmas of the statements that were prepared since `start`, including those of views. A
        statement that the driver has cached is not prepared again."""

    def attach(self, connection: sqlite3.Connection) -> None:
        """Install it on a connection."""
        connection.set_authorizer(self._authorize)
        connection.set_progress_handler(self._tick, _TICK_OPERATIONS)

    @contextlib.contextmanager
    def lifted(self, connection: sqlite3.Connection) -> Iterator[None]:
        """While this is open, the connection is unrestricted: for Assay's own statements."""
        connection.set_authorizer(None)
        try:
            yield
        finally:
            connection.set_authorizer(self._authorize)

    def declare_tables(self, connection: sqlite3.Connection) -> None:
        """Name every virtual table and harmless table function once, unguarded, so that they may be read."""
        with self.lifted(connection):
            virtual = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage = 0")
            for name in (*_TABLE_FUNCTIONS, *(row[0] for row in virtual.fetchall())):
                # Another SQLite version may lack a function; a broken virtual table fails the queries that name it.
                with contextlib.suppress(sqlite3.Error):
                    connection.execute('SELECT 1 FROM "{}" LIMIT 0'.format(name.replace('"', '""')))
        self.denied = None

    @property
    def wants_declaration(self) -> bool:
        """Whether the denied action may only be the first naming of a virtual table."""
        return self.denied is not None and self.denied[:2] == (sqlite3.SQLITE_UPDATE, "sqlite_master")

    def start(self, seconds: float) -> None:
        """A query begins and may take ``seconds``."""
        self.denied = None
        self.timed_out = False
        self.called.clear()
        self._deadline = monotonic() + seconds

    def check_clock(self) -> None:
        """Called between chunks of rows, which may be large but take few of SQLite's steps: end a query beyond its
        limit.

        Raises sqlite3.OperationalError, like an interrupted step.
        """
        if self._tick():
            raise sqlite3.OperationalError("interrupted")

    def explain(self, query: str) -> tuple[FailureKind, str]:
        """Why the query was refused. Call it after a refusal."""
        assert self.denied is not None
        action, first, second = self.denied
        if self.wants_declaration:
            return "refused", "refused: it reads a virtual table of SQLite that is not allowed"
        if action in (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_DELETE) and first in _SCHEMA_TABLES:
            return "writes", "refused: it writes (it changes the database's schema)"
        if verb := _WRITES.get(action):
            # ALTER TABLE gives the database first, then the table.
            name = second if action == sqlite3.SQLITE_ALTER_TABLE else first
            return "writes", f"refused: it writes ({verb} {name})" if name else f"refused: it writes ({verb})"
        if action == sqlite3.SQLITE_ATTACH:
            if "attach" not in query.lower():  # VACUUM attaches the file that it writes
                return "writes", "refused: it writes (VACUUM)"
            return "refused", f"refused: it opens another file (ATTACH {first})"
        if action == sqlite3.SQLITE_PRAGMA:
            setting = f"{first} = {second}" if second is not None else f"{first}"
            return "refused", f"refused: it is not a query but a setting (PRAGMA {setting})"
        if action == sqlite3.SQLITE_FUNCTION:
            return "refused", f"refused: it calls {second}(), which reaches outside the database"
        if action in (sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT):
            return "refused", f"refused: it is not a query but controls a transaction ({first})"
        if action == sqlite3.SQLITE_DETACH:
            return "refused", f"refused: it is not a query (DETACH {first})"
        return "refused", f"refused: it does something other than read (SQLite's action {action})"

    def _authorize(
        self, action: int, first: str | None, second: str | None, _database: str | None, _source: str | None
    ) -> int:
        if action in _HARMLESS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            self.called.add((second or "").lower())
            if second not in _DANGEROUS_FUNCTIONS:
                return sqlite3.SQLITE_OK
        elif action == sqlite3.SQLITE_PRAGMA and first is not None:
            name = first.lower()
            self.called.add(f"pragma {name}")
            if name in (_PRAGMAS_WITHOUT_ARGUMENT if second is None else _PRAGMAS_WITH_ARGUMENT):
                return sqlite3.SQLITE_OK
        if self.denied is None:
            self.denied = (action, first, second)
        return sqlite3.SQLITE_DENY

    def _tick(self) -> bool:
        if monotonic() > self._deadline:
            self.timed_out = True
        return self.timed_out
