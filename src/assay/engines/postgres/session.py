"""One connection to a PostgreSQL server, and the read-only transactions in which queries run."""

from __future__ import annotations

import contextlib
import math
import random
import socket
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import psycopg
from psycopg.adapt import Loader, Transformer
from psycopg.generators import fetch, send
from psycopg.pq import ConnStatus, ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGresult

from assay.engines import outcomes
from assay.engines.postgres import values
from assay.engines.postgres.guard import HARMLESS, VOLATILE_FUNCTIONS
from assay.engines.reading import Column, failing, reading
from assay.errors import DatabaseError
from assay.model import DatabaseUrl, Limits, Row
from assay.model.databases.secret import masked

CONNECT_TIMEOUT_S = 10.0
CHUNK_ROWS = 32
"""Rows that libpq gathers before the caps are checked: with a megabyte in each, 256 of them held 0.8 GB."""
_OBEY_S = 0.12
"""How long the server may take to obey a request to cancel before its connection is cut."""
_LEAVING_S = 0.25
"""How long to wait for a process that was told to end: less than the grace that a worker has after a time limit."""
_LEAVING_PAUSE_S = 0.02
_SMALLEST_WORK_MEM_KIB = 64
_IDLE_BEYOND_S = 10.0

_ROWS = (ExecStatus.TUPLES_OK, ExecStatus.TUPLES_CHUNK, ExecStatus.SINGLE_TUPLE)
_END = b"""ROLLBACK; RESET SESSION AUTHORIZATION; RESET ALL; SELECT pg_advisory_unlock_all();
CLOSE ALL; DEALLOCATE ALL; UNLISTEN *; DISCARD TEMP; DISCARD SEQUENCES"""
"""The effect of DISCARD ALL, which cannot be combined with other statements, and would cost another round trip."""


