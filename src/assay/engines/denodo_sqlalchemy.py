"""Denodo over its SQLAlchemy dialect: Arrow Flight SQL (port 9994) or the PostgreSQL wire (port 9996).

Both give typed columns, column names for empty results, and no row limit of the server's own.
Neither can be told to only read, so what is not one query is refused before it is sent, as over
HTTP (`assay.engines.denodo`).
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from hashlib import blake2b
from itertools import chain
from typing import Any, ClassVar, TypeVar

from assay.engines import outcomes
from assay.engines.denodo import CHECK_TIMEOUT_S, refusal
from assay.engines.watchdog import Watchdog
from assay.errors import DatabaseError, MissingDependency
from assay.model import DatabaseUrl, Execution, FailureKind, Limits, Row

_CHUNK_ROWS = 4096
_ENCRYPTION = "use_encryption"
_AFTER_WATCHDOG_S = 0.1
_CHECK_QUERY = "SELECT 1"
_Self = TypeVar("_Self", bound="DenodoSqlAlchemyEngine")


class DenodoSqlAlchemyEngine:
    """What both ways have in common."""

    name: ClassVar[str] = ""
    dialect: ClassVar[str] = "denodo"
    has_boolean_type: ClassVar[bool] = True
    packages: ClassVar[tuple[str, ...]] = ()
    """What must be installed, each as ``module=distribution``."""

    __slots__ = ("_connection", "_engine", "_limits", "_watchdog")

    def __init__(self, engine: Any, limits: Limits) -> None:
        self._engine = engine
        self._limits = limits
        self._connection: Any = None
        self._watchdog = Watchdog(self._cancel)

    @classmethod
    def open(cls: type[_Self], url: DatabaseUrl, limits: Limits) -> _Self:
        """Prepare the connection; it is made with the first query.

        Raises DatabaseError for a wrong URL and MissingDependency where a package is not installed.
        """
        _require(cls.packages)
        import sqlalchemy
        from sqlalchemy.exc import SQLAlchemyError

        try:
            parsed = sqlalchemy.make_url(url.reveal())
            arguments = cls._connect_args(limits.timeout_s, dict(parsed.query))
            parsed = parsed.difference_update_query([_ENCRYPTION])
            engine = sqlalchemy.create_engine(
                parsed, poolclass=sqlalchemy.NullPool, connect_args=arguments, hide_parameters=True
            )
        except (SQLAlchemyError, ValueError) as error:
            # The error may repeat the URL, password included.
            raise DatabaseError(
                f"{url}: SQLAlchemy cannot use this URL ({type(error).__name__}): write "
                f"{cls.name}://user:password@host:port/database"
            ) from None
        return cls(engine, limits)

    @classmethod
    def _connect_args(cls, timeout_s: float, query: Mapping[str, object]) -> dict[str, object]:
        """What the driver's connect is given beside the URL. ``query`` holds the URL's options."""
        raise NotImplementedError

    @classmethod
    def check(cls, url: DatabaseUrl) -> None:
        """Raise DatabaseError where no server answers or it refuses the credentials.

        Raises MissingDependency where a package is not installed.
        """
        engine = cls.open(url, Limits(timeout_s=CHECK_TIMEOUT_S, max_rows=1))
        try:
            failure = engine._run(_CHECK_QUERY).failure
        finally:
            engine.close()
        if failure is not None and failure.kind in ("unreadable_database", "timeout"):
            raise DatabaseError(f"{url} cannot be used: {failure.message}")

    @classmethod
    def version(cls) -> str:
        """The dialect's version; Denodo's own is not asked for."""
        from importlib.metadata import PackageNotFoundError, version

        try:
            return f"denodo-sqlalchemy {version('denodo-sqlalchemy')}"
        except PackageNotFoundError:
            raise MissingDependency("denodo-sqlalchemy", "denodo") from None

    @classmethod
    def fingerprint(cls, url: DatabaseUrl) -> str:
        """A hash of the URL without its password. The content of a live server cannot be seen: it may change."""
        return blake2b(str(url).encode(), digest_size=12).hexdigest()

    def execute(self, query: str) -> Execution:
        """Run one query under the limits. Never raises for what the query does."""
        try:
            query.encode()
        except UnicodeEncodeError as error:
            return outcomes.not_text(query, error)
        return refusal(query) or self._run(query)

    def siblings(self) -> tuple[DatabaseUrl, ...]:
        """None: a server has no databases of the same schema beside it."""
        return ()

    def close(self) -> None:
        """Close the connection. Closing twice is harmless."""
        self._watchdog.close()
        self._drop()
        self._engine.dispose()

    def _run(self, query: str) -> Execution:
        started = time.perf_counter()
        self._watchdog.start(self._limits.timeout_s)
        try:
            if self._connection is None:
                try:
                    self._connection = self._engine.connect()
                except Exception as error:  # noqa: BLE001 - drivers raise what they like; the per-query boundary
                    return self._failed(query, error, "unreadable_database", started)
            try:
                return self._fetch(query, started)
            except Exception as error:  # noqa: BLE001 - drivers raise what they like; the per-query boundary
                failed = self._failed(query, error, "error", started)
                self._drop()  # a failed PostgreSQL transaction takes no further query
                return failed
        finally:
            self._watchdog.stop()

    def _fetch(self, query: str, started: float) -> Execution:
        # Without parameters the text goes to the driver as it is: a % in it stays one.
        options = {"no_parameters": True}
        cursor = self._connection.exec_driver_sql(query, execution_options=options)
        limits = self._limits
        columns = tuple(str(name) for name in cursor.keys())  # noqa: SIM118 - not a mapping
        rows: list[Row] = []
        size = 0
        cap: outcomes.Cap | None = None
        while cap is None and (chunk := cursor.fetchmany(min(_CHUNK_ROWS, limits.max_rows + 1 - len(rows)))):
            rows += map(tuple, chunk)
            size += sum(map(sys.getsizeof, chain.from_iterable(chunk))) + len(chunk) * len(columns) * 8
            cap = "rows" if len(rows) > limits.max_rows else "bytes" if size > limits.max_result_bytes else None
        if cap == "rows":
            del rows[limits.max_rows :]
        cursor.close()
        self._connection.rollback()
        return outcomes.fetched(query, columns, rows, wall_time_s=time.perf_counter() - started, cap=cap, limits=limits)

    def _failed(self, query: str, error: Exception, kind: FailureKind, started: float) -> Execution:
        wall_time_s = time.perf_counter() - started
        if self._watchdog.fired:
            return outcomes.timed_out(query, self._limits, wall_time_s)
        if isinstance(error, MemoryError):
            return outcomes.out_of_memory(query, self._limits, wall_time_s)
        original = getattr(error, "orig", None) or error
        # ADBC says what failed by a status: these are not the query's.
        status = getattr(getattr(original, "status_code", None), "name", "")
        if getattr(error, "connection_invalidated", False) or status in ("IO", "UNAUTHENTICATED"):
            kind = "unreadable_database"
        message = self._scrubbed(outcomes.first_line(original))
        return outcomes.failed(query, "error", kind, message, wall_time_s=wall_time_s)

    def _scrubbed(self, text: str) -> str:
        password = self._engine.url.password
        return text.replace(str(password), "***") if password else text

    def _cancel(self) -> None:
        """Ask the driver to give up what runs. Called from the watchdog's thread."""
        connection = self._connection
        if connection is None:
            return
        try:
            cancel: Callable[[], object] | None = self._canceller(connection.connection.driver_connection)
            if cancel is not None:
                cancel()
        except Exception:  # noqa: BLE001 - what cannot be cancelled ends with its worker process
            return

    @staticmethod
    def _canceller(driver_connection: Any) -> Callable[[], object] | None:
        """The driver's own way to cancel from another thread."""
        return getattr(driver_connection, "cancel", None) or getattr(driver_connection, "adbc_cancel", None)

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except Exception:  # noqa: BLE001 - a broken connection may not close; it is given up either way
                return


