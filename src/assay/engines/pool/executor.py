"""Executes queries in a worker, on databases named by URL: connections are reused, and repeated queries are not run."""

from __future__ import annotations

import sys
import time
import warnings
from collections import OrderedDict, deque
from collections.abc import Mapping
from contextlib import closing
from hashlib import blake2b
from typing import TYPE_CHECKING, cast

from msgspec import Struct
from msgspec.structs import replace

from assay.engines import outcomes
from assay.engines.loading import engine_for
from assay.engines.pool import heartbeat, memory
from assay.engines.pool.cache import ByteCache, rows_size
from assay.errors import DatabaseError
from assay.model import Cost, DatabaseSchema, DatabaseUrl, Execution, FailureKind, Limits
from assay.ports import LABEL_BYTES, DescribesSchema, Engine, EngineClass, Loss

if TYPE_CHECKING:
    from assay.engines.execution_cache.cache import ExecutionCache

_CONNECTIONS = 8
_OPENING_S = 10.0
_BESIDE_ROWS_BYTES = 2_000
"""About how many bytes an Execution takes besides its query, its rows and its column names."""
_CACHE_BYTES = 256 * 1024 * 1024
_MOST_REMEMBERED = 20_000
_SCHEMA_ROWS = 100_000
_SCHEMA_BYTES = 64 * 1024 * 1024
_DOUBTFUL = frozenset({"unreadable_database", "timeout"})
"""Kinds of failure for which the server may be the cause, not the query."""
_PLAIN_QUERY = "SELECT 1"
"""A server that responds to it is there, even if the response is an error (Oracle requires FROM dual)."""
_PLAIN_S = 5.0
"""How long a plain query may take, even on a busy server."""
_PLAIN_BYTES = 10 * 1024 * 1024
"""What it may bill, if queries are billed by bytes."""
_CONNECT_S = 2.5
"""How long beyond a time limit a driver may take to notice that no server accepts its connection."""
_PATIENCE_S = 10.0
_PAUSE_S = 0.1
_REST = 4.0
"""After a failed wait, a server is not checked again for this many times as long as the last check took."""


