"""The worker's side of building a suite: the databases of one case at a time, from untrusted queries in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.engines.pool import heartbeat
from assay.model import Case, ComparisonOptions, DatabaseSchema, DatabaseUrl
from assay.model.databases.suite import SuiteAssumption, SuiteCase, SuiteDatabase, SuiteLayout
from assay.ports import ScratchDatabase
from assay.runs.workers.trials import (
    ExecutorSettings,
    declared_schema,
    label_of,
    memory_scratch_maker,
    real_table,
    watched,
)
from assay.scoring.queries.gold_answers import read_answers
from assay.sql import same_text
from assay.sql.mutants import mutants_of
from assay.witness.clock import Clock
from assay.witness.observed import RealTable
from assay.witness.search import finds_nothing
from assay.witness.suites.distilling import Distilled, SuiteBuilder, Target

SUITE_SETUP = "assay.runs.workers.suite_worker:set_up"
_REAL_ROWS = 5_000
_TIMES = 10
_TRIALS = {"sqlite": 300, "duckdb": 60}
_KEPT = 4


class SuiteWorkerSettings(ExecutorSettings, frozen=True, kw_only=True):
    """What every worker that builds a suite needs to know."""

    options: ComparisonOptions
    keeps: SuiteAssumption = "observed"
    most_databases: int = 3
    most_neighbours: int = 40
    seconds: float = 4.0
    """Computing for each gold query."""
    seed: int = 0
    cache_bytes: int = 64 * 1024 * 1024


class SuiteTask(Struct, frozen=True, kw_only=True):
    """One case, and what systems answered to it."""

    case: Case
    url: DatabaseUrl
    answers: tuple[str, ...] = ()


class SuiteMade(Struct, frozen=True, kw_only=True):
    """The databases of one case, and the tables that they fill; None if there are none."""

    case: SuiteCase
    layout: SuiteLayout | None = None
    engine: str = ""
    """The engine's kind and version."""


class _Known(Struct, frozen=True, kw_only=True):
    """What is kept of a database from case to case."""

    schema: DatabaseSchema
    real: dict[str, RealTable]
    scratch: ScratchDatabase
    without_keys: ScratchDatabase

    def close(self) -> None:
        """Release the databases in memory."""
        self.scratch.close()
        self.without_keys.close()


def set_up(settings: SuiteWorkerSettings) -> SuiteWorker:
    """Set up one worker."""
    from assay.sql import warm_up

    warm_up()
    return SuiteWorker(settings)


class SuiteWorker:
    """Builds the databases of one case for each task."""

    def __init__(self, settings: SuiteWorkerSettings) -> None:
        self._settings = settings
        self._executor = settings.executor()
        self._known: dict[str, _Known | str] = {}

    def __call__(self, task: object) -> SuiteMade:
        assert isinstance(task, SuiteTask)
        case = task.case
        empty = SuiteCase(case_id=case.id, database=case.database, golds=case.golds)
        label = label_of("suite", task.url.text, case.id)
        if (loss := heartbeat.lost(label)) is not None:
            return SuiteMade(case=replace(empty, why=f"a query hung or crashed: its process {loss.message}"))
        # What is known of the database; a reason if nothing can be tried for it.
        if task.url.text not in self._known:
            if len(self._known) >= _KEPT:
                oldest = self._known.pop(next(iter(self._known)))
                if isinstance(oldest, _Known):
                    oldest.close()
            self._known[task.url.text] = self._opened(task.url)
        known = self._known[task.url.text]
        if isinstance(known, str):
            return SuiteMade(case=replace(empty, why=known))
        with watched(label, self._settings.seconds * _TIMES * max(1, len(case.golds))):
            return self._made(task, empty, known)

    def close(self) -> None:
        """Close every connection. Closing twice is harmless."""
        self._executor.close()
        for known in self._known.values():
            if isinstance(known, _Known):
                known.close()
        self._known.clear()

    def _made(self, task: SuiteTask, empty: SuiteCase, known: _Known) -> SuiteMade:
        settings, case, dialect = self._settings, task.case, known.scratch.dialect
        if not case.golds:
            why = "the gold query is a given result, not a query" if case.results else "the case has no gold query"
            return SuiteMade(case=replace(empty, why=why))
        answers = [one for one in task.answers if not any(same_text(one, gold, dialect) for gold in case.golds)]
        made: list[SuiteDatabase] = []
        whys: list[str] = []
        totals: Counter[str] = Counter()
        tables: tuple[tuple[str, tuple[str, ...]], ...] = ()
        share = max(1, settings.most_databases // len(case.golds))
        for gold in case.golds[: settings.most_databases]:
            near = mutants_of(gold, known.schema, dialect, most=settings.most_neighbours)
            targets = [
                *[Target(query=one, kind="answer") for one in answers],
                *[Target(query=one.query, kind="neighbour") for one in near],
            ]
            found = self._distilled(gold, targets, task.url, known, share)
            tables = tables or found.tables
            for number, target in enumerate(targets):
                kind = "answers" if target.kind == "answer" else "neighbours"
                totals[kind] += 1
                totals[f"{kind}_told"] += number in found.told
                if kind == "neighbours":
                    totals["neighbours_proved"] += number in found.proved
            whys += [found.why] if found.why else []
            for one in found.chosen:
                told = [targets[number].kind for number in one.told]
                made.append(
                    SuiteDatabase(
                        name=str(len(made) + 1),
                        rows=one.rows,
                        answers=told.count("answer"),
                        neighbours=told.count("neighbour"),
                        keeps=one.keeps,
                    )
                )
        why = "" if made else "; ".join(dict.fromkeys(whys))
        done = SuiteCase(
            case_id=case.id, database=case.database, golds=case.golds, databases=tuple(made), why=why, **totals
        )
        layout = SuiteLayout(database=case.database, schema=known.schema, tables=tables) if made else None
        return SuiteMade(case=done, layout=layout, engine=known.scratch.engine)

    def _distilled(self, gold: str, targets: Sequence[Target], url: DatabaseUrl, known: _Known, most: int) -> Distilled:
        settings = self._settings
        result = self._executor.execute(url, gold).result
        if result is None:
            return Distilled(why="the gold query fails on its database")
        return SuiteBuilder(
            gold,
            targets,
            known.schema,
            dialect=known.scratch.dialect,
            scratch=known.scratch,
            without_keys=known.without_keys,
            reads_answers=read_answers,
            options=settings.options,
            real=known.real,
            selects=not finds_nothing(result.rows),
            seed=settings.seed,
            clock=Clock(settings.seconds),
        ).distil(most=most, trials=_TRIALS.get(known.scratch.dialect, 60), keeps=settings.keeps)

    def _opened(self, url: DatabaseUrl) -> _Known | str:
        maker = memory_scratch_maker(self._settings.engines, url.scheme)
        if maker is None:
            return f"databases to try queries on are made for SQLite and DuckDB, not for {url.scheme!r}"
        schema = declared_schema(self._executor, url)
        if isinstance(schema, str):
            return schema
        real: dict[str, RealTable] = {}
        for table in schema.tables:
            columns = [column.name for column in table.columns]
            if table.kind != "table" or not columns:
                continue
            held = real_table(self._executor, url, table.quoted_name, columns, most=_REAL_ROWS, quote=table.quote)
            if held is not None:
                real[table.name.lower()] = held
        return _Known(
            schema=schema,
            real=real,
            scratch=maker.scratch(schema),
            without_keys=maker.scratch(schema, without_keys=True),
        )
