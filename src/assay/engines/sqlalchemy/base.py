"""Common parts of all engines over SQLAlchemy: one connection, rows streamed under caps, a watchdog, masked secrets."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from importlib.util import find_spec
from itertools import chain
from typing import Any, ClassVar, TypeVar
from urllib.parse import quote

from assay.engines import outcomes
from assay.engines.fetching import fetch_rest
from assay.engines.reading import UnreadableValue, description, is_conversion_error, reading
from assay.engines.watchdog import Watchdog
from assay.errors import DatabaseError, MissingDependency
from assay.model import Blame, DatabaseUrl, Execution, FailureKind, Limits, Row
from assay.model.databases.secret import masked

CHECK_TIMEOUT_S = 10.0
"""How long `check` waits for a server."""
_FIRST_ROWS = 16
_BUFFERED_ROWS = 4096
_CHECK_QUERY = "SELECT 1"
_CONVERSIONS = frozenset({"DataError", "NotSupportedError", "InterfaceError"})
"""The DB-API's names of the exceptions for values. Servers' own errors have a code besides."""
_CODE = re.compile(r"[0-9A-Z]{5}$|ORA-\d")
"""An SQLSTATE, or Oracle's number, at the start of a message."""
_Answer = TypeVar("_Answer")
_Self = TypeVar("_Self", bound="SqlAlchemyBase")