class Session:
    """A connection. Each query runs between `begin` and `end`, and leaves nothing behind.

    ``interrupt`` may be called from another thread; everything else only from the thread that created the session.
    """

    __slots__ = ("_backend_pid", "_begin", "_interrupted_at", "columns", "connection", "cut", "functions", "nested")

    def __init__(self, connection: psycopg.Connection[Any], limits: Limits) -> None:
        self.connection = connection
        self._backend_pid = connection.info.backend_pid
        """The process id of the server session; the connection no longer reports it once it is cut."""
        self.columns: tuple[str, ...] = ()
        """The column names of the last query, once its first chunk has arrived."""
        self.nested: tuple[int, ...] = ()
        """Zero-based indices of the columns whose values may contain other values."""
        self._interrupted_at: float | None = None
        self.cut = False
        """Whether the connection was cut because a request to cancel had no effect."""
        values.register(connection)
        self.functions: dict[str, str] = dict(connection.execute(VOLATILE_FUNCTIONS, (list(HARMLESS),)).fetchall())
        """This database's functions with effects: see `assay.engines.postgres.guard.VOLATILE_FUNCTIONS`."""
        self._begin = _begin_statements(connection, limits)

    @classmethod
    def connect(cls, url: DatabaseUrl, limits: Limits) -> Session:
        """Connect. Raises DatabaseError if there is no such server, database or user, or the password is wrong."""
        try:
            connection = psycopg.connect(
                url.reveal(),
                autocommit=True,
                prepare_threshold=None,
                connect_timeout=max(2, math.ceil(min(limits.timeout_s, CONNECT_TIMEOUT_S))),
                client_encoding="utf8",
                fallback_application_name="assay",
            )
        except (psycopg.Error, UnicodeError) as error:
            raise unusable(url, error) from None
        try:
            return cls(connection, limits)
        except psycopg.Error as error:
            connection.close()
            raise unusable(url, error) from None

    @property
    def broken(self) -> bool:
        """Whether the connection can no longer be used."""
        return self.connection.closed or self.connection.pgconn.status == ConnStatus.BAD

    def begin(self) -> None:
        """Begin a read-only transaction under the limits.

        Its first snapshot is taken at once: from then on the server refuses writes in it.
        """
        self._interrupted_at = None
        values.forget_undecodable_text()
        # A random seed set by an earlier query must not affect this query.
        self._exec(self._begin % random.random())

    def chunks(self, query: str) -> Iterator[list[Row]]:
        """Run a query and yield its rows in chunks as they arrive; the server waits while no chunk is taken.

        It uses the extended protocol, which accepts only one statement. Raises psycopg.Error. A caller that stops early
        must call `stop`.
        """
        connection, pgconn = self.connection, self.connection.pgconn
        self.columns, self.nested = (), ()
        pgconn.send_query_params(query.encode(), None)
        if psycopg.capabilities.has_stream_chunked():
            pgconn.set_chunked_rows_mode(CHUNK_ROWS)
        else:
            pgconn.set_single_row_mode()
        connection.wait(send(pgconn))
        reader = Transformer.from_context(connection)
        first = True
        while (result := connection.wait(fetch(pgconn))) is not None:
            if result.status not in _ROWS:
                while connection.wait(fetch(pgconn)) is not None:
                    pass  # until the connection is ready for the next query
                raise psycopg.errors.error_from_result(result)
            reader.set_pgresult(result, set_loaders=first)
            if first:
                places = range(result.nfields)
                self.columns = tuple([(result.fname(place) or b"").decode(errors="replace") for place in places])
                self.nested = tuple([place for place in places if values.is_nested(result.ftype(place))])
                first = False
            if result.ntuples:
                # Any error of the server has arrived at this point: all that may fail is a conversion.
                with reading(partial(_unreadable, reader, result), also=lambda error: isinstance(error, psycopg.Error)):
                    rows = reader.load_rows(0, result.ntuples, tuple)
                yield rows

    def stop(self) -> None:
        """Abandon the rest of a query's rows. Raises psycopg.Error if the server does not allow it."""
        connection = self.connection
        connection.cancel_safe(timeout=1.0)
        while connection.wait(fetch(connection.pgconn)) is not None:
            pass

    def end(self) -> bool:
        """Roll back, and reset settings, locks and cursors. False: that failed, and the session is unusable."""
        try:
            self._exec(_END)
        except psycopg.Error:
            return False
        return self.connection.pgconn.transaction_status == TransactionStatus.IDLE

    def interrupt(self) -> None:
        """Ask the server to cancel the running query; cut the connection if an earlier request had no effect."""
        now = time.monotonic()
        if self._interrupted_at is None:
            self._interrupted_at = now
            with contextlib.suppress(psycopg.Error, OSError):
                self.connection.cancel_safe(timeout=_OBEY_S)
        elif now - self._interrupted_at >= _OBEY_S:
            self.cut = True
            with contextlib.suppress(psycopg.Error, OSError, ValueError):
                twin = socket.fromfd(self.connection.pgconn.socket, socket.AF_INET, socket.SOCK_STREAM)
                with twin:
                    twin.shutdown(socket.SHUT_RDWR)

    def terminate(self, url: DatabaseUrl) -> None:
        """End the server's process of this session over another connection, and wait briefly until it is gone.

        Cutting the connection does not end a query that checks for neither a cancellation nor its client. Nor does this
        if it reaches no point at which the server checks: such a query runs to its end. Never raises.
        """
        self.close()
        with (
            contextlib.suppress(psycopg.Error, OSError),
            psycopg.connect(
                url.reveal(),
                autocommit=True,
                prepare_threshold=None,
                connect_timeout=2,
                fallback_application_name="assay",
            ) as other,
        ):
            end = time.monotonic() + _LEAVING_S
            gone = "SELECT count(pg_terminate_backend(pid)) = 0 FROM pg_stat_activity WHERE pid = %s AND usename = user"
            while other.execute(gone, (self._backend_pid,)).fetchone() == (False,) and time.monotonic() < end:
                time.sleep(_LEAVING_PAUSE_S)

    def saw_undecodable_text(self) -> bool:
        """Whether some text of the query since `begin` was not valid UTF-8."""
        return values.undecodable_text_seen()

    def close(self) -> None:
        """Close it. Never raises; closing twice is harmless."""
        with contextlib.suppress(psycopg.Error, OSError):
            self.connection.close()

    def _exec(self, statements: bytes) -> None:
        # Assay's own statements are sent as one text, without parameters: a single round trip.
        result = self.connection.pgconn.exec_(statements)
        if result.status not in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK):
            raise psycopg.errors.error_from_result(result)


