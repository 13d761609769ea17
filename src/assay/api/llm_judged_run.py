"""Run an LLM judge over the answers of a stored run, and measure it against known verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from assay import registry
from assay.api.run import Run
from assay.api.schemas import SchemaOf, schema_from_databases
from assay.errors import InputError, UsageError
from assay.llm_judge import Calibration, CaseQueries, JudgedCase, QueryJudge, QueryPair, calibrate, judge_cases
from assay.model import DatabaseUrl, Evidence
from assay.sql import read_shape

Only = Literal["all", "correct", "incorrect"]


def judge_run(
    run: Run,
    judge: QueryJudge,
    *,
    only: Only = "all",
    limit: int | None = None,
    schema: SchemaOf | None = None,
    dialect: str | None = None,
    on_case: Callable[[JudgedCase], None] | None = None,
) -> list[JudgedCase]:
    """Ask a judge whether each predicted query of a run is equivalent to one of its golds; nothing is executed.

    ``only`` picks cases by their execution verdict, ``limit`` is how many of these at most. ``schema`` gives
    the text for a database's name; None: the DDL of the run's own SQLite or DuckDB files, and no schema for
    other databases. Raises as `queries_of` and `QueryJudge.judge_all` do.
    """
    return judge_cases(judge, queries_of(run, only=only, limit=limit, schema=schema, dialect=dialect), on_case=on_case)


def queries_of(
    run: Run,
    *,
    only: Only = "all",
    limit: int | None = None,
    schema: SchemaOf | None = None,
    dialect: str | None = None,
) -> list[CaseQueries]:
    """The queries to ask a judge about. Raises InputError where the run has no such case, or judged no queries."""
    if run.settings.selection is not None:
        raise InputError("this run judged selections, not queries: a judge of queries has nothing to do with it")
    if only not in ("all", "correct", "incorrect"):
        raise UsageError(f"only is {only!r}: write 'all', 'correct' or 'incorrect'")
    chosen = [one for one in run.evidence if only in ("all", one.outcome)][:limit]
    if not chosen:
        raise InputError("the run has no case to judge" if only == "all" else f"no case of the run is {only}")
    schema_of = schema or schema_from_databases(run.settings.database) or _no_schema
    spoken = dialect or _dialect(run.settings.database)
    return [_case(one, schema_of, spoken) for one in chosen]


def _no_schema(_: str | None) -> str:
    return ""


def _case(evidence: Evidence, schema_of: SchemaOf, dialect: str | None) -> CaseQueries:
    case = evidence.case
    query = evidence.prediction.query
    if query is None or evidence.prediction.given != "answer" or case.expects != "answer":
        return CaseQueries(case_id=case.id, pairs=(), has_query=False, repeat=evidence.prediction.repeat)
    question = "\n".join(text for text in (case.question, case.context) if text) or None
    pairs = tuple(
        QueryPair(
            first=query,
            second=gold,
            schema=schema_of(case.database),
            question=question,
            dialect=dialect,
            ordered=case.options.ordered
            if case.options.ordered is not None
            else read_shape(gold, dialect or "").ordered,
        )
        for gold in case.golds
    )
    return CaseQueries(case_id=case.id, pairs=pairs, repeat=evidence.prediction.repeat)


def _dialect(database: str) -> str | None:
    """The dialect of the run's engine; None where its URL names none, as for a mapping of databases."""
    try:
        return registry.engine_class(DatabaseUrl.parse(database)).dialect
    except InputError:
        return None


class MeasuredJudge(Struct, frozen=True, kw_only=True):
    """A judge measured against the truth, with counts of the cases left out of that."""

    calibration: Calibration
    truth: Literal["execution", "labels"]
    not_asked: int
    """Cases without a predicted query or without gold: there was nothing to judge."""
    without_truth: int
    """Cases that execution left unscored, or that have no label."""
    disagreements: tuple[str, ...]
    """Ids of the cases on which the judge says the opposite, in the run's order."""


def measure_judge(run: Run, judged: Sequence[JudgedCase], *, labels: Mapping[str, bool] | None = None) -> MeasuredJudge:
    """Measure a judge against the run's own execution verdicts, or against labels by case id.

    Raises UsageError for labels of a run that asked each question several times: labels name cases, not answers.
    Unscored cases count apart. Note that execution only shows equal results on one database.
    """
    if labels is not None and run.settings.repeats > 1:
        raise UsageError(
            f"labels name cases, and this run has {run.settings.repeats} answers to each: leave the labels out"
        )
    known = (
        {(case_id, 0): label for case_id, label in labels.items()}
        if labels is not None
        else {
            (one.case.id, one.prediction.repeat): one.outcome == "correct"
            for one in run.evidence
            if one.outcome != "unscored"
        }
    )
    asked = [case for case in judged if case.asked]
    told = [(known[key], case) for case in asked if (key := (case.case_id, case.repeat)) in known]
    return MeasuredJudge(
        calibration=calibrate((truth, case.equivalent) for truth, case in told),
        truth="execution" if labels is None else "labels",
        not_asked=len(judged) - len(asked),
        without_truth=len(asked) - len(told),
        disagreements=tuple(
            dict.fromkeys(
                case.case_id for truth, case in told if case.equivalent is not None and case.equivalent != truth
            )
        ),
    )
