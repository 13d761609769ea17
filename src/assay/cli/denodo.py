"""`assay denodo`: the Denodo AI SDK evaluator's job, by its own flags."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
from assay.cli.inputs import EncodingOption, SheetOption
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
    input: Annotated[
        Path, typer.Option("--input", metavar="X.xlsx", help="The questions: Question, Solution, difficulty.")
    ],
    output: Annotated[Path, typer.Option("--output", metavar="R.xlsx", help="The workbook to write.")],
    api_url: Annotated[
        str, typer.Option("--api-url", metavar="URL", help="Of the AI SDK, to /answerDataQuestion or /answerQuestion.")
    ],
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Or ASSAY_USER.")] = None,
    password: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Better in ASSAY_PASSWORD, or asked for.", show_default=False)
    ] = None,
    token: Annotated[
        str | None, typer.Option(metavar="TEXT", help="OAuth. Better in ASSAY_TOKEN.", show_default=False)
    ] = None,
    question_rows: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Only the first so many questions.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="project_config.env. The environment and flags weigh more.")
    ] = None,
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
    concurrency: Annotated[int, typer.Option(metavar="N", min=1, help="Questions asked at once.")] = 4,
    repeat: Annotated[int, typer.Option(metavar="N", min=1, help="Ask each question N times.")] = 1,
    param: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A field of each request, as vdp_database_names=bank; repeatable."),
    ] = None,
    ask_timeout: Annotated[float, typer.Option(metavar="SECONDS", min=0.01, help="For each question.")] = 120.0,
    retries: Annotated[int, typer.Option(metavar="N", min=0, help="After trouble that may pass.")] = 3,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", min=0.01, help="For each query.")] = 30.0,
    judge_timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0.01, help="For comparing two results, and for each metric. [default: 60]"),
    ] = None,
    max_rows: Annotated[int | None, typer.Option(metavar="N", min=1, help="Rows of each result.")] = None,
    ves_iterations: Annotated[int, typer.Option(metavar="N", min=1, help="Executions of each pair for VES.")] = 3,
    id_column: Annotated[str | None, typer.Option(metavar="NAME", help="[default: the row number]")] = None,
    question_column: Annotated[str | None, typer.Option(metavar="NAME", help="[default: Question]")] = None,
    gold_column: Annotated[str | None, typer.Option(metavar="NAME", help="[default: Solution]")] = None,
    difficulty_column: Annotated[str | None, typer.Option(metavar="NAME", help="[default: difficulty]")] = None,
    context_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Additional context, sent as custom_instructions.")
    ] = None,
    sheet: SheetOption = None,
    encoding: EncodingOption = None,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="A name for the run.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="A label for the run, as model=gpt-4.1; repeatable.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Forget an earlier run: ask all again.")] = False,
    rescore: Annotated[bool, typer.Option("--rescore", help="Judge the answers anew, without asking again.")] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML report too.")] = None,
    md: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a Markdown report too; - is standard output.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML too, for a CI server.")] = None,
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
    """Run a question set through a live Denodo AI SDK, execute both queries, and report in Excel.

    Example:  assay denodo --input sample_input.xlsx --output evaluation_results.xlsx
    --api-url http://host:8008/answerDataQuestion --user U --question-rows 5

    Interrupted or killed, the same command goes on: no question is asked twice.
    """
    from assay import registry
    from assay.api.gates import keeper_of
    from assay.cli.access import Access
    from assay.cli.run import run_settings

    folder = run or output.with_suffix(".run")
    gates = gathered(
        minimum=minimum,
        min_accuracy=min_accuracy,
        max_drop=max_drop,
        fail_on_regression=fail_on_regression,
        alpha=alpha,
        must_pass=must_pass,
    )
    keeper = keeper_of(gates, METRICS, baseline=baseline, output=folder)
    access = Access.gathered(user=user, password=password, token=token, needed=True)
    database = access.denodo_database(
        None if catalog_url is None else f"denodo+{catalog_url}",
        config,
        execution_url=execution_url,
        server_id=server_id,
        verify_ssl=verify_ssl,
    )
    options = access.system_options(
        timeout_s=ask_timeout, retries=retries, params=param or (), verify_ssl=verify_ssl is not False
    )
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
        reports={"xlsx": output, "html": html, "md": md, "junit": junit},
        keeper=keeper,
    )
