"""Evaluate a question set: read it, check it, score every prediction, make the run."""

from __future__ import annotations

import os
import warnings
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from assay import registry
from assay._version import __version__
from assay.api.arguments import (
    check_limits,
    check_names,
    check_options,
    check_values,
    checked_penalties,
    metrics_asked_for,
    read_tags,
    with_witnesses,
    witness_settings,
)
from assay.api.inputs import (
    CasesInput,
    FileOptions,
    Inputs,
    OnCases,
    OwnInputs,
    PredictionsInput,
    is_system,
    read_inputs,
)
from assay.api.public import public
from assay.api.reviewing import ReviewsInput, reviews_for
from assay.api.run import Run
from assay.api.running import carry_out, provenance_of
from assay.api.schemas import with_databases
from assay.api.workers import (
    MISSING,
    DatabasesInput,
    cache_folder,
    check_database_column,
    check_databases,
    check_nothing_executed,
    is_empty,
    locator,
    open_backend,
    tell_cost,
    warn_of_idle_limit,
    warn_of_rights,
    worker_settings,
)
from assay.engines.pool.spawn import default_workers
from assay.errors import UsageError
from assay.model import (
    STRICT,
    CacheUse,
    Case,
    ColumnRule,
    ComparisonOptions,
    DatabaseUrl,
    Leniency,
    Limits,
    MetricInfo,
    Prediction,
    RunSettings,
)
from assay.model.databases.suite import SUITE_MATCH
from assay.model.lint import LintOptions
from assay.model.witness import ScratchServer, WitnessSettings
from assay.platform.surface import argument, flag
from assay.ports import Metric, NeededDatabase, System
from assay.runs.aggregate.repeats import check_repeats, repeated
from assay.runs.plan import (
    Database,
    Job,
    Locate,
    OnProgress,
    Works,
    database_key,
    databases_of,
    plan_places,
    works_of,
)
from assay.sdmx.gc_pause import collector_paused

if TYPE_CHECKING:
    from assay.api.linting import RunLint
    from assay.model.databases.suite import Suite


