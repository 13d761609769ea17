"""`assay denodo`: the Denodo AI SDK evaluator's job, by its own flags."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from msgspec.structs import replace

from assay.cli.denodo_steps import DIFFICULTIES, WHOLE, check_step, merge_parts, metrics_of, targets_of, whole_of
from assay.cli.gate_options import GateFlags
from assay.cli.options import (
    AsJson,
    AskFlags,
    ComparisonTimeout,
    Encoding,
    Html,
    Junit,
    Markdown,
    MaxRows,
    Name,
    Overwrite,
    Password,
    Quiet,
    Repeat,
    Rescore,
    Tags,
    To,
    Token,
    User,
    VesBudget,
)
from assay.errors import UsageError
from assay.model import FieldNames, Secret
from assay.model.secret import masked_address
from assay.settings import RunFileSettings

if TYPE_CHECKING:
    from assay.cli.access import Access
    from assay.engines.denodo.config import DenodoConfig
    from assay.engines.denodo.port import DatabasePort

_MOST_DIGITS = 8
_API_URL = "http://127.0.0.1:8008/answerDataQuestion"
_DENODO_ROWS = 100
"""How many rows Denodo's own evaluator asks for."""

_Given = TypeVar("_Given")


def denodo(  # one parameter an option
    context: typer.Context,
    *,
    input: Annotated[
        Path | None,
        typer.Option("--input", "-i", metavar="X.xlsx", help="The questions: Question, Solution, difficulty."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="R.xlsx", help=f"The workbook to write. [default: {WHOLE}]"),
    ] = None,
    generated_column: Annotated[
        list[str] | None,
        typer.Option(
            "--generated-col",
            "--prediction-column",
            "-p",
            metavar="NAME",
            help="Column of generated queries in --input. Evaluates these queries and does not ask the AI SDK.",
        ),
    ] = None,
    merge: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            "--merge", metavar="F1.xlsx VES.xlsx", help="Merge an F1 part and a VES part into --output; run no query."
        ),
    ] = None,
    api_url: Annotated[
        str | None,
        typer.Option(
            "--api-url",
            metavar="URL",
            help=f"Of the AI SDK, to /answerDataQuestion or /answerQuestion. [default: {_API_URL}]",
        ),
    ] = None,
    user: User = None,
    password: Password = None,
    token: Token = None,
    api_username: Annotated[
        str | None, typer.Option(metavar="NAME", help="The AI SDK's own user, where it is another than --user.")
    ] = None,
    api_password: Annotated[str | None, typer.Option(metavar="TEXT", help="Its password.", show_default=False)] = None,
    question_rows: Annotated[
        list[int] | None,
        typer.Option(
            "--question-rows", "--question_rows", metavar="N", min=1, help="Only the first so many questions."
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The environment and flags weigh more. [default: project_config.env, where it is in the folder]",
        ),
    ] = None,
    catalog_url: Annotated[
        list[str] | None,
        typer.Option(
            "--catalog-url", "--data-catalog-url", metavar="URL", help="Of the Data Catalog. [config: DATA_CATALOG_URL]"
        ),
    ] = None,
    execution_url: Annotated[
        list[str] | None,
        typer.Option(
            "--execution-url",
            "--data-catalog-execution-url",
            metavar="URL",
            help="[config: DATA_CATALOG_EXECUTION_URL]",
        ),
    ] = None,
    server_id: Annotated[
        list[int] | None,
        typer.Option("--server-id", "--data-catalog-server-id", metavar="N", help="[config: DATA_CATALOG_SERVER_ID]"),
    ] = None,
    verify_ssl: Annotated[
        bool | None, typer.Option("--verify-ssl/--no-verify-ssl", help="[config: DATA_CATALOG_VERIFY_SSL]")
    ] = None,
    data_catalog_verify_ssl: Annotated[
        str | None, typer.Option(metavar="1|0", help="The same, as Denodo's own evaluator has it.")
    ] = None,
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="Of Denodo's database port, where no Data Catalog is named.")
    ] = None,
    port: Annotated[int | None, typer.Option(metavar="N", min=1, max=65535, help="[default: 9996]")] = None,
    database: Annotated[str | None, typer.Option(metavar="NAME", help="At that port.")] = None,
    db_config: Annotated[
        Path | None,
        typer.Option("--db-config", "-d", metavar="FILE", help="JSON: user, password, host, port, databaseName."),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option("--run", metavar="RUN", help="Folder for the run, to resume. [default: beside the workbook]"),
    ] = None,
    concurrency: Annotated[
        list[int] | None,
        typer.Option(
            "--concurrency", "--max-workers", metavar="N", min=1, help="Questions asked at once. [default: 4]"
        ),
    ] = None,
    workers: Annotated[
        list[int] | None,
        typer.Option(
            "--workers", "--num-cpus", metavar="N", min=1, help="Queries executed at once. [default: cores, at most 8]"
        ),
    ] = None,
    repeat: Repeat = None,
    asking: AskFlags,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", "-t", metavar="SECONDS", min=0.01, help="For each query. [default: 30]"),
    ] = None,
    comparison_timeout: ComparisonTimeout = None,
    max_rows: MaxRows = None,
    ves: Annotated[bool, typer.Option("--ves/--no-ves", help="Whether to time the right answers.")] = True,
    ves_iterations: Annotated[
        list[int] | None,
        typer.Option(
            "--ves-iterations",
            "--iterate-num",
            metavar="N",
            min=1,
            help="Executions of each pair for VES, at least. [default: 3]",
        ),
    ] = None,
    ves_budget: VesBudget = None,
    as_denodo: Annotated[
        bool,
        typer.Option("--as-denodo", help="Numbers by the definitions of Denodo's own workbook, to compare with one."),
    ] = False,
    id_column: Annotated[str | None, typer.Option(metavar="NAME", help="[default: the row number]")] = None,
    question_column: Annotated[str | None, typer.Option(metavar="NAME", help="[default: Question]")] = None,
    gold_column: Annotated[
        list[str] | None,
        typer.Option(
            "--gold-column",
            "--expected-column",
            "--ground-truth-col",
            "-g",
            metavar="NAME",
            help="[default: Solution]",
        ),
    ] = None,
    difficulty_column: Annotated[
        list[str] | None,
        typer.Option("--difficulty-column", "--difficulty-col", "-c", metavar="NAME", help="[default: difficulty]"),
    ] = None,
    context_column: Annotated[
        list[str] | None,
        typer.Option(
            "--context-column",
            "--evidence-column",
            metavar="NAME",
            help="Additional context, sent as custom_instructions.",
        ),
    ] = None,
    sheet: Annotated[
        list[str] | None,
        typer.Option(
            "--sheet",
            "--sheet_name",
            metavar="NAME",
            help="Of the workbook, or its number from 0. [default: the only one with the columns]",
        ),
    ] = None,
    header_row: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="Row of the sheet that names the columns, from 0; also --header N. [default: the first with them]",
        ),
    ] = None,
    encoding: Encoding = None,
    name: Name = None,
    tag: Tags = None,
    overwrite: Overwrite = False,
    rescore: Rescore = False,
    html: Html = None,
    md: Markdown = None,
    junit: Junit = None,
    to: To = None,
    f1_output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Workbook of the F1 part. With --generated-col, --output is not needed."),
    ] = None,
    ves_output: Annotated[Path | None, typer.Option(metavar="FILE", help="Workbook of the VES part, likewise.")] = None,
    output_original: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the answers as a workbook too.")
    ] = None,
    gates: GateFlags,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run a question set through a live Denodo AI SDK, execute both queries, and report in Excel.

    Example:  assay denodo --input sample_input.xlsx --output evaluation_results.xlsx
    --api-url http://host:8008/answerDataQuestion --user U --question-rows 5

    Evaluate the queries that a workbook holds:  assay denodo --input generated.xlsx --generated-col "VQL Generated"
    --user U --f1-output f1.xlsx

    Interrupted or killed, the same command goes on: no question is asked twice.
    """
    from assay import registry
    from assay.api.gates import keeper_of
    from assay.cli.access import Access
    from assay.cli.run import TIMING_EXTRA_S, run_settings
    from assay.engines.denodo.port import read_database_port

    generated = once(generated_column, "--generated-col", "--prediction-column")
    check_step(context, generated=generated, merge=merge)
    if merge is not None:
        merge_parts(merge, output, as_denodo=as_denodo)
        return
    if input is None:
        raise UsageError(
            "--input must be given (the questions: Question, Solution, difficulty): see  assay denodo --help"
        )
    api_url = api_url or _API_URL
    if not api_url.lower().startswith(("http://", "https://")):
        raise UsageError(
            f"--api-url is {masked_address(api_url)!r}: write one such as http://host:8008/answerDataQuestion"
        )
    whole = whole_of(output, f1_output, ves_output, generated=generated)
    folder = run or (whole or f1_output or ves_output or WHOLE).with_suffix(".run")
    reports = targets_of(
        {
            "xlsx": whole,
            "html": html,
            "md": md,
            "junit": junit,
            "xlsx-f1": f1_output,
            "xlsx-ves": ves_output,
            "xlsx-answers": output_original,
        },
        input,
        to,
    )
    written = [name for name, path in reports.items() if path is not None]
    metrics = metrics_of(written, ves=ves, as_denodo=as_denodo, goes_on=None if overwrite or rescore else folder)
    keeper = keeper_of(gates.gathered(), metrics, baseline=gates.baseline, output=folder)
    verify_ssl = _verifies(verify=verify_ssl, said=data_catalog_verify_ssl)
    flags = _flags(
        url=once(catalog_url, "--catalog-url", "--data-catalog-url"),
        execution_url=once(execution_url, "--execution-url", "--data-catalog-execution-url"),
        server_id=once(server_id, "--server-id", "--data-catalog-server-id"),
        verify_ssl=verify_ssl,
    )
    wire = read_database_port(db_config).overlaid(host=host, port=port, database=database)
    asking, header_row = _header_row(asking, header_row)
    if api_password is not None and api_username is None:
        raise UsageError("--api-password is given without --api-username: give both, or --user and --password")
    access = Access.gathered(
        user=user if user is not None else (wire.user or api_username),
        password=_password(user, password, wire.password, api_password),
        token=token,
        needed=True,
    )
    api_access = access
    if api_username is not None and (user is not None or wire.user is not None):
        api_access = Access(user=api_username, password=Secret(api_password or ""))
    options = api_access.system_options(asking, verify_ssl=verify_ssl is not False)
    settings = RunFileSettings(
        cases=str(input),
        db=_database(access, config, flags, wire, rows=_DENODO_ROWS if as_denodo else None, headers=options.headers),
        output=str(folder),
        metrics=metrics,
        limit=once(question_rows, "--question-rows", "--question_rows"),
        timeout_s=timeout,
        comparison_timeout_s=comparison_timeout,
        max_rows=max_rows,
        concurrency=once(concurrency, "--concurrency", "--max-workers"),
        workers=once(workers, "--workers", "--num-cpus"),
        repeat=repeat,
        timing_iterations=once(ves_iterations, "--ves-iterations", "--iterate-num"),
        timing_budget_s=ves_budget,
        name=name,
        tags=tuple(tag) if tag else None,
        case_fields=FieldNames(
            id=id_column,
            question=question_column,
            gold=once(gold_column, "--gold-column", "--expected-column", "--ground-truth-col"),
            difficulty=once(difficulty_column, "--difficulty-column", "--difficulty-col"),
            context=once(context_column, "--context-column", "--evidence-column"),
            prediction=generated,
            sheet=once(sheet, "--sheet", "--sheet_name"),
            header_row=header_row,
            encoding=encoding,
        ),
        prediction_fields=FieldNames(prediction=generated),
    )
    run_settings(
        settings,
        system=None if generated is not None else registry.open_system(f"denodo:{api_url}", options),
        overwrite=overwrite,
        rescore=rescore,
        as_json=as_json,
        quiet=quiet,
        reports=reports,
        keeper=keeper,
        # Denodo's own evaluator executes each pair a fixed number of times.
        difficulty_names=DIFFICULTIES,
        timing_extra_s=0.0 if as_denodo else TIMING_EXTRA_S,
    )


def once(given: Sequence[_Given] | None, *names: str) -> _Given | None:
    """The one value of an option that has several names. Raises UsageError where they say different things."""
    values = list(dict.fromkeys(given or ()))
    if len(values) > 1:
        said = " and ".join(map(repr, values))
        raise UsageError(f"{' and '.join(names)} are one option, and say {said}: give it once")
    return values[0] if values else None


def _header_row(asking: AskFlags, row: int | None) -> tuple[AskFlags, int | None]:
    """The HTTP headers and the sheet's row of column names: ``--header 2``, as Denodo's own evaluator has it."""
    given = asking.header or ()
    rows = [int(text) for text in given if text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS]
    headers = [text for text in given if not text.isdigit()]
    row = once([*rows, *([] if row is None else [row])], "--header-row", "--header")
    return replace(asking, header=headers or None), row


def _password(user: str | None, password: str | None, of_wire: Secret | None, of_api: str | None) -> str | None:
    """The user's password: from the flag, else from the file or from the AI SDK's own user."""
    if user is not None or password is not None:
        return password
    return of_api if of_wire is None else of_wire.reveal()


def _verifies(*, verify: bool | None, said: str | None) -> bool | None:
    from assay.engines.denodo.config import parse_switch

    other = None if said is None else parse_switch(said, "--data-catalog-verify-ssl")
    if verify is not None and other is not None and verify != other:
        raise UsageError(
            "--data-catalog-verify-ssl says another than --verify-ssl or --no-verify-ssl: give one of them"
        )
    return verify if other is None else other


def _flags(
    *, url: str | None, execution_url: str | None, server_id: int | None, verify_ssl: bool | None
) -> DenodoConfig:
    from assay.engines.denodo.config import DenodoConfig

    return DenodoConfig.of_flags(url=url, execution_url=execution_url, server_id=server_id, verify_ssl=verify_ssl)


def _database(
    access: Access,
    config: Path | None,
    flags: DenodoConfig,
    wire: DatabasePort,
    *,
    rows: int | None,
    headers: Sequence[tuple[str, Secret]],
) -> str:
    """The URL of what executes: the Data Catalog where one is named, else the database port.

    Without ``config`` its settings file is looked for in the working folder, as Denodo's own evaluator does.
    """
    from assay.cli.access import denodo_settings
    from assay.engines.denodo.config import PROJECT_CONFIG

    otherwise = "give --catalog-url http://host:9090/denodo-data-catalog"
    if config is None and Path(PROJECT_CONFIG).is_file():
        config = Path(PROJECT_CONFIG)
    elif config is None:
        otherwise += f" (the working folder, {Path.cwd()}, has no {PROJECT_CONFIG})"
    settings = denodo_settings(config, flags)
    if settings.is_named or not wire.is_given:
        database = settings.database_url(
            user=access.user,
            password=access.password,
            token=access.token,
            headers=headers,
            otherwise=otherwise,
        ).reveal()
        if wire.is_given:
            warnings.warn(
                "the Data Catalog executes all queries: what --host, --database and --db-config name is not used",
                UserWarning,
                stacklevel=2,
            )
        return database if rows is None else f"{database}{'&' if '?' in database else '?'}rows={rows}"
    if access.token is not None:
        raise UsageError("--token is for the Data Catalog: the database port takes --user and --password")
    return wire.database_url(user=access.user, password=access.password)