class DenodoFlightSqlEngine(DenodoSqlAlchemyEngine):
    """Denodo 9.1 and newer over Arrow Flight SQL: ``denodo+flightsql://user:password@host:9994/database``.

    The connection is encrypted, as Denodo's is by default; ``?use_encryption=false`` makes it plain.
    """

    name: ClassVar[str] = "denodo+flightsql"
    packages: ClassVar[tuple[str, ...]] = (
        "sqlalchemy=sqlalchemy",
        "denodo.sqlalchemy=denodo-sqlalchemy",
        "adbc_driver_flightsql=adbc-driver-flightsql",
        "pyarrow=pyarrow",
    )

    __slots__ = ()

    @classmethod
    def _connect_args(cls, timeout_s: float, query: Mapping[str, object]) -> dict[str, object]:
        # The driver's own timeouts stand in where it cannot be cancelled. They come just after the
        # watchdog has said that it is one.
        seconds = str(timeout_s + _AFTER_WATCHDOG_S)
        arguments: dict[str, object] = {
            f"adbc.flight.sql.rpc.timeout_seconds.{what}": seconds for what in ("connect", "query", "fetch")
        }
        if _ENCRYPTION in query:
            arguments[_ENCRYPTION] = str(query[_ENCRYPTION]).lower()
        return arguments


class DenodoPsycopg2Engine(DenodoSqlAlchemyEngine):
    """Denodo over the PostgreSQL wire: ``denodo+psycopg2://user:password@host:9996/database``."""

    name: ClassVar[str] = "denodo+psycopg2"
    packages: ClassVar[tuple[str, ...]] = (
        "sqlalchemy=sqlalchemy",
        "denodo.sqlalchemy=denodo-sqlalchemy",
        "psycopg2=psycopg2-binary",
    )

    __slots__ = ()

    @classmethod
    def _connect_args(cls, timeout_s: float, query: Mapping[str, object]) -> dict[str, object]:  # noqa: ARG003
        return {"connect_timeout": max(2, math.ceil(min(timeout_s, CHECK_TIMEOUT_S)))}


def _require(packages: tuple[str, ...]) -> None:
    """Raise MissingDependency for the first of these (``module=distribution``) that is not installed."""
    from importlib.util import find_spec

    for one in packages:
        module, _, distribution = one.partition("=")
        try:
            found = find_spec(module) is not None
        except ModuleNotFoundError:  # the package that it is a part of
            found = False
        if not found:
            raise MissingDependency(distribution, "denodo")
