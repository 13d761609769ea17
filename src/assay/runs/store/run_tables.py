"""Runs as the tables that `assay sql` queries: their columns with DuckDB's types, and the rows of an evidence."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from assay.model import Evidence, Failure, HistoryPoint
from assay.runs.history import question_set, run_name, started_at
from assay.runs.store import journal
from assay.runs.store.codec import decode_evidence
from assay.runs.store.folder import read_lint, read_run_file
from assay.runs.store.results_table import REPEAT_COLUMN, RESULT_COLUMNS, columns_of
from assay.runs.summarize import Summarizer

_ANSWER = {"run": "VARCHAR", "case_id": "VARCHAR", REPEAT_COLUMN: "INTEGER"}
CASES, RUNS = "cases", "runs"
TABLES: Mapping[str, Mapping[str, str]] = {
    CASES: {"run": "VARCHAR", **RESULT_COLUMNS, REPEAT_COLUMN: "INTEGER"},
    "scores": {**_ANSWER, "metric": "VARCHAR", "value": "DOUBLE", "detail": "VARCHAR", "failure": "VARCHAR"},
    "flags": {**_ANSWER, "flag": "VARCHAR"},
    "causes": {
        **_ANSWER,
        "place": "INTEGER",
        "cause": "VARCHAR",
        "clause": "VARCHAR",
        "message": "VARCHAR",
        "proved": "BOOLEAN",
        "table_name": "VARCHAR",
        "column_name": "VARCHAR",
    },
    "near_misses": {**_ANSWER, "near_miss": "VARCHAR", "detail": "VARCHAR"},
    "failures": {**_ANSWER, "blame": "VARCHAR", "failure": "VARCHAR", "message": "VARCHAR"},
    RUNS: {
        "run": "VARCHAR",
        "folder": "VARCHAR",
        "name": "VARCHAR",
        "status": "VARCHAR",
        "tags": "VARCHAR[]",
        "started_at": "TIMESTAMP",
        "wall_s": "DOUBLE",
        "question_set": "VARCHAR",
        "system": "VARCHAR",
        "database": "VARCHAR",
        "cases": "BIGINT",
        "correct": "BIGINT",
        "incorrect": "BIGINT",
        "unscored": "BIGINT",
        "headline_metric": "VARCHAR",
        "headline": "DOUBLE",
        "low": "DOUBLE",
        "high": "DOUBLE",
        "gates": "BIGINT",
        "gates_missed": "BIGINT",
        "assay_version": "VARCHAR",
    },
}
"""Every table with its columns; `cases` has a column for each metric besides."""


class NamedRun(NamedTuple):
    """A stored run, finished or not, under the name that its rows have."""

    name: str
    folder: Path
    point: HistoryPoint


def columns_with_metrics(metrics: Collection[str]) -> dict[str, str]:
    """The columns of `cases`. A metric that is called like another column is in `scores` alone."""
    own = TABLES[CASES]
    return {**own, **{name: "DOUBLE" for name in metrics if name.casefold() not in own}}


def rows_of_run(run: NamedRun, tables: Collection[str]) -> Iterator[tuple[str, dict[str, object]]]:
    """The rows of a run, each with its table's name, without those of other tables.

    Raises RunError where the journal is damaged.
    """
    if RUNS in tables:
        yield RUNS, _run_row(run)
    if not set(tables) - {RUNS}:
        return
    lint = read_lint(run.folder) if CASES in tables else None
    findings = None if lint is None else lint.rules_by_case()
    summarizer = Summarizer()
    for evidence in _evidence(run.folder):
        summary = summarizer.summary(evidence)
        name = {"run": run.name, "case_id": summary.case_id, REPEAT_COLUMN: summary.repeat + 1}
        if CASES in tables:
            row = columns_of(summary, evidence, [score.metric for score in summary.scores], numbered=True)
            row["gold_findings"] = None if findings is None else findings.get(summary.case_id, [])
            yield CASES, {**row, "run": run.name}
        for table, row in _details(evidence):
            if table in tables:
                yield table, {**name, **row}


def _evidence(folder: Path) -> Iterator[Evidence]:
    """The evidence of a finished run in its order; of another, what is scored so far, in the journal's order."""
    path, stored = folder / journal.NAME, read_run_file(folder)
    if not path.exists():
        return
    wanted = set(stored.order)
    lines = {
        line.digest: line.content for line in journal.read_lines(path) if not stored.order or line.digest in wanted
    }
    for digest in stored.order or lines:
        if digest in lines:
            yield decode_evidence(lines[digest])


def _details(evidence: Evidence) -> Iterator[tuple[str, dict[str, object]]]:
    for score in evidence.scores:
        why = None if score.failure is None else score.failure.kind
        yield "scores", {"metric": score.metric, "value": score.value, "detail": score.detail, "failure": why}
    for flag in sorted(evidence.verdict.flags):
        yield "flags", {"flag": flag}
    for place, cause in enumerate(() if evidence.diagnosis is None else evidence.diagnosis.causes, start=1):
        told = {"clause": cause.clause, "table_name": cause.table, "column_name": cause.column}
        present = {name: text or None for name, text in told.items()}
        yield (
            "causes",
            {"place": place, "cause": cause.kind, "message": cause.message, "proved": cause.proved, **present},
        )
    comparison = evidence.comparison if evidence.outcome == "incorrect" else None
    for miss in () if comparison is None else comparison.near_misses:
        yield "near_misses", {"near_miss": miss.kind, "detail": miss.detail}
    for failure in _failures(evidence):
        yield "failures", {"blame": failure.blame, "failure": failure.kind, "message": failure.message}


def _failures(evidence: Evidence) -> Iterator[Failure]:
    """Each failure of an answer once."""
    predicted = evidence.predicted_execution
    executions = (*evidence.gold_executions, *(() if predicted is None else (predicted,)))
    found = (evidence.verdict.failure, evidence.prediction.failure, *(one.failure for one in executions))
    yield from {(one.blame, one.kind, one.message): one for one in found if one is not None}.values()


def _run_row(run: NamedRun) -> dict[str, object]:
    point, settings, made = run.point, run.point.settings, run.point.provenance
    assert settings is not None
    assert made is not None
    asked, begun, finished = question_set(point), started_at(point), point.status == "finished"
    names = ("cases", "correct", "incorrect", "unscored")
    counts = {name: getattr(point, name) if finished else None for name in names}
    rate = point.headline
    return {
        "run": run.name,
        "folder": str(run.folder),
        "name": run_name(point),
        "status": point.status,
        "tags": settings.tags,
        "started_at": None if begun is None else begun.replace(tzinfo=None),
        "wall_s": made.wall_time_s,
        "question_set": None if asked is None else asked.name,
        "system": settings.predictions,
        "database": settings.database,
        **counts,
        "headline_metric": point.headline_metric,
        "headline": rate and rate.value,
        "low": rate and rate.low,
        "high": rate and rate.high,
        "gates": len(point.gates),
        "gates_missed": sum(not one.passed for one in point.gates),
        "assay_version": made.assay_version,
    }
