"""Evaluate a model's outputs as a run, and compute the benchmark's counts from it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay.api.evaluation import evaluate
from assay.api.inputs import Inputs, OnCases, OwnInputs
from assay.api.run import Run
from assay.cases.benchmarks.llmsql import Output, Outputs, read_outputs
from assay.engines.pool.spawn import default_workers
from assay.errors import UsageError
from assay.llmsql.benchmark_files import DEFAULT_VERSION, DEFAULT_WORKDIR, locate_files, read_cases
from assay.llmsql.findings import Assessment, Finding
from assay.llmsql.query_result import QueryResult
from assay.model import ComparisonOptions, Evidence, Limits
from assay.runs.plan import OnProgress
from assay.runs.reviews.finding import fingerprint_file
from assay.runs.store.journal import LazyEvidence

METRIC = "llmsql_ex"
METRICS = ("match", METRIC)
"""Our verdict on an output's first query, and the benchmark's own verdict on all of its queries."""
HEAD_ROWS = 5
"""The number of rows of a result stored in a run's folder."""
_CANDIDATES, _NULL = b'"candidates":[{', b'"head":[[null]]'
"""In a line of evidence. Strings cannot match: their quotes are escaped."""
_WORTH_A_WORKER = 2_000
"""Fewer outputs than this are evaluated before a second worker has started."""


class AssessedRun(Assessment, frozen=True, kw_only=True, dict=True):
    """An assessment by a run."""

    run: Run


def _findings(run: Run, items: Sequence[Output]) -> tuple[Finding, ...]:
    """The outputs that count for more than a match."""
    places = [place for place in range(len(items)) if not _is_mere_match(run, place)]
    return tuple([_finding(run.evidence[place], items[place].question_id) for place in places])


def _finding(evidence: Evidence, question_id: object) -> Finding:
    score, first = evidence.score(METRIC), evidence.predicted_execution
    golds = [QueryResult.of(one, one.head) for one in evidence.gold_executions[:1]]
    results = () if first is None else tuple([QueryResult.of(one, one.head) for one in (first, *evidence.candidates)])
    has_query = evidence.prediction.query is not None
    return Finding(
        question_id=question_id,
        question=evidence.case.question,
        gold_query=evidence.case.golds[0],
        completion=evidence.prediction.raw,
        has_query=has_query,
        matched=score is not None and score.value == 1.0,
        gold=golds[0] if golds else None,
        results=results,
        failure=evidence.verdict.reason if has_query and not results else None,
    )


def _is_mere_match(run: Run, place: int) -> bool:
    """Whether an output has one query that returns the gold result, other than a single NULL: most do.

    Decided without decoding its evidence if the run holds the encoded lines.
    """
    evidence, score = run.evidence, run.record.summaries[place].score(METRIC)
    if not isinstance(evidence, LazyEvidence) or evidence.line is None or score is None or score.value != 1.0:
        return False
    line = evidence.line(place)
    return _CANDIDATES not in line and _NULL not in line


def assess(
    outputs: object,
    *,
    version: str = DEFAULT_VERSION,
    workdir: str | os.PathLike[str] | None = DEFAULT_WORKDIR,
    questions_path: str | os.PathLike[str] | None = None,
    db_path: str | os.PathLike[str] | None = None,
    timeout_s: float | None = None,
    workers: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    cache_bytes: int | None = None,
    head_rows: int | None = None,
    diagnose: bool = True,
    options: ComparisonOptions = ComparisonOptions(),  # noqa: B008 (frozen)
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    name: str | None = None,
    tags: tuple[str, ...] = (),
    on_cases: OnCases | None = None,
    on_progress: OnProgress | None = None,
) -> AssessedRun:
    """Evaluate outputs (a path, a list of mappings, or `Outputs`) by the metrics of `METRICS`, as a run.

    ``timeout_s`` is for the gold query and for all queries of a completion together, None as for
    every query of Assay; ``workers`` None: one per core; ``head_rows``: the number of rows stored per result if an
    output does not match; ``diagnose``: whether to look for the causes of wrong ones; ``options``: how our own verdict
    compares. The rest is as in `assay.evaluate`. Raises as
    `read_outputs`, `read_questions`, `locate_files`, `check_known` and `assay.evaluate` do.
    """
    if timeout_s is not None and not timeout_s > 0:
        raise UsageError(f"the time limit is {timeout_s!r} s: use a number above 0")
    given = outputs if isinstance(outputs, Outputs) else read_outputs(outputs)
    files = locate_files(version, workdir=workdir, questions=questions_path, database=db_path)
    asked = 0

    def read(_: Any) -> Inputs:
        nonlocal asked
        cases, asked = read_cases(given, files)
        paths = [files.questions, *([given.name] if given.mode == "jsonl_path" else [])]
        return Inputs(
            cases=cases,
            predictions=tuple(item.prediction for item in given.items),
            blank_rows=0,
            unmatched=(),
            case_name=files.questions,
            prediction_name=given.name,
            files=tuple(map(fingerprint_file, paths)),
        )

    own = OwnInputs(read=read, options=options, head_rows=head_rows, plain_queries=True, diagnose=diagnose)
    run = evaluate(
        own,
        databases=f"sqlite:///{quote(str(Path(files.database).absolute()))}",
        metrics=METRICS,
        limits=Limits() if timeout_s is None else Limits(timeout_s=timeout_s),
        workers=workers if workers is not None else min(default_workers(), 1 + len(given.items) // _WORTH_A_WORKER),
        cache=cache,
        cache_bytes=cache_bytes,
        output=output,
        overwrite=overwrite,
        name=name,
        tags=tags,
        on_cases=on_cases,
        on_progress=on_progress,
    )
    return AssessedRun(run=run, version=version, outputs=given, questions=asked, findings=_findings(run, given.items))
