"""`assay denodo`: the Denodo AI SDK evaluator's job, by its own flags."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec.structs import replace

from assay.cli.options.declared import (
    Full,
    Html,
    JsonFile,
    Junit,
    Markdown,
    Only,
    Overwrite,
    Password,
    Quiet,
    Rescore,
    To,
    Token,
    once,
)
from assay.cli.options.gates import GateFlags
from assay.cli.parsing.parameters import option
from assay.cli.verbs.denodo_steps import DIFFICULTIES, WHOLE, check_step, merge_parts, metrics_of, targets_of, whole_of
from assay.errors import UsageError
from assay.model import Secret
from assay.model.databases.secret import masked_address
from assay.settings import Settings

if TYPE_CHECKING:
    from assay.cli.options.access import Access
    from assay.engines.denodo.config import DenodoConfig
    from assay.engines.denodo.port import DatabasePort

_MOST_DIGITS = 8
_API_URL = "http://127.0.0.1:8008/answerDataQuestion"
_DENODO_ROWS = 100
"""How many rows Denodo's own evaluator asks for."""

_SETTINGS = Only(
    (
        "name",
        "tags",
        "user",
        "repeat",
        "param",
        "headers",
        "system_timeout_s",
        "retries",
        "comparison_timeout_s",
        "max_rows",
        "timing_budget_s",
        "case_fields.encoding",
        "case_fields.id",
        "case_fields.question",
        "case_fields.header_row",
        "denodo_config",
        "verify_ssl",
        "reviews",
        "no_reviews",
        "settle",
    ),
    renamed={
        "prediction_fields.prediction": ("--generated-col", "--prediction-column", "-p"),
        "limit": ("--question-rows", "--question_rows"),
        "concurrency": ("--concurrency", "--max-workers"),
        "workers": ("--workers", "--num-cpus"),
        "timeout_s": ("--timeout", "-t"),
        "timing_iterations": ("--ves-iterations", "--iterate-num"),
        "case_fields.gold": ("--gold-column", "--expected-column", "--ground-truth-col", "-g"),
        "case_fields.difficulty": ("--difficulty-column", "--difficulty-col", "-c"),
        "case_fields.context": ("--context-column", "--evidence-column"),
        "case_fields.sheet": ("--sheet", "--sheet_name"),
    },
    helps={
        "prediction_fields.prediction": (
            "Column of generated queries in --input. Evaluates these queries and does not ask the AI SDK."
        ),
        "user": "User of Denodo. Prefer ASSAY_USER.",
        "limit": "Evaluate only the first N questions.",
        "workers": "Queries executed at once. [default: cores, at most 8]",
        "timing_iterations": "Executions of each pair for VES, at least. [default: 3]",
        "verify_ssl": "Verify certificates. [config: DATA_CATALOG_VERIFY_SSL]",
        "denodo_config": (
            "Denodo's project_config.env. Options and the environment take precedence. [default: that of the folder]"
        ),
        "case_fields.id": "Column of the ids. [default: the row number]",
        "case_fields.question": "Column of the questions. [default: Question]",
        "case_fields.gold": "Column of the gold queries. [default: Solution]",
        "case_fields.difficulty": "Column of the difficulties. [default: difficulty]",
        "case_fields.context": "Column of additional context, sent as custom_instructions.",
        "case_fields.sheet": "Worksheet, or its number from 0. [default: the only one with the columns]",
        "case_fields.header_row": ("Row of the sheet that names the columns, from 0. [default: the first with them]"),
    },
)
"""Denodo's own evaluator has other names for some."""


