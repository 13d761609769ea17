"""Distil suites: for each gold query a few small databases that tell it from queries that mean something else."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import get_args

from msgspec.structs import replace

from assay import registry
from assay._version import __version__
from assay.api.inputs import CasesInput, FileOptions, read_cases_only
from assay.api.public import public
from assay.api.run import Run, load_run
from assay.api.workers import DatabasesInput, check_databases, locator
from assay.engines.pool.pool import WorkerPool
from assay.engines.pool.spawn import default_workers
from assay.errors import InputError, UsageError
from assay.model import Case, ColumnRule, ComparisonOptions, DatabaseUrl, Limits, quoted
from assay.model.databases.suite import Suite, SuiteAssumption, SuiteCase
from assay.ports import Task, TaskDone
from assay.runs.plan import database_key, databases_of
from assay.runs.progress import Progress
from assay.runs.store.suite_folder import check_place, read_suite, write_suite
from assay.runs.workers.suite_worker import SUITE_SETUP, SuiteMade, SuiteTask, SuiteWorkerSettings
from assay.runs.workers.trials import memory_scratch_maker
from assay.witness.showing import sql_literal

_MOST_DATABASES = 50
_MOST_NEIGHBOURS = 500


@public
def build_suite(
    cases: CasesInput,
    runs: Sequence[str | os.PathLike[str] | Run] = (),
    *,
    databases: DatabasesInput | None = None,
    output: str | os.PathLike[str] | None = None,
    most_databases: int = 3,
    most_neighbours: int = 40,
    keeps: SuiteAssumption = "observed",
    seconds: float = 4.0,
    seed: int = 0,
    columns: ColumnRule = "any",
    workers: int | None = None,
    limits: Limits | None = None,
    files: FileOptions | None = None,
    overwrite: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Suite:
    """For each gold query, the fewest small databases that distinguish it from the most wrong queries.

    Wrong queries are the predictions of ``runs`` (folders, or runs) that differ from the gold query in their text, and
    up to ``most_neighbours`` small changes of the gold query. ``databases`` are those of the cases, whose schema and
    values the small databases have; None: those of the first run. Each case gets at most ``most_databases``. With
    ``keeps`` ``observed`` they are like the real data, as a witness is that refutes; ``declared`` adds databases that
    keep no more than the declared constraints, if only these distinguish something. ``seconds`` bounds the computing
    for each gold query. The same inputs and ``seed`` give the same suite. ``output`` is the folder that it is written
    into, once it is whole; `evaluate` takes it, or the value that comes back, as ``suite``.

    Raises InputError if cases, runs or databases cannot be read, do not fit, or the folder cannot be written, and
    UsageError for arguments that do not go together.
    """
    _check_arguments(most_databases, most_neighbours, keeps, seconds, columns)
    folder = None if output is None else Path(output)
    if folder is not None:
        check_place(folder, overwrite=overwrite)
    loaded, _ = read_cases_only(cases, files or FileOptions())
    named = _loaded(runs)
    answers = _answers(named, loaded)
    located = _located(loaded, databases if databases is not None else _databases_of(named))
    settings = SuiteWorkerSettings(
        engines=registry.engine_references(),
        limits=limits or Limits(),
        options=ComparisonOptions(columns=columns),
        keeps=keeps,
        most_databases=most_databases,
        most_neighbours=most_neighbours,
        seconds=seconds,
        seed=seed,
    )
    engine = _engine(located, settings.engines)
    tasks = [
        Task(id=number, payload=SuiteTask(case=case, url=url, answers=answers.get(case.id, ())), database=url)
        for number, (case, url) in enumerate(zip(loaded, located, strict=True))
    ]
    made = _made(tasks, loaded, settings, workers, on_progress)
    layouts = {one.layout.database: one.layout for one in made if one.layout is not None}
    suite = Suite(
        name="",
        digest="",
        engine=engine,
        layouts=layouts,
        cases={one.case.case_id: one.case for one in made},
        made_with=f"assay {__version__}, {next((one.engine for one in made if one.engine), engine)}",
        keeps=keeps,
        runs=tuple(name for name, _ in named),
        seed=seed,
        most_databases=most_databases,
    )
    return suite if folder is None else write_suite(folder, suite)


@public
def load_suite(suite: str | os.PathLike[str] | Suite) -> Suite:
    """The suite of a folder. Raises InputError for anything but a whole suite that this version reads."""
    return suite if isinstance(suite, Suite) else read_suite(Path(suite))


def check_fit(suite: Suite, cases: Sequence[Case], urls: Mapping[str, DatabaseUrl]) -> tuple[str, ...]:
    """Sentences about the cases that the suite says nothing of, for a run of these cases.

    Raises InputError if it fits none of them, or is for another engine.
    """
    schemes = sorted({url.scheme for url in urls.values()} - {suite.engine})
    if schemes:
        raise InputError(
            f"the databases of the suite {suite.name} are for {suite.engine}, and the run's for {', '.join(schemes)}: "
            "another engine's answers would prove nothing; build a suite on the run's databases"
        )
    known = [case for case in cases if case.id in suite.cases]
    changed = [
        case.id
        for case in known
        if (suite.cases[case.id].golds, suite.cases[case.id].database) != (case.golds, case.database)
    ]
    if cases and not known:
        raise InputError(
            f"the suite {suite.name} is for other cases: it has none called {cases[0].id!r}"
            f"{', nor any other of the run' if len(cases) > 1 else ''}; build one from this question set"
        )
    if known and len(changed) == len(known):
        raise InputError(
            f"the suite {suite.name} was built for other gold queries of {_listed(changed)}: "
            "build it again from these cases"
        )
    notes = []
    if changed:
        notes.append(f"the suite was built for other gold queries of {_listed(changed)}, which suite_match leaves out")
    absent = [case.id for case in cases if case.id not in suite.cases]
    if absent:
        notes.append(f"the suite lacks {_listed(absent)}, which suite_match leaves out")
    return tuple(notes)


def suite_script(suite: Suite, case_id: str, database: str) -> str:
    """The SQL that makes one database of a case in an empty one. Raises InputError if there is none of that name."""
    case = suite.cases[case_id]
    found = next((one for one in case.databases if one.name == database), None)
    if found is None:
        names = ", ".join(one.name for one in case.databases)
        there = f"there is {names}" if names else f"it has none: {case.why}"
        raise InputError(f"case {case_id} of the suite {suite.name} has no database {database!r}: {there}")
    layout = suite.layouts[case.database]
    lines = [f"{table.ddl};" for table in layout.schema.tables if table.ddl]
    for (table, columns), rows in zip(layout.tables, found.rows, strict=True):
        names = ", ".join(map(quoted, columns))
        lines += [f"INSERT INTO {table} ({names}) VALUES ({', '.join(map(sql_literal, row))});" for row in rows]
    return "\n".join(lines) + "\n"


def _loaded(runs: Sequence[str | os.PathLike[str] | Run]) -> list[tuple[str, Run]]:
    """The runs, each with a name for messages."""
    found = []
    for number, given in enumerate(runs, start=1):
        run = given if isinstance(given, Run) else load_run(given)
        found.append(((run.settings.name or f"run {number}") if isinstance(given, Run) else str(given), run))
    return found


def _listed(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:5]) + (f" and {len(ids) - 5:,} more" if len(ids) > 5 else "")
    return f"{'case' if len(ids) == 1 else 'cases'} {shown}"


def _check_arguments(databases: int, neighbours: int, keeps: str, seconds: float, columns: str) -> None:
    if not 1 <= databases <= _MOST_DATABASES:
        raise UsageError(f"the databases of a case are {databases}: give 1 to {_MOST_DATABASES}")
    if not 0 <= neighbours <= _MOST_NEIGHBOURS:
        raise UsageError(f"the number of neighbours per gold query is {neighbours}: give 0 to {_MOST_NEIGHBOURS}")
    if keeps not in get_args(SuiteAssumption):
        raise UsageError(f"keeps is {keeps!r}: write 'observed' or 'declared'")
    if not (math.isfinite(seconds) and seconds > 0):
        raise UsageError(f"seconds is {seconds}: give a positive number")
    if columns not in get_args(ColumnRule):
        raise UsageError(f"columns is {columns!r}: write 'any' or 'strict'")


def _databases_of(runs: Sequence[tuple[str, Run]]) -> str:
    """The databases of the first run."""
    if not runs:
        raise UsageError("without a run there must be databases: say where the cases' data is")
    name, run = runs[0]
    if not run.settings.database:
        raise InputError(f"{name} does not say which databases it was on: name them")
    return run.settings.database


def _answers(runs: Sequence[tuple[str, Run]], cases: Sequence[Case]) -> dict[str, tuple[str, ...]]:
    """Per case the different queries that the runs have. Raises InputError for a run over other cases or golds."""
    wanted = {case.id: case for case in cases}
    found: dict[str, dict[str, None]] = {}
    for name, run in runs:
        fits, others = 0, []
        for item in run.evidence:
            own = wanted.get(item.case.id)
            if own is None or own.question != item.case.question:
                continue
            if own.golds != item.case.golds or own.database != item.case.database:
                others.append(own.id)
                continue
            fits += 1
            if item.prediction.query and item.prediction.given == "answer":
                found.setdefault(own.id, {})[item.prediction.query] = None
        if not fits and not others:
            raise InputError(f"{name} has none of the {len(cases):,} cases: give runs over the same question set")
        if others:
            raise InputError(
                f"{name} was evaluated with other gold queries of {_listed(others)}: "
                "run it again with this question set"
            )
    return {case_id: tuple(queries) for case_id, queries in found.items()}


def _located(cases: Sequence[Case], databases: DatabasesInput) -> list[DatabaseUrl]:
    """Each case's database. Raises InputError, naming a case without one, and for a database that cannot be read."""
    if not cases:
        raise InputError("the question set has no case")
    named = databases_of(cases, locator(databases)[0])
    check_databases([one.url for one in named.values()], {one.url.text: one.origin for one in named.values()})
    return [named[database_key(case)].url for case in cases]


