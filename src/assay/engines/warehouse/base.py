"""One connection to a warehouse, through the service's own driver.

A subclass opens the connection, sends a query and explains its driver's errors. This module does the rest for all of
them: a text that is not one harmless read is refused before it is sent (`assay.engines.warehouse.held`), rows are
fetched in chunks under the limits, a query that takes too long is cancelled, and a lost connection is replaced once.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import blake2b
from importlib.util import find_spec
from itertools import chain
from typing import Any, ClassVar, TypeVar
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from assay.engines import outcomes
from assay.engines.fetching import FIRST_ROWS, fetch_rest
from assay.engines.reading import Column, UnreadableValue, description, is_conversion_error, reading
from assay.engines.warehouse import held
from assay.engines.watchdog import Watchdog
from assay.errors import DatabaseError, MissingDependency
from assay.model import Blame, Cost, DatabaseSchema, DatabaseUrl, Execution, FailureKind, Limits, Row
from assay.model.databases.secret import masked
from assay.sql.statement import without_blank_statements

CHECK_TIMEOUT_S = 30.0
"""How long `check` waits: a suspended warehouse needs some seconds to resume."""
_CHECK_BYTES = 10 * 1024 * 1024
"""What a query without a table may bill: BigQuery's minimum per query."""
_CANCEL_AGAIN_S = 1.0
_Self = TypeVar("_Self", bound="Warehouse")


class Answer(Struct, frozen=True, kw_only=True):
    """A query's result before its first row is fetched."""

    columns: tuple[str, ...]
    types: tuple[str, ...] = ()
    """The columns' types, for messages; empty if the service does not tell them."""
    fetch: Callable[[int], list[Row]]
    """The next rows as plain values, at most as many as requested; empty at the end."""
    cost: Cost | None = None
    """What the query cost, as far as the service tells."""
    is_cut: Callable[[], bool] | None = None
    """Whether the service ended the rows because they took more bytes than they may; asked after the last one."""


class Problem(Struct, frozen=True, kw_only=True):
    """What a driver's error means."""

    kind: FailureKind
    message: str
    lost: bool = False
    """The connection, or the session on the server, is gone: the query is retried on a new one."""


