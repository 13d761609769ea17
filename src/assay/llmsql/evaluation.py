"""`evaluate`, with the arguments and the report of the benchmark's own package."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from assay.cases.benchmarks.llmsql import Output, Outputs, read_outputs
from assay.engines.pool.pool import WorkerPool
from assay.engines.pool.spawn import default_workers, dismiss_ahead, start_ahead
from assay.errors import InputError
from assay.llmsql.benchmark_files import DEFAULT_VERSION, DEFAULT_WORKDIR, locate_files, read_cases
from assay.llmsql.findings import Assessment, Finding
from assay.llmsql.plain_outputs import (
    MATCH,
    MEMORY_BYTES,
    MOST_S,
    SETUP,
    Judged,
    PlainJudgement,
    PlainOutput,
    PlainTask,
)
from assay.llmsql.query_result import SHOWN_ROWS
from assay.model import Case, ComparisonOptions, DatabaseUrl
from assay.ports import Task, TaskDone
from assay.sdmx.gc_pause import collector_paused

_TOGETHER = 200
"""Outputs that a worker evaluates in one task."""
_WORTH_A_WORKER = 20_000
"""For fewer outputs than this, a second worker costs more time than it saves."""


@collector_paused()  # all objects live to the end, so scanning them is useless
def evaluate(
    outputs: str | os.PathLike[str] | Sequence[Mapping[str, Any]],
    *,
    version: str = DEFAULT_VERSION,
    workdir_path: str | os.PathLike[str] | None = DEFAULT_WORKDIR,
    questions_path: str | os.PathLike[str] | None = None,
    db_path: str | os.PathLike[str] | None = None,
    save_report: str | os.PathLike[str] | None = None,
    show_mismatches: bool = True,
    max_mismatches: int = 5,
    timeout_s: float | None = None,
    workers: int | None = None,
) -> dict[str, Any]:
    """Evaluate a model's outputs on LLMSQL: print mismatches and summary, save the report, and return it.

    Args:
        outputs: a JSON Lines file, or a list of mappings: ``{"question_id": 1, "completion": "…"}``,
            or the older ``{"question_id": "1", "predicted_sql": "…"}``. Either field may contain prose.
        version: ``2.0`` or ``1.0``: the data set to download.
        workdir_path: the folder of the benchmark's files, or to download them to; ignored if both
            of the next two are given.
        questions_path: the benchmark's ``questions.jsonl``.
        db_path: the benchmark's ``sqlite_tables.db``. It is opened read-only.
        save_report: the JSON file to write. None: ``evaluation_results_{uuid}.json`` in the current folder.
        show_mismatches: print mismatches, in the outputs' order.
        max_mismatches: print at most this many; the report has all.
        timeout_s: for the gold query, and for all queries of an output together. None: 30 seconds.
        workers: processes that execute queries; None: one per core, at most 8.

    Returns:
        total, matches, pred_none, gold_none, sql_errors, accuracy (0 to 1), mismatches, timestamp
        (ISO 8601, UTC) and input_mode (``jsonl_path`` or ``dict_list``). pred_none and sql_errors
        count queries: an output may contain ten.

    Raises:
        InputError: a file, an output or the database cannot be used, or cannot be downloaded.
        MissingDependency: a download needs huggingface_hub.
        UsageError: the arguments contradict each other.
    """
    # Its worker imports what it needs while this process does.
    start_ahead(min(1, default_workers() if workers is None else workers), SETUP)
    try:
        return _evaluated(
            outputs,
            save_report=save_report,
            shown=max_mismatches if show_mismatches else 0,
            version=version,
            workdir=workdir_path,
            questions_path=questions_path,
            db_path=db_path,
            timeout_s=timeout_s,
            workers=workers,
        )
    finally:
        dismiss_ahead()


def _evaluated(
    outputs: object,
    *,
    save_report: str | os.PathLike[str] | None,
    shown: int,
    version: str,
    workdir: str | os.PathLike[str] | None,
    questions_path: str | os.PathLike[str] | None,
    db_path: str | os.PathLike[str] | None,
    timeout_s: float | None,
    workers: int | None,
) -> dict[str, Any]:
    from assay.llmsql.report import mismatch_text, report_of, report_path, say, summary_text, write_report

    path = report_path(None if save_report is None else os.fspath(save_report))
    for name, place in (("db_path", db_path), ("questions_path", questions_path)):
        if isinstance(place, str) and "://" in place:
            hint = place.partition("://")[2].removeprefix("/") if place.startswith("sqlite:") else "sqlite_tables.db"
            raise InputError(f"{name} is the URL {place!r}: give the path of the file, for example {name}={hint!r}")
    given = read_outputs(outputs)
    files = locate_files(version, workdir=workdir, questions=questions_path, database=db_path)
    cases, asked = read_cases(given, files)
    usable = (timeout_s is None or timeout_s >= MOST_S) and (workers is None or (type(workers) is int and workers > 0))
    # Other arguments are left to the run, which rejects unusable ones.
    scored = _scored(given, cases, files.database, workers) if usable else [None] * len(cases)
    findings = [
        _finding(item, case, one) if one is not None and one != MATCH else None
        for item, case, one in zip(given.items, cases, scored, strict=True)
    ]
    left = [place for place, one in enumerate(scored) if one is None]
    if left:
        from assay.llmsql.assessment import assess

        rest = replace(given, items=tuple(given.items[place] for place in left))
        run = assess(
            rest,
            version=version,
            questions_path=files.questions,
            db_path=files.database,
            timeout_s=timeout_s,
            workers=workers,
            head_rows=SHOWN_ROWS,
            # The report shows neither near misses nor causes.
            options=ComparisonOptions(near_misses=False, sample_rows=0),
            diagnose=False,
        )
        places = {item.question_id: place for item, place in zip(rest.items, left, strict=True)}
        for finding in run.findings:
            findings[places[finding.question_id]] = finding
    assessment = Assessment(
        version=version,
        outputs=given,
        questions=asked,
        findings=tuple(finding for finding in findings if finding is not None),
    )
    for finding in assessment.mismatches[:shown]:
        say(mismatch_text(finding) + "\n")
    report = report_of(assessment)
    write_report(report, path)
    say(summary_text(assessment, saved=path))
    return report


def _scored(given: Outputs, cases: Sequence[Case], database: str, workers: int | None) -> list[Judged]:
    """The score of each output; None for those that a run must evaluate."""
    url = DatabaseUrl.parse(f"sqlite:///{quote(str(Path(database).absolute()))}")
    plain = [
        PlainOutput(case.golds[0], case.options.table or "", item.prediction.query or "")
        for item, case in zip(given.items, cases, strict=True)
    ]
    size = workers if workers is not None else min(default_workers(), 1 + len(plain) // _WORTH_A_WORKER)
    found: list[Judged] = [None] * len(plain)
    with WorkerPool(workers=size, setup=SETUP, argument=url, memory_limit_bytes=MEMORY_BYTES) as pool:
        starts = range(0, len(plain), _TOGETHER)
        tasks = [Task(id=start, payload=PlainTask(str(start), plain[start : start + _TOGETHER])) for start in starts]
        for outcome in pool.run([task] for task in tasks):
            if isinstance(outcome, TaskDone):
                scored: Any = outcome.outcome
                found[outcome.task_id : outcome.task_id + len(scored)] = scored
    return found


def _finding(item: Output, case: Case, judgement: PlainJudgement) -> Finding:
    completion = item.prediction.query or ""
    return Finding(
        question_id=item.question_id,
        question=case.question,
        gold_query=case.golds[0],
        completion=completion,
        has_query=bool(judgement.results),
        matched=judgement.matched,
        gold=judgement.gold,
        results=judgement.results,
    )
