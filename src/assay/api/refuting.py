"""Do two queries differ on some database? Look for a small one, and for a proof that there is none."""

from __future__ import annotations

import math
import secrets
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from msgspec.structs import replace

from assay import registry
from assay.api.public import public
from assay.api.single import KeptPools
from assay.api.workers import DatabaseInput, check_databases, url_of_one
from assay.engines.pool.pool import WorkerPool
from assay.errors import AssayError, DatabaseError, InputError, UsageError
from assay.model import DatabaseSchema, DatabaseUrl, Limits
from assay.model.witness import MOST_ROWS, SCRATCH_PREFIX, Refutation, ScratchServer
from assay.ports import Task, TaskDone, TaskLost
from assay.runs.workers.trials import server_scratch_maker
from assay.runs.workers.witness_worker import WITNESS_SETUP, WitnessTask, WitnessWorkerSettings
from assay.sql.dialects import closest_dialect, is_dialect
from assay.sql.schema.ddl import read_ddl


@public
def refute(
    first_sql: str,
    second_sql: str,
    *,
    database: DatabaseInput | None = None,
    schema: DatabaseSchema | str | PathLike[str] | None = None,
    dialect: str | None = None,
    seconds: float = 1.0,
    seed: int = 0,
    max_rows: int = 2,
    scratch: str | None = None,
    limits: Limits | None = None,
) -> Refutation:
    """Look for a small database on which two queries differ, or for a proof that there is none.

    The first query is the reference: row order counts if its outermost level has ORDER BY. Give one of ``database``
    (a URL: its schema is taken, and its data says what is plausible) and ``schema`` (a text of CREATE statements, a
    path to a file with such, or a `DatabaseSchema`: nothing but the declared constraints is assumed). ``dialect`` is
    the queries', with ``schema``: ``sqlite`` or ``duckdb``; by default SQLite's, or DuckDB's if SQLite cannot run
    them. ``seconds`` bounds the search's computing, and the same ``seed`` gives the same outcome. What neither the
    search nor a rule decides is checked on all tables of at most ``max_rows`` rows (0 to 4), if the extra ``prove`` is
    installed.

    ``scratch`` is the URL of a PostgreSQL server on which small databases may be made, for queries of that dialect: in
    schemas of new names, which are dropped at the end; nothing else on it is touched.

    Both queries are executed in a worker process, on databases in memory; on ``database`` read-only and under
    ``limits``. Their failures are never raised: they are part of the outcome.

    Raises UsageError for arguments that do not go together, InputError for a schema that cannot be read or a URL
    without an engine, and DatabaseError for a database that cannot be read, or a server that cannot be used.
    """
    if (database is None) == (schema is None):
        raise UsageError("give either a database, or the schema of one")
    if not (math.isfinite(seconds) and seconds > 0):
        raise UsageError(f"seconds is {seconds}: give a positive number")
    if not 0 <= max_rows <= MOST_ROWS:
        raise UsageError(f"max_rows is {max_rows}: give 0 to {MOST_ROWS}")
    url: DatabaseUrl | None = None
    made: DatabaseSchema | None = None
    notes: tuple[str, ...] = ()
    if database is not None:
        url = url_of_one(database)
        if dialect is not None:
            raise UsageError("the database says which dialect its queries have: leave out the dialect")
        check_databases([url], {})
    else:
        made, notes = _schema(schema, dialect)
        dialect = dialect or ("duckdb" if made.dialect == "duckdb" else None)
    task = WitnessTask(
        first=first_sql,
        second=second_sql,
        url=url,
        schema=made,
        dialect=dialect,
        seconds=seconds,
        seed=seed,
        max_rows=max_rows,
    )
    if scratch is not None:
        outcome = _on_scratch(scratch, task, limits or Limits())
    else:
        outcome = _POOLS.run(limits or Limits(), task)
    if not isinstance(outcome, TaskDone) or not isinstance(outcome.outcome, Refutation):
        raise AssayError(f"looking for a witness failed: {getattr(outcome, 'message', 'no outcome')}")
    return replace(outcome.outcome, notes=(*notes, *outcome.outcome.notes))


