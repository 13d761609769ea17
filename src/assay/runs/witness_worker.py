"""The worker's side of looking for witnesses: untrusted queries run here, in memory and on the real database."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from assay.engines.pool import heartbeat
from assay.engines.pool.cache import ByteCache
from assay.engines.pool.executor import Executor
from assay.errors import DatabaseError
from assay.model import ComparisonOptions, DatabaseSchema, DatabaseUrl, Limits, quoted
from assay.model.frozen_cells import frozen_rows
from assay.model.witness import Refutation, ScratchServer, Witness
from assay.ports import LABEL_BYTES, MakesScratch, MakesTrials, TrialDatabase
from assay.scoring.queries.possible_answers import read_answers
from assay.sql.declared import with_declared
from assay.witness import Budget, RealData, RealTable, Refuter, prove_alone
from assay.witness.search import finds_nothing

WITNESS_SETUP = "assay.runs.witness_worker:set_up"
_REAL_ROWS = 20_000
_TIMES = 10
_GRACE_S = 60.0
"""The process may take `_TIMES` the pair's time and this long beyond: then a query hangs, and it is ended. The
time of a pair is what it computes, which takes many times as long on a busy machine."""
_TRIALS = {"sqlite": 4_000, "duckdb": 250, "postgres": 250}
"""Databases per second of the budget, by the engine's dialect: a few less than it can do."""
_OF_SCHEMA = ("sqlite", "duckdb")
_SCRATCH = ("postgresql", "postgres")
_KEPT = 4
_KEPT_ON_SERVER = 1
"""Schemas whose empty databases are kept: on a server each holds four connections, of which it has a hundred."""
_SCRATCH_ADVICE = "; name a server for scratch schemas (--scratch URL)"


class WitnessWorkerSettings(Struct, frozen=True, kw_only=True):
    """What every worker needs to know."""

    engines: dict[str, str]
    """URL scheme to ``module:Class``."""
    limits: Limits
    cache_bytes: int = 128 * 1024 * 1024
    remember: bool = True
    """Whether schemas and what was read of the real data are kept from task to task, and databases open."""


class WitnessTask(Struct, frozen=True, kw_only=True):
    """One pair of queries. Of ``url`` and ``schema`` exactly one is given."""

    first: str
    second: str
    url: DatabaseUrl | None = None
    schema: DatabaseSchema | None = None
    dialect: str | None = None
    """Of the queries, with ``schema``; None: SQLite's, or where SQLite cannot run them, DuckDB's."""
    seconds: float = 1.0
    seed: int = 0
    max_rows: int = 2
    """What no rule decides is checked on all tables of so many rows."""
    options: ComparisonOptions | None = None
    """How results are compared; None: by the verdict's rules as they are."""
    scratch: ScratchServer | None = None
    """Where small databases may be made for an engine that has none in memory."""


def set_up(settings: WitnessWorkerSettings) -> WitnessWorker:
    """Set up one worker."""
    from assay.sql import warm_up

    warm_up()
    return WitnessWorker(settings)


