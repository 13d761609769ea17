"""Lint a question set: are its gold queries sound?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from os import PathLike
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from assay import registry
from assay.api.inputs import CasesInput, FileOptions, read_cases_only
from assay.api.public import public
from assay.api.run import Run, load_run
from assay.api.workers import DatabasesInput, locator
from assay.engines.database_files import DatabaseFile
from assay.engines.pool.pool import WorkerPool
from assay.engines.pool.spawn import default_workers
from assay.errors import AssayError, DatabaseError, InputError, UsageError
from assay.linting import CaseGolds, GoldLint, catalogue, closest_rule, lint_across, shared
from assay.linting.apply import OtherAnswer, applied
from assay.model import Case, DatabaseUrl, Limits
from assay.model.lint import LintAccuracy, LintFinding, LintGap, LintOptions, LintReport
from assay.platform.surface import option
from assay.ports import Task, TaskDone
from assay.runs.plan import Job, Work, database_key, databases_of
from assay.runs.progress import Progress
from assay.runs.store.codec import encode_value, identity_of
from assay.runs.workers.lint_worker import LINT_SETUP, LintTask, LintWorkerSettings

RunsInput: TypeAlias = "Sequence[Run | str | PathLike[str]]"
_TIMEOUT_S = 10.0
_MOST_CASES_PER_BATCH = 100


@public
def lint(
    cases: CasesInput,
    *,
    databases: DatabasesInput | None = None,
    only: Iterable[str] = (),
    ignore: Iterable[str] = (),
    runs: RunsInput = (),
    dialect: str | None = None,
    limits: Limits | None = None,
    workers: int | None = None,
    files: FileOptions | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> LintReport:
    """Find likely errors in the gold queries of a question set, without a system.

    Without ``databases`` the rules apply that need the queries and questions alone, read as ``dialect`` (by default
    SQLite's). With them, the gold queries and a few probes are executed, read-only and under ``limits`` (by default 10
    s per query). ``only`` and ``ignore`` name rules. ``runs`` are stored runs over the same cases, for the rules that
    look at what systems answered.

    Nothing is excluded or rewritten. A gold query that fails is a finding; a database that cannot be read is a gap in
    the report. With ``runs`` the report also has their accuracy with and without the doubtful cases.

    Raises InputError for a question set that cannot be used, UsageError for an unknown rule.
    """
    options = lint_options(only=only, ignore=ignore)
    loaded, name = read_cases_only(cases, files or FileOptions())
    kept = [case for case in loaded if case.gold_count]
    loaded_runs = _loaded(runs)
    others = _others(loaded_runs, kept)
    settings = LintWorkerSettings(
        engines=registry.engine_references(),
        limits=limits or Limits(timeout_s=_TIMEOUT_S),
        options=options,
        dialect=_dialect(dialect),
    )
    whole = lint_located(
        loaded,
        _located(kept, databases),
        settings,
        name=name,
        database=None if databases is None else locator(databases)[1],
        others=others if runs else None,
        workers=workers,
        on_progress=on_progress,
    )
    return replace(whole, accuracies=_accuracies(loaded_runs, kept, whole.findings))


def lint_located(
    cases: Sequence[Case],
    urls: Sequence[DatabaseUrl | None],
    settings: LintWorkerSettings,
    *,
    name: str,
    database: str | None,
    others: Mapping[str, tuple[OtherAnswer, ...]] | None,
    workers: int | None,
    on_progress: Callable[[Progress], None] | None,
) -> LintReport:
    """The findings about cases. ``urls`` are the databases of those among them that have gold queries.

    ``database`` is how the report names these, None if there are none; ``others`` what stored runs answered, None
    without runs.
    """
    options, runs = settings.options, others is not None
    kept = [case for case in cases if case.gold_count]
    tasks = [
        Task(id=index, payload=LintTask(case=case, url=urls[index], others=(others or {}).get(case.id, ())))
        for index, case in enumerate(kept)
    ]
    done = _run(tasks, settings, workers, on_progress)
    # All findings in the order of the cases, of their golds, and of the places in the query.
    found = [finding for one in done if isinstance(one, GoldLint) for finding in one.findings]
    golds = [
        one.golds if isinstance(one, GoldLint) else CaseGolds(case=case) for case, one in zip(kept, done, strict=True)
    ]
    failed: dict[str, str] = {}
    found += lint_across(golds, options, runs=runs, failed=failed)
    order = {case.id: place for place, case in enumerate(kept)}
    return LintReport(
        name=name,
        findings=tuple(
            sorted(
                shared(found), key=lambda one: (order[one.case_id], one.gold, one.line or 0, one.column or 0, one.rule)
            )
        ),
        cases=len(cases),
        golds=sum(case.gold_count for case in kept),
        rules=applied(options, database=database is not None, runs=runs),
        gaps=(
            *_gaps(kept, done, cases, database),
            *(LintGap(why=why, rules=(rule,), cases=()) for rule, why in failed.items()),
        ),
        notes=_notes(kept, done),
        database=database,
        ignored=sum(one.ignored for one in done if isinstance(one, GoldLint)),
    )


def lint_options(*, only: Iterable[str] = (), ignore: Iterable[str] = ()) -> LintOptions:
    """Which rules to apply. Raises UsageError for an unknown rule."""
    return LintOptions(only=_rules(only), ignore=_rules(ignore))


def _rules(names: Iterable[str]) -> frozenset[str]:
    """The names of rules. Raises UsageError for one that is none, with the closest."""
    if isinstance(names, str):
        raise UsageError(f"the rules are the text {names!r}: give a list of names, such as [{names!r}]")
    chosen = frozenset(names)
    known = [rule.about.name for rule in catalogue()]
    for name in sorted(chosen - set(known)):
        close = closest_rule(name)
        hint = f" (did you mean {close!r}?)" if close else ""
        raise UsageError(f"unknown rule {name!r}{hint}; the rules are {', '.join(sorted(known))}")
    return chosen


def _dialect(name: str | None) -> str:
    """A dialect's name as the parser knows it. Raises UsageError for an unknown one."""
    from assay.sql.dialects import closest_dialect, is_dialect

    if name is None:
        return "sqlite"
    if not is_dialect(name):
        close = closest_dialect(name)
        raise UsageError(f"unknown SQL dialect {name!r}" + (f" (did you mean {close!r}?)" if close else ""))
    return name.lower()


