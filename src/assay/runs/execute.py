"""Execute a run: what is not finished goes to the workers, what they finish goes to the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TypeAlias

from assay.engines.pool import Task, TaskDone, TaskLost, WorkerPool
from assay.errors import AssayError
from assay.model import Evidence, Failure, Provenance, Run, RunSettings, Score, Verdict
from assay.ports import Metric
from assay.runs.aggregate import aggregate
from assay.runs.codec import decode_evidence, decode_findings, encode_evidence, pack_task
from assay.runs.journal import Journal
from assay.runs.judging import score_one
from assay.runs.plan import Work, digest_of, plan_batches
from assay.runs.progress import Progress
from assay.runs.store import begin_folder, finish_folder
from assay.runs.timing import time_pairs
from assay.runs.worker import CaseOutcome, CaseTask

OnProgress: TypeAlias = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A run to be executed."""

    settings: RunSettings
    provenance: Provenance
    works: Sequence[Work]
    metrics: Sequence[Metric]
    """All metrics in the run's order."""
    local_metrics: Sequence[Metric] = ()
    """Those of them that workers cannot load by name: they score here, on rows sent back."""


def execute(job: Job, pool: WorkerPool, *, folder: Path | None = None, on_progress: OnProgress | None = None) -> Run:
    """Judge every case and put the run together, resuming what ``folder`` holds already.

    Raises RunError where the folder holds another run or a damaged one.
    """
    started = perf_counter()
    found: dict[int, Evidence] = {}
    with _open_journal(job, folder) as journal:
        digests = [digest_of(work) for work in job.works] if journal is not None else []
        if journal is not None:
            found = {
                work.index: decode_findings(journal.finished[digest], work.case, work.prediction)
                for work, digest in zip(job.works, digests, strict=True)
                if digest in journal.finished
            }
        resumed = len(found)
        remaining = [work for work in job.works if work.index not in found]
        if on_progress:
            on_progress(Progress(total=len(job.works), finished=resumed, resumed=resumed))
        for index, line in _judge(job, remaining, pool):
            if journal is not None:
                journal.append(digests[index], line)
            # Decoded while the workers go on with the next cases.
            work = job.works[index]
            found[index] = decode_findings(line, work.case, work.prediction)
            if on_progress:
                on_progress(Progress(total=len(job.works), finished=len(found), resumed=resumed))
        for index, evidence in time_pairs(job.works, found, job.metrics, job.settings, pool):
            if journal is not None:
                journal.append(digests[index], encode_evidence(evidence))
            found[index] = evidence
        run = assemble(job, [found[work.index] for work in job.works], wall_time_s=perf_counter() - started)
        if folder is not None:
            finish_folder(folder, run)
    return run


def assemble(job: Job, evidence: Sequence[Evidence], *, wall_time_s: float) -> Run:
    """The run from its evidence, which is in the question set's order."""
    return Run(
        settings=job.settings,
        provenance=replace(job.provenance, wall_time_s=round(wall_time_s, 3)),
        evidence=tuple(evidence),
        aggregates=aggregate(evidence, job.metrics),
    )


def _open_journal(job: Job, folder: Path | None) -> Journal | nullcontext[None]:
    if folder is None:
        return nullcontext()
    begin_folder(folder, job.settings, job.provenance)
    return Journal(folder)


def _judge(job: Job, works: Sequence[Work], pool: WorkerPool) -> Iterator[tuple[int, bytes]]:
    if not works:
        return
    by_index = {work.index: work for work in works}
    batches = ([_task(job, work) for work in batch] for batch in plan_batches(works, job.settings.workers))
    for outcome in pool.run(batches):
        work = by_index[outcome.task_id]
        if isinstance(outcome, TaskLost):
            yield work.index, encode_evidence(_lost(job, work, outcome))
        else:
            yield work.index, _evidence_line(job, work, outcome)


def _task(job: Job, work: Work) -> Task:
    requests = tuple(request for metric in job.local_metrics for request in metric.requests(work.case, work.prediction))
    payload = CaseTask(
        case=work.case,
        prediction=work.prediction,
        url=work.url,
        requests=requests,
        keep_rows=bool(job.local_metrics),
    )
    return Task(id=work.index, payload=pack_task(payload))


def _evidence_line(job: Job, work: Work, done: TaskDone) -> bytes:
    outcome = done.outcome
    if isinstance(outcome, bytes):
        return outcome
    if not isinstance(outcome, CaseOutcome):
        raise AssayError(f"a worker answered with {type(outcome).__name__} where a CaseOutcome belongs")
    executions = outcome.executions
    evidence = decode_evidence(outcome.evidence)
    scores = {score.metric: score for score in evidence.scores}
    for metric in job.local_metrics:
        scores[metric.name] = score_one(metric, work.case, work.prediction, executions, evidence.comparison)
    return encode_evidence(replace(evidence, scores=tuple(scores[metric.name] for metric in job.metrics)))


def _lost(job: Job, work: Work, lost: TaskLost) -> Evidence:
    """What is known of a case whose judging itself failed: nobody's answer is to blame for that."""
    kind = lost.kind if lost.kind in ("timeout", "crashed", "out_of_memory") else "unscorable"
    failure = Failure(stage="compare", kind=kind, blame="judge", message=f"judging this case failed: {lost.message}")
    return Evidence(
        case=work.case,
        prediction=work.prediction,
        verdict=Verdict(outcome="unscored", reason=failure.message, failure=failure),
        scores=tuple(Score(metric=metric.name, value=None, failure=failure) for metric in job.metrics),
    )