@public
def evaluate(
    cases: CasesInput | OwnInputs,
    predictions: PredictionsInput | System | None = None,
    *,
    databases: DatabasesInput,
    metrics: Sequence[str | Metric] | None = None,
    gold_databases: DatabasesInput | None = None,
    limits: Limits | None = None,
    columns: ColumnRule = "any",
    relative_tolerance: float = 1e-12,
    absolute_tolerance: float = 1e-12,
    leniency: Leniency | None = None,
    penalties: Sequence[float] = (),
    timing_iterations: int = 3,
    timing_budget_s: float | None = None,
    timing_extra_s: float = 60.0,
    concurrency: int = 4,
    repeats: int = 1,
    workers: int | None = None,
    backend: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    cache_bytes: int | None = None,
    suite: str | os.PathLike[str] | Suite | None = None,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    rescore: bool = False,
    name: str | None = None,
    tags: Sequence[str] = (),
    files: FileOptions | None = None,
    allow_unmatched: bool = False,
    extract: bool = True,
    diagnose: bool = True,
    lint: bool | LintOptions = False,
    witness: bool | WitnessSettings = False,
    scratch: str | None = None,
    reviews: ReviewsInput | Literal[False] | None = None,
    on_cases: OnCases | None = None,
    on_progress: OnProgress | None = None,
) -> Run:
    """Evaluate a system's answers to a question set on real databases.

    Args:
        cases: a file of any format (`assay docs formats`), a DataFrame of pandas or polars, an Arrow table, or
            `Case` values or mappings of them. A package that reads both sides itself gives
            `assay.api.inputs.OwnInputs`.
        predictions: a live system (`open_system`), a file, a DataFrame or a Series, a mapping from case id to query,
            predictions or mappings of them, query texts in the cases' order, or a callable that
            takes a Case and returns its query. None: they are in the cases' own file. An index of pandas is the key if
            its labels are those of the cases' index or their ids; otherwise rows are joined by position only if each
            index counts the rows from 0.
        databases: a URL, a template of one with ``{db_id}``, or a mapping from db_id to URL. For a question set for
            several engines (Spider 2.0) a mapping from ``sqlite``, ``snowflake`` and ``bigquery`` to URL or template:
            a question whose engine has none is unscored if it needs a database. Empty: there is no database, which
            suffices if all gold results and predictions are rows. A database may be tables in memory,
            ``{"orders": frame}``: they are in a temporary file of DuckDB for the time of the call.
        gold_databases: the databases of the gold queries, if they differ from those of the predictions, in the same
            forms: for a migration, or a virtual layer over a warehouse. Each side is read in its own dialect.
        metrics: names of registered metrics, or metrics; None: the usual ones (`assay docs metrics`).
        limits: caps for every query; ``gold_timeout_s`` is the time limit of gold queries.
        columns: ``any`` accepts any column order, ``strict`` requires that of the gold query.
        relative_tolerance: for comparisons with a float, as a share of the larger number, below 1.
        absolute_tolerance: likewise; a number at most this far from 0 counts as 0.
        leniency: what not to count as a mistake, unless a case says otherwise; every report names it with the number.
        penalties: of the reliability score, the cost of a wrong answer, if a right one counts 1; none: 0 and 10. The
            number of questions is always added (`assay docs reliability`).
        timing_iterations: how often efficiency metrics (``ves``, ``bird_rves``) execute both queries
            in turn, after a warm-up.
        timing_budget_s: how long all timing may take; pairs that it does not reach are unscored, and the same
            call with the same folder goes on with them. None: no limit.
        timing_extra_s: without a budget, how long to time pairs again whose noise could change their score.
        concurrency: how many questions a live system is asked at once.
        repeats: how often a live system is asked each question, or how many predictions each id has. A column that
            numbers samples says it by itself (`assay docs repeats`).
        workers: processes that execute queries, on a cluster those of each node; None: one per core, on this machine
            at most 8.
        backend: what executes the queries: ``local`` (None), or ``ray`` or ``ray://HOST:PORT`` for a Ray cluster
            (`assay docs cluster`).
        cache: a folder of executions that runs share: a query is executed once on the same content of a database
            file (`assay docs cache`). None: every query is executed.
        cache_bytes: its bound, beyond which the least recently used go; None: 2 GiB.
        suite: a folder that `build_suite` wrote, or what it gave: answers are tried on its small databases too, and the
            metric ``suite_match`` says which are right there as well (`assay docs suites`). No verdict changes.
        output: a folder for the run. Finished work of the same run in it is not done again.
        overwrite: discard an earlier run in the folder.
        rescore: re-score the live system's answers in the folder, without asking again.
        name: a name for the run.
        tags: labels for the run, for example ``["nightly", "model=gpt-4.1"]``: `list_runs` selects runs by them.
        files: how to read the files, if they do not show it themselves.
        allow_unmatched: accept predictions that match no case; they are named in the provenance.
        extract: evaluate the one SQL statement in a prediction whose text has other words; False: evaluate every text
            as it came.
        diagnose: look for the causes of incorrect predictions (`assay docs causes`); False: no cause is computed, which
            saves the queries of the repairs. No verdict depends on it.
        lint: also look for likely errors in the gold queries, and show them with the verdicts and the accuracy without
            the doubtful cases (`assay docs lint`). No verdict depends on it.
        witness: also look for a counterexample to each match, or for a proof that there is none: the result is the
            verdict's ``strength``; no verdict changes (`assay docs strength`). A run in ``output`` that was made
            without it gets its strengths, and a later call does what an earlier one left open.
        scratch: with ``witness``, the URL of a PostgreSQL server on which small databases may be made, to try that
            engine's queries on: in schemas of new names, which are dropped at the end; nothing else on it is touched.
        reviews: what people decided about the question set (`assay docs reviews`): a file, or what `load_reviews`
            read. None: ``reviews.jsonl`` next to the question set, if there is one; False: none. The reviewed verdict
            is shown with Assay's own, and a later call in ``output`` re-scores only what a new review concerns.
        on_cases: called with the cases once they are read, before anything is executed and before a live
            system is asked; an exception from it ends the evaluation.
        on_progress: called with the progress as cases finish; fast cases are reported several at a time.

    Raises:
        InputError: a file, column, URL, database or name cannot be used. Nothing was written then.
        RunError: ``output`` contains another run.
        MissingDependency: ``backend`` is ``ray``, and Ray is not installed.
        UsageError: the arguments do not go together.
    """
    check_values(
        {
            "columns": columns,
            "timing_iterations": timing_iterations,
            "timing_budget_s": timing_budget_s,
            "timing_extra_s": timing_extra_s,
            "concurrency": concurrency,
            "repeats": repeats,
            "workers": workers,
            "cache": cache,
            "suite": suite if isinstance(suite, str | os.PathLike) else None,
            "output": output,
            "name": name,
            "allow_unmatched": allow_unmatched,
            "extract": extract,
            "diagnose": diagnose,
            "limit": None if files is None else files.limit,
        }
    )
    check_limits(limits := limits or Limits())
    cached, reviewed = cache_folder(cache, cache_bytes), reviews_for(cases, reviews)
    searched = witness_settings(witness)
    if isinstance(cases, OwnInputs):
        own = cases
    else:
        reading = files or FileOptions()
        own = OwnInputs(
            read=lambda given: read_inputs(
                cases, given, reading, allow_unmatched=allow_unmatched, repeats=1 if is_system(given) else repeats
            )
        )
    options = own.options or ComparisonOptions(
        columns=columns,
        relative_tolerance=relative_tolerance,
        absolute_tolerance=absolute_tolerance,
        leniency=leniency or STRICT,
    )
    _check_together(gold_databases=gold_databases, suite=suite, witness=searched, scratch=scratch, backend=backend)
    tried_on = _suite(suite)
    asked = with_witnesses(_with_suite(metrics_asked_for(metrics), tried_on), searched)
    wanted = [registry.metric(one) if isinstance(one, str) else one for one in asked]
    check_repeats(repeats, several=is_system(predictions) or not (callable(predictions) or own is cases))
    infos = tuple(map(MetricInfo.of, wanted))
    check_options(
        options.columns,
        relative_tolerance=options.relative_tolerance,
        absolute_tolerance=options.absolute_tolerance,
    )
    worker = worker_settings(
        options,
        limits,
        [one for one in asked if isinstance(one, str)],
        head_rows=own.head_rows,
        plain_queries=own.plain_queries,
        diagnose=diagnose and own.diagnose,
        cache=None if cached is None else cached.shared_by(workers or default_workers()),
    )
    worker = replace(worker, suite=tried_on, gold_apart=gold_databases is not None)
    with ExitStack() as opened:
        server = None if scratch is None else opened.enter_context(_scratch(scratch))
        if server is not None and searched is not None:
            worker, searched = replace(worker, scratch=server), replace(searched, scratch=True)
        pool = opened.enter_context(open_backend(backend, worker, workers))
        # The inputs are read while the workers start.
        located, golds = locator(databases, optional=True), None if gold_databases is None else locator(gold_databases)
        system = with_databases(predictions, located[0], limits) if is_system(predictions) else None
        with collector_paused():
            inputs = own.read(predictions if system is None else system)
            if on_cases is not None:
                on_cases(inputs.cases)
            check_names(infos, repeats := max(repeats, inputs.repeats))
            known = _databases_of(
                inputs, databases, located[0], None if golds is None else golds[0], asked=system is not None
            )
        _check_scratch(server, known.urls.values())
        notes = () if tried_on is None else _suite_notes(tried_on, inputs, known.urls)
        pool.expect(known.needed)
        settings = RunSettings(
            cases=inputs.case_name,
            predictions=inputs.prediction_name,
            database=located[1],
            gold_database=None if golds is None else golds[1],
            metrics=tuple(metric.name for metric in wanted),
            metric_infos=infos,
            limits=limits,
            columns=options.columns,
            relative_tolerance=options.relative_tolerance,
            absolute_tolerance=options.absolute_tolerance,
            leniency=options.leniency,
            penalties=checked_penalties(penalties),
            timing_iterations=timing_iterations,
            timing_budget_s=timing_budget_s,
            timing_extra_s=timing_extra_s,
            witness=searched,
            workers=pool.size,
            name=name,
            repeats=repeats,
            tags=read_tags(tags),
            extract=extract,
            diagnose=diagnose and own.diagnose,
            suite=None if tried_on is None else f"{Path(tried_on.name).name} ({tried_on.digest})",
        )
        bases = {one.url.text: f"{__version__} {one.version} {one.fingerprint}" for one in known.needed}
        provenance = provenance_of(
            inputs, [one for one in known.needed if one.url.scheme != MISSING], reviews=reviewed, folder=output
        )

        def planned(cases: Sequence[Case], answers: Sequence[Prediction]) -> Works:
            return Works(works_of(cases, answers, known.of_predictions, known.of_golds, extract=extract), bases)

        with collector_paused():
            works = planned(repeated(inputs.cases, inputs.repeats), inputs.predictions)
        _tell_before(known, works, limits, workers=pool.size, golds_apart=gold_databases is not None)
        if system is None:
            inputs = replace(inputs, cases=(), predictions=())  # the work has them
        job = Job(
            settings=settings,
            provenance=replace(
                provenance, cache=None if cached is None else CacheUse(), notes=(*provenance.notes, *notes)
            ),
            works=works,
            metrics=wanted,
            local_metrics=[metric for one, metric in zip(asked, wanted, strict=True) if not isinstance(one, str)],
            bases=bases,
            witness=searched,
            reviews=reviewed,
        )
        done = carry_out(
            job,
            pool,
            system=system,
            cases=inputs.cases,
            answered=lambda answers: replace(job, works=planned(repeated(inputs.cases, repeats), answers)),
            output=output,
            overwrite=overwrite,
            rescore=rescore,
            concurrency=concurrency,
            on_progress=on_progress,
            lint=_run_lint(asked=lint, limits=limits, workers=workers, on_progress=on_progress),
        )
    if cached is not None:
        cached.make_room()
    return done