class Executor:
    """Runs queries under limits, each (database, query) only once.

    ``engines`` maps the scheme of a URL to its engine's class, as ``module:Class``, and `ANY_SCHEME` of
    `assay.engines.loading` to the ``module:function`` for any other. Results are stored in ``cache``, which others may
    use, too. A query whose result was evicted there runs again, which ``reruns`` counts. A query that ended an earlier
    worker is not run again by an executor of the same ``attempt``. ``shared`` knows those of earlier runs. Used by one
    thread.

    A query that timed out, or lost its connection, is only counted as failed once a plain query on a new connection has
    shown that the server is there. A server that is away is waited for once, for a few seconds.
    """

    def __init__(
        self,
        *,
        engines: Mapping[str, str],
        limits: Limits,
        cache: ByteCache | None = None,
        attempt: int = 0,
        patience_s: float = _PATIENCE_S,
        shared: ExecutionCache | None = None,
    ) -> None:
        self.runs = 0
        """Queries that an engine executed."""
        self.reruns = 0
        """The number of these that had been executed before and whose results were evicted."""
        self.cost: Cost | None = None
        """What the services report that the queries cost, since this was last set to None."""
        self._references = dict(engines)
        self._limits = limits
        self.cache: ByteCache = cache if cache is not None else ByteCache(_CACHE_BYTES)
        self._ran: OrderedDict[bytes, None] = OrderedDict()
        """The labels of the most recent queries."""
        self._large: deque[int] = deque(maxlen=2)
        """Sizes of the last results that were too large for the cache: the caller may still hold them."""
        self._classes: dict[str, EngineClass] = {}
        """By scheme."""
        self._class_of: dict[str, EngineClass] = {}
        """By URL."""
        self._open: OrderedDict[str, Engine] = OrderedDict()
        self._unreadable: dict[str, str] = {}
        self._attempt = attempt
        self._patience_s = patience_s
        self._away: dict[str, _Away] = {}
        self._shared = shared
        self._uses_shared = shared is not None
        """False if a query must be executed even if its result is known."""

    def execute(self, url: DatabaseUrl, query: str) -> Execution:
        """Execute the query. Never raises for what the query or the database does.

        A database that cannot be opened gives the status ``error`` and the kind
        ``unreadable_database``. Raises UsageError for a scheme without an engine.
        """
        key = ("execution", url.text, query)
        if (found := self.cache.get(key)) is not None:
            return cast("Execution", found)
        label = label_of(url, query, self._attempt)
        execution = self._execute(url, query, label)
        self._keep(key, execution)
        return execution

    def execute_anew(self, url: DatabaseUrl, query: str) -> Execution:
        """Like `execute`, but always run by the engine and not cached: for measuring its time."""
        self._uses_shared = False
        try:
            return self._execute(url, query, label_of(url, query, self._attempt))
        finally:
            self._uses_shared = self._shared is not None

    def siblings(self, url: DatabaseUrl) -> tuple[DatabaseUrl, ...]:
        """The other databases of the same schema, sorted.

        Raises DatabaseError if this one cannot be read.
        """
        return self._engine(url).siblings()

    def has_boolean_type(self, url: DatabaseUrl) -> bool:
        """False if results from that database have 1 and 0 for true and false."""
        return self._class(url).has_boolean_type

    def dialect(self, url: DatabaseUrl) -> str:
        """sqlglot's name of that database's SQL dialect."""
        return self._class(url).dialect

    def check(self, url: DatabaseUrl) -> None:
        """Raise DatabaseError if that database cannot be reached, or rejects the credentials."""
        label = label_of(url, "\0check", self._attempt)
        if (loss := heartbeat.lost(label)) is not None:
            raise DatabaseError(f"{url}: it cannot be checked: the process that tried {loss.message}")
        heartbeat.begin(label, _PLAIN_S + _OPENING_S)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a warning is about the query of the check
                self._class(url).check(url)
        finally:
            heartbeat.end()

    def schema(self, url: DatabaseUrl) -> DatabaseSchema | None:
        """The tables of that database without sample values; None if its engine cannot describe them.

        Raises DatabaseError if they cannot be read.
        """
        label = label_of(url, "\0schema", self._attempt)
        if (loss := heartbeat.lost(label)) is not None:
            raise DatabaseError(f"{url}: its tables cannot be listed: the process that tried {loss.message}")
        limits = replace(
            self._limits,
            max_rows=max(self._limits.max_rows, _SCHEMA_ROWS),
            max_result_bytes=max(self._limits.max_result_bytes, _SCHEMA_BYTES),
        )
        heartbeat.begin(label, self._limits.timeout_s + _OPENING_S)
        try:
            engine = self._engine(url)
            if getattr(engine, "schema", None) is None:
                return None
            if limits == self._limits:
                return cast("DescribesSchema", engine).schema(with_values=False)
            with closing(self._class(url).open(url, limits)) as roomy:  # a cap on answers must not cut the list
                return cast("DescribesSchema", roomy).schema(with_values=False)
        finally:
            heartbeat.end()

    def close(self) -> None:
        """Close every connection. Closing twice is harmless."""
        self._close_engines()
        self.cache.clear()

    def _close_engines(self) -> None:
        for engine in self._open.values():
            engine.close()
        self._open.clear()

    def _execute(self, url: DatabaseUrl, query: str, label: bytes) -> Execution:
        away = self._away.get(url.text)
        if away is not None and time.monotonic() < away.until:  # checked a moment ago, and the check took long
            return outcomes.server_lost(query, away.why)
        loss = heartbeat.lost(label)
        execution = self._run(url, query, label) if loss is None else explain_loss(query, loss, self._limits)
        if execution.failure is None or url.text in self._unreadable:
            return execution
        if _is_doubtful(execution) or (_kind(execution) == "error" and self._stands_between(url)):
            return self._find_out(url, query, label, execution, hung=loss is not None)
        return execution

    def _stands_between(self, url: DatabaseUrl) -> bool:
        """Whether that engine's errors may come from a server behind the one that it connects to."""
        return getattr(self._class(url), "stands_between", False)

    def _find_out(
        self, url: DatabaseUrl, query: str, label: bytes, execution: Execution, *, hung: bool = False
    ) -> Execution:
        """Find out whether the query failed or the server. A query that failed because of the server is run once
        more."""
        looked = time.monotonic()
        why = self._trouble(url, execution)
        # If a plain query takes long, the server stalled, and the query may have waited for it, too.
        slow = time.monotonic() - looked > self._limits.timeout_s / 2
        if hung:  # it ended a worker, and the server may have recovered before the next worker started
            label = label_of(url, f"again\0{query}", self._attempt)
            slow = _is_remote(url) and heartbeat.lost(label) is None
            if why is not None and heartbeat.lost(label) is not None:
                return outcomes.server_lost(query, f"{_said(execution)}; {why}")
        if why is None and (_kind(execution) == "error" or (_kind(execution) == "timeout" and not slow)):
            return execution
        if why is not None and not self._comes_back(url, execution, why):
            return outcomes.server_lost(query, f"{_said(execution)}; {why}")
        self._close(url)
        again = self._run(url, query, label)
        if not (_is_doubtful(again) or (_kind(again) == "error" and self._stands_between(url))):
            return again
        why = self._trouble(url, again)
        if why is not None:
            return outcomes.server_lost(query, f"{_said(again)}; {why}")
        # The attribution ``engine`` means that the query ran: it was lost with its connection, or inside the engine.
        ran = again.failure is not None and again.failure.blame == "engine"
        if _kind(again) != "unreadable_database" or not ran:
            return again
        return outcomes.broke(query, _said(again), again.wall_time_s)

    def _trouble(self, url: DatabaseUrl, failed: Execution) -> str | None:
        """Why a plain query on a new connection fails; None if the server responds, even with an error."""
        label = label_of(url, f"\0{_PLAIN_QUERY}", self._attempt)
        if heartbeat.lost(label) is not None:
            return f"{_PLAIN_QUERY} does not end either"
        # Independent of the limit: a server that a query saturates is slow to respond, and the query is the cause.
        limits = replace(self._limits, timeout_s=_PLAIN_S, max_bytes_billed=_PLAIN_BYTES)
        heartbeat.begin(label, _PLAIN_S + (_CONNECT_S if _is_remote(url) else _OPENING_S))
        try:
            engine = self._class(url).open(url, limits)
            try:
                execution = engine.execute(_PLAIN_QUERY)
            finally:
                engine.close()
        except DatabaseError as error:
            return f"{_PLAIN_QUERY} fails, too: {error}"
        except MemoryError:
            return None
        finally:
            heartbeat.end()
        # The messages without the query, which an error of a lost server may quote.
        ours, theirs = (_said(one).replace(one.query.strip(), "") for one in (execution, failed))
        same = _kind(execution) == _kind(failed) == "error" and ours == theirs
        if not _is_doubtful(execution) and not same:
            self._away.pop(url.text, None)
            return None
        return f"{_PLAIN_QUERY} on a new connection fails, too: {_said(execution)}"

    def _comes_back(self, url: DatabaseUrl, failed: Execution, why: str) -> bool:
        """Wait for a server that is away; after a failed wait, it is checked only now and then."""
        away = self._away.get(url.text)
        end = time.monotonic() + (self._patience_s if away is None else 0.0)
        looked_s = 0.0
        while (started := time.monotonic()) < end:
            time.sleep(_PAUSE_S)
            found = self._trouble(url, failed)
            if found is None:
                return True
            why, looked_s = found, time.monotonic() - started - _PAUSE_S
        self._away[url.text] = _Away(until=time.monotonic() + _REST * looked_s, why=why)
        return False

    def _run(self, url: DatabaseUrl, query: str, label: bytes) -> Execution:
        process = memory.current()
        if process is None:
            return self._run_once(url, query, label)
        process.at_rest = self._make_room
        held = self._make_room()
        cramped = process.is_cramped(held)
        execution = self._run_once(url, query, label, process, held)
        if not cramped or execution.failure is None or execution.failure.kind != "out_of_memory":
            return execution
        # Perhaps other databases' connections, or earlier queries, hold the memory: the query is not the cause.
        self._close_engines()
        process.settle(held)
        return self._run_once(url, query, label, process, held)

    def _run_once(
        self,
        url: DatabaseUrl,
        query: str,
        label: bytes,
        process: memory.ProcessMemory | None = None,
        held: int = 0,
    ) -> Execution:
        # Opening may hang or crash as well, so it runs under the same label. Importing a driver takes seconds on a busy
        # machine, which must not count as the query's time.
        is_open = url.text in self._open
        heartbeat.begin(label, self._limits.timeout_s if is_open else self._limits.timeout_s + _OPENING_S)
        try:
            if process is not None:
                process.begin(held + self._limits.max_memory_bytes + self._limits.max_result_bytes)
            engine = self._engine(url)
            shared = self._shared if self._uses_shared else None
            if shared is not None:
                heartbeat.end()  # reading a large file takes time, and the query has not begun
                if (found := shared.get(url, engine, query)) is not None:
                    return found
            if not is_open or shared is not None:
                heartbeat.begin(label, self._limits.timeout_s)
            self.runs += 1
            ran_before = label in self._ran
            self.reruns += ran_before
            self._ran[label] = None
            if len(self._ran) > _MOST_REMEMBERED:
                self._ran.popitem(last=False)
            execution = engine.execute(query)
            if execution.cost is not None:
                self.cost = execution.cost.plus(self.cost)
            if execution.failure is not None and execution.failure.kind == "crashed":
                # a connection that broke once is not used again
                self._close(url)
            elif shared is not None and not ran_before:
                heartbeat.end()
                shared.put(url, engine, query, execution)
            return execution
        except DatabaseError as error:
            return outcomes.failed(query, "error", "unreadable_database", str(error))
        except MemoryError:
            return outcomes.out_of_memory(query, self._limits, None)
        finally:
            if process is not None:
                process.end()
            heartbeat.end()

    def _close(self, url: DatabaseUrl) -> None:
        engine = self._open.pop(url.text, None)
        if engine is not None:
            engine.close()

    def _make_room(self) -> int:
        """About how many bytes of results are cached. Closes the connections if they hold too much memory."""
        held = self.cache.held_bytes + sum(self._large)
        process = memory.current()
        if process is not None and process.grown() > held + self._limits.max_memory_bytes // 2:
            self._close_engines()
            process.settle(held)
        return held

    def _keep(self, key: tuple[str, str, str], execution: Execution) -> None:
        if execution.failure is not None and execution.failure.kind == "unreadable_database":
            return  # a server that was away may be back for the next case
        # All except the rows has nearly the same size for every query, and measuring it takes longer than most queries.
        rows = execution.result.rows if execution.result is not None else ()
        size = _BESIDE_ROWS_BYTES + 2 * sys.getsizeof(execution.query) + (rows_size(rows) if rows else 0)
        size += sum(map(sys.getsizeof, execution.columns))
        if key in self.cache.put(key, execution, size=size):
            self._large.append(size)

    def _engine(self, url: DatabaseUrl) -> Engine:
        text = url.text
        if engine := self._open.get(text):
            self._open.move_to_end(text)
            return engine
        if known := self._unreadable.get(text):
            raise DatabaseError(known)
        engine_class = self._class(url)
        if self._shared is not None:
            self._shared.watch(url, engine_class)
        try:
            engine = engine_class.open(url, self._limits)
        except DatabaseError as error:
            self._unreadable[text] = str(error)
            raise
        self._open[text] = engine
        if len(self._open) > _CONNECTIONS:
            self._open.popitem(last=False)[1].close()
        return engine

    def _class(self, url: DatabaseUrl) -> EngineClass:
        found = self._class_of.get(url.text)  # asked several times per case
        if found is None:
            found = self._classes.get(url.scheme) or engine_for(url, self._references)
            self._class_of[url.text] = self._classes[url.scheme] = found
        return found