class SqlAlchemyBase:
    """One database that SQLAlchemy connects to. Subclasses define how its sessions are set up and restricted.

    The connection is made with the first query, and again after it was lost.
    """

    name: ClassVar[str] = ""
    dialect: ClassVar[str] = ""
    has_boolean_type: ClassVar[bool] = True
    streams: ClassVar[bool] = True
    """Whether to request a server-side cursor, if the driver has one."""
    form: ClassVar[str] = "dialect+driver://user:password@host:port/database"
    """The form of its URLs, for messages."""

    __slots__ = ("_connection", "_description", "_engine", "_limits", "_watchdog")

    def __init__(self, engine: Any, limits: Limits) -> None:
        from sqlalchemy import event

        self._engine = engine
        self._description: Sequence[Any] = ()
        """The driver's description of the last result's columns."""
        event.listen(engine, "after_cursor_execute", self._describe)
        self._limits = limits
        self._connection: Any = None
        self._watchdog = Watchdog(self._cancel)

    @classmethod
    def open(cls: type[_Self], url: DatabaseUrl, limits: Limits) -> _Self:
        """Prepare the connection; it is made with the first query.

        Raises DatabaseError for an invalid URL and MissingDependency if a package is not installed.
        """
        return cls(cls._make_engine(url, limits.timeout_s), limits)

    @classmethod
    def check(cls, url: DatabaseUrl) -> None:
        """Raise DatabaseError if no server responds or it rejects the credentials.

        Raises MissingDependency if a package is not installed.
        """
        engine = cls.open(url, Limits(timeout_s=CHECK_TIMEOUT_S, max_rows=1))
        try:
            failure = engine._run(engine._check_query()).failure
        finally:
            engine.close()
        if failure is not None and failure.kind in ("unreadable_database", "timeout"):
            raise DatabaseError(f"{url} cannot be used: {failure.message}")

    @classmethod
    def version(cls) -> str:
        """SQLAlchemy's version; the server's is part of the fingerprint if it is known."""
        require(("sqlalchemy=sqlalchemy",), "sqlalchemy")
        import sqlalchemy

        return f"SQLAlchemy {sqlalchemy.__version__}"

    @classmethod
    def fingerprint(cls, url: DatabaseUrl) -> str:
        """A hash of the URL without its password. The content of a live server cannot be seen: it may change."""
        return blake2b(str(url).encode(), digest_size=12).hexdigest()

    def execute(self, query: str) -> Execution:
        """Run one query under the limits. Never raises for what the query does."""
        return self._unsendable(query) or self._run(query)

    def ask_connection(self, ask: Callable[[Any], _Answer]) -> _Answer:
        """What a function reads from the connection, under the time limit. Raises DatabaseError if it fails."""
        started = time.perf_counter()
        self._watchdog.start(self._limits.timeout_s)
        try:
            self._connect()
            answer = ask(self._connection)
            self._check_clock()  # the database may have what a late response lacks
            self._finish_or_drop()
            return answer
        except Exception as error:  # noqa: BLE001 - drivers raise what they like
            failure = self._failed("", error, "unreadable_database", started).failure
            self._drop()
            raise DatabaseError("" if failure is None else failure.message) from None
        finally:
            self._watchdog.stop()

    def siblings(self) -> tuple[DatabaseUrl, ...]:
        """None: a server has no sibling databases of the same schema."""
        return ()

    def close(self) -> None:
        """Close the connection. Closing twice is harmless."""
        self._watchdog.close()
        self._drop()
        self._engine.dispose()

    @staticmethod
    def _unsendable(query: str) -> Execution | None:
        try:
            query.encode()
        except UnicodeEncodeError as error:
            return outcomes.not_text(query, error)
        return None

    # Hooks for subclasses.

    @classmethod
    def _require(cls, url: DatabaseUrl) -> None:  # noqa: ARG003
        """Raise MissingDependency if a package that this URL needs is not installed."""
        require(("sqlalchemy=sqlalchemy",), "sqlalchemy")

    @classmethod
    def _settings(cls, parsed: Any, timeout_s: float) -> tuple[Any, dict[str, Any]]:  # noqa: ARG003
        """The URL for SQLAlchemy, and further arguments for its ``create_engine``."""
        return parsed, {}

    @classmethod
    def _check_query(cls) -> str:
        return _CHECK_QUERY

    def _refusal(self, query: str) -> Execution | None:
        """Why this text is not sent to the server; None if it is one query. The connection exists at this point."""
        raise NotImplementedError

    def _begin(self) -> None:
        """Set up the session for one query. May raise, since nothing of the query was sent yet."""

    def _finish(self) -> None:
        """Undo all changes of the query. May raise: the connection is then dropped."""
        self._connection.rollback()

    def _recover(self) -> None:
        """Called after a query's error, when the connection may be broken."""
        self._drop()

    def _cut(self, cursor: Any) -> None:
        """Stop a result when no more rows are wanted."""
        cursor.close()
        self._finish()

    @staticmethod
    def _plain(row: Any) -> Row:
        """A driver's row as a tuple of plain values."""
        return tuple(row)

    def _check_columns(self, cursor: Any) -> None:
        """Raise UnreadableValue for a column whose values the driver does not return as they are."""

    @staticmethod
    def _type_name(column: Any) -> str:
        """The name of the type in a driver's description of a column, for messages; empty if there is none."""
        code = column[1]
        name = getattr(column, "type_display", None) or getattr(code, "name", None) or getattr(code, "__name__", code)
        return "" if name is None else str(name)

    @staticmethod
    def _is_conversion_error(error: Exception) -> bool:
        """Whether an exception of the driver's own means that it cannot convert a value: then it has no code of the
        server."""
        original: Any = getattr(error, "orig", None) or error
        if type(original).__name__ not in _CONVERSIONS:
            return False
        codes = [getattr(original, name, None) for name in ("sqlstate", "pgcode", "errno", "code", "sqlite_errorcode")]
        first = next(iter(original.args), "")
        return not (any(codes) or isinstance(first, int) or _CODE.match(str(first)))

    def _explain(self, error: BaseException) -> tuple[FailureKind, str] | None:  # noqa: ARG002
        """The kind and message of the driver's error, if the subclass knows more than the base class."""
        return None

    # How a query runs.

    @classmethod
    def _make_engine(cls, url: DatabaseUrl, timeout_s: float) -> Any:
        cls._require(url)
        import logging

        import sqlalchemy
        from sqlalchemy.exc import SQLAlchemyError

        # Without a log handler, SQLAlchemy prints the traceback of a lost connection; the evidence contains it.
        if not (log := logging.getLogger("sqlalchemy")).handlers:
            log.addHandler(logging.NullHandler())
        try:
            parsed, arguments = cls._settings(sqlalchemy.make_url(url.reveal()), timeout_s)
            return sqlalchemy.create_engine(parsed, poolclass=sqlalchemy.NullPool, hide_parameters=True, **arguments)
        except (SQLAlchemyError, ValueError, TypeError) as error:
            # The error may repeat the URL, including the password.
            raise DatabaseError(
                f"{url}: SQLAlchemy cannot use this URL ({type(error).__name__}): write {cls.form}"
            ) from None
        except ImportError as error:
            # SQLAlchemy imports the driver when it makes the engine; the error names the missing module.
            raise missing_driver(error) from None

    def _run(self, query: str) -> Execution:
        started = time.perf_counter()
        self._watchdog.start(self._limits.timeout_s)
        try:
            try:
                self._connect()
            except Exception as error:  # noqa: BLE001 - drivers raise what they like; the per-query boundary
                failed = self._failed(query, error, "unreadable_database", started, ran=False)
                self._drop()
                return failed
            if refused := self._refusal(query):
                return refused
            try:
                return self._fetch(query, started)
            except Exception as error:  # noqa: BLE001 - drivers raise what they like; the per-query boundary
                failed = self._failed(query, error, "error", started)
                self._recover()
                return failed
        finally:
            self._watchdog.stop()

    def _connect(self) -> None:
        """Connect, or check that the connection still works; a lost one is replaced once."""
        if self._connection is not None:
            try:
                self._begin()
                return
            except Exception:  # drivers raise various errors: if the server was restarted, a new connection shows it
                self._drop()
                if self._watchdog.fired:
                    raise
        self._connection = self._engine.connect()
        self._begin()

    def _fetch(self, query: str, started: float) -> Execution:
        from assay.sql.statement import without_blank_statements  # loads sqlglot, which `check` does not need

        # Without parameters the text goes to the driver unchanged: a % in it stays a %.
        options: dict[str, Any] = {"no_parameters": True}
        if self.streams:
            options |= {"stream_results": True, "max_row_buffer": _BUFFERED_ROWS}
        text = without_blank_statements(query, self.dialect)
        self._description = ()
        with self._reading():  # SQLAlchemy fetches the first row here
            cursor = self._connection.exec_driver_sql(text, execution_options=options)
        if not cursor.returns_rows:
            self._finish_or_drop()
            return outcomes.failed(
                query, "refused", "refused", "refused: it is not a query, because it returns no rows or columns"
            )
        columns = tuple(str(name) for name in cursor.keys())  # noqa: SIM118 - not a mapping

        def fetch(wanted: int) -> list[Row]:
            with self._reading():
                return [self._plain(row) for row in cursor.fetchmany(wanted)]

        try:
            self._check_columns(cursor.cursor)
            rows = fetch(min(_FIRST_ROWS, self._limits.max_rows + 1))
            cap = fetch_rest(fetch, rows, self._limits, size_of=_size, check_clock=self._check_clock)
        except UnreadableValue:
            self._cut(cursor)
            raise
        if cap is None:
            cursor.close()
            self._finish_or_drop()
        else:
            self._cut(cursor)
        wall_time_s = time.perf_counter() - started
        return outcomes.fetched(query, columns, rows, wall_time_s=wall_time_s, cap=cap, limits=self._limits)

    def _reading(self) -> AbstractContextManager[None]:
        return reading(
            lambda: [(str(column[0]), self._type_name(column)) for column in self._description],
            also=self._is_conversion_error,
        )

    def _describe(self, _connection: Any, cursor: Any, *_: object) -> None:
        """Called by SQLAlchemy after it has executed a statement, and before it fetches rows."""
        self._description = cursor.description or ()

    def _finish_or_drop(self) -> None:
        """Undo the transaction, or close the connection, which undoes it too; the rows are valid either way."""
        try:
            self._finish()
        except Exception:  # noqa: BLE001 - drivers raise what they like; the next query shows what is true
            self._drop()

    def _check_clock(self) -> None:
        if self._watchdog.fired:  # between two chunks, an interrupt has no running query to end
            raise TimeoutError("interrupted")

    def _failed(
        self, query: str, error: BaseException, kind: FailureKind, started: float, *, ran: bool = True
    ) -> Execution:
        wall_time_s = time.perf_counter() - started
        if self._watchdog.fired:
            return outcomes.timed_out(query, self._limits, wall_time_s)
        if isinstance(error, MemoryError):
            return outcomes.out_of_memory(query, self._limits, wall_time_s)
        if isinstance(error, UnreadableValue):
            return outcomes.unreadable_value(query, self._scrubbed(str(error)), wall_time_s=wall_time_s)
        original: BaseException = getattr(error, "orig", None) or error
        if kind == "error" and is_conversion_error(original):
            message = self._scrubbed(description((), original))
            return outcomes.unreadable_value(query, message, wall_time_s=wall_time_s)
        message = self._scrubbed(outcomes.first_line(original))
        if kind == "error" and (known := self._explain(original)) is not None:
            kind, message = known[0], self._scrubbed(known[1])
        elif getattr(error, "connection_invalidated", False):
            kind = "unreadable_database"
        if kind == "timeout":
            return outcomes.timed_out(query, self._limits, wall_time_s)
        if kind == "out_of_memory":
            return outcomes.out_of_memory(query, self._limits, wall_time_s)
        if kind in ("writes", "refused"):
            return outcomes.failed(query, "refused", kind, message)
        blame: Blame = "engine" if kind == "unreadable_database" and ran else "system"
        return outcomes.failed(query, "error", kind, message, wall_time_s=wall_time_s, blame=blame)

    def _scrubbed(self, text: str) -> str:
        """The text without the password, in case a driver or server repeats it: plain or URL-encoded."""
        if password := self._engine.url.password:
            text = masked(text, (str(password), quote(str(password), safe="")))
        return text

    def _cancel(self) -> None:
        """Ask the server to cancel the running query. Called from the watchdog's thread."""
        connection = self._connection
        if connection is None:
            return
        try:
            cancel = self._canceller(connection.connection.driver_connection)
            if cancel is not None:
                cancel()
        except Exception:  # noqa: BLE001 - what cannot be cancelled ends with its worker process
            return

    @staticmethod
    def _canceller(driver_connection: Any) -> Callable[[], object] | None:
        """The driver's own way to cancel from another thread."""
        for name in ("cancel", "adbc_cancel", "interrupt"):
            found: Callable[[], object] | None = getattr(driver_connection, name, None)
            if found is not None:
                return found
        return None

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except Exception:  # noqa: BLE001 - a broken connection may not close; it is given up either way
                return


