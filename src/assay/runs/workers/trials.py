"""What workers share that try queries on small databases: who makes these, and what the real database holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, cast

from msgspec import Struct

from assay.engines.loading import load_engine
from assay.engines.pool import heartbeat
from assay.engines.pool.cache import ByteCache
from assay.engines.pool.executor import Executor
from assay.errors import DatabaseError
from assay.model import DatabaseSchema, DatabaseUrl, Limits, quoted
from assay.model.results.cells import frozen_rows
from assay.ports import LABEL_BYTES, MakesScratchInMemory, MakesScratchOnServer
from assay.sql.schema.ddl import with_declared
from assay.witness.observed import RealTable

_GRACE_S = 60.0
"""The process may take this long beyond what a step should take: then a query hangs, and it is ended."""


class ExecutorSettings(Struct, frozen=True, kw_only=True):
    """What every worker needs to know that executes queries on real databases."""

    engines: dict[str, str]
    """URL scheme to ``module:Class``."""
    limits: Limits
    cache_bytes: int = 128 * 1024 * 1024

    def executor(self) -> Executor:
        """What executes the queries."""
        return Executor(engines=self.engines, limits=self.limits, cache=ByteCache(self.cache_bytes))


def engine_class(engines: Mapping[str, str], scheme: str) -> Any:
    """The class of the engine for a scheme; None if there is none."""
    return load_engine(engines[scheme]) if scheme in engines else None


def memory_scratch_maker(engines: Mapping[str, str], scheme: str) -> MakesScratchInMemory | None:
    """What makes databases in memory for an engine; None if nothing does."""
    engine = engine_class(engines, scheme)
    return cast("MakesScratchInMemory", engine) if callable(getattr(engine, "scratch", None)) else None


def server_scratch_maker(engines: Mapping[str, str], url: DatabaseUrl) -> MakesScratchOnServer | None:
    """What makes small databases on a server; None if its engine cannot."""
    engine = engine_class(engines, url.scheme)
    return cast("MakesScratchOnServer", engine) if callable(getattr(engine, "scratch_on_server", None)) else None


def declared_schema(executor: Executor, url: DatabaseUrl) -> DatabaseSchema | str:
    """The schema of a database with what its statements declare; a reason if it cannot be read."""
    try:
        schema = executor.schema(url)
    except DatabaseError as error:
        return str(error)
    if schema is None:
        return f"the engine {url.scheme!r} cannot say which tables a database has"
    return with_declared(schema)


def real_table(
    executor: Executor, url: DatabaseUrl, table: str, columns: Sequence[str], *, most: int, quote: str = '"'
) -> RealTable | None:
    """At most ``count`` rows of a table, which is named as a query writes it; None if they cannot be read."""
    names = ", ".join(quoted(column, quote) for column in columns) or "1"
    result = executor.execute(url, f"SELECT {names} FROM {table} LIMIT {most + 1}").result
    if result is None:
        return None
    rows = tuple(frozen_rows(result.rows[:most]))
    return RealTable(columns=tuple(columns), rows=rows, complete=len(result.rows) <= most)


def label_of(*parts: str) -> bytes:
    """The label of a step that may hang or crash: see `assay.engines.pool.heartbeat`."""
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=LABEL_BYTES).digest()


def begin(label: bytes, seconds: float) -> None:
    """Say that a step runs now that should not take longer."""
    heartbeat.begin(label, seconds + _GRACE_S)


@contextmanager
def watched(label: bytes, seconds: float) -> Iterator[None]:
    """A step that should not take longer."""
    begin(label, seconds)
    try:
        yield
    finally:
        heartbeat.end()
