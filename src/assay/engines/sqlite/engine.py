"""SQLite, through Python's own sqlite3: the results are the same as in the benchmarks' scripts."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import time
from collections.abc import Iterator
from itertools import pairwise
from marshal import dumps

from assay.engines import outcomes
from assay.engines.database_files import MEMORY, DatabaseFile, files_beside
from assay.engines.fetching import FIRST_ROWS, fetch_rest
from assay.engines.reading import CONVERSION_ERRORS, description, is_conversion_error
from assay.engines.sqlite.file import open_read_only
from assay.engines.sqlite.guard import Guard
from assay.errors import DatabaseError
from assay.model import DatabaseSchema, DatabaseUrl, Execution, Limits, Result, Row
from assay.model.results.cells import SettledRows
from assay.ports import ScratchDatabase

_CELL_BYTES = 40
"""Bytes of a cell besides its content: a pointer and an object's header."""
_LARGEST_CELL = 1_000_000_000
_LOOKING_S = 10.0
"""How long it may take to find out whether a query depends on the clock."""
_BESIDE = ("-wal", "-shm", "-journal")

_LITERAL_OR_SEMICOLON = re.compile(
    r"""'[^']*+(?:'|\Z)|"[^"]*+(?:"|\Z)|`[^`]*+(?:`|\Z)|\[[^\]]*+(?:\]|\Z)|--[^\n]*+|/\*.*?(?:\*/|\Z)|;""", re.DOTALL
)
"""What SQLite reads as a literal, a quoted name or a comment, or else a semicolon."""

# What the driver raises for a query, or for a value. Warning: several statements, before Python 3.12.
_QUERY_ERRORS = (sqlite3.Error, sqlite3.Warning, MemoryError, *CONVERSION_ERRORS)


