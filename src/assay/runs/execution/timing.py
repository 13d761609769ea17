"""The second part of a run with efficiency metrics: time the right answers, alone on one worker.

First every pair is timed as often as the run says. Then pairs whose noise could change their score are timed again,
each time as often as before, until noise cannot change it or the time is spent. A pair whose two texts are one query
needs no timing: both are equally fast.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from time import monotonic
from typing import Literal, TypeAlias, TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from assay.model import Evidence, Failure, Flag, PairTiming, RunSettings, Score
from assay.model.failure import ruling
from assay.model.verdicts.summary import CaseSummary
from assay.ports import AWAITS_TIMING, Backend, Task, TaskLost, TimedMetric
from assay.runs.plan import Work
from assay.runs.progress import Progress
from assay.runs.workers.worker_tasks import Timed, TimingTask
from assay.sql.lexing import pieces

MOST_TIMINGS = 400
"""The limit of timings per pair. If these do not decide, the ratio is at a step between two rewards."""
ONE_QUERY = "the gold query's own query: as fast as itself by definition"
BUDGET_SPENT = Failure(
    stage="score",
    kind="unscorable",
    blame="setup",
    message="the budget for timing was used up before this pair: run the same command to resume",
)
"""Why an efficiency metric has no value if the run's budget did not reach."""

_OnProgress: TypeAlias = Callable[[Progress], None]


def is_timed(metric: object) -> TypeGuard[TimedMetric]:
    """Whether a metric scores wall times."""
    return callable(getattr(metric, "timed", None))


def awaits_timing(case: CaseSummary) -> bool:
    """Whether some score of this case needs its pair to be timed."""
    return any(_awaits(score) for score in case.scores)


def _awaits(score: Score) -> bool:
    return score.value is None and score.failure in (AWAITS_TIMING, BUDGET_SPENT)


def one_query(gold: str, predicted: str) -> bool:
    """Whether two texts are one query except for blanks, comments, the case of bare words, and closing semicolons."""
    return _normal(gold) == _normal(predicted)


