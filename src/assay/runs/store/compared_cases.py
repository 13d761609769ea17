"""What a comparison of runs needs of each case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.errors import AssayError, InputError, RunError
from assay.model import (
    Aggregates,
    Case,
    CaseOptions,
    CaseSide,
    Evidence,
    MetricInfo,
    Provenance,
    Run,
    RunSettings,
    TurnAnswer,
)
from assay.model.runs.metric_names import metric_hint
from assay.model.verdicts.summary import given_of
from assay.runs.aggregate.metric_infos import VERDICT, common_metric, infos_of
from assay.runs.reviews.applying import ReviewsChoice, reviews_to_apply
from assay.runs.store.codec import decode_evidence, encode_value
from assay.runs.store.folder import FinishedRunFile, read_cases, read_finished

FailureMode: TypeAlias = tuple[object, ...]
"""How an answer is wrong: two wrong answers of one mode are wrong alike."""


class Content(NamedTuple):
    """The content that identifies a case. A plain tuple, since hundreds of thousands are hashed and compared."""

    question: str
    golds: tuple[str, ...]
    """The gold queries; for SDMX a hash of each question's targets."""
    database: str | None
    context: str | None
    options: CaseOptions
    asked: tuple[str, ...] = ()
    """Whether the question is to be answered, and what was asked before it; empty of a plain question."""


class CaseRecord(CaseSide, frozen=True, kw_only=True):
    """One case and the results of its answers, several if the system was asked repeatedly."""

    content: Content
    difficulty: str | None
    tags: tuple[str, ...]
    values: tuple[float | None, ...]
    """For each metric of the run, in its order, the mean over the scored answers; None without any."""
    failing: tuple[tuple[str | None, FailureMode], ...]
    """The query and the way of every wrong answer."""
    answered: float | None = None
    """The share of its scored answers that were given and not held back."""
    bad: float | None = None
    """The share of wrong ones that were given."""
    reviewed: float | None = None
    """The share of right answers among the scored ones by the reviewed verdicts, if there are any."""
    is_reviewed: bool = False
    pending: bool = False
    """Whether an answer must still be scored by a corrected gold query."""


class RunRecords(Struct, frozen=True, kw_only=True):
    """A run as comparisons read it."""

    folder: str | None
    settings: RunSettings
    provenance: Provenance
    aggregates: Aggregates
    headline_metric: str
    """The metric that decided ``right`` and ``wrong``."""
    repeats: int
    """The most answers that a case has; 1 for an empty run."""
    graded: frozenset[str]
    """Metrics with values other than 0 and 1."""
    infos: Mapping[str, MetricInfo]
    """What each metric's class says of it."""
    cases: tuple[CaseRecord, ...]
    has_reviews: bool = False
    """Whether people's reviews were applied to it."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names, in the order of `CaseRecord.values`."""
        return self.settings.metrics


def read_records(
    runs: Sequence[Run | Path],
    *,
    metric: str | None = None,
    spared: Callable[[Path, AssayError], None] | None = None,
    reviews: ReviewsChoice = None,
) -> list[RunRecords]:
    """Runs in memory or in folders, to be compared. ``metric`` decides which answers are right; None: `common_metric`.

    Runs in memory have their reviewed verdicts already. ``spared`` is told of a folder that cannot be read; if it
    returns, that run is left out.

    Raises InputError if there is no run, where runs over selections are mixed with runs over queries, or where a run
    lacks the metric; RunError if a run is unfinished or damaged, and says where.
    """
    opened: list[tuple[Run | Path, Run | FinishedRunFile]] = []
    for run in runs:
        with _leaving_out(run, spared):
            opened.append((run, run if isinstance(run, Run) else read_finished(run)))
    settings = [head.settings for _, head in opened]
    if len({one.selection is None for one in settings}) > 1:
        raise InputError(
            "one of the runs scored selections of SDMX data and another one queries: compare runs of one kind"
        )
    for run, head in opened if metric is not None else ():
        one = head.settings
        if metric not in one.metrics:
            hint = metric_hint(str(metric), one.metrics)
            named = str(run) if isinstance(run, Path) else repr(one.name or one.predictions)
            raise InputError(f"the run {named} has no metric {metric!r}{hint}: it has {', '.join(one.metrics)}")
    headline = metric or common_metric(settings)
    records = []
    for run, head in opened:
        with _leaving_out(run, spared):
            records.append(_records(run, head, headline, reviews))
    return records


@contextmanager
def _leaving_out(run: Run | Path, spared: Callable[[Path, AssayError], None] | None) -> Iterator[None]:
    """Tell ``spared`` of a folder that cannot be read."""
    try:
        yield
    except (InputError, RunError) as error:
        if spared is None or isinstance(run, Run):
            raise
        spared(run, error)


def _records(run: Run | Path, head: Run | FinishedRunFile, headline: str, reviews: ReviewsChoice) -> RunRecords:
    infos = infos_of(head.settings)
    has_reviews = head.aggregates.reviews is not None
    if isinstance(head, Run):
        answers = [_record(evidence, infos, headline) for evidence in head.evidence]
    else:
        assert isinstance(run, Path)
        applied = reviews_to_apply(run, head, reviews)
        reviewed = _unchanged if applied is None else applied.applied
        has_reviews = has_reviews if applied is None else bool(applied.reviews.in_force)
        answers = read_cases(run, head, lambda line: _record(reviewed(decode_evidence(line.content)), infos, headline))
    graded = {name for name, info in infos.items() if not info.binary}
    for answer in answers:
        if not _YES_NO.issuperset(answer.values):
            graded.update(name for name, value in zip(infos, answer.values, strict=True) if value not in _YES_NO)
    cases = tuple(_merged(answers))
    return RunRecords(
        folder=str(run) if isinstance(run, Path) else None,
        settings=head.settings,
        provenance=head.provenance,
        aggregates=head.aggregates,
        headline_metric=headline,
        repeats=max((case.right + case.wrong + case.unscored for case in cases), default=1),
        graded=frozenset(graded),
        infos=infos,
        cases=cases,
        has_reviews=has_reviews,
    )


