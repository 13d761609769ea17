"""One pair of queries with all that can be found out about it: verdict, rows, causes, another database."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.api.arguments import check_options
from assay.api.single import read_outcome
from assay.api.workers import DatabaseInput, check_databases, make_pool, url_of_one, warn_of_idle_limit
from assay.engines.pool.pool import WorkerPool
from assay.errors import AssayError, UsageError
from assay.model import Case, CaseOptions, ComparisonOptions, DatabaseUrl, Evidence, Limits, Prediction
from assay.model.witness import Refutation, WitnessSettings
from assay.ports import Executions, Task, TaskDone
from assay.reports.text.pair import HEAD_ROWS
from assay.runs.execution.strengths import SAME_TEXT, is_same_text, match_task, with_strength
from assay.runs.plan import Work
from assay.sql.extraction import extracted


class ExaminedPair(Struct, frozen=True, kw_only=True):
    """An evaluated pair with the first rows of its results."""

    evidence: Evidence
    executions: Executions


def examine_pair(
    predicted_sql: str,
    gold_sql: str | Sequence[str],
    *,
    database: DatabaseInput,
    comparison: ComparisonOptions | None = None,
    ordered: bool | None = None,
    limits: Limits | None = None,
    witness: WitnessSettings | None = None,
) -> ExaminedPair:
    """Evaluate a pair as a run evaluates a case, with the causes of a wrong prediction.

    With ``witness``, a counterexample is looked for: the outcome is the strength of a match; for a wrong prediction
    it is a small database on which the two differ, and changes nothing. The workers live for this call alone.

    Raises UsageError for options out of range or without a gold query, InputError for a URL without an engine, and
    DatabaseError for a database that cannot be read. Failures of the queries are part of the verdict.
    """
    comparison = comparison or ComparisonOptions()
    check_options(
        comparison.columns,
        relative_tolerance=comparison.relative_tolerance,
        absolute_tolerance=comparison.absolute_tolerance,
    )
    golds = (gold_sql,) if isinstance(gold_sql, str) else tuple(gold_sql)
    if not golds:
        raise UsageError("the gold query is missing: give at least one")
    url = url_of_one(database)
    check_databases([url], {})
    if limits is not None:
        warn_of_idle_limit([url], limits)
    case = Case(id="0", question="", golds=golds, options=CaseOptions(ordered=ordered))
    task = Work(
        case=case, prediction=extracted(Prediction(case_id="0", query=predicted_sql)), url=url, head_rows=HEAD_ROWS
    )
    with make_pool(comparison, limits or Limits(), (), 1, diagnose=True) as pool:
        (outcome,) = pool.run([[Task(id=0, payload=task, database=url)]])
        evidence, executions = read_outcome(outcome)
        if witness is not None and evidence.outcome != "unscored":
            evidence = _searched(evidence, url, witness, pool)
    return ExaminedPair(evidence=evidence, executions=executions)


def _searched(evidence: Evidence, url: DatabaseUrl, witness: WitnessSettings, pool: WorkerPool) -> Evidence:
    """The evidence with what came of looking for another database. A query that fails has none to be tried on."""
    execution = evidence.predicted_execution
    if evidence.prediction.query is None or execution is None or not execution.succeeded:
        return evidence
    if is_same_text(evidence.case, evidence.prediction):
        found = SAME_TEXT
    else:
        task = match_task(evidence.case, evidence.prediction, evidence.verdict, url, witness)
        (outcome,) = pool.run([[task]])
        if not isinstance(outcome, TaskDone) or not isinstance(outcome.outcome, Refutation):
            raise AssayError(f"looking for a witness failed: {getattr(outcome, 'message', 'no outcome')}")
        found = outcome.outcome
    if evidence.outcome == "correct":
        return with_strength(evidence, found, witness)
    return replace(evidence, refutation=found)
