"""`evaluate`, with the arguments and the report of the benchmark's own package."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from assay.engines.pool.spawn import default_workers, dismiss_ahead, start_ahead
from assay.llmsql.benchmark_files import DEFAULT_VERSION, DEFAULT_WORKDIR
from assay.runs import PLAIN_SETUP
from assay.sdmx.gc_pause import collector_paused


@collector_paused()  # all objects are kept to the end, so scanning them is useless
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
    """Judge a model's outputs on LLMSQL: print mismatches and summary, save the report, and return it.

    Args:
        outputs: a JSON Lines file, or a list of mappings: ``{"question_id": 1, "completion": "…"}``,
            or as before ``{"question_id": "1", "predicted_sql": "…"}``. Either field may hold prose.
        version: ``2.0`` or ``1.0``: which data set to download.
        workdir_path: where the benchmark's files are, or are downloaded to; not looked at where both
            of the next two are given.
        questions_path: the benchmark's ``questions.jsonl``.
        db_path: the benchmark's ``sqlite_tables.db``. It is opened read-only.
        save_report: the JSON file to write. None: ``evaluation_results_{uuid}.json`` in this folder.
        show_mismatches: print mismatches, in the outputs' order.
        max_mismatches: print at most this many; the report has all.
        timeout_s: for gold's query, and for all queries of an output together. None: 30 seconds.
        workers: processes that execute queries; None: one per core, at most 8.

    Returns:
        total, matches, pred_none, gold_none, sql_errors, accuracy (0 to 1), mismatches, timestamp
        (ISO 8601, UTC) and input_mode (``jsonl_path`` or ``dict_list``). pred_none and sql_errors
        count queries: an output may hold ten.

    Raises:
        InputError: a file, an output or the database cannot be used, or cannot be downloaded.
        MissingDependency: a download needs huggingface_hub.
        UsageError: the arguments do not go together.
    """
    # Its worker imports what it needs while this process does.
    start_ahead(min(1, default_workers() if workers is None else workers), PLAIN_SETUP)
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
    outputs: object, *, save_report: str | os.PathLike[str] | None, shown: int, **options: Any
) -> dict[str, Any]:
    from assay.llmsql.assessment import SHOWN_ROWS, assess
    from assay.llmsql.report import mismatch_text, report_of, report_path, say, summary_text, write_report
    from assay.model import ComparisonOptions

    path = report_path(None if save_report is None else os.fspath(save_report))
    assessment = assess(
        outputs,
        **options,
        head_rows=SHOWN_ROWS,
        # The report shows neither near misses nor causes.
        options=ComparisonOptions(near_misses=False, sample_rows=0),
        diagnose=False,
    )
    for finding in assessment.mismatches[:shown]:
        say(mismatch_text(finding) + "\n")
    report = report_of(assessment)
    write_report(report, path)
    say(summary_text(assessment, saved=path))
    return report
