"""`assay run`: the main job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from assay.cli.gate_options import GateFlags
from assay.cli.options import (
    CONCURRENCY,
    AllowUnmatched,
    AsJson,
    AskFlags,
    Backend,
    Cache,
    CacheSize,
    CaseFormat,
    ComparisonFlags,
    ComparisonTimeout,
    Concurrency,
    DbColumn,
    DenodoConfig,
    Encoding,
    GoldColumn,
    Limit,
    MaxMemory,
    MaxRows,
    Name,
    Overwrite,
    Password,
    Penalty,
    PriceIn,
    PriceOut,
    QuestionColumn,
    Quiet,
    Repeat,
    ReportFlags,
    Rescore,
    RunFolder,
    Sheet,
    Tags,
    Timeout,
    Token,
    User,
    VerifySsl,
    VesBudget,
    VesIterations,
    Workers,
)
from assay.cli.settings_file import at, with_file
from assay.cli.witness_options import WitnessFlags
from assay.errors import UsageError
from assay.model import FieldNames
from assay.model.suite import SUITE_MATCH
from assay.model.witness import AFTER_WITNESSES, WitnessSettings
from assay.settings import LintFileSettings, RunFileSettings

if TYPE_CHECKING:
    from assay.api.gates import GateKeeper
    from assay.api.inputs import FileOptions
    from assay.api.run import Run
    from assay.model.lint import LintOptions
    from assay.ports import System

_TIMING_ITERATIONS = 3
TIMING_EXTRA_S = 60.0


def run(  # one parameter an option
    cases: Annotated[
        Path, typer.Argument(metavar="CASES", help="The question set, or a YAML file with all settings of a run.")
    ],
    *,
    predictions: Annotated[
        Path | None,
        typer.Option("--predictions", "-p", metavar="FILE", help="The system's answers. Default: in CASES."),
    ] = None,
    system: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Ask a live system: denodo:URL, http:URL, chat:MODEL, command:…, python:MOD:FUNC."
        ),
    ] = None,
    db: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Of the database, or a template: 'sqlite:///dbs/{db_id}/{db_id}.sqlite'."),
    ] = None,
    gold_db: Annotated[
        str | None, typer.Option(metavar="URL", help="Of gold's queries, where they run on another database than --db.")
    ] = None,
    output: RunFolder = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Metrics, separated by commas. Default: all built-in ones.")
    ] = None,
    limit: Limit = None,
    comparing: ComparisonFlags,
    penalty: Penalty = None,
    timeout: Timeout = None,
    gold_timeout: Annotated[
        float | None, typer.Option(metavar="S", min=0.001, help="Per gold query, in place of --timeout.")
    ] = None,
    comparison_timeout: ComparisonTimeout = None,
    max_rows: MaxRows = None,
    max_memory: MaxMemory = None,
    workers: Workers = None,
    backend: Backend = None,
    cache: Cache = None,
    cache_size: CacheSize = None,
    suite: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Try the answers on a suite's small databases too: see  assay suite --help"),
    ] = None,
    name: Name = None,
    tag: Tags = None,
    overwrite: Overwrite = False,
    allow_unmatched: AllowUnmatched = False,
    case_format: CaseFormat = None,
    prediction_format: Annotated[str | None, typer.Option(metavar="NAME", help="Format of the predictions.")] = None,
    id_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of the ids, in both files ('@position': row numbers).")
    ] = None,
    question_column: QuestionColumn = None,
    gold_column: GoldColumn = None,
    db_column: DbColumn = None,
    difficulty_column: Annotated[str | None, typer.Option(metavar="NAME", help="Column of the difficulty.")] = None,
    prediction_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of the predicted queries, or a path as 'a.b[0].sql'.")
    ] = None,
    answerable_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column that says whether a question has an answer.")
    ] = None,
    decision_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the predictions: answers, declines or asks back.")
    ] = None,
    confidence_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the predictions: how sure the system is, from 0 to 1.")
    ] = None,
    prediction_id_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="The predictions' ids, if named otherwise than --id-column.")
    ] = None,
    ignore_questions: Annotated[
        bool, typer.Option("--ignore-questions", help="Accept answers that repeat another question than their case's.")
    ] = False,
    extract: Annotated[
        bool,
        typer.Option(
            "--extract/--no-extract", help="Evaluate the one statement in a prediction with words besides it."
        ),
    ] = True,
    sheet: Sheet = None,
    prediction_sheet: Annotated[str | None, typer.Option(metavar="NAME", help="Of the predictions' workbook.")] = None,
    encoding: Encoding = None,
    prediction_encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the predictions, where they are not UTF-8.")
    ] = None,
    concurrency: Concurrency = None,
    repeat: Repeat = None,
    user: User = None,
    password: Password = None,
    token: Token = None,
    asking: AskFlags,
    verify_ssl: VerifySsl = True,
    body: Annotated[
        str | None, typer.Option(metavar="JSON", help="http: the request, with {question}, {context}, {database}.")
    ] = None,
    query_path: Annotated[
        str | None, typer.Option(metavar="PATH", help="http: where the query stands, such as data.sql.")
    ] = None,
    tokens_path: Annotated[str | None, typer.Option(metavar="PATH", help="http: where the tokens stand.")] = None,
    times_path: Annotated[str | None, typer.Option(metavar="PATH", help="http: where the times stand.")] = None,
    decision_path: Annotated[
        str | None, typer.Option(metavar="PATH", help="http: where it says whether it answers, declines or asks back.")
    ] = None,
    confidence_path: Annotated[
        str | None, typer.Option(metavar="PATH", help="http: where it says how sure it is, from 0 to 1.")
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="chat: ddl, ddl-or-null, llmsql-0, -1, -5 or a file. [default: ddl]"),
    ] = None,
    query_tool: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="chat: the tool that executes queries. Default: named as run_sql or query."),
    ] = None,
    show_prompt: Annotated[
        bool, typer.Option("--show-prompt", help="chat: print the first case's prompt, and ask nothing.")
    ] = False,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    config: DenodoConfig = None,
    ves_iterations: VesIterations = None,
    ves_budget: VesBudget = None,
    rescore: Rescore = False,
    lint: Annotated[
        bool, typer.Option("--lint", help="Also show what is doubtful about the gold itself, beside the verdicts.")
    ] = False,
    witnesses: WitnessFlags,
    reports: ReportFlags,
    gates: GateFlags,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Judge a system's answers, from a file or live, against a question set on real databases.

    Example:  assay run dev.jsonl --predictions predictions.jsonl --db 'sqlite:///dbs/{db_id}.sqlite' -o runs/first

    A live system:  assay run dev.jsonl --system 'command:./ask.sh' --db sqlite:///shop.sqlite -o runs/live

    All of it in one file:  assay run eval.yaml
    """
    flags = RunFileSettings(
        cases=str(cases),
        predictions=None if predictions is None else str(predictions),
        system=system,
        concurrency=concurrency,
        repeat=repeat,
        timing_iterations=ves_iterations,
        timing_budget_s=ves_budget,
        db=db,
        gold_db=gold_db,
        output=None if output is None else str(output),
        metrics=None if metrics is None else tuple(one.strip() for one in metrics.split(",") if one.strip()),
        limit=limit,
        **comparing.given(),
        penalties=tuple(penalty) if penalty else None,
        timeout_s=timeout,
        gold_timeout_s=gold_timeout,
        comparison_timeout_s=comparison_timeout,
        max_rows=max_rows,
        max_memory_mib=max_memory,
        workers=workers,
        backend=backend,
        cache=None if cache is None else str(cache),
        cache_size_mib=cache_size,
        suite=None if suite is None else str(suite),
        name=name,
        tags=tuple(tag) if tag else None,
        allow_unmatched=allow_unmatched or None,
        case_format=case_format,
        prediction_format=prediction_format,
        case_fields=FieldNames(
            id=id_column,
            question=question_column,
            gold=gold_column,
            database=db_column,
            difficulty=difficulty_column,
            answerable=answerable_column,
            sheet=sheet,
            encoding=encoding,
        ),
        prediction_fields=FieldNames(
            id=prediction_id_column,
            prediction=prediction_column,
            decision=decision_column,
            confidence=confidence_column,
            sheet=prediction_sheet,
            encoding=prediction_encoding,
        ),
        ignore_questions=ignore_questions or None,
        extract=None if extract else False,
        baseline=gates.baseline,
    )
    settings = with_file(cases, flags, needs_database=True)
    targets = reports.targets()
    witness = witnesses.gathered(settings.witness)
    from assay import registry
    from assay.api.gates import keeper_of
    from assay.cli.access import Access

    # Before asking for a password, and long before asking a model.
    with nullcontext() if gates.any_given or settings.gates is None else at(cases, "gates"):
        keeper = keeper_of(
            gates.gathered(settings.gates),
            _with_added(settings.metrics or registry.default_metrics(), witness, suite=settings.suite),
            baseline=settings.baseline,
            output=settings.output,
            advice="; --metrics adds to them, and --witness match_after_witnesses",
        )
    access = Access.gathered(user=user, password=password, token=token, needed=_needs_access(settings))
    if settings.db is not None and settings.db.startswith("denodo+http"):
        settings = replace(settings, db=access.denodo_database(settings.db, config))
    if settings.gold_db is not None and settings.gold_db.startswith("denodo+http"):
        settings = replace(settings, gold_db=access.denodo_database(settings.gold_db, config))
    opened = None
    if settings.system is not None:
        opened = registry.open_system(
            settings.system,
            replace(
                access.system_options(asking, verify_ssl=verify_ssl, headers=settings.headers),
                body_template=body,
                query_path=query_path,
                tokens_path=tokens_path,
                times_path=times_path,
                decision_path=decision_path,
                confidence_path=confidence_path,
                prompt=prompt,
                query_tool=query_tool,
                price_in=price_in,
                price_out=price_out,
            ),
        )
    if show_prompt:
        _print_prompt(settings, opened)
        return
    run_settings(
        settings,
        system=opened,
        overwrite=overwrite,
        rescore=rescore,
        as_json=as_json,
        quiet=quiet,
        reports=targets,
        keeper=keeper,
        lint=lint,
        witness=witness,
        scratch=witnesses.server(settings.witness),
    )