class _Away(Struct, frozen=True, kw_only=True):
    """A server that was waited for without success."""

    until: float
    """The monotonic time before which the server is not checked again."""
    why: str


def _kind(execution: Execution) -> FailureKind | None:
    return None if execution.failure is None else execution.failure.kind


def _said(execution: Execution) -> str:
    return "" if execution.failure is None else execution.failure.message


def _is_doubtful(execution: Execution) -> bool:
    return _kind(execution) in _DOUBTFUL


def _is_remote(url: DatabaseUrl) -> bool:
    """Whether a URL names a host, not a file on this machine."""
    return not url.text.partition("://")[2].startswith(("/", ":memory:"))


def label_of(url: DatabaseUrl, query: str, attempt: int = 0) -> bytes:
    """The heartbeat label of a query on a database: 16 bytes."""
    text = f"{url.text}\0{query}" + (f"\0{attempt}" if attempt else "")
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=LABEL_BYTES).digest()


def explain_loss(query: str, loss: Loss, limits: Limits) -> Execution:
    """The Execution of a query that ended an earlier worker."""
    if loss.kind == "timeout":
        message = (
            f"no result within the limit of {limits.timeout_s:g} s, and it could not be interrupted: its "
            "process was ended"
        )
        return outcomes.failed(query, "timeout", "timeout", message, wall_time_s=limits.timeout_s)
    message = f"the query ended its process, which {loss.message}"
    return outcomes.failed(query, "error", loss.kind, message)