def _located(cases: Sequence[Case], databases: DatabasesInput | None) -> list[DatabaseUrl | None]:
    """Each case's database. Raises InputError, naming a case without one."""
    if databases is None:
        return [None] * len(cases)
    named = databases_of(cases, locator(databases)[0])
    for url in {one.url.scheme: one.url for one in named.values()}.values():
        # An unknown scheme is a mistake of the caller, not of one database. So is a driver that is not installed, which
        # opening tells; nothing is asked of a server.
        engine = registry.engine_class(url)
        if not (isinstance(engine, type) and issubclass(engine, DatabaseFile)):
            with suppress(DatabaseError):
                engine.open(url, Limits()).close()
    return [named[database_key(case)].url for case in cases]


def _loaded(runs: RunsInput) -> list[tuple[str, Run]]:
    """The stored runs, each with a name for messages."""
    loaded = []
    for number, given in enumerate(runs, start=1):
        run = given if isinstance(given, Run) else load_run(given)
        loaded.append((run.settings.name or (f"run {number}" if isinstance(given, Run) else str(given)), run))
    return loaded


def _others(runs: Sequence[tuple[str, Run]], cases: Sequence[Case]) -> dict[str, tuple[OtherAnswer, ...]]:
    """Per case the queries of stored runs. Raises InputError for a run that has none of the cases."""
    wanted = {case.id: case for case in cases}
    found: dict[str, list[OtherAnswer]] = defaultdict(list)
    for name, run in runs:
        fits = 0
        for item in run.evidence:
            own = wanted.get(item.case.id)
            if own is None or item.prediction.repeat or own.question != item.case.question:
                continue
            fits += 1
            if item.prediction.query and item.prediction.given == "answer":
                found[own.id].append(OtherAnswer(run=name, query=item.prediction.query))
        if not fits:
            raise InputError(f"{name} has none of the {len(cases):,} cases: give runs over the same question set")
    return {case_id: tuple(given) for case_id, given in found.items()}


def _accuracies(
    runs: Sequence[tuple[str, Run]], cases: Sequence[Case], findings: Sequence[LintFinding]
) -> tuple[LintAccuracy, ...]:
    needs = {rule.about.name: rule.about.needs for rule in catalogue()}
    doubtful = {one.case_id for one in findings if one.severity != "note" and needs[one.rule] != "runs"}
    wanted = {case.id: case.question for case in cases}
    made = []
    for name, run in runs:
        outcomes = [
            (item.case.id in doubtful, item.outcome == "correct")
            for item in run.evidence
            if item.outcome != "unscored" and wanted.get(item.case.id) == item.case.question
        ]
        sound = [right for is_doubtful, right in outcomes if not is_doubtful]
        made.append(
            LintAccuracy(
                run=name,
                correct=sum(right for _, right in outcomes),
                scored=len(outcomes),
                sound_correct=sum(sound),
                sound_scored=len(sound),
            )
        )
    return tuple(made)


