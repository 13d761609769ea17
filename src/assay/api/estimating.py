"""Estimate accuracy without gold queries: signals of all answers, labels of a few."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from assay.api.evaluation import evaluate
from assay.api.inputs import FileOptions
from assay.api.llm_judging import open_judge
from assay.api.public import public
from assay.api.run import Run, load_run
from assay.api.schemas import SchemaOf, schema_from_databases
from assay.api.workers import DatabasesInput
from assay.cases.fields import WITHOUT_GOLD
from assay.cases.load import recognise
from assay.cases.tables.formats import CsvFormat, ExcelFormat, JsonFormat, JsonLinesFormat, ParquetFormat, YamlFormat
from assay.errors import InputError, UsageError, did_you_mean
from assay.llm_judge import CaseQueries, Prompt, QueryJudge, QueryPair, judge_cases
from assay.metrics.same_result import SameResult
from assay.model import DatabaseUrl, Evidence, Limits, Prediction
from assay.model.cases.case import CaseOptions, ColumnRule
from assay.model.lint import LintOptions
from assay.model.runs.estimate import Estimate, EstimatedDifference, Target
from assay.model.verdicts.review import Review
from assay.platform.surface import argument, option
from assay.ports import ChatModel
from assay.runs.estimates.accuracy import Unlabelled, estimate_accuracy
from assay.runs.estimates.difference import difference_of, pair_frame, paired_labels
from assay.runs.estimates.drawing import QUEUE_FILE, draw_cases, draw_different, write_queue
from assay.runs.estimates.frame import (
    AGREES,
    CONFIDENCE,
    EXECUTES,
    GOLD,
    JUDGE,
    LINT,
    NOT_EMPTY,
    REPEATS,
    Frame,
    answers_of,
    read_signals,
    write_signals,
)
from assay.runs.estimates.labels import Design, labels_of
from assay.runs.progress import Progress
from assay.runs.reviews.file import read_reviews
from assay.runs.reviews.keys import database_hash
from assay.sql.shape import read_shape

AnswersInput: TypeAlias = "Run | str | os.PathLike[str] | Sequence[Mapping[str, Any]]"
JudgeInput: TypeAlias = "str | ChatModel | QueryJudge | Mapping[str, bool | None]"
ReviewsInput: TypeAlias = "str | os.PathLike[str] | Iterable[Review]"
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


@public
def estimate(
    answers: AnswersInput,
    reviews: ReviewsInput | None = None,
    *,
    databases: DatabasesInput | None = None,
    judge: JudgeInput | None = None,
    beside: Sequence[AnswersInput] = (),
    target: Target = "frame",
    design: Design = "recorded",
    settle: str = "latest",
    unlabelled: Unlabelled = "refuse",
    more: int = 0,
    queue: str | os.PathLike[str] | None = None,
    seed: int = 0,
    output: str | os.PathLike[str] | None = None,
    confidence: float = 0.95,
    limits: Limits | None = None,
    workers: int | None = None,
    files: FileOptions | None = None,
    concurrency: int = 4,
    on_progress: Callable[[Progress], None] | None = None,
) -> Estimate:
    """Estimate the accuracy of answers without gold queries, from people's labels of a few and cheap signals of all.

    Args:
        answers: a file with questions and predicted queries, or mappings of them; or a run, or its folder.
        reviews: people's decisions (``reviews.jsonl``); None: none yet.
        databases: the databases of the queries, as in `evaluate`; None: those of the run.
        judge: a chat model that is asked whether each query answers its question, by name or opened; or its opinions
            by case id.
        beside: further answers to the same questions: agreement with each is a signal.
        target: ``frame``: the accuracy of these answers; ``future``: of answers to come.
        design: ``recorded``: only labels count that were drawn from these answers. ``random``: you declare that all
            labels of them are a random sample.
        settle: which of several people's decisions holds: ``latest``, ``majority``, or a reviewer's name.
        unlabelled: what becomes of a stratum without labels: ``refuse``, ``bounds`` or ``merge``.
        more: number of cases to draw for labelling next; they are written as a review queue.
        queue: path of that queue; None: ``queue.jsonl`` in the run's folder.
        seed: of that draw.
        output: a folder for the run of a file's answers, which can be reviewed; their signals are kept there, except
            those of ``judge`` and ``beside``, which each call names.
        confidence: of the intervals.
        limits: caps for every query.
        workers: processes that execute queries.
        files: how to read the files.
        concurrency: how many questions the judge is asked at once.
        on_progress: called with the progress.

    Raises:
        InputError: a file, a database, or the reviews cannot be used: labels without recorded draws, drawn from other
            answers than these, or a stratum without labels.
        UsageError: the arguments do not go together.
    """
    _check(target, design, unlabelled, more, confidence)
    reading = Reading(
        databases=databases,
        limits=limits,
        workers=workers,
        files=files,
        concurrency=concurrency,
        on_progress=on_progress,
    )
    run, folder = read_answers(answers, reading, output=output)
    if more and queue is None and folder is None:
        raise UsageError(f"the cases to label next need a folder: give {option('--output', 'RUN')}")
    frame = with_signals(_frame(run, answers), run, folder, reading, judge=judge, beside=beside)
    given = _reviews(reviews)
    labels = labels_of(frame, given, design=design, settle=settle)
    if labels.why_none and given and not more:
        raise InputError(labels.why_none)
    found = estimate_accuracy(
        frame, labels, target=target, confidence=confidence, unlabelled="merge" if more else unlabelled
    )
    if not more:
        return found
    stored, lines, drawn = draw_cases(frame, labels, more, seed=seed, target=target, confidence=confidence)
    path = _queue_path(queue, folder)
    if folder is not None:
        write_signals(folder, stored)
    write_queue(path, lines)
    notes = (*found.notes, labels.why_none) if labels.why_none and given else found.notes
    return replace(found, drawn=replace(drawn, queue=str(path)), notes=notes)


@public
def estimate_difference(
    answers: AnswersInput,
    other: AnswersInput,
    reviews: ReviewsInput | None = None,
    *,
    databases: DatabasesInput | None = None,
    target: Target = "frame",
    design: Design = "recorded",
    settle: str = "latest",
    more: int = 0,
    queue: str | os.PathLike[str] | None = None,
    seed: int = 0,
    output: str | os.PathLike[str] | None = None,
    confidence: float = 0.95,
    limits: Limits | None = None,
    workers: int | None = None,
    files: FileOptions | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> EstimatedDifference:
    """Estimate the accuracy of ``other`` minus that of ``answers``, from labels of questions with different results.

    Equal results differ by nothing and need no label. Labels that were drawn for one order of the two serve for the
    other, too. The arguments are those of `estimate`. Raises as it does.
    """
    _check(target, design, "refuse", more, confidence)
    reading = Reading(databases=databases, limits=limits, workers=workers, files=files, on_progress=on_progress)
    run, folder = read_answers(answers, reading, output=output)
    reading = replace(reading, databases=_databases(run, reading), columns=_columns(run))
    beside, _ = read_answers(other, reading)
    if more and queue is None and folder is None:
        raise UsageError(f"the cases to label next need a folder: give {option('--output', 'RUN')}")
    frame = _frame(run, answers)
    paired = _paired(_first(run), _first(beside), _name(other))
    second = _frame_of(_name(other), paired, beside)
    same = agreement(_first(run), paired, reading, _databases(run, reading))
    different = [value == 0.0 for value in same]
    given = _reviews(reviews)
    found = difference_of(
        frame, second, different, given, design=design, settle=settle, target=target, confidence=confidence
    )
    if not more:
        if not found.labels and not found.unsure and found.different:
            raise InputError(
                f"no review is about a question with different results: draw cases with {argument('--next')}"
            )
        return found
    labels, _ = paired_labels(frame, second, different, given, design=design, settle=settle)
    name = pair_frame(frame, second)
    rounds = [one.draw.round for one in given if one.draw is not None and one.draw.frame == name]
    lines, drawn = draw_different(frame, second, different, labels, more, round_=1 + max(rounds, default=0), seed=seed)
    path = _queue_path(queue, folder)
    write_queue(path, lines)
    return replace(found, drawn=replace(drawn, queue=str(path)))


def _check(target: str, design: str, unlabelled: str, more: int, confidence: float) -> None:
    for name, value, known in (
        ("target", target, ("frame", "future")),
        ("design", design, ("recorded", "random")),
        ("unlabelled", unlabelled, ("refuse", "bounds", "merge")),
    ):
        if value not in known:
            raise UsageError(f"{name} is {value!r}: write {' or '.join(map(repr, known))}")
    if more < 0:
        raise UsageError(f"the number of cases to draw is {more}: give at least 1")
    if not 0.0 < confidence < 1.0:
        raise UsageError(f"confidence is {confidence!r}: give a number between 0 and 1, for example 0.95")


def read_answers(
    answers: AnswersInput, reading: Reading, *, output: str | os.PathLike[str] | None = None
) -> tuple[Run, Path | None]:
    """The answers as a run, whose folder is None if it has none. Raises InputError and UsageError."""
    if isinstance(answers, Run):
        return answers, None
    path = Path(answers) if isinstance(answers, str | os.PathLike) else None
    if path is not None and path.is_dir():
        if output is not None:
            raise UsageError(f"{path} is a run already: leave {argument('--output')} out, or give a file of answers")
        return load_run(path), path
    if reading.databases is None:
        raise UsageError(f"name the database that the predicted queries are for: {option('--db', 'URL')}")
    options = reading.files or FileOptions()
    if path is not None and options.case_format is None and path.exists():
        formats = [JsonLinesFormat(), JsonFormat(), CsvFormat(), ExcelFormat(), ParquetFormat(), YamlFormat()]
        options = replace(options, case_format=recognise(path, formats).name)
    options = replace(
        options,
        case_fields=replace(options.case_fields, gold=WITHOUT_GOLD),
        prediction_format=options.prediction_format or options.case_format,
    )
    cases: Any = answers if path is None else str(path)
    run = reading.evaluate(
        cases, None if path is not None else answers, reading.databases, files=options, output=output
    )
    return run, None if output is None else Path(output)


def with_signals(
    frame: Frame,
    run: Run,
    folder: Path | None,
    reading: Reading,
    *,
    judge: JudgeInput | None,
    beside: Sequence[AnswersInput],
) -> Frame:
    """The frame with the signals of all its answers.

    A folder keeps those of the answers alone, so that they are computed once. Those of a judge and of other answers
    are there if they are asked for.
    """
    frame = frame if folder is None else read_signals(folder, frame)
    first = _first(run)
    signals = dict(frame.signals)
    databases = _databases(run, reading)
    reading = replace(reading, databases=databases, columns=_columns(run))
    if EXECUTES not in signals:
        signals |= _of_queries(first, reading, databases)
        signals |= _of_run(run, first, reading, databases)
    for other in beside:
        others = _paired(first, _first(read_answers(other, reading)[0]), _name(other))
        signals[AGREES + _name(other)] = agreement(first, others, reading, databases)
    if judge is not None:
        signals[JUDGE] = _opinions(first, judge, run, folder, concurrency=reading.concurrency)
    frame = replace(frame, signals=signals)
    if folder is not None:
        write_signals(folder, frame)
    return frame


def _of_queries(
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


def _of_run(
    run: Run, first: Sequence[Evidence], reading: Reading, databases: DatabasesInput
) -> dict[str, list[float | None]]:
    """What a run knows besides: the verdict by gold, the system's confidence, and its other answers."""
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
                _paired(first, [one for one in run.evidence if one.prediction.repeat == number], "the repeats"),
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