def _engine(urls: Sequence[DatabaseUrl], engines: dict[str, str]) -> str:
    """The one kind of engine of all databases. Raises InputError if there are several, or none in memory."""
    schemes = sorted({url.scheme for url in urls})
    if len(schemes) > 1:
        raise InputError(f"the databases are of several kinds ({', '.join(schemes)}): build a suite for each")
    if memory_scratch_maker(engines, schemes[0]) is None:
        raise InputError(
            f"databases to try queries on are made for SQLite and DuckDB, not for {schemes[0]!r}: "
            "another engine's answers would prove nothing"
        )
    return schemes[0]


def _made(
    tasks: Sequence[Task],
    cases: Sequence[Case],
    settings: SuiteWorkerSettings,
    workers: int | None,
    on_progress: Callable[[Progress], None] | None,
) -> list[SuiteMade]:
    """What came of each case, in their order."""
    limits = settings.limits
    memory = limits.max_memory_bytes + 2 * limits.max_result_bytes + settings.cache_bytes
    done: dict[int, SuiteMade] = {}
    with WorkerPool(
        workers=min(workers or default_workers(), len(tasks)),
        setup=SUITE_SETUP,
        argument=settings,
        memory_limit_bytes=memory,
    ) as pool:
        # Each on one database, whose rows are read once, of a few cases.
        found: list[list[Task]] = []
        for task in sorted(tasks, key=lambda one: (one.database.text if one.database else "", one.id)):
            if found and found[-1][0].database == task.database and len(found[-1]) < 32:
                found[-1].append(task)
            else:
                found.append([task])
        batches = sorted(found, key=len, reverse=True)
        for outcome in pool.run(batches):
            case = cases[outcome.task_id]
            if isinstance(outcome, TaskDone) and isinstance(outcome.outcome, SuiteMade):
                done[outcome.task_id] = outcome.outcome
            else:
                why = getattr(outcome, "message", "no outcome")
                empty = SuiteCase(case_id=case.id, database=case.database, golds=case.golds)
                done[outcome.task_id] = SuiteMade(case=replace(empty, why=f"looking for databases failed: {why}"))
            if on_progress is not None:
                on_progress(Progress(stage="scoring", total=len(tasks), finished=len(done)))
    return [done[number] for number in range(len(tasks))]