class WitnessWorker:
    """Looks for a witness and a proof for each task."""

    def __init__(self, settings: WitnessWorkerSettings) -> None:
        self._settings = settings
        self._executor = self._new_executor()
        self._refuters: dict[tuple[str, ComparisonOptions | None], Refuter] = {}
        self._schemas: dict[str, DatabaseSchema | None] = {}
        self._used: tuple[Refuter, DatabaseSchema] | None = None

    @property
    def executor(self) -> Executor:
        """What executes queries on real databases."""
        return self._executor

    def made_again(self, witness: Witness) -> TrialDatabase | None:
        """The database of a witness that the last task found, until the next task; None where it cannot be made."""
        return None if self._used is None else self._used[0].made_again(self._used[1], witness)

    def __call__(self, task: object) -> Refutation:
        assert isinstance(task, WitnessTask)
        digest = blake2b(digest_size=LABEL_BYTES)
        for part in (task.url.text if task.url else "", task.first, task.second):
            digest.update(f"{part}\0".encode("utf-8", "surrogatepass"))
        label = digest.digest()
        if (loss := heartbeat.lost(label)) is not None:
            return Refutation(kind="unknown", why="lost", reason=f"a query hung or crashed: its process {loss.message}")
        if task.url is None:
            return self._of_schema(task, label)
        try:
            return self._of_database(task, task.url, label)
        finally:
            if not self._settings.remember:
                self._executor.close()
                self._executor = self._new_executor()
                self._schemas.clear()

    def _new_executor(self) -> Executor:
        settings = self._settings
        return Executor(engines=settings.engines, limits=settings.limits, cache=ByteCache(settings.cache_bytes))

    def close(self) -> None:
        """Close every connection. Closing twice is harmless."""
        self._executor.close()
        self._release()

    def _release(self) -> None:
        self._used = None
        while self._refuters:
            self._refuters.popitem()[1].close()

    def _serves(self, scratch: ScratchServer | None, engine: str) -> bool:
        """Whether the server answers as this engine does."""
        if scratch is None:
            return False
        found = _engine_class(self._settings.engines, engine)
        return scratch.dialect == (engine if found is None else found.dialect)

    def _of_schema(self, task: WitnessTask, label: bytes) -> Refutation:
        assert task.schema is not None
        names = (task.dialect,) if task.dialect is not None else _OF_SCHEMA
        found: Refutation | None = None
        for name in names:
            tried = self._refute(task, task.schema, name, label, None)
            if found is None or tried.why not in ("unreadable", "fails", "no_engine"):
                found = tried
            if found.why not in ("unreadable", "fails"):
                break
        assert found is not None
        return found

    def _of_database(self, task: WitnessTask, url: DatabaseUrl, label: bytes) -> Refutation:
        try:
            if url.text not in self._schemas:
                schema = self._executor.schema(url)
                self._schemas[url.text] = None if schema is None else with_declared(schema)
            schema = self._schemas[url.text]
        except DatabaseError as error:
            return Refutation(kind="unknown", why="no_schema", reason=str(error))
        if schema is None:
            reason = f"the engine {url.scheme!r} cannot say which tables a database holds"
            return Refutation(kind="unknown", why="no_schema", reason=reason)
        return self._refute(task, schema, url.scheme, label, url)

    def _refute(
        self, task: WitnessTask, schema: DatabaseSchema, engine: str, label: bytes, url: DatabaseUrl | None
    ) -> Refutation:
        maker = self._maker(engine)
        scratch = task.scratch if maker is None and self._serves(task.scratch, engine) else None
        if scratch is not None:
            maker = _on_scratch(self._settings.engines, scratch)
        if maker is None:
            why = (
                f"databases to try queries on are made for SQLite and DuckDB, not for {engine!r}: "
                f"another engine's answers would prove nothing{_SCRATCH_ADVICE if engine in _SCRATCH else ''}"
            )
            dialect = schema.dialect if url is not None else engine
            return prove_alone(task.first, task.second, schema, dialect=dialect, trusted=url is None, why=why)
        dialect = str(cast("Any", maker).dialect)
        kept = f"{engine} {scratch.prefix if scratch else ''}", task.options
        if kept not in self._refuters:

            def make(schema: DatabaseSchema, *, keyless: bool = False) -> TrialDatabase:
                return maker.trial(schema, keyless=keyless)

            if scratch is not None:
                self._release()  # each holds connections, of which a server has few
            self._refuters[kept] = Refuter(
                make, read_answers, options=task.options, kept=_KEPT if scratch is None else _KEPT_ON_SERVER
            )
        budget = Budget(seconds=task.seconds, trials=max(1, int(_TRIALS.get(dialect, 250) * task.seconds)))
        real = None
        if url is not None:
            real_url = url

            def real(filled: Mapping[str, Sequence[str]]) -> RealData:
                try:
                    return self._real(real_url, filled, (task.first, task.second))
                finally:
                    heartbeat.begin(label, task.seconds * _TIMES + _GRACE_S)

        heartbeat.begin(label, task.seconds * _TIMES + _GRACE_S)
        self._used = self._refuters[kept], schema
        try:
            return self._refuters[kept].refute(
                task.first,
                task.second,
                schema,
                dialect=dialect,
                read_real=real,
                budget=budget,
                seed=task.seed,
                max_rows=task.max_rows,
            )
        except DatabaseError as error:  # of the server for scratch schemas
            self._used = None
            self._refuters.pop(kept).close()
            return Refutation(kind="unknown", why="no_engine", reason=str(error))
        finally:
            heartbeat.end()

    def _maker(self, scheme: str) -> MakesTrials | None:
        engine = _engine_class(self._settings.engines, scheme)
        return cast("MakesTrials", engine) if callable(getattr(engine, "trial", None)) else None

    def _real(self, url: DatabaseUrl, filled: Mapping[str, Sequence[str]], queries: tuple[str, str]) -> RealData:
        tables: dict[str, RealTable] = {}
        for table, columns in filled.items():
            names = ", ".join(map(quoted, columns)) or "1"
            result = self._executor.execute(url, f"SELECT {names} FROM {table} LIMIT {_REAL_ROWS + 1}").result
            if result is not None:
                tables[_plain(table)] = RealTable(
                    columns=tuple(columns),
                    rows=tuple(frozen_rows(result.rows[:_REAL_ROWS])),
                    complete=len(result.rows) <= _REAL_ROWS,
                )
        found = []
        for query in queries:
            result = self._executor.execute(url, query).result
            found.append(result is not None and not finds_nothing(result.rows))
        return RealData(tables=tables, selects=(found[0], found[1]))


class _OnScratch:
    """Implements `assay.ports.MakesTrials` on a server."""

    def __init__(self, engine: MakesScratch, server: ScratchServer) -> None:
        self._engine = engine
        self._server = server
        self.dialect = server.dialect

    def trial(self, schema: DatabaseSchema, *, keyless: bool = False, timeout_s: float = 1.0) -> TrialDatabase:
        return self._engine.scratch_trial(
            self._server.url, schema, prefix=self._server.prefix, keyless=keyless, timeout_s=max(timeout_s, 1.0)
        )


def _on_scratch(engines: Mapping[str, str], server: ScratchServer) -> MakesTrials | None:
    found = scratch_maker(engines, server.url)
    return None if found is None else _OnScratch(found, server)


def scratch_maker(engines: Mapping[str, str], url: DatabaseUrl) -> MakesScratch | None:
    """What makes small databases on a server; None where its engine cannot."""
    engine = _engine_class(engines, url.scheme)
    return cast("MakesScratch", engine) if callable(getattr(engine, "scratch_trial", None)) else None


def _engine_class(engines: Mapping[str, str], scheme: str) -> Any:
    """The class of the engine for a scheme; None where there is none."""
    reference = engines.get(scheme)
    if reference is None:
        return None
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


def _plain(name: str) -> str:
    """A table's name without quotes and without its schema, in lower case."""
    last = name.rpartition('."')[2] if '."' in name else name
    return last.strip('"').replace('""', '"').lower()


def with_notes(outcome: Refutation, notes: Sequence[str]) -> Refutation:
    """The outcome with further notes in front."""
    return replace(outcome, notes=(*notes, *outcome.notes)) if notes else outcome