def _with_added(metrics: Sequence[str], witness: WitnessSettings | None, *, suite: str | None) -> Sequence[str]:
    """The metrics of the run, for its gates: with those that come of themselves with witnesses and a suite."""
    added = ((AFTER_WITNESSES, witness is not None), (SUITE_MATCH, suite is not None))
    return (*metrics, *(name for name, there in added if there and name not in metrics))


def _print_prompt(settings: RunFileSettings, system: System | None) -> None:
    """Print the prompt for the first case."""
    from assay.api.database_schemas import prompt_of

    if system is None or settings.cases is None or settings.db is None:
        raise UsageError("--show-prompt needs --system chat:… and --db: the prompt shows the database")
    try:
        text = prompt_of(settings.cases, system, databases=settings.db, files=_files(settings))
    finally:
        system.close()
    typer.echo(text)


def _needs_access(settings: RunFileSettings) -> bool:
    """Whether credentials may be needed: otherwise no password is asked for."""
    databases = (settings.db or "", settings.gold_db or "")
    return settings.system is not None or any(one.startswith("denodo+") for one in databases)


def run_settings(
    settings: RunFileSettings,
    *,
    system: System | None = None,
    overwrite: bool = False,
    rescore: bool = False,
    as_json: bool,
    quiet: bool,
    reports: Mapping[str, Path | None],
    keeper: GateKeeper | None = None,
    timing_extra_s: float = TIMING_EXTRA_S,
    lint: bool = False,
    witness: WitnessSettings | None = None,
    scratch: str | None = None,
    difficulty_names: tuple[tuple[str, str], ...] = (),
) -> None:
    """Evaluate what the settings say, and show it. Ends with status 1 where a gate is missed."""
    from assay.api.evaluation import evaluate
    from assay.cli.output import finish, keeping, printed_report, tell_cache_use
    from assay.cli.progress import progress

    printed_report(reports, as_json=as_json)
    answers = system if system is not None else settings.predictions
    if system is not None and settings.predictions is not None:
        raise UsageError("--predictions and --system were both given: the answers come from a file or are asked for")
    if settings.cases is None or settings.db is None:
        raise UsageError("--db must be given: see  assay run --help")
    if settings.columns not in (None, "any", "strict"):
        raise UsageError(f"--columns is {settings.columns!r}: write 'any' or 'strict'")
    folder = None if settings.output is None else Path(settings.output)
    try:
        with keeping(folder), progress(quiet=quiet) as on_progress:
            done = evaluate(
                settings.cases,
                answers,
                databases=settings.db,
                gold_databases=settings.gold_db,
                metrics=settings.metrics,
                limits=settings.limits(),
                columns="strict" if settings.columns == "strict" else "any",
                leniency=settings.leniency(),
                **settings.tolerances(),
                penalties=settings.penalties or (),
                workers=settings.workers,
                backend=settings.backend,
                cache=settings.cache,
                cache_bytes=settings.cache_bytes(),
                suite=settings.suite,
                output=folder,
                overwrite=overwrite,
                rescore=rescore,
                concurrency=settings.concurrency or CONCURRENCY,
                repeats=1 if settings.repeat is None else settings.repeat,
                timing_iterations=settings.timing_iterations or _TIMING_ITERATIONS,
                timing_budget_s=settings.timing_budget_s,
                timing_extra_s=timing_extra_s,
                name=settings.name,
                tags=settings.tags or (),
                files=_files(settings, difficulty_names),
                allow_unmatched=bool(settings.allow_unmatched),
                extract=settings.extract is not False,
                lint=_lint_options(settings, wanted=lint),
                witness=False if witness is None else witness,
                scratch=scratch,
                on_cases=None if keeper is None else keeper.check_cases,
                on_progress=on_progress,
            )
    finally:
        if system is not None:
            system.close()
    _tell_untimed(done)
    _tell_unsearched(done, asked=witness is not None)
    tell_cache_use(done)
    advice = "--html FILE writes every case"
    finish(done, keeper=keeper, reports=reports, as_json=as_json, folder=folder, advice=advice, quiet=quiet)


