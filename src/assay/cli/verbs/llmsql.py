"""`assay llmsql`: a model's outputs on the LLMSQL benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec.structs import replace

from assay.cli.options.declared import Only, Overwrite, Quiet, ReportFlags
from assay.cli.options.gates import GateFlags
from assay.cli.parsing.parameters import argument, option
from assay.settings import Settings


def llmsql(  # one parameter an option
    outputs: Annotated[
        Path | None,
        argument(metavar="OUTPUTS", help="JSON Lines with question_id and completion or predicted_sql."),
    ] = None,
    *,
    outputs_option: Annotated[
        Path | None,
        option("--outputs", metavar="OUTPUTS", help="Outputs, as an option of the package's command."),
    ] = None,
    version: Annotated[str, option(metavar="VERSION", help="Version of the benchmark: 2.0 or 1.0.")] = "2.0",
    workdir: Annotated[
        Path,
        option(
            "--workdir",
            "--workdir-path",
            metavar="DIR",
            help="Folder of the benchmark's files, which are downloaded if missing.",
        ),
    ] = Path("llmsql_workdir"),
    questions: Annotated[
        Path | None,
        option(
            "--questions",
            "--questions-path",
            metavar="FILE",
            help="Questions of the benchmark. [default: DIR/questions.jsonl]",
        ),
    ] = None,
    db: Annotated[
        Path | None,
        option("--db", "--db-path", metavar="FILE", help="Database of the benchmark. [default: DIR/sqlite_tables.db]"),
    ] = None,
    settings: Annotated[
        Settings,
        Only(
            ("output", "name", "tags", "timeout_s", "workers", "cache", "cache_size_mib"),
            helps={"timeout_s": "Time limit for all queries of an output. [default: 30]"},
        ),
    ],
    overwrite: Overwrite = False,
    save_report: Annotated[
        Path | None, option(metavar="FILE", help="Write the package's report: every mismatch as JSON.")
    ] = None,
    show_mismatches: Annotated[bool, option("--show-mismatches/--no-show-mismatches", help="Print mismatches.")] = True,
    max_mismatches: Annotated[int, option(metavar="N", least=0, help="Maximum number of mismatches to print.")] = 5,
    reports: ReportFlags,
    gates: GateFlags,
    quiet: Quiet = False,
) -> None:
    """Score a model's outputs on the LLMSQL benchmark.

    Example:  assay llmsql outputs.jsonl --questions bench/questions.jsonl --db bench/sqlite_tables.db -o runs/first

    Files that are missing are downloaded from the Hugging Face hub:  assay llmsql outputs.jsonl --version 2.0
    """
    from assay.api.gates import keeper_of
    from assay.cli.output import STANDARD_OUTPUT, check_targets, finish, keeping, tell_cache_use
    from assay.cli.progress import progress
    from assay.errors import UsageError
    from assay.llmsql.assessment import HEAD_ROWS, METRICS, assess
    from assay.llmsql.query_result import SHOWN_ROWS
    from assay.llmsql.report import mismatch_text, report_of, report_path, say, summary_text, write_report

    given = outputs if outputs is not None else outputs_option
    if given is None or (outputs is not None and outputs_option is not None):
        of_package = outputs is not None and outputs.name == "evaluate" and not outputs.exists()
        hint = f": what the package calls 'llmsql evaluate' is 'assay llmsql', without {outputs}" if of_package else ""
        raise UsageError(f"name the file of outputs, once: assay llmsql OUTPUTS{hint}")
    output = None if settings.output is None else Path(settings.output)
    keeper = keeper_of(gates.gathered(), METRICS, baseline=gates.baseline, output=output)
    targets = reports.targets()
    check_targets(targets, replace(settings, predictions=str(given)))
    path = None if save_report is None else report_path(save_report)
    with keeping(output), progress(quiet=quiet) as on_progress:
        assessment = assess(
            given,
            version=version,
            workdir=workdir,
            questions_path=questions,
            db_path=db,
            timeout_s=settings.timeout_s,
            workers=settings.workers,
            cache=settings.cache,
            cache_bytes=settings.cache_bytes(),
            head_rows=HEAD_ROWS if path is None else SHOWN_ROWS,
            output=output,
            overwrite=overwrite,
            name=settings.name,
            tags=settings.tags or (),
            on_cases=keeper.check_cases,
            on_progress=on_progress,
        )
    if path is not None:
        write_report(report_of(assessment), path)
    if STANDARD_OUTPUT not in targets.values():
        for finding in assessment.mismatches[: max_mismatches if show_mismatches else 0]:
            say(mismatch_text(finding) + "\n")
        say(summary_text(assessment, saved=path) + "\n")
    tell_cache_use(assessment.run)
    finish(
        assessment.run,
        keeper=keeper,
        reports=targets,
        full=reports.full,
        folder=output,
        advice="--save-report FILE writes every mismatch" if path is None else None,
        quiet=quiet,
    )