class _Databases(Struct, frozen=True, kw_only=True):
    """The databases of a run by the names that cases give them, and what is known of each."""

    of_predictions: Mapping[Hashable, Database]
    of_golds: Mapping[Hashable, Database] | None
    """Those of gold's queries, where these are others."""
    urls: dict[str, DatabaseUrl]
    """Each once, by its text."""
    needed: list[NeededDatabase]
    """Each with its content's fingerprint and its engine's version."""


def _databases_of(
    inputs: Inputs, databases: DatabasesInput, locate: Locate, locate_gold: Locate | None, *, asked: bool
) -> _Databases:
    """The databases of the cases. Raises InputError if one is not named or cannot be read.

    If the questions are ``asked``, it warns of those that are asked in vain.
    """
    cases = inputs.cases
    check_database_column(databases, cases, inputs.columns, inputs.case_name)
    if is_empty(databases):
        check_nothing_executed(repeated(cases, inputs.repeats), inputs.predictions)
    named = databases_of(cases, locate)
    if asked and any(one.url.scheme == MISSING for one in named.values()):
        _warn_of_missing(cases, named)
    golds = None if locate_gold is None else databases_of(cases, locate_gold)
    located = [*named.values(), *(golds or {}).values()]
    origins = {one.url.text: one.origin for one in reversed(located)}
    urls = {one.url.text: one.url for one in located}
    check_databases(urls.values(), origins)
    needed = [
        NeededDatabase(url=url, fingerprint=engine.fingerprint(url), version=engine.version(), origin=origins[url.text])
        for url in urls.values()
        for engine in [registry.engine_class(url)]
    ]
    return _Databases(of_predictions=named, of_golds=golds, urls=urls, needed=needed)