def _lint_options(settings: RunFileSettings, *, wanted: bool) -> LintOptions | bool:
    """Which rules look at the golds of the run, by the settings' own choice; False: none."""
    own = settings.lint or LintFileSettings()
    if not (wanted or own.with_run):
        return False
    from assay.api.linting import lint_options

    return lint_options(only=own.only, ignore=own.ignore)


def _tell_untimed(done: Run) -> None:
    """Say on standard error how many pairs the timing budget did not reach."""
    from assay.runs.timing import BUDGET_SPENT

    cases = done.record.summaries if any(info.timed for info in done.record.settings.metric_infos) else ()
    untimed = sum(any(score.failure == BUDGET_SPENT for score in case.scores) for case in cases)
    if untimed:
        pairs = "1 right answer was" if untimed == 1 else f"{untimed} right answers were"
        advice = "the same command goes on with them, and a longer budget comes further"
        typer.echo(f"{pairs} not timed within --ves-budget: {advice}", err=True)


def _tell_unsearched(done: Run, *, asked: bool) -> None:
    """Say on standard error how many matches the budget for witnesses did not reach."""
    totals = done.record.aggregates.witnesses
    left = 0 if totals is None else totals.matches - totals.searched
    if asked and left:
        were = "1 match was" if left == 1 else f"{left:,} matches were"
        typer.echo(f"{were} not tried on other databases within --witness-total: the same command goes on", err=True)


def _files(settings: RunFileSettings, difficulty_names: tuple[tuple[str, str], ...] = ()) -> FileOptions:
    from assay.api.inputs import FileOptions

    return FileOptions(
        case_format=settings.case_format,
        prediction_format=settings.prediction_format,
        case_fields=settings.case_fields,
        prediction_fields=settings.prediction_fields,
        limit=settings.limit,
        ignore_questions=bool(settings.ignore_questions),
        difficulty_names=difficulty_names,
    )