def _unreadable(reader: Any, result: PGresult) -> Sequence[Column]:
    """The column of the first value that no loader can read."""
    indices = range(result.nfields)
    columns = [((result.fname(index) or b"").decode(errors="replace"), _type(result.ftype(index))) for index in indices]
    loaders = [reader.get_loader(result.ftype(index), Format.TEXT) for index in indices]
    for row in range(result.ntuples):
        cells = [result.get_value(row, index) for index in indices]
        attempts = [partial(_load, loader, cell) for loader, cell in zip(loaders, cells, strict=True)]
        if (columns_of_row := failing(columns, attempts)) is not columns:
            return columns_of_row
    return columns


def _load(loader: Loader, cell: bytes | None) -> object:
    return None if cell is None else loader.load(cell)


def _type(oid: int) -> str:
    info = psycopg.postgres.types.get(oid)
    return str(oid) if info is None else f"{info.name}[]" if oid == info.array_oid else info.name


def _begin_statements(connection: psycopg.Connection[Any], limits: Limits) -> bytes:
    version = connection.info.server_version
    milliseconds = max(1, math.ceil(limits.timeout_s * 1000))
    idle = milliseconds + int(_IDLE_BEYOND_S * 1000)
    statements = [
        "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY",
        f"SET LOCAL statement_timeout = {milliseconds}",
        f"SET LOCAL lock_timeout = {milliseconds}",
        f"SET LOCAL idle_in_transaction_session_timeout = {idle}",
        # The check of a text before sending, and the reading of values, rely on these settings.
        "SET LOCAL standard_conforming_strings = on",
        "SET LOCAL datestyle = 'ISO'",
        "SET LOCAL intervalstyle = 'postgres'",
        "SET LOCAL extra_float_digits = 1",
    ]
    if values.has_no_encoding(connection):
        statements.append("SET LOCAL client_encoding = 'SQL_ASCII'")  # else the server refuses to send its text
    if version >= 140000:  # the server stops the query once its client is gone
        statements.append("SET LOCAL client_connection_check_interval = 500")
    row = connection.execute(
        "SELECT (SELECT setting::bigint FROM pg_settings WHERE name = 'work_mem'), "
        "(SELECT rolsuper FROM pg_roles WHERE rolname = current_user)"
    ).fetchone()
    work_mem_kib, is_superuser = row if row is not None else (4096, False)
    most_kib = max(_SMALLEST_WORK_MEM_KIB, limits.max_memory_bytes // 8 // 1024)
    if work_mem_kib > most_kib:
        statements.append(f"SET LOCAL work_mem = {most_kib}")
    if is_superuser:
        statements.append(f"SET LOCAL temp_file_limit = {max(1024, limits.max_memory_bytes // 1024)}")
        if version >= 140000:  # this role reads everything, but no files and no programs
            statements.append("SET LOCAL ROLE pg_read_all_data")
    if version >= 110000:  # compiling a query of sixty tables takes half a minute, and cannot be cancelled
        statements.append("SET LOCAL jit = off")
    statements.append("SET LOCAL seed = %f")
    statements.append("SELECT 1")
    return "; ".join(statements).encode()


def is_out_of_memory(error: psycopg.Error) -> bool:
    """Whether the client's library or the server ran out of memory for a result."""
    # The library has no code for it, but its message is fixed and never translated.
    return error.sqlstate is None and "out of memory" in str(error)


def is_several(error: psycopg.Error) -> bool:
    """Whether the server refuses the text because it contains several statements."""
    # The server uses the same code for any syntax error.
    return error.sqlstate == "42601" and "multiple commands" in str(error)


def unusable(url: DatabaseUrl, error: Exception) -> DatabaseError:
    """The error for a server that cannot be used. libpq's message is shown without the password."""
    if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None:
        return DatabaseError(f"{url} is not a PostgreSQL URL: write postgresql://user:password@host:port/database")
    return DatabaseError(f"the PostgreSQL database {url} cannot be used: {_scrubbed(url, outcomes.first_line(error))}")


def _scrubbed(url: DatabaseUrl, message: str) -> str:
    """A message without the URL's password."""
    try:
        password = psycopg.conninfo.conninfo_to_dict(url.reveal()).get("password")
    except psycopg.Error:
        return message
    return masked(message, (str(password),)) if password else message
