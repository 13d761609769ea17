"""The second part of a run with efficiency metrics: time the right answers, alone on one worker."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from assay.engines.pool.pool import Task, TaskLost, WorkerPool
from assay.model import Evidence, Failure, Flag, RunSettings, Score
from assay.model.blame import ruling
from assay.ports import AWAITS_TIMING, TimedMetric
from assay.runs.plan import Work
from assay.runs.worker import Timed, TimingTask


def is_timed(metric: object) -> TypeGuard[TimedMetric]:
    """Whether a metric scores wall times."""
    return callable(getattr(metric, "timed", None))


def awaits_timing(evidence: Evidence) -> bool:
    """Whether some score of this case waits for its pair to be timed."""
    return any(score.value is None and score.failure == AWAITS_TIMING for score in evidence.scores)


def time_pairs(
    works: Sequence[Work],
    found: Mapping[int, Evidence],
    metrics: Sequence[object],
    settings: RunSettings,
    pool: WorkerPool,
    *,
    retried: Collection[int] = (),
) -> Iterator[tuple[int, Evidence]]:
    """Time every pair that awaits it and give the completed evidence with its case's index, as each is done.

    All pairs go to one worker as one batch, and nothing else runs meanwhile: parallel work would
    be measured with them. ``retried`` are the indices of cases whose first attempt was lost.
    """
    timed = [metric for metric in metrics if is_timed(metric)]
    waiting = [work for work in works if awaits_timing(found[work.index])]
    by_index = {work.index: work for work in waiting}
    if not waiting:
        return
    tasks = [
        Task(id=work.index, payload=_task(work, found[work.index], settings, attempt=int(work.index in retried)))
        for work in waiting
    ]
    for outcome in pool.run([tasks]):
        evidence = found[by_index[outcome.task_id].index]
        done = Timed(failure=_lost(outcome)) if isinstance(outcome, TaskLost) else outcome.outcome
        yield outcome.task_id, _completed(evidence, timed, done if isinstance(done, Timed) else Timed())


def _task(work: Work, evidence: Evidence, settings: RunSettings, *, attempt: int) -> TimingTask:
    gold = work.case.golds[evidence.verdict.gold_index or 0]
    return TimingTask(
        gold=gold,
        predicted=work.prediction.query or "",
        url=work.url,
        iterations=settings.timing_iterations,
        attempt=attempt,
    )


def _completed(evidence: Evidence, metrics: Sequence[TimedMetric], done: Timed) -> Evidence:
    by_name = {metric.name: metric for metric in metrics}
    scores: list[Score] = []
    noisy = False
    for score in evidence.scores:
        if score.failure != AWAITS_TIMING:
            scores.append(score)
        elif done.timings:
            result = by_name[score.metric].timed(done.timings)
            scores.append(result.score)
            noisy = noisy or result.noisy
        else:
            scores.append(_not_measured(score, done.failure))
    noise: frozenset[Flag] = frozenset({"noisy_timing"}) if noisy else frozenset()
    verdict = replace(evidence.verdict, flags=evidence.verdict.flags | noise)
    return replace(evidence, scores=tuple(scores), pair_timings=done.timings, verdict=verdict)


def _not_measured(score: Score, failure: Failure | None) -> Score:
    """The score of a pair of which a query failed when it was executed again: 0 where it was the answer's own fault."""
    if failure is None:
        return replace(score, failure=_NOT_MEASURED)
    message = f"executed again for its time: {failure.message}"
    if failure.blame == "system" and ruling(failure, "predicted").outcome == "incorrect":
        return Score(metric=score.metric, value=0.0, detail=message)
    return replace(score, failure=replace(failure, message=message))


def _lost(lost: TaskLost) -> Failure:
    message = f"timing this pair failed: {lost.message}"
    return Failure(stage="score", kind="crashed", blame="assay", message=message)


_NOT_MEASURED = Failure(
    stage="score", kind="unscorable", blame="engine", message="a query took no time that could be measured"
)