def _warn_of_missing(cases: Sequence[Case], databases: Mapping[Hashable, Database]) -> None:
    """Warn, before a system is asked, of the questions that it will be asked in vain."""
    lacking = Counter(case.engine for case in cases if databases[database_key(case)].url.scheme == MISSING)
    engines = ", ".join(f"{engine} for {count:,}" for engine, count in lacking.most_common() if engine is not None)
    warnings.warn(
        f"{lacking.total():,} of {len(cases):,} questions will be asked, and cannot be scored without a database "
        "unless the system answers with rows: give the URL of "
        + (f"each engine ({argument('--db')}): {engines}" if engines else f"a database ({argument('--db')})"),
        UserWarning,
        stacklevel=4,
    )


def _tell_before(known: _Databases, works: Works, limits: Limits, *, workers: int, golds_apart: bool) -> None:
    """Say what the accounts may do beyond reading, and what the run will bill where an engine can tell."""
    urls = known.urls.values()
    warn_of_rights(urls)
    warn_of_idle_limit(urls, limits)
    if any(hasattr(registry.engine_class(url), "estimate") for url in urls):
        apart = golds_apart or limits.of_gold != limits
        tell_cost(_executed(works, workers, golds_apart=apart), limits)


def _executed(works: Works, workers: int, *, golds_apart: bool) -> Mapping[str, list[str]]:
    """The queries of a run as far as they are known before it starts, by the URL of their database.

    A worker executes a text once on each database, and gold's once more if gold has limits of its own
    (``golds_apart``). So a text is listed once for each batch that has it, and at most once for each worker.
    """
    counts: Counter[tuple[str, bool, str]] = Counter()
    for batch in plan_places(range(len(works)), works.url, works.gold, workers):
        texts = set()
        for place in batch:
            work = works[place]
            gold_url = work.gold_url or work.url
            texts |= {(gold_url.text, golds_apart, gold) for gold in work.case.golds}
            query = work.prediction.query
            if query is not None and not (gold_url == work.url and query in work.case.golds):
                texts.add((work.url.text, False, query))
        counts.update(texts)
    found: dict[str, list[str]] = defaultdict(list)
    for (url, _, query), count in counts.items():
        found[url] += [query] * min(count, workers)
    return found