def _size(rows: list[Row]) -> int:
    """About how many bytes these rows take."""
    return sum(map(sys.getsizeof, chain.from_iterable(rows))) + len(rows) * (56 + len(rows[0]) * 8) if rows else 0


_DRIVER_PACKAGES: Mapping[str, str] = {
    "MySQLdb": "mysqlclient",
    "mysql": "mysql-connector-python",
    "mysql.connector": "mysql-connector-python",
    "psycopg2": "psycopg2-binary",
    "cx_Oracle": "oracledb",
}
_EXTRAS = {"pymysql": "sqlalchemy"}
"""The extra of Assay's that brings a driver."""


def missing_driver(error: ImportError) -> MissingDependency:
    """The error for a driver that is not installed, by the name under which pip installs its module."""
    module = (error.name or str(error)).partition(".")[0] if error.name not in _DRIVER_PACKAGES else str(error.name)
    return MissingDependency(_DRIVER_PACKAGES.get(module, module), _EXTRAS.get(module))


def require(packages: Sequence[str], extra: str) -> None:
    """Raise MissingDependency for the first of these (``module=distribution``) that is not installed."""
    for one in packages:
        module, _, distribution = one.partition("=")
        try:
            found = find_spec(module) is not None
        except ModuleNotFoundError:  # the package that contains it
            found = False
        if not found:
            raise MissingDependency(distribution, extra)