def denodo(  # one parameter an option
    *,
    input: Annotated[
        Path | None,
        option("--input", "-i", metavar="X.xlsx", help="Workbook with Question, Solution, difficulty."),
    ] = None,
    output: Annotated[
        Path | None,
        option("--output", "-o", metavar="R.xlsx", help=f"Workbook to write. [default: {WHOLE}]"),
    ] = None,
    settings: Annotated[Settings, _SETTINGS],
    merge: Annotated[
        tuple[Path, Path] | None,
        option("--merge", metavar="F1.xlsx VES.xlsx", help="Merge an F1 part and a VES part into --output."),
    ] = None,
    api_url: Annotated[
        str | None,
        option(
            "--api-url",
            metavar="URL",
            help=f"URL of the AI SDK's /answerDataQuestion or /answerQuestion. [default: {_API_URL}]",
        ),
    ] = None,
    password: Password = None,
    token: Token = None,
    api_username: Annotated[
        str | None, option(metavar="NAME", help="User of the AI SDK, if different from --user.")
    ] = None,
    api_password: Annotated[
        str | None, option(metavar="TEXT", help="Password of the AI SDK.", show_default=False)
    ] = None,
    catalog_url: Annotated[
        list[str] | None,
        option(
            "--catalog-url",
            "--data-catalog-url",
            metavar="URL",
            help="URL of the Data Catalog. [config: DATA_CATALOG_URL]",
        ),
    ] = None,
    execution_url: Annotated[
        list[str] | None,
        option(
            "--execution-url",
            "--data-catalog-execution-url",
            metavar="URL",
            help="URL for executions. [config: DATA_CATALOG_EXECUTION_URL]",
        ),
    ] = None,
    server_id: Annotated[
        list[int] | None,
        option(
            "--server-id", "--data-catalog-server-id", metavar="N", help="Server id. [config: DATA_CATALOG_SERVER_ID]"
        ),
    ] = None,
    data_catalog_verify_ssl: Annotated[
        str | None, option(metavar="1|0", help="Verify certificates, as an option of Denodo's evaluator.")
    ] = None,
    host: Annotated[
        str | None, option(metavar="HOST", help="Host of Denodo's database port, without a Data Catalog.")
    ] = None,
    port: Annotated[int | None, option(metavar="N", least=1, most=65535, help="Database port. [default: 9996]")] = None,
    database: Annotated[str | None, option(metavar="NAME", help="Database at that port.")] = None,
    db_config: Annotated[
        Path | None,
        option("--db-config", "-d", metavar="FILE", help="JSON file: user, password, host, port, databaseName."),
    ] = None,
    run: Annotated[
        Path | None,
        option("--run", metavar="RUN", help="Folder of the run. [default: next to the workbook]"),
    ] = None,
    ves: Annotated[bool, option("--ves/--no-ves", help="Time the correct predictions.")] = True,
    as_denodo: Annotated[
        bool,
        option("--as-denodo", help="Use the definitions of Denodo's own workbook."),
    ] = False,
    overwrite: Overwrite = False,
    rescore: Rescore = False,
    html: Html = None,
    full: Full = False,
    md: Markdown = None,
    junit: Junit = None,
    to: To = None,
    f1_output: Annotated[
        Path | None,
        option(metavar="FILE", help="Workbook of the F1 part to write."),
    ] = None,
    ves_output: Annotated[Path | None, option(metavar="FILE", help="Workbook of the VES part to write.")] = None,
    output_original: Annotated[Path | None, option(metavar="FILE", help="Workbook of the answers to write.")] = None,
    gates: GateFlags,
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Evaluate a live Denodo AI SDK on a question set; report in Excel.

    Example:  assay denodo --input sample_input.xlsx --output evaluation_results.xlsx
    --api-url http://host:8008/answerDataQuestion --catalog-url http://host:9090/denodo-data-catalog --user U

    Evaluate the queries of a workbook:  assay denodo --input generated.xlsx --generated-col "VQL Generated"
    --user U --f1-output f1.xlsx

    After an interruption the same command resumes: no question is asked twice.
    """
    from assay import registry
    from assay.api.gates import keeper_of
    from assay.cli.options.access import Access
    from assay.cli.verbs.run import TIMING_EXTRA_S, run_settings
    from assay.engines.denodo.port import read_database_port

    generated = settings.prediction_fields.prediction
    check_step(generated=generated, merge=merge)
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
            f"--api-url is {masked_address(api_url)!r}: write one like http://host:8008/answerDataQuestion"
        )
    whole = whole_of(output, f1_output, ves_output, generated=generated)
    folder = run or (whole or f1_output or ves_output or WHOLE).with_suffix(".run")
    reports = targets_of(
        {
            "xlsx": whole,
            "html": html,
            "md": md,
            "junit": junit,
            "json": json,
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
    verify_ssl = _verifies(verify=settings.verify_ssl, said=data_catalog_verify_ssl)
    flags = _flags(
        url=once(catalog_url, "--catalog-url", "--data-catalog-url"),
        execution_url=once(execution_url, "--execution-url", "--data-catalog-execution-url"),
        server_id=once(server_id, "--server-id", "--data-catalog-server-id"),
        verify_ssl=verify_ssl,
    )
    wire = read_database_port(db_config).overlaid(host=host, port=port, database=database)
    settings = replace(_with_header_row(settings), verify_ssl=verify_ssl)
    if api_password is not None and api_username is None:
        raise UsageError("--api-password is given without --api-username: give both, or --user and --password")
    access = Access.gathered(
        user=settings.user if settings.user is not None else (wire.user or api_username),
        password=_password(settings.user, password, wire.password, api_password),
        token=token,
        needed=True,
    )
    api_access = access
    if api_username is not None and (settings.user is not None or wire.user is not None):
        api_access = Access(user=api_username, password=Secret(api_password or ""))
    options = api_access.system_options(settings)
    settings = replace(
        settings,
        cases=str(input),
        db=_database(access, settings, flags, wire, rows=_DENODO_ROWS if as_denodo else None, headers=options.headers),
        output=str(folder),
        metrics=metrics,
        case_fields=replace(settings.case_fields, prediction=generated),
    )
    run_settings(
        settings,
        system=None if generated is not None else registry.open_system(f"denodo:{api_url}", options),
        overwrite=overwrite,
        rescore=rescore,
        quiet=quiet,
        reports=reports,
        full=full,
        keeper=keeper,
        # Denodo's own evaluator executes each pair a fixed number of times.
        difficulty_names=DIFFICULTIES,
        timing_extra_s=0.0 if as_denodo else TIMING_EXTRA_S,
    )


def _with_header_row(settings: Settings) -> Settings:
    """``--header 2`` names the sheet's row of column names, as in Denodo's own evaluator: not an HTTP header."""
    given = settings.header_texts().values()
    rows = [int(text) for text in given if text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS]
    headers = tuple(text for text in given if not text.isdigit())
    own = settings.case_fields.header_row
    row = once([*rows, *([] if own is None else [own])], "--header-row", "--header")
    return replace(settings, headers=headers or None, case_fields=replace(settings.case_fields, header_row=row))


def _password(user: str | None, password: str | None, of_wire: Secret | None, of_api: str | None) -> str | None:
    """The user's password: from the flag, else from the file or from the AI SDK's own user."""
    if user is not None or password is not None:
        return password
    return of_api if of_wire is None else of_wire.reveal()


def _verifies(*, verify: bool | None, said: str | None) -> bool | None:
    from assay.engines.denodo.config import parse_switch

    other = None if said is None else parse_switch(said, "--data-catalog-verify-ssl")
    if verify is not None and other is not None and verify != other:
        raise UsageError("--data-catalog-verify-ssl and --verify-ssl (or --no-verify-ssl) differ: give one of them")
    return verify if other is None else other


def _flags(
    *, url: str | None, execution_url: str | None, server_id: int | None, verify_ssl: bool | None
) -> DenodoConfig:
    from assay.engines.denodo.config import DenodoConfig

    return DenodoConfig.of_flags(url=url, execution_url=execution_url, server_id=server_id, verify_ssl=verify_ssl)


def _database(
    access: Access,
    settings: Settings,
    flags: DenodoConfig,
    wire: DatabasePort,
    *,
    rows: int | None,
    headers: Sequence[tuple[str, Secret]],
) -> str:
    """The URL for executions: the Data Catalog if one is named, else the database port.

    Without ``denodo_config`` its settings file is looked for in the working folder, as Denodo's own evaluator does.
    """
    from assay.cli.options.access import denodo_settings
    from assay.engines.denodo.config import PROJECT_CONFIG

    config = None if settings.denodo_config is None else Path(settings.denodo_config)
    otherwise = "give --catalog-url http://host:9090/denodo-data-catalog"
    if config is None and Path(PROJECT_CONFIG).is_file():
        config = Path(PROJECT_CONFIG)
    elif config is None:
        otherwise += f" (the working folder, {Path.cwd()}, has no {PROJECT_CONFIG})"
    catalog = denodo_settings(config, flags)
    if catalog.is_named or not wire.is_given:
        database = catalog.database_url(
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
