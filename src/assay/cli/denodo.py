"""`assay denodo`: the Denodo AI SDK evaluator's job, by its own flags."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.gate_options import GateFlags
from assay.cli.options import (
    AsJson,
    AskFlags,
    Concurrency,
    DenodoConfig,
    Encoding,
    Html,
    JudgeTimeout,
    Junit,
    Markdown,
    MaxRows,
    Name,
    Overwrite,
    Password,
    Quiet,
    Repeat,
    Rescore,
    Sheet,
    Tags,
    Timeout,
    To,
    Token,
    User,
    VesIterations,
    with_named,
)
from assay.model import FieldNames
from assay.settings import RunFileSettings

METRICS = (
    "match",
    "results_match",
    "same_row_count",
    "percent_subset",
    "percent_overlap",
    "bird_soft_f1",
    "ves",
    "non_empty_match",
    "bird_ex",
)


def denodo(  # one parameter an option
    *,
    input: Annotated[
        Path, typer.Option("--input", metavar="X.xlsx", help="The questions: Question, Solution, difficulty.")
    ],
    output: Annotated[Path, typer.Option("--output", metavar="R.xlsx", help="The workbook to write.")],
    api_url: Annotated[
        str, typer.Option("--api-url", metavar="URL", help="Of the AI SDK, to /answerDataQuestion or /answerQuestion.")
    ],
    user: User = None,
    password: Password = None,
    token: Token = None,
    question_rows: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Only the first so many questions.")
    ] = None,
    config: DenodoConfig = None,
    catalog_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Of the Data Catalog. [config: DATA_CATALOG_URL]")
    ] = None,
    execution_url: Annotated[
        str | None, typer.Option(metavar="URL", help="[config: DATA_CATALOG_EXECUTION_URL]")
    ] = None,
    server_id: Annotated[int | None, typer.Option(metavar="N", help="[config: DATA_CATALOG_SERVER_ID]")] = None,
    verify_ssl: Annotated[
        bool | None, typer.Option("--verify-ssl/--no-verify-ssl", help="[config: DATA_CATALOG_VERIFY_SSL]")
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option("--run", metavar="RUN", help="Folder for the run, to resume. [default: beside the workbook]"),
    ] = None,
    concurrency: Concurrency = None,
    repeat: Repeat = None,
    asking: AskFlags,
    timeout: Timeout = None,
    judge_timeout: JudgeTimeout = None,
    max_rows: MaxRows = None,
    ves_iterations: VesIterations = None,
    id_column: Annotated[str | None, typer.Option(metavar="NAME", help="[default: the row number]")] = None,
    question_column: Annotated[str | None, typer.Option(metavar="NAME", help="[default: Question]")] = None,
    gold_column: Annotated[str | None, typer.Option(metavar="NAME", help="[default: Solution]")] = None,
    difficulty_column: Annotated[str | None, typer.Option(metavar="NAME", help="[default: difficulty]")] = None,
    context_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Additional context, sent as custom_instructions.")
    ] = None,
    sheet: Sheet = None,
    encoding: Encoding = None,
    name: Name = None,
    tag: Tags = None,
    overwrite: Overwrite = False,
    rescore: Rescore = False,
    html: Html = None,
    md: Markdown = None,
    junit: Junit = None,
    to: To = None,
    gates: GateFlags,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run a question set through a live Denodo AI SDK, execute both queries, and report in Excel.

    Example:  assay denodo --input sample_input.xlsx --output evaluation_results.xlsx
    --api-url http://host:8008/answerDataQuestion --user U --question-rows 5

    Interrupted or killed, the same command goes on: no question is asked twice.
    """
    from assay import registry
    from assay.api.gates import keeper_of
    from assay.cli.access import Access
    from assay.cli.run import run_settings

    targets = with_named({"xlsx": output, "html": html, "md": md, "junit": junit}, to)
    folder = run or output.with_suffix(".run")
    keeper = keeper_of(gates.gathered(), METRICS, baseline=gates.baseline, output=folder)
    access = Access.gathered(user=user, password=password, token=token, needed=True)
    database = access.denodo_database(
        None if catalog_url is None else f"denodo+{catalog_url}",
        config,
        execution_url=execution_url,
        server_id=server_id,
        verify_ssl=verify_ssl,
    )
    options = access.system_options(asking, verify_ssl=verify_ssl is not False)
    settings = RunFileSettings(
        cases=str(input),
        db=database,
        output=str(folder),
        metrics=METRICS,
        limit=question_rows,
        timeout_s=timeout,
        judge_timeout_s=judge_timeout,
        max_rows=max_rows,
        concurrency=concurrency,
        repeat=repeat,
        timing_iterations=ves_iterations,
        name=name,
        tags=tuple(tag) if tag else None,
        case_fields=FieldNames(
            id=id_column,
            question=question_column,
            gold=gold_column,
            difficulty=difficulty_column,
            context=context_column,
            sheet=sheet,
            encoding=encoding,
        ),
    )
    run_settings(
        settings,
        system=registry.open_system(f"denodo:{api_url}", options),
        overwrite=overwrite,
        rescore=rescore,
        as_json=as_json,
        quiet=quiet,
        reports=targets,
        keeper=keeper,
    )