class SqliteEngine(DatabaseFile):
    """One SQLite database file, read-only.

    Values have SQLite's types: None, int, float, str or bytes, which may mix in one column. Invalid UTF-8 bytes in text
    become surrogate escapes, and the Execution says so.
    """

    name = "sqlite"
    dialect = "sqlite"
    has_boolean_type = False
    kind = "SQLite database"
    magic = b"SQLite format 3\0"
    beside = ("-wal", "-journal")

    __slots__ = ("_connection", "_guard", "_holds_now", "_limits", "_url")

    def __init__(self, connection: sqlite3.Connection, guard: Guard, url: DatabaseUrl, limits: Limits) -> None:
        self._connection = connection
        self._guard = guard
        self._holds_now: bool | None = None
        self._url = url
        self._limits = limits

    @classmethod
    def open(cls, url: DatabaseUrl, limits: Limits) -> SqliteEngine:
        """Open the database read-only. Raises DatabaseError if it cannot be read."""
        cls.check(url)
        try:
            connection = open_read_only(url.path)
        except (sqlite3.Error, OSError) as error:
            raise DatabaseError(f"the SQLite database {url.path!r} cannot be opened: {error}") from None
        guard = Guard()
        try:
            for pragma in (
                "query_only=ON",
                "temp_store=MEMORY",
                "trusted_schema=OFF",
                f"hard_heap_limit={limits.max_memory_bytes}",  # process-wide: it cannot be raised again
            ):
                connection.execute(f"PRAGMA {pragma}")
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
            for category, value in (
                (sqlite3.SQLITE_LIMIT_LENGTH, min(_LARGEST_CELL, max(1_000_000, limits.max_result_bytes // 8))),
                (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 1_000_000),
                (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 1_000),
                (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 500),
                (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 10_000),
                (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 10),
                (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
                (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
            ):
                connection.setlimit(category, value)
            guard.attach(connection)
        except sqlite3.Error as error:
            connection.close()
            raise DatabaseError(f"the SQLite database {url.path!r} cannot be read: {error}") from None
        return cls(connection, guard, url, limits)

    @classmethod
    def version(cls) -> str:
        """The SQLite library's version."""
        return sqlite3.sqlite_version

    def execute(self, query: str) -> Execution:
        """Run one query under the limits. Never raises for what the query does."""
        limits = self._limits
        self._guard.start(limits.timeout_s)
        started = time.perf_counter()
        try:
            cursor = self._connection.execute(query)
            rows: list[Row] = cursor.fetchmany(FIRST_ROWS)
            count = len(rows)
            description = cursor.description
            if (
                count >= FIRST_ROWS
                or count > limits.max_rows
                or description is None
                or _size(rows) > limits.max_result_bytes
            ):
                return self._finish(query, query, cursor, rows, started)
            # Most queries take this path, some in 20 us: the code below is `outcomes.fetched` for a complete result.
            columns = tuple([column[0] for column in description])
            return Execution(
                query=query,
                status="rows" if count else "empty",
                result=Result(columns=columns, rows=SettledRows(rows)),
                wall_time_s=time.perf_counter() - started,
                row_count=count,
                columns=columns,
            )
        except _QUERY_ERRORS as error:
            return self._recover(query, error, started)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Queries within this read one state of the file.

        The file is locked once instead of per query, which saves a quarter of a short query's time. It blocks all
        writers meanwhile, so it is for a few milliseconds.
        """
        self._control("BEGIN")
        try:
            yield
        finally:
            if self._connection.in_transaction:  # some errors end it
                self._control("COMMIT")

    def _control(self, statement: str) -> None:
        with self._guard.lifted(self._connection):
            self._connection.execute(statement)

    def siblings(self) -> tuple[DatabaseUrl, ...]:
        """The other files whose name contains ``.sqlite``, if the folder has this database's name; sorted by name.

        This is the layout of Spider's test suite: ``concert_singer/concert_singer.sqlite`` with its siblings in the
        same folder. In any other folder, neighbouring files are separate databases.
        """
        if self._url.path == MEMORY:
            return ()
        return files_beside(self._url, lambda name: ".sqlite" in name and not name.endswith(_BESIDE))

    def schema(self, *, with_values: bool = True) -> DatabaseSchema:
        """The tables and views of the file, without SQLite's own. Raises DatabaseError if it cannot be read."""
        from assay.engines.sqlite.schema import read_schema

        return read_schema(self, with_values=with_values)

    @classmethod
    def scratch(cls, schema: DatabaseSchema, *, without_keys: bool = False, timeout_s: float = 0.25) -> ScratchDatabase:
        """An empty database in memory with the schema's tables, to try queries on."""
        from assay.engines.sqlite.scratch import SqliteScratch

        return SqliteScratch(schema, without_keys=without_keys, timeout_s=timeout_s)

    def session(self) -> str | None:
        """The library's build: everything that determines results besides the file, the query and the limits."""
        self._guard.start(_LOOKING_S)
        try:
            (built,) = self._connection.execute("SELECT sqlite_source_id()").fetchone()
            return f"{built} {self._connection.execute('PRAGMA compile_options').fetchall()}"
        except sqlite3.Error:
            return None

    def repeats(self, query: str) -> bool:
        """Whether the last query, executed for the first time on this connection, depends on the file only."""
        from assay.engines.sqlite.repeatable import is_repeatable

        called = frozenset(self._guard.called)
        self._guard.start(_LOOKING_S)
        try:
            return is_repeatable(query, called, self._connection, self._finds_now)
        except _QUERY_ERRORS:
            return False

    def _finds_now(self) -> bool:
        """Whether some cell is a word for the current time: searched once, since it takes a full scan."""
        from assay.engines.sqlite.repeatable import holds_now

        if self._holds_now is None:
            self._holds_now = holds_now(self._connection)
        return self._holds_now

    def close(self) -> None:
        """Release the database. Closing twice is harmless."""
        self._connection.close()

    def _run(self, query: str, text: str, started: float, *, undecodable_text: bool = False) -> Execution:
        cursor = self._connection.execute(text)
        rows: list[Row] = cursor.fetchmany(FIRST_ROWS)
        return self._finish(query, text, cursor, rows, started, undecodable_text=undecodable_text)

    def _finish(
        self,
        query: str,
        text: str,
        cursor: sqlite3.Cursor,
        rows: list[Row],
        started: float,
        *,
        undecodable_text: bool = False,
    ) -> Execution:
        """The Execution of a query whose first rows have arrived."""
        description = cursor.description
        if description is None:
            return outcomes.no_query(query) if _is_blank(text) else _no_rows(query)
        limits = self._limits
        cap = fetch_rest(cursor.fetchmany, rows, limits, size_of=_size, check_clock=self._guard.check_clock)
        return outcomes.fetched(
            query,
            tuple([column[0] for column in description]),
            SettledRows(rows),
            wall_time_s=time.perf_counter() - started,
            cap=cap,
            limits=limits,
            undecodable_text=undecodable_text,
        )

    def _recover(self, query: str, error: Exception, started: float) -> Execution:
        """Retry after three kinds of errors; turn any other into an Execution with a failure."""
        if self._guard.wants_declaration:
            self._guard.declare_tables(self._connection)
            return self._again(query, query, started)
        if self._guard.denied is None and not self._guard.timed_out:
            if _is_several(error):
                # The driver counts a blank statement or a comment after a second semicolon as a statement.
                statements = [text for text in _between_semicolons(query) if not _is_blank(text)]
                if len(statements) == 1:
                    return self._again(query, statements[0], started)
            elif isinstance(error, sqlite3.OperationalError) and str(error).startswith("Could not decode to UTF-8"):
                self._connection.text_factory = _decode
                try:
                    return self._again(query, query, started, undecodable_text=True)
                finally:
                    self._connection.text_factory = str
        return self._failed(query, error, time.perf_counter() - started)

    def _again(self, query: str, text: str, started: float, *, undecodable_text: bool = False) -> Execution:
        try:
            return self._run(query, text, started, undecodable_text=undecodable_text)
        except _QUERY_ERRORS as error:
            return self._failed(query, error, time.perf_counter() - started)

    def _failed(self, query: str, error: Exception, wall_time_s: float) -> Execution:
        guard = self._guard
        if guard.timed_out:
            return outcomes.timed_out(query, self._limits, wall_time_s)
        if guard.denied is not None:
            kind, message = guard.explain(query)
            return outcomes.failed(query, "refused", kind, message)
        if isinstance(error, MemoryError):
            return outcomes.out_of_memory(query, self._limits, wall_time_s)
        if _is_several(error):
            return outcomes.several_statements(query)
        if isinstance(error, UnicodeEncodeError):
            return outcomes.not_text(query, error)
        if is_conversion_error(error):
            return outcomes.unreadable_value(query, description((), error), wall_time_s=wall_time_s)
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        message = outcomes.first_line(error)
        if code == sqlite3.SQLITE_READONLY:
            return outcomes.failed(query, "refused", "writes", f"refused: it writes ({message})")
        if code == sqlite3.SQLITE_TOOBIG:
            message = f"a text, a value or the query itself exceeds its size limit ({message})"
            return outcomes.failed(query, "error", "out_of_memory", message, wall_time_s=wall_time_s)
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
            return outcomes.server_lost(query, message, wall_time_s=wall_time_s)
        return outcomes.failed(query, "error", "error", message, wall_time_s=wall_time_s)


def _size(rows: list[Row]) -> int:
    """About how many bytes these rows take. Marshalling them is five times as fast as measuring each cell."""
    return len(dumps(rows)) + len(rows) * len(rows[0]) * _CELL_BYTES if rows else 0


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _is_several(error: Exception) -> bool:
    return isinstance(error, sqlite3.Warning | sqlite3.ProgrammingError) and "one statement at a time" in str(error)


def _between_semicolons(query: str) -> list[str]:
    """The statements of a text, blank ones included, by SQLite's lexical rules."""
    ends = [match.start() for match in _LITERAL_OR_SEMICOLON.finditer(query) if match[0] == ";"]
    return [query[start:end] for start, end in pairwise([0, *(end + 1 for end in ends), len(query) + 1])]


def _is_blank(text: str) -> bool:
    """Whether there are only spaces, semicolons and comments."""
    position, length = 0, len(text)
    while position < length:
        if text[position].isspace() or text[position] == ";":
            position += 1
        elif text.startswith("--", position):
            position = text.find("\n", position) % (length + 1)
        elif text.startswith("/*", position):
            end = text.find("*/", position + 2)
            position = length if end < 0 else end + 2
        else:
            return False
    return True


def _no_rows(query: str) -> Execution:
    return outcomes.failed(
        query, "refused", "refused", "refused: it is not a query, because it returns no rows or columns"
    )
