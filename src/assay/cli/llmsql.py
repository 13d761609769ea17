"""`assay llmsql`: a model's outputs on the LLMSQL benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.errors import Interrupted


def llmsql(  # one parameter an option
    outputs: Annotated[
        Path, typer.Argument(metavar="OUTPUTS", help="JSON Lines: question_id, and completion or predicted_sql.")
    ],
    version: Annotated[str, typer.Option(metavar="VERSION", help="Of the benchmark: 2.0 or 1.0.")] = "2.0",
    workdir: Annotated[
        Path, typer.Option(metavar="DIR", help="Where the benchmark's files are, or are downloaded to.")
    ] = Path("llmsql_workdir"),
    questions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The benchmark's questions.jsonl. [default: in DIR]")
    ] = None,
    db: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The benchmark's sqlite_tables.db. [default: in DIR]")
    ] = None,
    save_report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every mismatch as JSON.")] = None,
    max_mismatches: Annotated[int, typer.Option(metavar="N", min=0, help="Mismatches to print.")] = 5,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0.01, help="For all queries of an output. [default: 30]")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Processes. Default: one a core, at most 8.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole report as JSON on standard output.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Judge a model's outputs on the LLMSQL benchmark, by the rules of its own package.

    Example:  assay llmsql outputs.jsonl --questions bench/questions.jsonl --db bench/sqlite_tables.db

    Files that are missing are downloaded from the Hugging Face hub:  assay llmsql outputs.jsonl --version 2.0
    """
    from assay.cli.progress import progress
    from assay.llmsql.assessment import Finding, assess
    from assay.llmsql.report import json_of, mismatch_text, report_of, report_path, say, summary_text, write_report
    from assay.runs.progress import Progress

    path = None if save_report is None else report_path(save_report)
    shown: list[Finding] = []
    try:
        with progress(quiet=quiet) as on_progress:

            def follow(finding: Finding, done: int, total: int) -> None:
                if not finding.judged.matched and len(shown) < max_mismatches:
                    shown.append(finding)
                on_progress(Progress(total=total, finished=done))

            assessment = assess(
                outputs,
                version=version,
                workdir=workdir,
                questions_path=questions,
                db_path=db,
                timeout_s=timeout,
                workers=workers,
                on_finding=follow,
            )
    except KeyboardInterrupt:
        raise Interrupted("interrupted; nothing was kept: the same command begins anew") from None
    report = report_of(assessment)
    if path is not None:
        write_report(report, path)
    if as_json:
        rate = assessment.accuracy
        more = {
            "accuracy_interval": [rate.low, rate.high],
            "version": version,
            "questions": assessment.questions,
            "unanswered": assessment.unanswered,
        }
        say(json_of({**report, **more}) + "\n")
        return
    for finding in shown:
        say(mismatch_text(finding) + "\n")
    say(summary_text(assessment, saved=path))
    if path is None and assessment.mismatches:
        typer.echo("\nNothing was kept: --save-report FILE writes every mismatch.")
