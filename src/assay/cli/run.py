"""`assay run`: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.errors import InputError, Interrupted, UsageError
from assay.model import Limits
from assay.ports import FieldNames
from assay.settings import RunFileSettings, is_run_file, read_run_file

_MEBIBYTE = 1024 * 1024


def run(  # one parameter an option
    cases: Annotated[Path, typer.Argument(help="The question set, or a YAML file with all settings of a run.")],
    predictions: Annotated[
        Path | None, typer.Option("--predictions", "-p", help="The system's answers, a file.", show_default=False)
    ] = None,
    db: Annotated[
        str | None,
        typer.Option(help="Database URL, or a template with {db_id}: 'sqlite:///dbs/{db_id}/{db_id}.sqlite'."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="RUN", help="Folder for the run; resumes what is there.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Metrics, separated by commas. Default: all built-in ones.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Judge only the first so many cases.")] = None,
    columns: Annotated[str | None, typer.Option(help="'any' column order, or 'strict': gold's.")] = None,
    timeout: Annotated[float | None, typer.Option(min=0.01, help="Seconds for each query. [default: 30]")] = None,
    max_rows: Annotated[int | None, typer.Option(min=1, help="Rows of each result. [default: 1000000]")] = None,
    max_memory: Annotated[
        int | None, typer.Option(min=16, help="MiB that the engine may use for a query. [default: 2048]")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes. Default: one a core, at most 8.")] = None,
    name: Annotated[str | None, typer.Option(help="A name for the run.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Forget an earlier run in the folder.")] = False,
    allow_unmatched: Annotated[
        bool, typer.Option("--allow-unmatched", help="Accept predictions that fit no case.")
    ] = False,
    case_format: Annotated[
        str | None, typer.Option(help="Format of the question set, if not told by its name.")
    ] = None,
    prediction_format: Annotated[str | None, typer.Option(help="Format of the predictions.")] = None,
    id_column: Annotated[str | None, typer.Option(help="Column of the ids ('@position': row numbers).")] = None,
    question_column: Annotated[str | None, typer.Option(help="Column of the questions.")] = None,
    gold_column: Annotated[str | None, typer.Option(help="Column of the gold queries.")] = None,
    db_column: Annotated[str | None, typer.Option(help="Column of the databases' names.")] = None,
    difficulty_column: Annotated[str | None, typer.Option(help="Column of the difficulty.")] = None,
    prediction_column: Annotated[str | None, typer.Option(help="Column of the predicted queries.")] = None,
    prediction_id_column: Annotated[str | None, typer.Option(help="Column of the predictions' ids.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write an HTML report too.")] = None,
    md: Annotated[Path | None, typer.Option(help="Write a Markdown report too.")] = None,
    xlsx: Annotated[Path | None, typer.Option(help="Write an Excel workbook too.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON on standard output.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Judge a file of predictions against a question set on real databases.

    Example:  assay run dev.jsonl --predictions predictions.jsonl --db 'sqlite:///dbs/{db_id}.sqlite' -o runs/first

    All of it in one file:  assay run eval.yaml
    """
    flags = RunFileSettings(
        cases=str(cases),
        predictions=None if predictions is None else str(predictions),
        db=db,
        output=None if output is None else str(output),
        metrics=None if metrics is None else tuple(one.strip() for one in metrics.split(",") if one.strip()),
        limit=limit,
        columns=columns,
        timeout_s=timeout,
        max_rows=max_rows,
        max_memory_mib=max_memory,
        workers=workers,
        name=name,
        allow_unmatched=allow_unmatched or None,
        case_format=case_format,
        prediction_format=prediction_format,
        case_fields=FieldNames(
            id=id_column,
            question=question_column,
            gold=gold_column,
            database=db_column,
            difficulty=difficulty_column,
        ),
        prediction_fields=FieldNames(id=prediction_id_column, prediction=prediction_column),
    )
    settings = read_run_file(cases).overlaid(flags) if is_run_file(cases) else flags
    run_settings(settings, overwrite=overwrite, as_json=as_json, quiet=quiet, html=html, md=md, xlsx=xlsx)


def run_settings(
    settings: RunFileSettings,
    *,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    html: Path | None,
    md: Path | None,
    xlsx: Path | None = None,
) -> None:
    """Evaluate what the settings say, and show it."""
    from assay.api import FileOptions, evaluate
    from assay.cli.output import show, write_reports
    from assay.cli.progress import progress

    if settings.cases is None or settings.predictions is None or settings.db is None:
        missing = [
            option
            for option, value in (("--predictions", settings.predictions), ("--db", settings.db))
            if value is None
        ]
        raise UsageError(f"{' and '.join(missing)} must be given: see  assay run --help")
    if settings.columns not in (None, "any", "strict"):
        raise UsageError(f"--columns is {settings.columns!r}: write 'any' or 'strict'")
    folder = None if settings.output is None else Path(settings.output)
    try:
        with progress(quiet=quiet) as on_progress:
            done = evaluate(
                settings.cases,
                settings.predictions,
                databases=settings.db,
                metrics=settings.metrics,
                limits=_limits(settings),
                columns="strict" if settings.columns == "strict" else "any",
                workers=settings.workers,
                output=folder,
                overwrite=overwrite,
                name=settings.name,
                files=FileOptions(
                    case_format=settings.case_format,
                    prediction_format=settings.prediction_format,
                    case_fields=settings.case_fields,
                    prediction_fields=settings.prediction_fields,
                    limit=settings.limit,
                ),
                allow_unmatched=bool(settings.allow_unmatched),
                on_progress=on_progress,
            )
    except KeyboardInterrupt:
        if folder is None:
            raise Interrupted("interrupted; nothing was kept, since no folder was given (-o RUN)") from None
        raise Interrupted(f"interrupted; the same command goes on from where {folder} stands") from None
    except OSError as error:
        raise InputError(f"{error.filename or folder}: {error.strerror or error}") from error
    show(done, as_json=as_json, folder=folder)
    write_reports(done, [("html", html), ("md", md), ("xlsx", xlsx)])


def _limits(settings: RunFileSettings) -> Limits:
    default = Limits()
    memory = settings.max_memory_mib
    return Limits(
        timeout_s=default.timeout_s if settings.timeout_s is None else settings.timeout_s,
        max_rows=default.max_rows if settings.max_rows is None else settings.max_rows,
        max_memory_bytes=default.max_memory_bytes if memory is None else memory * _MEBIBYTE,
    )
