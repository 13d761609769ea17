"""PostgreSQL: each query in its own read-only transaction, which it cannot leave.

There are three layers of protection. A text that is not exactly one query, or that names a function with effects, is
never sent (`assay.engines.postgres.guard`). The extended protocol accepts only one statement, in a transaction that is
read-only, has its snapshot, and is always rolled back. And the role that Assay connects as has only the rights that its
owner granted: see `assay docs postgres`.
"""

from __future__ import annotations

import pickle
import sys
import time
from itertools import chain
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from assay.engines import outcomes
from assay.engines.outcomes import Cap
from assay.engines.postgres.guard import refusal, volatile_refusal
from assay.engines.reading import UnreadableValue
from assay.engines.url_parts import pairs_of, read_parameters
from assay.engines.watchdog import Watchdog
from assay.errors import DatabaseError, MissingDependency
from assay.model import DatabaseSchema, DatabaseUrl, Execution, FailureKind, Limits, Row, quoted

if TYPE_CHECKING:
    import psycopg

    from assay.engines.postgres.scratch import PostgresScratch
    from assay.engines.postgres.session import Session

_AFTER_SERVER_S = 0.05
"""How long after the limit the client's own timeout fires: the server's comes first."""
FORM = "postgresql://user:password@host:port/database"
_NEARLY = 0.9
_PATIENCE_S = 1.0
"""How long to wait for a server that went away."""
_PAUSE_S = 0.05
_SCRATCH_BYTES = 256 * 1024 * 1024

_KINDS: dict[str, FailureKind] = {
    "53200": "out_of_memory",
    "53400": "out_of_memory",  # the limit for temporary files
    "55P03": "timeout",
    "53100": "unreadable_database",  # its disk is full
    "58030": "unreadable_database",
    "XX001": "unreadable_database",
    "XX002": "unreadable_database",
}
_READ_ONLY = "25006"
_CANCELED = "57014"
_LOST = ("57P", "08")
_PROTOCOL = "08P01"
"""A placeholder, for example $1, for which there is no value."""


