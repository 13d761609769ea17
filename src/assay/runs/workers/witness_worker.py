"""The worker's side of looking for witnesses: untrusted queries run here, in memory and on the real database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.engines.pool import heartbeat
from assay.engines.pool.executor import Executor
from assay.errors import DatabaseError
from assay.model import ComparisonOptions, DatabaseSchema, DatabaseUrl
from assay.model.witness import Refutation, ScratchServer, Witness
from assay.ports import ScratchDatabase
from assay.runs.workers.trials import (
    ExecutorSettings,
    begin,
    declared_schema,
    engine_class,
    label_of,
    memory_scratch_maker,
    real_table,
    server_scratch_maker,
    watched,
)
from assay.scoring.queries.gold_answers import read_answers
from assay.witness import Budget, RealData, RealTable, Refuter, prove_alone
from assay.witness.search import finds_nothing

if TYPE_CHECKING:
    from assay.witness.refuter import MakeScratch

WITNESS_SETUP = "assay.runs.workers.witness_worker:set_up"
_REAL_ROWS = 20_000
_TIMES = 10
"""How many times the pair's time the process may take: that is computing time, and a busy machine needs far more."""
_TRIALS = {"sqlite": 4_000, "duckdb": 250, "postgres": 250}
"""Databases per second of the budget, by the engine's dialect: a few less than it can do."""
_OF_SCHEMA = ("sqlite", "duckdb")
_SCRATCH = ("postgresql", "postgres")
_KEPT = 4
_KEPT_ON_SERVER = 1
"""Schemas whose empty databases are kept: on a server each holds four of its hundred connections."""
_SCRATCH_ADVICE = "; name a server for scratch schemas (--scratch URL)"


class WitnessWorkerSettings(ExecutorSettings, frozen=True, kw_only=True):
    """What every worker that looks for witnesses needs to know."""

    remember: bool = True
    """Whether schemas and what was read of the real data are kept from task to task, and databases open."""


class WitnessTask(Struct, frozen=True, kw_only=True):
    """One pair of queries. Of ``url`` and ``schema`` exactly one is given."""

    first: str
    second: str
    url: DatabaseUrl | None = None
    schema: DatabaseSchema | None = None
    dialect: str | None = None
    """Dialect of the queries, with ``schema``; None: SQLite's, or if SQLite cannot run them, DuckDB's."""
    seconds: float = 1.0
    seed: int = 0
    max_rows: int = 2
    """Number of rows: what no rule decides is checked on all tables up to this size."""
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
        self._executor = settings.executor()
        self._refuters: dict[tuple[str, ComparisonOptions | None], Refuter] = {}
        self._schemas: dict[str, DatabaseSchema] = {}
        self._used: tuple[Refuter, DatabaseSchema] | None = None

    @property
    def executor(self) -> Executor:
        """What executes queries on real databases."""
        return self._executor

    def made_again(self, witness: Witness) -> ScratchDatabase | None:
        """The database of a witness that the last task found, until the next task; None if it cannot be made."""
        return None if self._used is None else self._used[0].made_again(self._used[1], witness)

    def __call__(self, task: object) -> Refutation:
        assert isinstance(task, WitnessTask)
        label = label_of(task.url.text if task.url else "", task.first, task.second)
        if (loss := heartbeat.lost(label)) is not None:
            return Refutation(kind="unknown", why="lost", reason=f"a query hung or crashed: its process {loss.message}")
        if task.url is None:
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
        try:
            schema = self._schemas.get(task.url.text) or declared_schema(self._executor, task.url)
            if isinstance(schema, str):
                return Refutation(kind="unknown", why="no_schema", reason=schema)
            self._schemas[task.url.text] = schema
            return self._refute(task, schema, task.url.scheme, label, task.url)
        finally:
            if not self._settings.remember:
                self._executor.close()
                self._executor = self._settings.executor()
                self._schemas.clear()

    def close(self) -> None:
        """Close every connection. Closing twice is harmless."""
        self._executor.close()
        self._release()

    def _release(self) -> None:
        self._used = None
        while self._refuters:
            self._refuters.popitem()[1].close()

    def _maker(self, task: WitnessTask, engine: str) -> tuple[MakeScratch, str, str] | None:
        """What makes databases that answer as this engine does, their dialect, and the prefix of those on a server."""
        engines, scratch = self._settings.engines, task.scratch
        found = engine_class(engines, engine)
        if maker := memory_scratch_maker(engines, engine):
            return maker.scratch, str(found.dialect), ""
        if scratch is None or scratch.dialect != (engine if found is None else found.dialect):
            return None
        server = server_scratch_maker(engines, scratch.url)
        if server is None:
            return None
        return partial(server.scratch_on_server, scratch.url, prefix=scratch.prefix), scratch.dialect, scratch.prefix

    def _refute(
        self, task: WitnessTask, schema: DatabaseSchema, engine: str, label: bytes, url: DatabaseUrl | None
    ) -> Refutation:
        found = self._maker(task, engine)
        if found is None:
            why = (
                f"databases to try queries on are made for SQLite and DuckDB, not for {engine!r}: "
                f"another engine's answers would prove nothing{_SCRATCH_ADVICE if engine in _SCRATCH else ''}"
            )
            dialect = schema.dialect if url is not None else engine
            return prove_alone(task.first, task.second, schema, dialect=dialect, trusted=url is None, why=why)
        make, dialect, prefix = found
        kept = f"{engine} {prefix}", task.options
        if kept not in self._refuters:
            if prefix:
                self._release()  # each holds connections, and a server has few
            most = _KEPT_ON_SERVER if prefix else _KEPT
            self._refuters[kept] = Refuter(make, read_answers, options=task.options, kept=most)
        budget = Budget(seconds=task.seconds, trials=max(1, int(_TRIALS.get(dialect, 250) * task.seconds)))
        self._used = self._refuters[kept], schema
        try:
            with watched(label, task.seconds * _TIMES):
                return self._refuters[kept].refute(
                    task.first,
                    task.second,
                    schema,
                    dialect=dialect,
                    read_real=None if url is None else partial(self._real, task, url, label),
                    budget=budget,
                    seed=task.seed,
                    max_rows=task.max_rows,
                )
        except DatabaseError as error:  # of the server for scratch schemas
            self._used = None
            self._refuters.pop(kept).close()
            return Refutation(kind="unknown", why="no_engine", reason=str(error))

    def _real(self, task: WitnessTask, url: DatabaseUrl, label: bytes, filled: Mapping[str, Sequence[str]]) -> RealData:
        try:
            tables: dict[str, RealTable] = {}
            for table, columns in filled.items():
                held = real_table(self._executor, url, table, columns, most=_REAL_ROWS)
                if held is not None:
                    # A table's name without quotes and without its schema, in lower case.
                    last = table.rpartition('."')[2] if '."' in table else table
                    tables[last.strip('"').replace('""', '"').lower()] = held
            return RealData(tables=tables, selects=(self._selects(url, task.first), self._selects(url, task.second)))
        finally:
            begin(label, task.seconds * _TIMES)  # the queries had times of their own

    def _selects(self, url: DatabaseUrl, query: str) -> bool:
        """Whether the query finds something in the real data."""
        result = self._executor.execute(url, query).result
        return result is not None and not finds_nothing(result.rows)
