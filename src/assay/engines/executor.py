"""Executes queries on databases named by URL, in a worker: connections are kept, repeats are not run."""

from __future__ import annotations

import importlib
import sys
from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b
from itertools import chain
from marshal import dumps
from typing import Any

from assay.engines import heartbeat, outcomes
from assay.engines.heartbeat import Loss
from assay.errors import DatabaseError, PluginError, UsageError
from assay.model import DatabaseUrl, Execution, Limits
from assay.ports import Engine, EngineClass

ANY_SCHEME = "*"
"""Among the engines: a function that names the class for a scheme that stands not among them, or None."""
_CONNECTIONS = 8
_SAMPLE_ROWS = 32
_ROW_BYTES = 56
_CELL_BYTES = 40
_ENTRY_BYTES = 600
"""What an execution takes beside its rows."""


class Executor:
    """Runs queries under limits, each (database, query) only once.

    ``engines`` maps the scheme of a URL to its engine's class, as ``module:Class``, and
    `ANY_SCHEME` to the ``module:function`` that is asked for any other. Results are
    kept up to about ``cache_bytes``; beyond that the ones that went longest without use are
    dropped, and would run again: ``reruns`` counts those. Used by one thread.
    """

    def __init__(self, *, engines: Mapping[str, str], limits: Limits, cache_bytes: int = 256 * 1024 * 1024) -> None:
        self.runs = 0
        """Queries that an engine executed."""
        self.reruns = 0
        """Those of them that it had executed before, whose results did not fit into the cache."""
        self._references = dict(engines)
        self._limits = limits
        self._cache_bytes = cache_bytes
        self._cached_bytes = 0
        self._cache: OrderedDict[tuple[str, str], tuple[Execution, int]] = OrderedDict()
        self._dropped: set[bytes] = set()
        self._classes: dict[str, EngineClass] = {}
        self._open: OrderedDict[str, Engine] = OrderedDict()
        self._unreadable: dict[str, str] = {}

    def execute(self, url: DatabaseUrl, query: str) -> Execution:
        """What the database makes of the query. Never raises for what the query or the database does.

        A database that cannot be opened gives the status ``error`` and the kind
        ``unreadable_database``. Raises UsageError for a scheme without an engine.
        """
        key = (url.text, query)
        if found := self._cache.get(key):
            self._cache.move_to_end(key)
            return found[0]
        label = label_of(url, query)
        loss = heartbeat.lost(label)
        execution = explain_loss(query, loss, self._limits) if loss is not None else self._execute(url, query, label)
        self._keep(key, label, execution)
        return execution

    def execute_anew(self, url: DatabaseUrl, query: str) -> Execution:
        """As `execute`, but always run by the engine and not kept: for measuring its time."""
        label = label_of(url, query)
        loss = heartbeat.lost(label)
        return explain_loss(query, loss, self._limits) if loss is not None else self._execute(url, query, label)

    def siblings(self, url: DatabaseUrl) -> tuple[DatabaseUrl, ...]:
        """The other databases of the same schema beside this one, sorted.

        Raises DatabaseError where this one cannot be read.
        """
        return self._engine(url).siblings()

    def has_boolean_type(self, url: DatabaseUrl) -> bool:
        """False where True is 1 and False is 0 in results from there."""
        return self._class(url).has_boolean_type

    def dialect(self, url: DatabaseUrl) -> str:
        """sqlglot's name of the SQL dialect spoken there."""
        return self._class(url).dialect

    def close(self) -> None:
        """Close every connection. Closing twice is harmless."""
        for engine in self._open.values():
            engine.close()
        self._open.clear()
        self._cache.clear()
        self._cached_bytes = 0

    def _execute(self, url: DatabaseUrl, query: str, label: bytes) -> Execution:
        # Opening may hang or crash as well, so it stands under the same label.
        heartbeat.begin(label, self._limits.timeout_s)
        try:
            engine = self._engine(url)
            self.runs += 1
            self.reruns += label in self._dropped
            return engine.execute(query)
        except DatabaseError as error:
            return outcomes.failed(query, "error", "unreadable_database", str(error))
        except MemoryError:
            return outcomes.out_of_memory(query, self._limits, None)
        finally:
            heartbeat.end()

    def _keep(self, key: tuple[str, str], label: bytes, execution: Execution) -> None:
        if execution.failure is not None and execution.failure.kind == "unreadable_database":
            return  # a server that was away may be back for the next case
        size = _estimate(execution)
        if size > self._cache_bytes:
            self._dropped.add(label)
            return
        self._cache[key] = (execution, size)
        self._cached_bytes += size
        while self._cached_bytes > self._cache_bytes:
            (text, query), (_, dropped_size) = self._cache.popitem(last=False)
            self._cached_bytes -= dropped_size
            self._dropped.add(label_of(DatabaseUrl(text=text), query))

    def _engine(self, url: DatabaseUrl) -> Engine:
        text = url.text
        if engine := self._open.get(text):
            self._open.move_to_end(text)
            return engine
        if known := self._unreadable.get(text):
            raise DatabaseError(known)
        engine_class = self._class(url)
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
        scheme = url.scheme
        if known := self._classes.get(scheme):
            return known
        reference = self._references.get(scheme)
        if reference is None and ANY_SCHEME in self._references:
            reference = _load(self._references[ANY_SCHEME])(scheme)
        if reference is None:
            names = ", ".join(sorted(self._references.keys() - {ANY_SCHEME})) or "none"
            raise UsageError(f"no engine is registered for {scheme!r} URLs such as {url}: there are {names}")
        engine_class = self._classes[scheme] = load_engine(reference)
        return engine_class


def label_of(url: DatabaseUrl, query: str) -> bytes:
    """The heartbeat label of a query on a database: 16 bytes."""
    text = f"{url.text}\0{query}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=heartbeat.LABEL_BYTES).digest()


def explain_loss(query: str, loss: Loss, limits: Limits) -> Execution:
    """What to say of a query that cost an earlier worker its life."""
    if loss.kind == "timeout":
        message = (
            f"no answer within the limit of {limits.timeout_s:g} s, "
            "and it could not be interrupted: its process was ended"
        )
        return outcomes.failed(query, "timeout", "timeout", message, wall_time_s=limits.timeout_s)
    message = f"the query brought its process down, which {loss.message}"
    return outcomes.failed(query, "error", loss.kind, message)


def load_engine(reference: str) -> EngineClass:
    """The class that ``module:Class`` names. Raises PluginError where it cannot be loaded."""
    engine_class: EngineClass = _load(reference)
    return engine_class


def _load(reference: str) -> Any:
    module_name, _, name = reference.partition(":")
    try:
        return getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError) as error:
        raise PluginError(f"the engine {reference!r} cannot be loaded: {error}") from error


def _estimate(execution: Execution) -> int:
    """About how many bytes an execution takes, from a sample of its rows."""
    size = _ENTRY_BYTES + 2 * len(execution.query)
    rows = execution.result.rows if execution.result is not None else ()
    if not rows:
        return size
    sample = rows if len(rows) <= _SAMPLE_ROWS else rows[:: len(rows) // _SAMPLE_ROWS]
    try:
        # Several times as fast as asking each cell, and exact for text. What it cannot take, it says.
        content = len(dumps(sample))  # type: ignore[arg-type]
    except ValueError:  # dates, decimals and the like do not marshal
        content = sum(map(sys.getsizeof, chain.from_iterable(sample)))
    sampled = content + len(sample) * (_ROW_BYTES + _CELL_BYTES * len(rows[0]))
    return size + sampled * len(rows) // len(sample)
