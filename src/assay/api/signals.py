"""What is known of every answer without its gold query: it executes, others agree with it, a judge says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from assay.api.evaluation import evaluate
from assay.api.inputs import FileOptions
from assay.api.llm_judging import open_judge
from assay.api.run import Run
from assay.api.schemas import SchemaOf, schema_from_databases
from assay.api.workers import DatabasesInput
from assay.errors import InputError, UsageError, did_you_mean
from assay.llm_judge import CaseQueries, Prompt, QueryJudge, QueryPair, judge_cases
from assay.metrics.same_result import SameResult
from assay.model import Evidence, Limits, Prediction
from assay.model.cases.case import CaseOptions, ColumnRule
from assay.model.lint import LintOptions
from assay.ports import ChatModel
from assay.runs.estimates.frame import (
    CONFIDENCE,
    EXECUTES,
    GOLD,
    LINT,
    NOT_EMPTY,
    REPEATS,
)
from assay.runs.progress import Progress
from assay.sql.shape import read_shape

JudgeInput: TypeAlias = "str | ChatModel | QueryJudge | Callable[[str], str] | Mapping[str, bool | None]"
_ABOUT_OTHERS = ("duplicate-question", "gold-fails", "empty-result", "golds-parted")
"""Rules that look at other cases, or that say what the execution says."""


class Reading(Struct, frozen=True, kw_only=True):
    """How answers are read and executed."""

    databases: DatabasesInput | None = None
    """None: those of the run."""
    limits: Limits | None = None
    workers: int | None = None
    files: FileOptions | None = None
    concurrency: int = 4
    columns: ColumnRule = "any"
    """That of the run: whether results with their columns in another order are the same."""
    on_progress: Callable[[Progress], None] | None = None

    def evaluate(self, cases: Any, predictions: Any, databases: DatabasesInput, **settings: Any) -> Run:
        """As `assay.evaluate`, by the verdict alone."""
        return evaluate(
            cases,
            predictions,
            databases=databases,
            limits=self.limits,
            workers=self.workers,
            on_progress=self.on_progress,
            **{"metrics": ["match"], **settings},
        )


def signals_of_queries(
    first: Sequence[Evidence], reading: Reading, databases: DatabasesInput
) -> dict[str, list[float | None]]:
    """Whether each query executes, gives something, and has no lint finding.

    Each query is evaluated as its own gold: the verdict's flags say what it was computed over, and the lint reads it.
    """
    cases = [
        replace(one.case, golds=(one.prediction.query,), results=(), expects="answer")
        for one in first
        if one.prediction.query and one.prediction.given == "answer"
    ]
    answers = [Prediction(case_id=case.id, query=case.golds[0]) for case in cases]
    seen: dict[str, Evidence] = {}
    doubted: set[str] = set()
    if cases:
        options = LintOptions(ignore=frozenset(_ABOUT_OTHERS))
        run = reading.evaluate(cases, answers, databases, lint=options, extract=False)
        seen = {one.case.id: one for one in run.evidence}
        report = run.record.lint
        doubted = {one.case_id for one in report.findings if one.severity != "note"} if report is not None else set()
    signals: dict[str, list[float | None]] = {EXECUTES: [], NOT_EMPTY: [], LINT: []}
    for one in first:
        own = seen.get(one.case.id)
        done = None if own is None else own.predicted_execution
        given = one.prediction.result is not None
        runs = given or (done is not None and done.succeeded)
        full = given or (runs and own is not None and "vacuous" not in own.verdict.flags)
        signals[EXECUTES].append(float(runs))
        signals[NOT_EMPTY].append(float(full))
        signals[LINT].append(None if own is None else float(one.case.id not in doubted))
    return signals


def signals_of_run(
    run: Run, first: Sequence[Evidence], reading: Reading, databases: DatabasesInput
) -> dict[str, list[float | None]]:
    """What a run knows besides: the verdict by the gold query, the system's confidence, and its other answers."""
    signals: dict[str, list[float | None]] = {}
    if any(one.outcome != "unscored" for one in first):
        signals[GOLD] = [None if one.outcome == "unscored" else float(one.outcome == "correct") for one in first]
    if any(one.prediction.confidence is not None for one in first):
        signals[CONFIDENCE] = [one.prediction.confidence for one in first]
    repeats = 1 + max((one.prediction.repeat for one in run.evidence), default=0)
    if repeats > 1:
        again = [
            agreement(
                first,
                paired_answers(first, [one for one in run.evidence if one.prediction.repeat == number], "the repeats"),
                reading,
                databases,
            )
            for number in range(1, repeats)
        ]
        signals[REPEATS] = [sum(value or 0.0 for value in values) / len(values) for values in zip(*again, strict=True)]
    return signals


