"""Estimate accuracy without gold queries: signals of all answers, labels of a few."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from msgspec.structs import replace

from assay.api.inputs import FileOptions
from assay.api.public import public
from assay.api.run import Run, load_run
from assay.api.signals import (
    JudgeInput,
    Reading,
    agreement,
    first_answers,
    opinions_of,
    paired_answers,
    signals_of_queries,
    signals_of_run,
)
from assay.api.workers import DatabasesInput
from assay.cases.fields import WITHOUT_GOLD
from assay.cases.load import recognise
from assay.cases.tables.formats import CsvFormat, ExcelFormat, JsonFormat, JsonLinesFormat, ParquetFormat, YamlFormat
from assay.errors import InputError, UsageError
from assay.model import DatabaseUrl, Evidence, Limits
from assay.model.cases.case import ColumnRule
from assay.model.runs.estimate import Estimate, EstimatedDifference, Target
from assay.model.verdicts.review import Review
from assay.platform.surface import argument, option
from assay.runs.estimates.accuracy import Unlabelled, estimate_accuracy
from assay.runs.estimates.difference import difference_of, pair_frame, paired_labels
from assay.runs.estimates.drawing import QUEUE_FILE, draw_cases, draw_different, write_queue
from assay.runs.estimates.frame import (
    AGREES,
    EXECUTES,
    JUDGE,
    Frame,
    answers_of,
    read_signals,
    write_signals,
)
from assay.runs.estimates.labels import Design, labels_of
from assay.runs.progress import Progress
from assay.runs.reviews.file import read_reviews
from assay.runs.reviews.keys import database_hash

AnswersInput: TypeAlias = "Run | str | os.PathLike[str] | Sequence[Mapping[str, Any]]"
ReviewsInput: TypeAlias = "str | os.PathLike[str] | Iterable[Review]"


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
    paired = paired_answers(first_answers(run), first_answers(beside), _name(other))
    second = _frame_of(_name(other), paired, beside)
    same = agreement(first_answers(run), paired, reading, _databases(run, reading))
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
    first = first_answers(run)
    signals = dict(frame.signals)
    databases = _databases(run, reading)
    reading = replace(reading, databases=databases, columns=_columns(run))
    if EXECUTES not in signals:
        signals |= signals_of_queries(first, reading, databases)
        signals |= signals_of_run(run, first, reading, databases)
    for other in beside:
        others = paired_answers(first, first_answers(read_answers(other, reading)[0]), _name(other))
        signals[AGREES + _name(other)] = agreement(first, others, reading, databases)
    if judge is not None:
        signals[JUDGE] = opinions_of(first, judge, run, folder, concurrency=reading.concurrency)
    frame = replace(frame, signals=signals)
    if folder is not None:
        write_signals(folder, frame)
    return frame


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
