"""DuckDB, without access to files, network and settings. The only module of this package that imports it."""

from __future__ import annotations

import os
import pickle
import sys
import time
from functools import partial

import duckdb

from assay.engines import outcomes
from assay.engines.database_files import MEMORY, DatabaseFile, files_beside
from assay.engines.duckdb.guard import called, calls_only_usual, effectful_functions
from assay.engines.duckdb.repeatable import Repeatable, session_of
from assay.engines.duckdb.values import ExactColumn, read_rows, selected
from assay.engines.fetching import FIRST_ROWS, fetch_rest
from assay.engines.reading import CONVERSION_ERRORS, UnreadableValue, description, is_conversion_error, reading
from assay.engines.watchdog import Watchdog
from assay.errors import DatabaseError
from assay.model import DatabaseSchema, DatabaseUrl, Execution, FailureKind, Limits, Row
from assay.platform.duckdb_progress import without_progress_bar
from assay.ports import ScratchDatabase

_BESIDE = (".wal", ".tmp")

_READS = frozenset({"SELECT", "EXPLAIN", "MULTI"})
"""DuckDB turns PIVOT into MULTI: it first makes the list of columns, in a temporary type."""

_WRITES = frozenset(
    {
        "INSERT",
        "UPDATE",
        "DELETE",
        "MERGE_INTO",
        "CREATE",
        "CREATE_FUNC",
        "ALTER",
        "DROP",
        "COPY",
        "COPY_DATABASE",
        "EXPORT",
        "ANALYZE",
        "VACUUM",
    }
)

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "allow_community_extensions": False,
    "allow_unsigned_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,  # a query must not read this program's variables as tables
    "temp_directory": "",  # a query that does not fit into memory fails: no file is created
    "max_temp_directory_size": "0KB",
    "threads": 1,
}
if int(duckdb.__version__.partition(".")[0]) >= 2:
    # Else each database has eight more threads, whose stacks count as memory of the process.
    _SETTINGS["async_threads"] = 0

_LOCKS = "SET enable_external_access = false; SET lock_configuration = true"
"""Separate statements, since the order in which connection settings are applied is undefined."""

_NESTED = frozenset({"list", "array", "struct", "map", "union", "variant"})
_CELL_BYTES = {
    **dict.fromkeys(("boolean", "tinyint", "smallint", "integer", "utinyint", "usmallint", "uinteger"), 28),
    **dict.fromkeys(("bigint", "ubigint"), 32),
    **dict.fromkeys(("float", "double"), 24),
    "decimal": 104,
    **dict.fromkeys(("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamp with time zone"), 48),
}
"""The size of a cell of these types as a Python value; cells of other types are measured, which takes a third as long
as fetching them."""

_functions: frozenset[str] | None = None
"""This library's functions that no query may call; None until they are first needed."""