def _run(
    tasks: Sequence[Task],
    settings: LintWorkerSettings,
    workers: int | None,
    on_progress: Callable[[Progress], None] | None,
) -> list[GoldLint | str]:
    """Every task's outcome, or why there is none."""
    if not tasks:
        return []
    # Cases of one database together, since a worker reads each column once; the largest batches first.
    by_database: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        assert isinstance(task.payload, LintTask)
        by_database[task.payload.url.text if task.payload.url else ""].append(task)
    cut = [
        group[start : start + _MOST_CASES_PER_BATCH]
        for group in by_database.values()
        for start in range(0, len(group), _MOST_CASES_PER_BATCH)
    ]
    batches = sorted(cut, key=len, reverse=True)
    count = max(1, min(workers if workers is not None else default_workers(), len(batches)))
    memory = settings.limits.max_memory_bytes + 2 * settings.limits.max_result_bytes + settings.cache_bytes
    done: list[GoldLint | str] = [""] * len(tasks)
    pool = WorkerPool(workers=count, setup=LINT_SETUP, argument=settings, memory_limit_bytes=memory)
    try:
        for finished, outcome in enumerate(pool.run(batches), start=1):
            if isinstance(outcome, TaskDone):
                if not isinstance(outcome.outcome, GoldLint):
                    raise AssayError(f"a worker answered with {type(outcome.outcome).__name__} in place of findings")
                done[outcome.task_id] = outcome.outcome
            else:
                done[outcome.task_id] = f"it could not be looked at: {outcome.message}"
            if on_progress is not None:
                on_progress(Progress(stage="linting", total=len(tasks), finished=finished))
    finally:
        pool.close()
    return done


def _gaps(
    cases: Sequence[Case], done: Sequence[GoldLint | str], loaded: Sequence[Case], database: str | None
) -> tuple[LintGap, ...]:
    """What could not be applied, and why, the same reason once."""
    needs = {rule.about.name: rule.about.needs for rule in catalogue()}
    by_reason: dict[tuple[str, str], list[str]] = defaultdict(list)
    without = [case.id for case in loaded if not case.gold_count and case.expects == "answer"]
    if without:
        by_reason["gold", "the case has no gold query"] = without
    if database is None:
        by_reason["database", f"no database was given ({option('--db', 'URL')})"] = []
    for case, one in zip(cases, done, strict=True):
        for missing, why in (("gold", one),) if isinstance(one, str) else one.gaps:
            by_reason[missing, why].append(case.id)
    return tuple(
        LintGap(
            why=why,
            rules=tuple(
                sorted(
                    name
                    for name, need in needs.items()
                    if missing == f"rule {name}" or (missing == "database" and need in ("database", "runs"))
                )
            ),
            cases=tuple(ids),
        )
        for (missing, why), ids in by_reason.items()
    )


def _notes(cases: Sequence[Case], done: Sequence[GoldLint | str]) -> tuple[str, ...]:
    """Names of rules in comments that are none."""
    strange: dict[str, str] = {}
    for case, one in zip(cases, done, strict=True):
        for name in one.unknown_rules if isinstance(one, GoldLint) else ():
            strange.setdefault(name, case.id)
    notes = []
    for name, case_id in strange.items():
        close = closest_rule(name)
        hint = f" (did you mean {close!r}?)" if close else ""
        notes.append(f"case {case_id} ignores an unknown rule {name!r}{hint}")
    return tuple(notes)


class RunLint(Struct, frozen=True, kw_only=True):
    """Looks at the gold queries of a job, on its databases and under its limits."""

    options: LintOptions
    limits: Limits
    workers: int | None = None
    on_progress: Callable[[Progress], None] | None = None

    def __call__(self, job: Job, stored: LintReport | None) -> LintReport:
        """The findings; ``stored`` itself, an earlier run's, where it looked at the same in the same way."""
        works = [work for work in job.works if not work.prediction.repeat]
        fingerprint = self._fingerprint(job, works)
        if stored is not None and stored.fingerprint == fingerprint:
            return stored
        report = lint_located(
            [work.case for work in works],
            [work.gold_url or work.url for work in works if work.case.gold_count],
            LintWorkerSettings(
                engines=registry.engine_references(), limits=self.limits, options=self.options, dialect="sqlite"
            ),
            name=job.settings.cases,
            database=job.settings.gold_database or job.settings.database,
            others=None,
            workers=self.workers,
            on_progress=self.on_progress,
        )
        return replace(report, fingerprint=fingerprint)

    def _fingerprint(self, job: Job, works: list[Work]) -> str:
        found = blake2b(digest_size=12)
        rules = [sorted(self.options.only), sorted(self.options.ignore)]
        if added := sorted(f"{rule.about.name} of {rule.package}" for rule in catalogue() if rule.package is not None):
            rules.append(added)
        found.update(encode_value([rules, self.limits]))
        for work in works:
            url = work.gold_url or work.url
            found.update(identity_of(work.case))
            found.update(encode_value([url.text, job.bases.get(url.text, "")]))
        return found.hexdigest()