def _normal(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = [
        (piece.kind, piece.name if piece.kind == "word" else piece.text) for piece in pieces(text)
    ]
    while found and found[-1] == ("sign", ";"):
        found.pop()
    return found


def time_pairs(
    works: Sequence[Work],
    summaries: Sequence[CaseSummary],
    metrics: Sequence[object],
    settings: RunSettings,
    pool: Backend,
    *,
    evidence_of: Callable[[int], Evidence],
    retried: Collection[int] = (),
    on_progress: _OnProgress | None = None,
    clock: Callable[[], float] = monotonic,
) -> Iterator[tuple[int, Evidence]]:
    """Time every pair that needs it, and yield each completed evidence with its case's index.

    A case is yielded again if more timings changed its evidence. All pairs of a round go to one worker as one
    batch, and nothing else runs meanwhile: parallel work would distort the times. ``summaries`` says which cases
    wait, ``evidence_of`` gives the evidence of those. ``retried`` are the indices of
    cases whose first attempt was lost. ``clock`` must be a clock that the workers share.
    """
    timed = tuple(metric for metric in metrics if is_timed(metric))
    if not timed:
        return
    waiting = [works[index] for index, case in enumerate(summaries) if awaits_timing(case)]
    pairs: list[_Pair] = []
    for work in waiting:
        pair = _Pair(work=work, evidence=evidence_of(work.index), metrics=timed, attempt=int(work.index in retried))
        if one_query(pair.gold, pair.predicted):
            yield work.index, pair.by_definition()
        else:
            pairs.append(pair)
    pairs.sort(
        key=lambda pair: pair.took_s
    )  # otherwise a slow pair takes the budget each time, and those after it wait forever
    rounds = _Rounds(settings=settings, pool=pool, clock=clock, on_progress=on_progress or (lambda _: None))
    yield from rounds.first(pairs)
    yield from rounds.further([pair for pair in pairs if pair.noisy])


class _Pair:
    """Gold and prediction of one case, with the times measured so far."""

    def __init__(self, *, work: Work, evidence: Evidence, metrics: Sequence[TimedMetric], attempt: int) -> None:
        self.index = work.index
        self.url = work.url
        chosen = evidence.verdict.gold_index or 0
        chosen = chosen if chosen < len(work.case.golds) else 0  # a given result takes no time
        self.gold = work.case.golds[chosen]
        self.predicted = work.prediction.query or ""
        self.timings: tuple[PairTiming, ...] = ()
        self.noisy = False
        self.told = 0
        """How many timings the last yielded evidence holds."""
        self.attempt = attempt
        golds = evidence.gold_executions
        executed = (*golds[chosen : chosen + 1], evidence.predicted_execution)
        self.took_s = sum(one.took_s or 0.0 for one in executed if one is not None)
        """Seconds that both queries took when they were executed for scoring."""
        self._evidence = evidence
        self._metrics = {metric.name: metric for metric in metrics}

    def task(self, iterations: int, until: float | None) -> Task:
        """The task that times the pair ``iterations`` times, if the clock allows."""
        payload = TimingTask(
            gold=self.gold,
            predicted=self.predicted,
            url=self.url,
            iterations=iterations,
            begun=len(self.timings),
            until=until,
            attempt=self.attempt,
        )
        return Task(id=self.index, payload=payload, database=self.url)

    def by_definition(self) -> Evidence:
        """The evidence of two texts that are one query: one time for both gold and the prediction."""
        golds, chosen = self._evidence.gold_executions, self._evidence.verdict.gold_index or 0
        seconds = (golds[chosen].wall_time_s if chosen < len(golds) else None) or 1.0
        scores, _ = self._scored((PairTiming(gold_s=seconds, predicted_s=seconds),))
        told = zip(self._evidence.scores, scores, strict=True)
        return replace(
            self._evidence,
            scores=tuple(replace(after, detail=ONE_QUERY) if _awaits(before) else after for before, after in told),
        )

    def completed(self) -> Evidence:
        """The evidence with the scores of all timings so far."""
        scores, self.noisy = self._scored(self.timings)
        noise: frozenset[Flag] = frozenset({"noisy_timing"}) if self.noisy else frozenset()
        verdict = replace(self._evidence.verdict, flags=self._evidence.verdict.flags | noise)
        return replace(self._evidence, scores=tuple(scores), pair_timings=self.timings, verdict=verdict)

    def without(self, failure: Failure | None) -> Evidence:
        """The evidence of a pair that could not be timed."""
        scores = (_not_measured(score, failure) if _awaits(score) else score for score in self._evidence.scores)
        return replace(self._evidence, scores=tuple(scores))

    def _scored(self, timings: Sequence[PairTiming]) -> tuple[list[Score], bool]:
        scores: list[Score] = []
        noisy = False
        for score in self._evidence.scores:
            if not _awaits(score):
                scores.append(score)
                continue
            result = self._metrics[score.metric].timed(timings)
            scores.append(result.score)
            noisy = noisy or result.noisy
        return scores, noisy


class _Rounds(Struct, kw_only=True):
    """Timing under a budget, round by round."""

    settings: RunSettings
    pool: Backend
    clock: Callable[[], float]
    on_progress: _OnProgress
    _until: float | None = None

    def first(self, pairs: Sequence[_Pair]) -> Iterator[tuple[int, Evidence]]:
        """Time every pair as often as the run says, within the run's budget, if it has one."""
        if not pairs:
            return
        budget_s = self.settings.timing_budget_s
        if budget_s:
            self.pool.wait_until_ready()  # the start of a process must not count as timing
        self._until = None if budget_s is None else self.clock() + budget_s
        least = min(2, self.settings.timing_iterations)
        self._tell("timing", len(pairs), 0)
        for finished, (pair, done) in enumerate(self._timed(pairs, lambda _: self.settings.timing_iterations), 1):
            pair.timings = done.timings
            if done.failure is None and len(done.timings) >= least:
                pair.told = len(pair.timings)
                yield pair.index, pair.completed()
            else:
                yield pair.index, pair.without(BUDGET_SPENT if done.out_of_time else done.failure)
            self._tell("timing", len(pairs), finished)

    def further(self, noisy: Sequence[_Pair]) -> Iterator[tuple[int, Evidence]]:
        """Time the noisy pairs again, each as often as before, so that quickly decided ones come first."""
        if self.settings.timing_budget_s is None:
            self._until = self.clock() + self.settings.timing_extra_s
        open_pairs, total, settled = list(noisy), len(noisy), 0
        while open_pairs and self._until is not None and self.clock() < self._until:
            still: list[_Pair] = []
            for pair, done in self._timed(
                open_pairs, lambda pair: min(len(pair.timings), MOST_TIMINGS - len(pair.timings))
            ):
                # A pair that fails now did not fail before: its earlier times stay valid.
                pair.timings += done.timings
                evidence = pair.completed()
                if pair.noisy and done.failure is None and len(pair.timings) < MOST_TIMINGS:
                    still.append(pair)
                elif done.timings:
                    pair.told = len(pair.timings)
                    yield pair.index, evidence
                settled += pair not in still
                self._tell("repeating", total, settled)
            open_pairs = still
        for pair in open_pairs:
            if len(pair.timings) > pair.told:
                yield pair.index, pair.completed()

    def _timed(self, pairs: Sequence[_Pair], often: Callable[[_Pair], int]) -> Iterator[tuple[_Pair, Timed]]:
        by_index = {pair.index: pair for pair in pairs}
        for outcome in self.pool.run([[pair.task(often(pair), self._until) for pair in pairs]]):
            pair = by_index[outcome.task_id]
            if isinstance(outcome, TaskLost):
                message = f"timing this pair failed: {outcome.message}"
                yield pair, Timed(failure=Failure(stage="score", kind="crashed", blame="assay", message=message))
            else:
                yield pair, outcome.outcome if isinstance(outcome.outcome, Timed) else Timed()

    def _tell(self, stage: Literal["timing", "repeating"], total: int, finished: int) -> None:
        left_s = None if self._until is None else max(0.0, self._until - self.clock())
        self.on_progress(Progress(stage=stage, total=total, finished=finished, noun="pairs", most_left_s=left_s))


def _not_measured(score: Score, failure: Failure | None) -> Score:
    """The score of a pair if a query failed when executed again: 0 if that is the answer's own fault."""
    if failure is None:
        return replace(score, failure=_NOT_MEASURED)
    if failure == BUDGET_SPENT:
        return replace(score, failure=failure)
    message = f"executed again for its time: {failure.message}"
    if failure.blame == "system" and ruling(failure, "predicted").outcome == "incorrect":
        return Score(metric=score.metric, value=0.0, detail=message)
    return replace(score, failure=replace(failure, message=message))


_NOT_MEASURED = Failure(
    stage="score", kind="unscorable", blame="engine", message="a query took no time that could be measured"
)