class DuckdbEngine(DatabaseFile):
    """One DuckDB database file, or an empty one in memory, read-only.

    Values are those of DuckDB's Python client, including Decimal, date, datetime, UUID, and lists and dicts for nested
    types. If the client changes values, they are read in another form: see `assay.engines.duckdb.values`.
    """

    name = "duckdb"
    dialect = "duckdb"
    has_boolean_type = True
    kind = "DuckDB database"
    magic = b"DUCK"
    magic_offset = 8
    beside = (".wal", ".wal.recovery", ".wal.checkpoint")

    __slots__ = ("_connection", "_in_memory", "_limits", "_repeatable", "_shares", "_url", "_watchdog")

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, url: DatabaseUrl, limits: Limits, *, shares: bool = False
    ) -> None:
        self._connection = connection
        self._url = url
        self._limits = limits
        self._in_memory = url.path == MEMORY
        self._repeatable: Repeatable | None = None
        self._shares = shares
        """Another connection of this process has the file open: this one reads what that one opened."""
        self._watchdog = Watchdog(connection.interrupt)

    @classmethod
    def open(cls, url: DatabaseUrl, limits: Limits) -> DuckdbEngine:
        """Open the database read-only. Raises DatabaseError if it cannot be read."""
        cls.check(url)
        memory_mib = max(16, limits.max_memory_bytes // (1024 * 1024))
        settings = {**_SETTINGS, "memory_limit": f"{memory_mib}MiB"}
        try:
            connection = duckdb.connect(url.path, read_only=url.path != MEMORY, config=settings)
            shares = not _lock(connection)
        except duckdb.Error as error:
            raise DatabaseError(
                f"the DuckDB database {url.path!r} cannot be opened: {outcomes.first_line(error)}"
            ) from None
        return cls(connection, url, limits, shares=shares)

    @classmethod
    def version(cls) -> str:
        """DuckDB's version."""
        return str(duckdb.__version__)

    def execute(self, query: str) -> Execution:
        """Run one query under the limits. Never raises for what the query does."""
        started = time.perf_counter()
        try:
            query.encode()
            # Use the connection's method: the module's function would open an in-memory database, with its threads.
            statements = self._connection.extract_statements(query)
        except UnicodeEncodeError as error:
            return outcomes.not_text(query, error)
        except (duckdb.Error, RuntimeError, MemoryError) as error:
            return self._failed(query, error, time.perf_counter() - started)
        if refusal := _refusal(query, statements) or self._call_refusal(query):
            return refusal
        statement = statements[0]
        # Remove everything of this query before the next one: PIVOT's temporary types, and what a WITH clause might
        # write into an in-memory database.
        isolated = self._in_memory or _kind(statement) == "MULTI"
        self._watchdog.start(self._limits.timeout_s)
        try:
            if isolated:
                self._connection.execute("BEGIN TRANSACTION READ ONLY" if self._in_memory else "BEGIN TRANSACTION")
            return self._run(query, statement, started)
        except (duckdb.Error, RuntimeError, MemoryError, UnreadableValue, *CONVERSION_ERRORS) as error:
            return self._failed(query, error, time.perf_counter() - started)
        finally:
            self._watchdog.stop()
            if isolated:
                self._connection.execute("ROLLBACK")

    def siblings(self) -> tuple[DatabaseUrl, ...]:
        """The other files in the same folder with the same suffix, sorted by name."""
        if self._in_memory:
            return ()
        suffix = os.path.splitext(self._url.path)[1]
        return files_beside(
            self._url, lambda name: bool(suffix) and name.endswith(suffix) and not name.endswith(_BESIDE)
        )

    def schema(self, *, with_values: bool = True) -> DatabaseSchema:
        """The tables and views of the file, without DuckDB's own. Raises DatabaseError if it cannot be read."""
        from assay.engines.duckdb.schema import read_schema

        return read_schema(self, with_values=with_values)

    @classmethod
    def scratch(cls, schema: DatabaseSchema, *, without_keys: bool = False, timeout_s: float = 0.25) -> ScratchDatabase:
        """An empty database in memory with the schema's tables, to try queries on."""
        from assay.engines.duckdb.scratch import SCRATCH_BYTES, DuckdbScratch
        from assay.engines.scratch import MOST_ROWS

        connection = duckdb.connect(MEMORY, config={**_SETTINGS, "memory_limit": f"{SCRATCH_BYTES >> 20}MiB"})
        _lock(connection)
        limits = Limits(timeout_s=timeout_s, max_rows=MOST_ROWS, max_memory_bytes=SCRATCH_BYTES)
        engine = cls(connection, DatabaseUrl(text=f"duckdb:///{MEMORY}"), limits)
        return DuckdbScratch(connection, engine, schema, version=cls.version(), without_keys=without_keys)

    def session(self) -> str | None:
        """The settings of this connection: everything that determines results besides the file and the query."""
        try:
            return None if self._shares else session_of(self._connection)
        except duckdb.Error:
            return None

    def repeats(self, query: str) -> bool:
        """Whether a query depends on the file only."""
        try:
            if self._repeatable is None:
                self._repeatable = Repeatable(self._connection)
        except duckdb.Error:
            return False
        return self._repeatable(query)

    def close(self) -> None:
        """Release the database. Closing twice is harmless."""
        self._watchdog.close()
        self._connection.close()

    def _call_refusal(self, query: str) -> Execution | None:
        """Refuse a query that calls a function with effects, or an unknown table function; else None."""
        global _functions  # noqa: PLW0603 - the library's own, of which a process has one
        if _functions is None and calls_only_usual(query):
            return None
        if _functions is None:
            _functions = effectful_functions(self._connection)
        name = called(query, _functions)
        if name is None:
            return None
        return outcomes.failed(query, "refused", "refused", f"refused: it calls {name}(), which no query needs")

    def _run(self, query: str, statement: duckdb.Statement, started: float) -> Execution:
        cursor = self._connection.execute(statement)
        description = cursor.description or []
        names = tuple([column[0] for column in description])
        exact = [ExactColumn.of(column[1]) for column in description]
        if any(column is not None and not column.usually_kept for column in exact):
            return self._run_exactly(query, statement, names, exact)
        rows, cap = self._fetch(cursor)
        for index, column in enumerate(exact):
            if column is not None and column.changes([row[index] for row in rows]):
                return self._run_exactly(query, statement, names, exact)
        return self._fetched(query, names, rows, cap, started)

    def _run_exactly(
        self, query: str, statement: duckdb.Statement, names: tuple[str, ...], exact: list[ExactColumn | None]
    ) -> Execution:
        """Run a query, which runs without error, for columns in a form that the client keeps."""
        started = time.perf_counter()
        try:
            # The query itself is bound without error, so that the error is one of what is around it.
            rows, cap = self._fetch(self._connection.execute(selected(statement.query, exact)))
        except (duckdb.ParserException, duckdb.BinderException) as error:
            why = f"its values cannot be read without changing them ({outcomes.first_line(error)}): cast them to text"
            raise UnreadableValue(f"{why} in the query") from error
        with reading(lambda: [(name, str(column.kind)) for name, column in zip(names, exact, strict=True) if column]):
            rows = read_rows(rows, exact)
        return self._fetched(query, names, rows, cap, started)

    def _fetch(self, cursor: duckdb.DuckDBPyConnection) -> tuple[list[Row], outcomes.Cap | None]:
        columns = cursor.description or []
        size_of = partial(_size, kinds=[str(getattr(column[1], "id", None)) for column in columns])

        def fetch(count: int) -> list[Row]:
            with reading(lambda: [(column[0], str(column[1])) for column in columns]):
                return cursor.fetchmany(count)

        rows = fetch(FIRST_ROWS)
        return rows, fetch_rest(fetch, rows, self._limits, size_of=size_of, check_clock=self._check_clock)

    def _fetched(
        self, query: str, names: tuple[str, ...], rows: list[Row], cap: outcomes.Cap | None, started: float
    ) -> Execution:
        wall_time_s = time.perf_counter() - started
        return outcomes.fetched(query, names, rows, wall_time_s=wall_time_s, cap=cap, limits=self._limits)

    def _check_clock(self) -> None:
        if self._watchdog.fired:  # between two chunks, an interrupt has no running query to end
            raise RuntimeError("interrupted")

    def _failed(self, query: str, error: Exception, wall_time_s: float) -> Execution:
        if isinstance(error, UnreadableValue):
            return outcomes.unreadable_value(query, str(error), wall_time_s=wall_time_s)
        message = outcomes.first_line(error)
        if self._watchdog.fired and isinstance(error, duckdb.InterruptException | RuntimeError):
            return outcomes.timed_out(query, self._limits, wall_time_s)
        if is_conversion_error(error):
            return outcomes.unreadable_value(query, description((), error), wall_time_s=wall_time_s)
        if isinstance(error, MemoryError | duckdb.OutOfMemoryException) or "bad_alloc" in message:
            return outcomes.out_of_memory(query, self._limits, wall_time_s)
        if isinstance(error, duckdb.PermissionException) or "configuration has been locked" in message:
            return outcomes.failed(query, "refused", "refused", f"refused: it reaches out of the database ({message})")
        if isinstance(error, duckdb.InvalidInputException) and "read-only mode" in message:
            return outcomes.failed(query, "refused", "writes", "refused: it writes")
        if isinstance(error, duckdb.TransactionException) and "read-only" in message:
            return outcomes.failed(query, "refused", "writes", "refused: it writes")
        if isinstance(error, duckdb.IOException):  # an error of the file, or of a function that the query calls
            return outcomes.server_lost(query, message, wall_time_s=wall_time_s)
        fatal = isinstance(error, duckdb.FatalException | duckdb.InternalException)
        kind: FailureKind = "crashed" if fatal else "error"
        return outcomes.failed(query, "error", kind, message, wall_time_s=wall_time_s)


def _lock(connection: duckdb.DuckDBPyConnection) -> bool:
    """Lock files, network and settings. False if another connection to the same database has done so."""
    found = connection.execute("SELECT current_setting('lock_configuration')").fetchone()
    if found is not None and found[0]:
        return False
    without_progress_bar(connection)
    connection.execute(_LOCKS)
    return True


def _kind(statement: duckdb.Statement) -> str:
    """The name of the statement's type; empty for a type that DuckDB's parser knows but its Python client does not."""
    try:
        return statement.type.name
    except ValueError:  # UPDATE EXTENSIONS, in DuckDB 1.3
        return ""


def _refusal(query: str, statements: list[duckdb.Statement]) -> Execution | None:
    """Why these statements are not run; None for a single statement that reads."""
    if not statements:
        return outcomes.no_query(query)
    if len(statements) > 1:
        return outcomes.several_statements(query)
    kind = _kind(statements[0])
    if kind in _READS:
        return None
    words = kind.replace("_", " ") or "of a kind that the client does not know"
    if kind in _WRITES:
        return outcomes.failed(query, "refused", "writes", f"refused: it writes ({words})")
    return outcomes.failed(query, "refused", "refused", f"refused: it is not a query ({words})")


def _size(rows: list[Row], kinds: list[str]) -> int:
    """About how many bytes these rows take, by the types of their columns; lists, structs and maps by their pickle."""
    size = len(rows) * 8 * len(kinds)
    for index, kind in enumerate(kinds):
        if kind in _CELL_BYTES:
            size += len(rows) * _CELL_BYTES[kind]
            continue
        cells = [row[index] for row in rows]
        size += sum(map(sys.getsizeof, cells))
        if kind in _NESTED:
            size += 8 * len(pickle.dumps(cells))
    return size