def _check_together(
    *, gold_databases: object, suite: object, witness: object, scratch: object, backend: str | None
) -> None:
    """Raise UsageError for wishes that do not go together."""
    if gold_databases is not None and (suite is not None or witness is not None):
        what = "a suite requires" if suite is not None else "witnesses require"
        raise UsageError(
            f"{what} one database, and gold queries have their own ({argument('--gold-db')}): omit one of the two"
        )
    if gold_databases is not None and backend not in (None, "local"):
        raise UsageError(
            f"gold queries have a database of their own ({argument('--gold-db')}), and the backend {backend!r} brings "
            "one database to a node: omit one of the two"
        )
    if scratch is not None and witness is None:
        raise UsageError(
            f"a server for scratch schemas is for the search for witnesses: ask for these, with {flag('--witness')}"
        )


def _suite(given: str | os.PathLike[str] | Suite | None) -> Suite | None:
    """The suite that was asked for. Raises InputError if it cannot be read."""
    if given is None:
        return None
    from assay.api.suites import load_suite  # not every run has one

    return load_suite(given)


def _scratch(url: str) -> AbstractContextManager[ScratchServer]:
    from assay.api.refuting import scratch_server  # few runs have one

    return scratch_server(url)


def _check_scratch(server: ScratchServer | None, urls: Iterable[DatabaseUrl]) -> None:
    if server is None:
        return
    from assay.api.refuting import check_scratch

    check_scratch(server, [registry.engine_class(url).dialect for url in urls])


def _suite_notes(suite: Suite, inputs: Inputs, urls: Mapping[str, DatabaseUrl]) -> tuple[str, ...]:
    from assay.api.suites import check_fit

    notes = check_fit(suite, inputs.cases, urls)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return notes


def _with_suite(asked: Sequence[str | Metric], suite: Suite | None) -> Sequence[str | Metric]:
    """With the suite's metric, where there is one. Raises UsageError for that metric without a suite."""
    if suite is not None:
        return asked if SUITE_MATCH in asked else (*asked, SUITE_MATCH)
    if SUITE_MATCH in asked:
        raise UsageError(f"the metric {SUITE_MATCH!r} needs a suite: name the folder of one ({argument('--suite')})")
    return asked


def _run_lint(
    *, asked: bool | LintOptions, limits: Limits, workers: int | None, on_progress: OnProgress | None
) -> RunLint | None:
    """What looks at the golds; None where nobody asks for that."""
    if asked is False:
        return None
    from assay.api.linting import RunLint  # the rules load only for who wants them

    options = LintOptions() if asked is True else asked
    return RunLint(options=options, limits=limits, workers=workers, on_progress=on_progress)