def _opinions(
    first: Sequence[Evidence], judge: JudgeInput, run: Run, folder: Path | None, *, concurrency: int
) -> list[float | None]:
    """The judge's opinion of each answer; None where it has none."""
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


def _first(run: Run) -> list[Evidence]:
    return [one for one in run.evidence if not one.prediction.repeat]


def _paired(first: Sequence[Evidence], others: Sequence[Evidence], name: str) -> list[Evidence]:
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


def _frame(run: Run, answers: AnswersInput) -> Frame:
    if run.settings.selection is not None:
        raise InputError("this run evaluated selections: an estimate needs a run of queries")
    return _frame_of(_name(answers), run.evidence, run)


def _frame_of(name: str, evidence: Iterable[Evidence], run: Run) -> Frame:
    return Frame(name=name, answers=answers_of(evidence, partial(database_hash, run.settings, run.provenance)))


def _name(answers: AnswersInput) -> str:
    if isinstance(answers, str | os.PathLike):
        return Path(answers).stem
    return (answers.settings.name or answers.settings.predictions) if isinstance(answers, Run) else "answers in memory"


def _columns(run: Run) -> ColumnRule:
    return "strict" if run.settings.columns == "strict" else "any"


def _databases(run: Run, reading: Reading) -> DatabasesInput:
    """Where the answers are executed. Raises UsageError if the run does not say it."""
    if reading.databases is not None:
        return reading.databases
    url = run.settings.database
    try:
        DatabaseUrl.parse(url)
    except InputError:
        raise UsageError(f"the run names its databases as {url!r}: give {option('--db', 'URL')}") from None
    return url


def _reviews(reviews: ReviewsInput | None) -> list[Review]:
    if reviews is None:
        return []
    if isinstance(reviews, str | os.PathLike):
        return read_reviews(Path(reviews))
    every = getattr(reviews, "every", reviews)
    return list(every)


def _queue_path(queue: str | os.PathLike[str] | None, folder: Path | None) -> Path:
    if queue is not None:
        return Path(queue)
    assert folder is not None
    return folder / QUEUE_FILE
