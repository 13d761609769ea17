"""What a comparison needs of each case of a run, and no more: a journal is read in a fraction of the time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from assay.errors import InputError
from assay.model import Aggregates, CaseOptions, Evidence, Provenance, Run, RunSettings, TurnAnswer
from assay.runs.codec import decode_value, encode_value
from assay.runs.headline import common_headline
from assay.runs.record_lines import SlimEvidence, SlimTurnAnswer
from assay.runs.store import FinishedRunFile, read_evidence, read_finished

Answer: TypeAlias = Evidence | SlimEvidence
Way: TypeAlias = tuple[object, ...]
"""How an answer is wrong: two wrong answers with equal ways are wrong alike."""

_OPTIONS: Callable[[CaseOptions], tuple[Any, ...]] = attrgetter(*(field.name for field in fields(CaseOptions)))


class Content(NamedTuple):
    """What makes a case the case it is. A plain tuple, since hundreds of thousands are hashed and compared."""

    question: str
    golds: tuple[str, ...]
    """The gold queries; for SDMX a hash of each question's targets."""
    database: str | None
    context: str | None
    options: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRecord:
    """One case and what became of its answers, which are several where the system was asked repeatedly."""

    case_id: str
    content: Content
    difficulty: str | None
    tags: tuple[str, ...]
    right: int
    wrong: int
    unscored: int
    values: tuple[float | None, ...]
    """For each metric of the run, in its order, the mean over the scored answers; None: there is none."""
    query: str | None
    """Of the first answer that is not right, else of the first."""
    reason: str
    """Of the same answer."""
    failing: tuple[tuple[str | None, Way], ...]
    """The query and the way of every wrong answer."""

    @property
    def share(self) -> float | None:
        """The share of right answers among the scored ones; None where none is."""
        scored = self.right + self.wrong
        return self.right / scored if scored else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecords:
    """A run as comparisons read it."""

    folder: str | None
    settings: RunSettings
    provenance: Provenance
    aggregates: Aggregates
    headline_metric: str
    """What decided ``right`` and ``wrong``."""
    repeats: int
    """The most answers that a case has; 1 for an empty run."""
    graded: frozenset[str]
    """Metrics that gave some answer another value than 0 and 1."""
    cases: tuple[CaseRecord, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names, in the order of `CaseRecord.values`."""
        return self.settings.metrics

    def values(self, metric: str) -> list[float | None]:
        """One metric's value for each case."""
        place = self.metrics.index(metric)
        return [case.values[place] for case in self.cases]


def read_records(runs: Sequence[Run | Path], *, metric: str | None = None) -> list[RunRecords]:
    """Runs in memory or in folders, to be compared. ``metric`` decides what is right; None: `common_headline` does.

    Raises InputError where there is no run, where runs over selections meet runs over queries, or where a run
    lacks the metric; RunError where a run is unfinished or damaged, and says where.
    """
    opened = [(run, run if isinstance(run, Run) else read_finished(run)) for run in runs]
    settings = [head.settings for _, head in opened]
    if len({one.selection is None for one in settings}) > 1:
        raise InputError(
            "one of the runs judged selections of SDMX data and another one queries: compare runs of one kind"
        )
    for one in settings if metric is not None else ():
        if metric not in one.metrics:
            raise InputError(
                f"the run {one.name or one.predictions!r} has no metric {metric!r}: it has {', '.join(one.metrics)}"
            )
    headline = metric or common_headline(settings)
    return [_records(run, head, headline) for run, head in opened]


def _records(run: Run | Path, head: Run | FinishedRunFile, headline: str) -> RunRecords:
    answers: Sequence[Answer]
    if isinstance(head, Run):
        answers = head.evidence
    else:
        assert isinstance(run, Path)
        answers = read_evidence(run, head, _decode)
    reader = _Reader(head.settings.metrics, headline)
    cases = tuple(map(reader.record, _by_case(answers)))
    return RunRecords(
        folder=str(run) if isinstance(run, Path) else None,
        settings=head.settings,
        provenance=head.provenance,
        aggregates=head.aggregates,
        headline_metric=headline,
        repeats=max((case.right + case.wrong + case.unscored for case in cases), default=1),
        graded=frozenset(reader.graded),
        cases=cases,
    )


def _decode(line: bytes) -> SlimEvidence:
    return decode_value(line, SlimEvidence)


def _by_case(answers: Sequence[Answer]) -> Iterator[Sequence[Answer]]:
    """The answers to each question, which follow one another."""
    if all(answer.prediction.repeat == 0 for answer in answers):
        yield from ((answer,) for answer in answers)
        return
    for _, group in groupby(answers, key=lambda answer: answer.case.id):
        yield tuple(group)


class _Reader:
    """Makes records of one run, and notes which of its metrics are graded."""

    def __init__(self, metrics: Sequence[str], headline: str) -> None:
        self.metrics = tuple(metrics)
        self.place = self.metrics.index(headline)
        self.graded: set[str] = set()

    def record(self, answers: Sequence[Answer]) -> CaseRecord:
        scored = [self.values(answer) for answer in answers]
        outcomes = [_outcome(values[self.place]) for values in scored]
        shown = next((at for at, outcome in enumerate(outcomes) if outcome is not True), 0)
        case = answers[0].case
        return CaseRecord(
            case_id=case.id,
            content=_content(answers[0]),
            difficulty=case.difficulty,
            tags=case.tags,
            right=outcomes.count(True),
            wrong=outcomes.count(False),
            unscored=outcomes.count(None),
            values=scored[0] if len(scored) == 1 else tuple(map(_mean, zip(*scored, strict=True))),
            query=_query(answers[shown]),
            reason=answers[shown].verdict.reason,
            failing=tuple(
                (_query(answer), _way(answer))
                for answer, outcome in zip(answers, outcomes, strict=True)
                if outcome is False
            ),
        )

    def values(self, answer: Answer) -> tuple[float | None, ...]:
        """In the metrics' order; None where the answer has no such score."""
        names = tuple([score.metric for score in answer.scores])
        values = tuple([score.value for score in answer.scores])
        if names != self.metrics:
            known = dict(zip(names, values, strict=True))
            values = tuple(known.get(metric) for metric in self.metrics)
        if not _YES_NO.issuperset(values):
            self.graded.update(name for name, value in zip(self.metrics, values, strict=True) if value not in _YES_NO)
        return values


_YES_NO = frozenset({None, 0.0, 1.0})


def _outcome(value: float | None) -> bool | None:
    return None if value is None else value >= 1.0


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _content(answer: Answer) -> Content:
    case = answer.case
    golds = case.golds
    if case.turns:
        # A hash, since targets may name hundreds of terms.
        golds = (*golds, *(blake2b(encode_value(turn.targets), digest_size=12).hexdigest() for turn in case.turns))
    return Content(case.question, golds, case.database, case.context, _OPTIONS(case.options))


def _query(answer: Answer) -> str | None:
    """The answer's text; of selections that of every question, a line each."""
    prediction = answer.prediction
    if not prediction.turns:
        return prediction.query
    texts = [text for turn in prediction.turns if (text := _selected(turn)) is not None]
    return "\n".join(texts) if texts else None


def _selected(turn: TurnAnswer | SlimTurnAnswer) -> str | None:
    if turn.raw is not None:
        return turn.raw
    return None if turn.selection is None else msgspec.json.encode(turn.selection).decode("utf-8", "replace")


def _way(answer: Answer) -> Way:
    """How an answer is wrong: why it failed, or how close its result comes to gold's."""
    executed, compared = answer.predicted_execution, answer.comparison
    failure = answer.verdict.failure or answer.prediction.failure or (executed.failure if executed else None)
    way: Way = (failure.kind if failure else None, answer.cause)
    if compared is not None:
        near = tuple(sorted([miss.kind for miss in compared.near_misses]))
        columns = len(executed.columns) if executed else None
        way += (near, compared.gold_row_count, compared.predicted_row_count, compared.matched_rows, columns)
    if answer.turns:
        way += tuple(_turn_ways(answer))
    return way


def _turn_ways(answer: Answer) -> Iterator[Way]:
    """Of each question: which terms are too many or missing, in which datasets, and what became of time."""
    for turn in answer.turns:
        kind = turn.failure.kind if turn.failure else None
        score = turn.score
        if score is None:
            yield (kind,)
            continue
        wrong = frozenset(
            (one.dimension, side, term.dataset, term.id)
            for one in score.dimensions
            for side, terms in enumerate((one.false_positives, one.false_negatives))
            for term in terms
        )
        time = tuple((one.dataset, one.state) for one in score.time)
        yield kind, score.extra_datasets, score.missing_datasets, time, wrong
