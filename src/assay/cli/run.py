"""`assay run`: the main job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.gate_options import (
    AlphaOption,
    BaselineOption,
    FailOnRegressionOption,
    MaxDropOption,
    MinAccuracyOption,
    MinOption,
    MustPassOption,
    gathered,
)
from assay.cli.inputs import EncodingOption, SheetOption, ToOption, VesBudgetOption
from assay.errors import UsageError
from assay.model import FieldNames
from assay.settings import RunFileSettings, is_run_file, read_run_file

if TYPE_CHECKING:
    from assay.api import FileOptions, Run
    from assay.api.gates import GateKeeper
    from assay.ports import System

_CONCURRENCY = 4
_TIMING_ITERATIONS = 3
TIMING_EXTRA_S = 60.0


def run(  # one parameter an option
    cases: Annotated[
        Path, typer.Argument(metavar="CASES", help="The question set, or a YAML file with all settings of a run.")
    ],
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
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="RUN", help="Folder for the run; resumes what is there.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Metrics, separated by commas. Default: all built-in ones.")
    ] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Judge only the first so many cases.")] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="ORDER", help="'any' column order, or 'strict': gold's.")
    ] = None,
    relative_tolerance: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="How far floats may differ, of the larger, below 1. [default: 1e-12]"),
    ] = None,
    absolute_tolerance: Annotated[
        float | None, typer.Option(metavar="SIZE", help="Floats this near to 0 are all 0. [default: 1e-12]")
    ] = None,
    extra_columns: Annotated[
        str | None, typer.Option(metavar="RULE", help="'allowed': more columns than gold's are no mistake.")
    ] = None,
    duplicates: Annotated[
        str | None, typer.Option(metavar="RULE", help="'ignored': how often a row occurs does not count.")
    ] = None,
    letter_case: Annotated[
        str | None, typer.Option("--case", metavar="RULE", help="'ignored': upper and lower case are alike.")
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(metavar="SHARE", min=0, help="Floats that differ by less are no mistake, as 1e-6.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0.01, help="For each query. [default: 30]")
    ] = None,
    judge_timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0.01, help="For comparing two results, and for each metric. [default: 60]"),
    ] = None,
    max_rows: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Rows of each result. [default: 1000000]")
    ] = None,
    max_memory: Annotated[
        int | None,
        typer.Option(metavar="MIB", min=16, help="Memory that the engine may use for a query. [default: 2048]"),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Processes. Default: one a core, at most 8.")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="A name for the run.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="A label for the run, as model=gpt-4.1; repeatable.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Forget an earlier run in the folder.")] = False,
    allow_unmatched: Annotated[
        bool, typer.Option("--allow-unmatched", help="Accept predictions that fit no case.")
    ] = False,
    case_format: Annotated[
        str | None, typer.Option(metavar="NAME", help="Format of the question set, if not told by its name.")
    ] = None,
    prediction_format: Annotated[str | None, typer.Option(metavar="NAME", help="Format of the predictions.")] = None,
    id_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of the ids, in both files ('@position': row numbers).")
    ] = None,
    question_column: Annotated[str | None, typer.Option(metavar="NAME", help="Column of the questions.")] = None,
    gold_column: Annotated[str | None, typer.Option(metavar="NAME", help="Column of the gold queries.")] = None,
    db_column: Annotated[str | None, typer.Option(metavar="NAME", help="Column of the databases' names.")] = None,
    difficulty_column: Annotated[str | None, typer.Option(metavar="NAME", help="Column of the difficulty.")] = None,
    prediction_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of the predicted queries, or a path as 'a.b[0].sql'.")
    ] = None,
    prediction_id_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="The predictions' ids, if named otherwise than --id-column.")
    ] = None,
    ignore_questions: Annotated[
        bool, typer.Option("--ignore-questions", help="Accept answers that repeat another question than their case's.")
    ] = False,
    sheet: SheetOption = None,
    prediction_sheet: Annotated[str | None, typer.Option(metavar="NAME", help="Of the predictions' workbook.")] = None,
    encoding: EncodingOption = None,
    prediction_encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the predictions, where they are not UTF-8.")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Questions asked at once. [default: 4]")
    ] = None,
    repeat: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Ask each question N times, and say how steady it is.")
    ] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="For the live system. Or ASSAY_USER.")] = None,
    password: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Better in ASSAY_PASSWORD, or asked for.", show_default=False)
    ] = None,
    token: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Bearer token. Better in ASSAY_TOKEN.", show_default=False)
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="An extra field of each request; repeatable.")
    ] = None,
    ask_timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0.01, help="For each question. [default: 120]")
    ] = None,
    retries: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="After trouble that may pass. [default: 3]")
    ] = None,
    verify_ssl: Annotated[bool, typer.Option(help="Check the live system's certificate.")] = True,
    body: Annotated[
        str | None, typer.Option(metavar="JSON", help="http: the request, with {question}, {context}, {database}.")
    ] = None,
    query_path: Annotated[
        str | None, typer.Option(metavar="PATH", help="http: where the query stands, such as data.sql.")
    ] = None,
    tokens_path: Annotated[str | None, typer.Option(metavar="PATH", help="http: where the tokens stand.")] = None,
    times_path: Annotated[str | None, typer.Option(metavar="PATH", help="http: where the times stand.")] = None,
    prompt: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="chat: ddl, llmsql-0, llmsql-1, llmsql-5 or a file. [default: ddl]"),
    ] = None,
    show_prompt: Annotated[
        bool, typer.Option("--show-prompt", help="chat: print the first case's prompt, and ask nothing.")
    ] = False,
    price_in: Annotated[
        float | None, typer.Option(metavar="USD", min=0, help="chat: for a million tokens of input.")
    ] = None,
    price_out: Annotated[
        float | None, typer.Option(metavar="USD", min=0, help="chat: for a million tokens of output.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Denodo's project_config.env, for the database.")
    ] = None,
    ves_iterations: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Executions for the metrics ves, bird_rves. [default: 3]")
    ] = None,
    ves_budget: VesBudgetOption = None,
    rescore: Annotated[
        bool, typer.Option("--rescore", help="Judge the folder's answers anew, without asking again.")
    ] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML report too.")] = None,
    md: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a Markdown report too; - is standard output.")
    ] = None,
    xlsx: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an Excel workbook too.")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML too, for a CI server.")] = None,
    to: ToOption = None,
    minimum: MinOption = None,
    min_accuracy: MinAccuracyOption = None,
    max_drop: MaxDropOption = None,
    fail_on_regression: FailOnRegressionOption = False,
    alpha: AlphaOption = None,
    must_pass: MustPassOption = None,
    baseline: BaselineOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON on standard output.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
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
        output=None if output is None else str(output),
        metrics=None if metrics is None else tuple(one.strip() for one in metrics.split(",") if one.strip()),
        limit=limit,
        columns=columns,
        relative_tolerance=relative_tolerance,
        absolute_tolerance=absolute_tolerance,
        extra_columns=extra_columns,
        duplicates=duplicates,
        case=letter_case,
        tolerance=tolerance,
        timeout_s=timeout,
        judge_timeout_s=judge_timeout,
        max_rows=max_rows,
        max_memory_mib=max_memory,
        workers=workers,
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
            sheet=sheet,
            encoding=encoding,
        ),
        prediction_fields=FieldNames(
            id=prediction_id_column,
            prediction=prediction_column,
            sheet=prediction_sheet,
            encoding=prediction_encoding,
        ),
        ignore_questions=ignore_questions or None,
        baseline=baseline,
    )
    settings = read_run_file(cases).overlaid(flags) if is_run_file(cases) else flags
    from assay.cli.output import with_targets

    reports = with_targets({"html": html, "md": md, "xlsx": xlsx, "junit": junit}, to)
    from assay import registry
    from assay.api.gates import keeper_of
    from assay.cli.access import Access

    gates = gathered(
        minimum=minimum,
        min_accuracy=min_accuracy,
        max_drop=max_drop,
        fail_on_regression=fail_on_regression,
        alpha=alpha,
        must_pass=must_pass,
        file=settings.gates,
    )
    # Before a password is asked for, and long before a model is.
    keeper = keeper_of(
        gates,
        settings.metrics or registry.default_metrics(),
        baseline=settings.baseline,
        output=settings.output,
        advice="; --metrics adds to them",
    )
    access = Access.gathered(user=user, password=password, token=token, needed=_needs_access(settings))
    if settings.db is not None and settings.db.startswith("denodo+http"):
        settings = replace(settings, db=access.denodo_database(settings.db, config))
    opened = None
    if settings.system is not None:
        opened = registry.open_system(
            settings.system,
            access.system_options(
                timeout_s=ask_timeout,
                retries=retries,
                params=param or (),
                verify_ssl=verify_ssl,
                body_template=body,
                query_path=query_path,
                tokens_path=tokens_path,
                times_path=times_path,
                prompt=prompt,
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
        reports=reports,
        keeper=keeper,
    )


def _print_prompt(settings: RunFileSettings, system: System | None) -> None:
    """Print what the first case is asked with."""
    from assay.api.database_schemas import prompt_of

    if system is None or settings.cases is None or settings.db is None:
        raise UsageError("--show-prompt needs --system chat:… and --db: the prompt shows the database")
    try:
        text = prompt_of(settings.cases, system, databases=settings.db, files=_files(settings))
    finally:
        system.close()
    typer.echo(text)


def _needs_access(settings: RunFileSettings) -> bool:
    """Whether credentials may be wanted at all: else nobody is asked for a password."""
    return settings.system is not None or (settings.db or "").startswith("denodo+")


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
) -> None:
    """Evaluate what the settings say, and show it. Ends with status 1 where a gate is missed."""
    from assay.api import evaluate
    from assay.cli.output import finish, keeping, printed_report
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
                metrics=settings.metrics,
                limits=settings.limits(),
                columns="strict" if settings.columns == "strict" else "any",
                leniency=settings.leniency(),
                **settings.tolerances(),
                workers=settings.workers,
                output=folder,
                overwrite=overwrite,
                rescore=rescore,
                concurrency=settings.concurrency or _CONCURRENCY,
                repeats=1 if settings.repeat is None else settings.repeat,
                timing_iterations=settings.timing_iterations or _TIMING_ITERATIONS,
                timing_budget_s=settings.timing_budget_s,
                timing_extra_s=timing_extra_s,
                name=settings.name,
                tags=settings.tags or (),
                files=_files(settings),
                allow_unmatched=bool(settings.allow_unmatched),
                on_cases=None if keeper is None else keeper.check_cases,
                on_progress=on_progress,
            )
    finally:
        if system is not None:
            system.close()
    _tell_untimed(done)
    finish(done, keeper=keeper, reports=reports, as_json=as_json, folder=folder, advice="--html FILE writes every case")


def _tell_untimed(done: Run) -> None:
    """Say on standard error what the time for timing did not reach."""
    from assay.runs.timing import BUDGET_SPENT

    untimed = sum(any(score.failure == BUDGET_SPENT for score in item.scores) for item in done.record.evidence)
    if untimed:
        pairs = "1 right answer was" if untimed == 1 else f"{untimed} right answers were"
        typer.echo(f"{pairs} not timed within --ves-budget: the same command goes on with them", err=True)


def _files(settings: RunFileSettings) -> FileOptions:
    from assay.api import FileOptions

    return FileOptions(
        case_format=settings.case_format,
        prediction_format=settings.prediction_format,
        case_fields=settings.case_fields,
        prediction_fields=settings.prediction_fields,
        limit=settings.limit,
        ignore_questions=bool(settings.ignore_questions),
    )