class PostgresEngine:
    """One database of a PostgreSQL server: ``postgresql://user:password@host:port/database``.

    The URL is libpq's, including its parameters, PGPASSWORD, services and .pgpass. The connection is made with the
    first query, and again after it was lost; a query that was running at that time is run once more. Values: see
    `assay.engines.postgres.values`.
    """

    name = "postgresql"
    dialect = "postgres"
    has_boolean_type = True

    __slots__ = ("_limits", "_session", "_url", "_was_connected", "_watchdog")

    def __init__(self, url: DatabaseUrl, limits: Limits) -> None:
        self._url = url
        self._limits = limits
        self._session: Session | None = None
        self._was_connected = False
        self._watchdog = Watchdog(self._interrupt)

    @classmethod
    def open(cls, url: DatabaseUrl, limits: Limits) -> PostgresEngine:
        """Prepare the connection. Raises MissingDependency if psycopg is not installed."""
        _require()
        _check_parameters(url)
        return cls(url, limits)

    @classmethod
    def check(cls, url: DatabaseUrl) -> None:
        """Raise DatabaseError if no server responds, or the role may not connect or read.

        Raises MissingDependency if psycopg is not installed. Waits at most 10 s for a server.
        """
        engine = cls.open(url, Limits(timeout_s=10.0))
        try:
            failure = engine.execute("SELECT 1").failure
        finally:
            engine.close()
        if failure is not None:
            raise DatabaseError(failure.message)

    @classmethod
    def version(cls) -> str:
        """The driver's version and that of libpq; the server's is part of the database's fingerprint."""
        _require()
        import psycopg

        libpq = psycopg.pq.version()
        return f"psycopg {psycopg.__version__} (libpq {libpq // 10000}.{libpq % 10000})"

    @classmethod
    def fingerprint(cls, url: DatabaseUrl) -> str:
        """A hash of the content and the server's version: see `assay.engines.postgres.content`.

        Raises DatabaseError if the database cannot be read.
        """
        _require()
        from assay.engines.postgres import content

        return content.fingerprint(url)

    @classmethod
    def warnings(cls, url: DatabaseUrl) -> tuple[str, ...]:
        """What the role in the URL may do beyond reading, one sentence each. Raises DatabaseError as `check` does."""
        _require()
        from assay.engines.postgres import content

        return content.warnings(url)

    @classmethod
    def reader_grants(cls, url: DatabaseUrl) -> tuple[str, ...]:
        """The statements that create a role that may only read and never writes."""
        name = unquote(urlsplit(str(url)).path.strip("/")) or "DATABASE"
        return (
            "CREATE ROLE assay LOGIN PASSWORD '...'",
            f"GRANT CONNECT ON DATABASE {quoted(name)} TO assay",
            "GRANT pg_read_all_data TO assay",
            "ALTER ROLE assay SET default_transaction_read_only = on",
        )

    def execute(self, query: str) -> Execution:
        """Run one query under the limits. Never raises for what the query does."""
        started = time.perf_counter()
        if refused := refusal(query):
            return refused
        self._watchdog.start(self._limits.timeout_s + _AFTER_SERVER_S)
        try:
            done = self._attempt(query, started) or self._attempt(query, started)
        finally:
            self._watchdog.stop()
        if done is not None:
            return done
        message = f"the connection to {self._url} was lost while the query ran, twice"
        return outcomes.server_lost(query, message, wall_time_s=time.perf_counter() - started)

    @classmethod
    def scratch_on_server(
        cls,
        url: DatabaseUrl,
        schema: DatabaseSchema,
        *,
        prefix: str,
        without_keys: bool = False,
        timeout_s: float = 1.0,
    ) -> PostgresScratch:
        """An empty database in a scratch schema of a server: see `assay.engines.postgres.scratch`.

        Raises DatabaseError if the server cannot be used, or its role may not create schemas.
        """
        _require()
        from assay.engines.postgres.scratch import PostgresScratch
        from assay.engines.scratch import MOST_ROWS

        limits = Limits(timeout_s=timeout_s, max_rows=MOST_ROWS, max_memory_bytes=_SCRATCH_BYTES)
        return PostgresScratch(url, schema, cls, limits=limits, without_keys=without_keys, prefix=prefix)

    @classmethod
    def drop_scratch(cls, url: DatabaseUrl, prefix: str, *, wait_s: float = 0.0) -> tuple[str, ...]:
        """Drop the scratch schemas of a process that is gone. Raises DatabaseError if the server cannot be used."""
        _require()
        from assay.engines.postgres.scratch import drop_left

        return drop_left(url, prefix, wait_s=wait_s)

    def siblings(self) -> tuple[DatabaseUrl, ...]:
        """None: the other databases of a server have schemas of their own."""
        return ()

    def schema(self, *, with_values: bool = True) -> DatabaseSchema:
        """The tables and views that the role may read. Raises DatabaseError if they cannot be listed."""
        from assay.engines.postgres.schema import read_schema

        return read_schema(self, with_values=with_values)

    def close(self) -> None:
        """Close the connection. Closing twice is harmless."""
        self._watchdog.close()
        self._drop()

    def _attempt(self, query: str, started: float) -> Execution | None:
        """Run the query once. None: something else ended it, so it is retried."""
        import psycopg

        try:
            session = self._connected(started)
        except DatabaseError as error:
            if self._watchdog.fired:
                return outcomes.timed_out(query, self._limits, time.perf_counter() - started)
            return outcomes.failed(query, "error", "unreadable_database", str(error))
        if refused := volatile_refusal(query, session.functions):
            return refused
        try:
            session.begin()
            return self._fetch(session, query, started)
        except MemoryError:
            return outcomes.out_of_memory(query, self._limits, time.perf_counter() - started)
        except psycopg.Error as error:
            return self._failed(session, query, error, started)
        finally:
            # A late request to cancel would hit the next query.
            if self._watchdog.fired or session.broken or not session.end():
                self._drop()

    def _fetch(self, session: Session, query: str, started: float) -> Execution:
        """Fetch rows until the end or a cap."""
        limits = self._limits
        rows: list[Row] = []
        size = 0
        cap: Cap | None = None
        try:
            for chunk in session.chunks(query):
                rows += chunk
                size += _size(chunk, session.nested)
                cap = "rows" if len(rows) > limits.max_rows else "bytes" if size > limits.max_result_bytes else None
                if cap is not None:
                    break
        except UnreadableValue as error:
            session.stop()
            return outcomes.unreadable_value(query, str(error), wall_time_s=time.perf_counter() - started)
        wall_time_s = time.perf_counter() - started
        if cap is not None:
            session.stop()
        if cap == "rows":
            del rows[limits.max_rows :]
        return outcomes.fetched(
            query,
            session.columns,
            rows,
            wall_time_s=wall_time_s,
            cap=cap,
            limits=limits,
            undecodable_text=session.saw_undecodable_text(),
        )

    def _failed(self, session: Session, query: str, error: psycopg.Error, started: float) -> Execution | None:
        """What an error means; None if the query is not its cause."""
        from assay.engines.postgres import session as sessions

        wall_time_s = time.perf_counter() - started
        state = error.sqlstate or ""
        late = self._watchdog.fired or wall_time_s >= _NEARLY * self._limits.timeout_s
        if late and (self._watchdog.fired or state == _CANCELED or session.broken):
            return outcomes.timed_out(query, self._limits, wall_time_s)
        if sessions.is_out_of_memory(error):
            return outcomes.out_of_memory(query, self._limits, wall_time_s)
        if session.broken or state == _CANCELED or (state.startswith(_LOST) and state != _PROTOCOL):
            return None
        message = outcomes.first_line(error)
        if state == _READ_ONLY:
            return outcomes.failed(query, "refused", "writes", f"refused: it writes ({message})")
        if sessions.is_several(error):
            return outcomes.several_statements(query)
        kind = _KINDS.get(state, "error")
        status = "timeout" if kind == "timeout" else "error"
        if kind == "unreadable_database":
            return outcomes.server_lost(query, message, wall_time_s=wall_time_s)
        return outcomes.failed(query, status, kind, message, wall_time_s=wall_time_s)  # type: ignore[arg-type]

    def _connected(self, started: float) -> Session:
        """The session; connects if there is none. A server that responded before is waited for briefly."""
        from assay.engines.postgres.session import Session

        if self._session is not None:
            return self._session
        until = started + min(_PATIENCE_S, self._limits.timeout_s) if self._was_connected else started
        while True:
            try:
                self._session = Session.connect(self._url, self._limits)
            except DatabaseError:
                if time.perf_counter() + _PAUSE_S > until:
                    raise
                time.sleep(_PAUSE_S)
                continue
            self._was_connected = True
            return self._session

    def _interrupt(self) -> None:
        """Called from the watchdog's thread."""
        session = self._session
        if session is not None:
            session.interrupt()

    def _drop(self) -> None:
        """Abandon the session; the server process of one that ignored a request to cancel is ended."""
        session, self._session = self._session, None
        if session is None:
            return
        if session.cut:
            session.terminate(self._url)
        session.close()


class PostgresAliasEngine(PostgresEngine):
    """The same under libpq's other scheme, ``postgres://``."""

    name = "postgres"

    __slots__ = ()


def _size(rows: list[Row], nested: tuple[int, ...]) -> int:
    """About how many bytes these rows take; arrays and documents by their pickle."""
    if not rows:
        return 0
    size = sum(map(sys.getsizeof, chain.from_iterable(rows))) + len(rows) * len(rows[0]) * 8
    for index in nested:
        size += 8 * len(pickle.dumps([row[index] for row in rows]))
    return size


def _check_parameters(url: DatabaseUrl) -> None:
    """Raise DatabaseError for a parameter that is given twice, or that libpq does not have."""
    import psycopg

    known = [option.keyword.decode() for option in psycopg.pq.Conninfo.get_defaults()]
    read_parameters(url, pairs_of(url), dict.fromkeys(known, str), form=FORM)


def _require() -> None:
    """Raise MissingDependency if psycopg is not installed, or has no libpq."""
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise MissingDependency("psycopg[binary]", "postgres") from error