class Warehouse:
    """One database of a warehouse. The connection is made with the first query, and again after it was lost.

    A connection belongs to one thread; only `_cancel` is called from another one.
    """

    name: ClassVar[str] = ""
    dialect: ClassVar[str] = ""
    has_boolean_type: ClassVar[bool] = True
    form: ClassVar[str] = ""
    """The form of its URLs, for messages."""
    extra: ClassVar[str] = ""
    """The extra of Assay's that brings the driver."""
    module: ClassVar[str] = ""
    """The driver's module."""
    package: ClassVar[str] = ""
    """The driver's name on PyPI, with the versions that fit."""

    __slots__ = ("_allowed", "_asked_to_cancel", "_connection", "_limits", "_url", "_watchdog")

    def __init__(self, url: DatabaseUrl, limits: Limits) -> None:
        self._url = url
        self._limits = limits
        self._connection: Any = None
        self._allowed = held.allowed_names(url)
        self._asked_to_cancel = -math.inf
        self._watchdog = Watchdog(self._interrupt)

    @classmethod
    def open(cls: type[_Self], url: DatabaseUrl, limits: Limits) -> _Self:
        """Prepare the connection; it is made with the first query.

        Raises DatabaseError for an invalid URL and MissingDependency if the driver is not installed.
        """
        cls.require()
        return cls(url, limits)

    @classmethod
    def check(cls, url: DatabaseUrl) -> None:
        """Raise DatabaseError if the service rejects the account, or a part of the URL does not exist."""
        engine = cls.open(url, Limits(timeout_s=CHECK_TIMEOUT_S, max_rows=1, max_bytes_billed=_CHECK_BYTES))
        try:
            failure = engine._run("SELECT 1", check=False).failure
        finally:
            engine.close()
        if failure is not None:
            raise DatabaseError(f"{url} cannot be used: {failure.message}")

    @classmethod
    def version(cls) -> str:
        """The driver's version."""
        raise NotImplementedError

    @classmethod
    def fingerprint(cls, url: DatabaseUrl) -> str:
        """A hash of the URL without its secrets. The content of a warehouse may change without any sign."""
        return blake2b(str(url).encode(), digest_size=12).hexdigest()

    @classmethod
    def require(cls) -> None:
        """Raise MissingDependency if the driver is not installed."""
        try:
            found = find_spec(cls.module) is not None
        except ModuleNotFoundError:  # the package that contains it
            found = False
        if not found:
            raise MissingDependency(cls.package, cls.extra)

    def execute(self, query: str) -> Execution:
        """Run one query under the limits. Never raises for what the query does."""
        return self._run(query, check=True)

    def siblings(self) -> tuple[DatabaseUrl, ...]:
        """None: a warehouse has no sibling databases of the same schema."""
        return ()

    def schema(self, *, with_values: bool = True) -> DatabaseSchema:
        """The tables and views that the account may read. Raises DatabaseError if they cannot be listed."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the connection. Closing twice is harmless."""
        self._watchdog.close()
        self._drop()

    # What a subclass defines.

    def _connect(self) -> Any:
        """Make the connection, with its time limit and its label for the origin of queries. Raises what its driver
        raises."""
        raise NotImplementedError

    def _submit(self, query: str) -> Answer:
        """Send a query that was found harmless, and wait for its first rows. Raises what its driver raises."""
        raise NotImplementedError

    def _second_opinion(self, query: str) -> Execution | None:  # noqa: ARG002
        """Let the service classify the text, if it can without running it. None: it is a query."""
        return None

    def _knows(self, table: held.TableName) -> bool:  # noqa: ARG002
        """Whether the catalogue contains this table. Engines whose services read files by a table's name look it up."""
        return True

    def _cancel(self) -> None:
        """Ask the service to cancel the running query. Called from another thread; may raise."""

    def _explain(self, error: BaseException) -> Problem | None:  # noqa: ARG002
        """What the driver's error means; None: it is the query's own mistake, in the driver's words."""
        return None

    def _is_conversion_error(self, error: Exception) -> bool:  # noqa: ARG002
        """Whether an exception of the driver's own means that it cannot convert a value."""
        return False

    def _secrets(self) -> Sequence[str]:
        """Secrets that no message may repeat, in plain form and as a URL writes them."""
        password = urlsplit(self._url.reveal()).password
        return (password, unquote(password)) if password else ()

    # How a query runs.

    def _run(self, query: str, *, check: bool) -> Execution:
        started = time.perf_counter()
        try:
            query.encode()
        except UnicodeEncodeError as error:
            return outcomes.not_text(query, error)
        tables: tuple[held.TableName, ...] = ()
        if check:
            reading = held.read(query, self.dialect, allowed=self._allowed)
            if isinstance(reading, Execution):
                return reading
            tables = reading
        self._asked_to_cancel = -math.inf
        self._watchdog.start(self._limits.timeout_s)
        try:
            done = None
            for last in (False, True):
                done = done or self._attempt(query, tables, started, check=check, last=last)
        finally:
            self._watchdog.stop()
        assert done is not None
        return done

    def _attempt(
        self, query: str, tables: tuple[held.TableName, ...], started: float, *, check: bool, last: bool
    ) -> Execution | None:
        """Run the query once. None: the connection was lost, and there is one more attempt."""
        ran = False
        try:
            if self._connection is None:
                self._connection = self._connect()
            self._check_clock()
            if unknown := next((table for table in tables if not self._knows(table)), None):
                return held.unknown_table(query, unknown)
            ran = True
            text = without_blank_statements(query, self.dialect)
            if check and (refused := self._second_opinion(text)):
                return replace(refused, query=query)
            return self._fetch(self._submit(text), query, started)
        except Exception as error:  # noqa: BLE001 - drivers raise what they like; the per-query boundary
            return self._failed(query, error, started, ran=ran, last=last)

    def _fetch(self, answer: Answer, query: str, started: float) -> Execution:
        limits = self._limits

        def columns() -> list[Column]:
            types = answer.types or ("",) * len(answer.columns)
            return list(zip(answer.columns, types, strict=True))

        def fetch(count: int) -> list[Row]:
            with reading(columns, also=self._is_conversion_error):
                return answer.fetch(count)

        rows = fetch(min(FIRST_ROWS, limits.max_rows + 1))
        cap = fetch_rest(fetch, rows, limits, size_of=_size, check_clock=self._check_clock)
        if cap is None and answer.is_cut is not None and answer.is_cut():
            cap = "bytes"
        elif cap is not None:
            with suppress(Exception):  # the rest is not wanted: where it cannot be cancelled, it ends on the server
                self._cancel()
        wall_time_s = time.perf_counter() - started
        done = outcomes.fetched(query, answer.columns, rows, wall_time_s=wall_time_s, cap=cap, limits=limits)
        return done if answer.cost is None else replace(done, cost=answer.cost)

    def _failed(self, query: str, error: Exception, started: float, *, ran: bool, last: bool) -> Execution | None:
        wall_time_s = time.perf_counter() - started
        if self._watchdog.fired:
            self._drop()
            return outcomes.timed_out(query, self._limits, wall_time_s)
        if isinstance(error, MemoryError):
            return outcomes.out_of_memory(query, self._limits, wall_time_s)
        if ran and isinstance(error, UnreadableValue):
            return outcomes.unreadable_value(query, masked(str(error), self._secrets()), wall_time_s=wall_time_s)
        if ran and (is_conversion_error(error) or self._is_conversion_error(error)):  # before the columns are known
            message = masked(description((), error), self._secrets())
            return outcomes.unreadable_value(query, message, wall_time_s=wall_time_s)
        problem = self._explain(error) or Problem(
            kind="error" if ran else "unreadable_database", message=outcomes.first_line(error)
        )
        if not ran and problem.kind == "error":
            problem = replace(problem, kind="unreadable_database")
        if problem.lost:
            self._drop()
            if not last:
                return None
        message = masked(problem.message, self._secrets())
        match problem.kind:
            case "timeout":
                return outcomes.timed_out(query, self._limits, wall_time_s)
            case "out_of_memory":
                return outcomes.out_of_memory(query, self._limits, wall_time_s)
            case "writes" | "refused":
                return outcomes.failed(query, "refused", problem.kind, message)
        blame: Blame = "engine" if problem.lost else "system"
        return outcomes.failed(query, "error", problem.kind, message, wall_time_s=wall_time_s, blame=blame)

    def _check_clock(self) -> None:
        if self._watchdog.fired:  # between two chunks, an interrupt has no running query to end
            raise TimeoutError("interrupted")

    def _interrupt(self) -> None:
        """Called from the watchdog's thread, repeatedly until the query ends; sends cancel requests now and then."""
        now = time.monotonic()
        if now < self._asked_to_cancel + _CANCEL_AGAIN_S:
            return
        self._asked_to_cancel = now
        with suppress(Exception):  # a query that cannot be cancelled ends with its worker process
            self._cancel()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):  # a broken connection may not close; it is dropped either way
                connection.close()


def _size(rows: list[Row]) -> int:
    """About how many bytes these rows take."""
    return sum(map(sys.getsizeof, chain.from_iterable(rows))) + len(rows) * (56 + len(rows[0]) * 8) if rows else 0