def _unchanged(evidence: Evidence) -> Evidence:
    return evidence


def _merged(answers: Iterable[CaseRecord]) -> Iterator[CaseRecord]:
    """One record per case from the consecutive records of its answers."""
    for _, group in groupby(answers, key=lambda answer: answer.case_id):
        several = list(group)
        if len(several) == 1:
            yield several[0]
            continue
        shown = next((one for one in several if not one.right), several[0])
        yield replace(
            shown,
            right=sum(one.right for one in several),
            wrong=sum(one.wrong for one in several),
            unscored=sum(one.unscored for one in several),
            values=tuple(map(_mean, zip(*(one.values for one in several), strict=True))),
            failing=tuple(way for one in several for way in one.failing),
            reviewed=_mean(one.reviewed for one in several),
            is_reviewed=any(one.is_reviewed for one in several),
            pending=any(one.pending for one in several),
            answered=_mean(one.answered for one in several),
            bad=_mean(one.bad for one in several),
        )


def _record(answer: Evidence, infos: Mapping[str, MetricInfo], headline: str) -> CaseRecord:
    """The record of one answer."""
    case, query, scores = answer.case, _query(answer), {score.metric: score.value for score in answer.scores}
    value = scores.get(headline)
    wrong = value is not None and (value < 1.0 if infos[headline].higher_is_better else value > 0.0)
    answered = None if value is None else float(given_of(answer) == "answer")
    found = answer.reviewed
    by_review = None if value is None else float(not wrong)
    if found is not None:
        by_review = {"correct": 1.0, "incorrect": 0.0}.get(found.outcome)
    return CaseRecord(
        case_id=case.id,
        content=content_of(case),
        difficulty=case.difficulty,
        tags=case.tags,
        right=int(value is not None and not wrong),
        wrong=int(wrong),
        unscored=int(value is None),
        values=tuple(map(scores.get, infos)),
        query=query,
        reason=_reason(answer, headline),
        failing=((query, _failure_mode(answer)),) if wrong else (),
        cause=answer.cause if wrong else None,
        strength="none" if wrong or value is None else answer.verdict.strength,
        answered=answered,
        bad=None if answered is None else answered * wrong,
        reviewed=by_review,
        is_reviewed=found is not None,
        pending=found is not None and found.pending,
    )


def _reason(answer: Evidence, headline: str) -> str:
    """Why the headline metric says what it says; if it does not tell, the verdict's reason under the verdict's name."""
    if headline in VERDICT:
        return answer.verdict.reason
    detail = next((score.detail for score in answer.scores if score.metric == headline and score.detail), None)
    return detail or f"by match: {answer.verdict.reason}"


_MOST_OF_ROWS = 2_000
"""Characters of an answer's rows that are shown in place of its query."""
_YES_NO = frozenset({None, 0.0, 1.0})


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def content_of(case: Case) -> Content:
    """The content that identifies the case, whatever its id."""
    # Hashes, since targets may name hundreds of terms and results have thousands of rows.
    hashed = (*(turn.targets for turn in case.turns), *(result.content for result in case.results))
    golds = (*case.golds, *(blake2b(encode_value(value), digest_size=12).hexdigest() for value in hashed))
    asked: tuple[str, ...] = ()
    if case.history or case.expects != "answer":
        asked = case.expects, *(one.question for one in case.history)
    return Content(case.question, golds, case.database, case.context, case.options, asked)


def _query(answer: Evidence) -> str | None:
    """The answer's text, or its rows; for selections the answers to all questions, one per line."""
    prediction = answer.prediction
    if prediction.result is not None:
        return prediction.result.content[:_MOST_OF_ROWS]
    if not prediction.turns:
        return prediction.query
    texts = [text for turn in prediction.turns if (text := _selected(turn)) is not None]
    return "\n".join(texts) if texts else None


def _selected(turn: TurnAnswer) -> str | None:
    if turn.raw is not None:
        return turn.raw
    return None if turn.selection is None else msgspec.json.encode(turn.selection).decode("utf-8", "replace")


def _failure_mode(answer: Evidence) -> FailureMode:
    """How an answer is wrong: why it failed, or how close its result comes to the gold query's."""
    executed, compared = answer.predicted_execution, answer.comparison
    failure = answer.verdict.failure or answer.prediction.failure or (executed.failure if executed else None)
    mode: FailureMode = (failure.kind if failure else None, answer.cause)
    if compared is not None:
        near = tuple(sorted([miss.kind for miss in compared.near_misses]))
        columns = len(executed.columns) if executed else None
        mode += (near, compared.gold_row_count, compared.predicted_row_count, compared.matched_rows, columns)
    if answer.turns:
        mode += tuple(_turn_failure_modes(answer))
    return mode


def _turn_failure_modes(answer: Evidence) -> Iterator[FailureMode]:
    """For each question: the extra and the missing terms, their datasets, and the states of time."""
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