def agreement(
    first: Sequence[Evidence], others: Sequence[Evidence], reading: Reading, databases: DatabasesInput
) -> list[float | None]:
    """Per question, 1 if both answers give the same result (`SameResult`) or both give none, else 0.

    The order of the two does not matter.
    """
    found: dict[int, float] = {}
    cases, answers, places = [], [], []
    for place, (one, two) in enumerate(zip(first, others, strict=True)):
        mine, theirs = one.prediction, two.prediction
        if not (_gives(mine) and _gives(theirs)):
            found[place] = float(_gives(mine) == _gives(theirs) and mine.given == theirs.given)
        elif mine.query and mine.query == theirs.query:
            found[place] = 1.0
        else:
            golds = (theirs.query,) if theirs.query else ()
            results = (theirs.result,) if theirs.result is not None else ()
            options = CaseOptions(
                columns=one.case.options.columns or reading.columns,
                # Where gold sorts, its verdict depends on the order of rows that are in no certain order.
                ordered=one.case.options.ordered or any(read_shape(gold, "").ordered for gold in one.case.golds),
            )
            case = replace(one.case, golds=golds, results=results, expects="answer", options=options)
            cases.append(case)
            answers.append(Prediction(case_id=case.id, query=mine.query, result=mine.result))
            places.append(place)
    if cases:
        run = reading.evaluate(cases, answers, databases, metrics=[SameResult()], extract=False)
        for place, made in zip(places, run.evidence, strict=True):
            score = made.score(SameResult.name)
            if score is not None and score.value is not None:
                found[place] = score.value
            else:
                ran = [one is not None and one.succeeded for one in (made.predicted_execution, made.gold_execution)]
                found[place] = float(not any(ran))
    return [found[place] for place in range(len(first))]


def _gives(prediction: Prediction) -> bool:
    return prediction.given == "answer" and prediction.failure is None


def opinions_of(
    first: Sequence[Evidence], judge: JudgeInput, run: Run, folder: Path | None, *, concurrency: int
) -> list[float | None]:
    """The judge's opinion of each answer; None if it has none."""
    if isinstance(judge, Mapping):
        ids = {one.case.id for one in first}
        for case_id, opinion in judge.items():
            if case_id not in ids:
                near = did_you_mean(case_id, ids) if isinstance(case_id, str) else ""
                raise InputError(f"the judge has an opinion of {case_id!r}, which is not the id of a case{near}")
            if opinion is not None and not (isinstance(opinion, bool | int | float) and 0 <= opinion <= 1):
                raise UsageError(
                    f"the judge's opinion of {case_id} is {opinion!r}: give True (the answer is right), False, or None"
                )
        return [None if (opinion := judge.get(one.case.id)) is None else float(opinion) for one in first]
    schema_of = schema_from_databases(run.settings.database) or _no_schema
    cases = [_asked(one, schema_of) for one in first]
    opened = judge
    if not isinstance(judge, QueryJudge):
        cache = None if folder is None else folder / "judge-answers.sqlite"
        opened = open_judge(judge, both_orders=False, prompt=Prompt.for_answers(), cache=cache, concurrency=concurrency)
    assert isinstance(opened, QueryJudge)
    try:
        judged = judge_cases(opened, cases)
    finally:
        if isinstance(judge, str):
            opened.close()
        elif opened is not judge:
            opened.close_cache()
    return [None if one.equivalent is None else float(one.equivalent) for one in judged]


def _no_schema(_: str | None) -> str:
    return ""


def _asked(evidence: Evidence, schema_of: SchemaOf) -> CaseQueries:
    case, query = evidence.case, evidence.prediction.query
    if not query or not _gives(evidence.prediction):
        return CaseQueries(case_id=case.id, pairs=(), has_query=False)
    question = "\n".join(text for text in (case.question, case.context) if text)
    return CaseQueries(
        case_id=case.id, pairs=(QueryPair(first=query, schema=schema_of(case.database), question=question),)
    )


def first_answers(run: Run) -> list[Evidence]:
    """The first answer to each question of a run."""
    return [one for one in run.evidence if not one.prediction.repeat]


def paired_answers(first: Sequence[Evidence], others: Sequence[Evidence], name: str) -> list[Evidence]:
    """Others' evidence in the order of the first. Raises InputError for a question that they lack or put otherwise."""
    own = {one.case.id: one for one in others}
    lacking = [one.case.id for one in first if one.case.id not in own]
    if lacking:
        raise InputError(
            f"{name} has no answer to {len(lacking)} of {len(first)} questions (for example {lacking[0]!r})"
            f"{did_you_mean(lacking[0], own)}: both need the same questions with the same ids"
        )
    found = [own[one.case.id] for one in first]
    for one, two in zip(first, found, strict=True):
        if one.case.question != two.case.question:
            raise InputError(f"{name} has another question under the id {one.case.id!r}: both need the same questions")
    return found