def _on_scratch(text: str, task: WitnessTask, limits: Limits) -> TaskDone | TaskLost:
    """Run one task with schemas on a server, none of which is left, however the worker ends."""
    asked = task.dialect if task.url is None else registry.engine_class(task.url).dialect
    with scratch_server(text) as server:
        check_scratch(server, () if asked in (None, server.url.scheme) else (asked,))
        task = replace(task, scratch=server, dialect=None if task.url else server.dialect)
        with _pool(limits) as pool:
            (outcome,) = pool.run([[Task(id=0, payload=task)]])
    return outcome


def _schema(
    given: DatabaseSchema | str | PathLike[str] | None, dialect: str | None
) -> tuple[DatabaseSchema, tuple[str, ...]]:
    """The schema and what of it was not read. Raises InputError if nothing was."""
    if dialect is not None and not is_dialect(dialect):
        close = closest_dialect(dialect)
        raise UsageError(f"unknown SQL dialect {dialect!r}" + (f" (did you mean {close!r}?)" if close else ""))
    if isinstance(given, DatabaseSchema):
        return given, ()
    place = "the schema"
    if isinstance(given, PathLike):
        place = str(Path(given))
        try:
            given = Path(given).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise InputError(f"{place}: the schema cannot be read ({why}): name a text file of CREATE TABLE") from None
    reading = read_ddl(str(given), dialect or "sqlite")
    if dialect is None and reading.unread:
        other = read_ddl(str(given), "duckdb")
        reading = other if len(other.unread) < len(reading.unread) else reading
        other = read_ddl(str(given), "mysql")
        if len(other.unread) < len(reading.unread):  # the tables as SQLite's, made from what was read of them
            tables = tuple(replace(table, ddl="") for table in other.schema.tables)
            reading = replace(other, schema=replace(other.schema, dialect="sqlite", tables=tables))
    if not reading.schema.tables:
        why = f": {reading.unread[0]}" if reading.unread else ""
        raise InputError(f"{place} contains no CREATE TABLE that can be read{why}")
    return reading.schema, reading.unread


def _pool(limits: Limits) -> WorkerPool:
    settings = WitnessWorkerSettings(engines=registry.engine_references(), limits=limits, remember=False)
    memory = limits.max_memory_bytes + 2 * limits.max_result_bytes + settings.cache_bytes
    return WorkerPool(workers=1, setup=WITNESS_SETUP, argument=settings, memory_limit_bytes=memory)


_POOLS = KeptPools(lambda limits, _: _pool(limits))


_WAIT_S = 5.0
"""How long the server may take to notice that a worker ended."""


@contextmanager
def scratch_server(text: str) -> Iterator[ScratchServer]:
    """A server for scratch schemas. Those that the caller's workers made are dropped at the end, after the workers.

    Raises InputError for a URL whose engine makes none, and DatabaseError if the server cannot be used.
    """
    url = DatabaseUrl.parse(text)
    maker = server_scratch_maker(registry.engine_references(), url)
    if maker is None or url.is_template:
        raise InputError(
            f"{url}: scratch schemas are made on PostgreSQL servers: write postgresql://user@host/database"
        )
    maker.drop_scratch(url, SCRATCH_PREFIX)  # what killed processes left; fails where the server cannot be used
    prefix = f"{SCRATCH_PREFIX}{secrets.token_hex(4)}_"
    try:
        yield ScratchServer(url=url, dialect=registry.engine_class(url).dialect, prefix=prefix)
    finally:
        try:
            maker.drop_scratch(url, prefix, wait_s=_WAIT_S)
        except DatabaseError as error:  # what was found is worth more than a clean server
            message = f"scratch schemas {prefix}… may be left, which the next use of the server drops: {error}"
            warnings.warn(message, stacklevel=2)


def check_scratch(server: ScratchServer, dialects: Iterable[str]) -> None:
    """Raise UsageError if the server answers for none of these dialects."""
    wanted = sorted(set(dialects))
    if wanted and server.dialect not in wanted:
        raise UsageError(
            f"the queries are of the dialect {', '.join(wanted)}: a server for scratch schemas answers its own alone"
        )
