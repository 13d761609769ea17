"""Execute a run: unfinished cases go to the workers, finished ones to the journal."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TypeAlias

from assay.errors import AssayError, RunError
from assay.model import Evidence, Failure, MetricInfo, Provenance, Run, RunSettings, Score, Verdict
from assay.model.lint import LintReport
from assay.ports import Backend, CaseScorer, Metric, QueryRequest, Task, TaskDone, TaskLost
from assay.runs.aggregate.spread import cache_use
from assay.runs.aggregate.totals import aggregate
from assay.runs.interruption import winding_up
from assay.runs.plan import Work, digest_of, plan_batches
from assay.runs.progress import Progress, counted
from assay.runs.store.codec import decode_evidence, decode_findings, encode_evidence, pack_task
from assay.runs.store.facts import CaseFacts, FactReader, Judged
from assay.runs.store.folder import (
    RunFile,
    begin_folder,
    check_folder,
    finish_folder,
    is_same_run,
    make_folder,
    read_lint,
    relabel,
)
from assay.runs.store.journal import Finished, Journal, damaged
from assay.runs.store.kept_lines import KeptLines, LazyEvidence
from assay.runs.time_left import TimeLeft
from assay.runs.timing import awaits_timing, time_pairs
from assay.runs.worker_tasks import CaseOutcome, CaseTask
from assay.scoring.queries.metric_scores import Scorer
from assay.scoring.queries.verdicts import is_doubtful, is_last_word, may_have_stalled
from assay.scoring.timekeeping import Timekeeper
from assay.sdmx.gc_pause import collector_paused

OnProgress: TypeAlias = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A run to be executed."""

    settings: RunSettings
    provenance: Provenance
    works: Sequence[Work]
    metrics: Sequence[Metric | MetricInfo]
    """All metrics in the run's order."""
    local_metrics: Sequence[Metric] = ()
    """The metrics that workers cannot load by name: they score in this process, on rows sent back."""
    scorer: CaseScorer | None = None
    """Judges the cases in this process, without workers; None: workers judge them."""
    bases: Mapping[str, str] = field(default_factory=dict)
    """Per database URL, a hash of its content and of the versions that judge: see `digest_of`."""
    lint: LintReport | None = None
    """What is doubtful about the golds; None: nobody asks."""


def execute(
    job: Job,
    pool: Backend | None,
    *,
    folder: Path | None = None,
    overwrite: bool = False,
    on_progress: OnProgress | None = None,
) -> Run:
    """Judge every case and assemble the run, resuming from the cases that ``folder`` holds already.

    ``overwrite`` discards those instead. Raises RunError where the folder holds another run
    or a damaged one, or is being written by another process.
    """
    with collector_paused():  # there may be a hundred thousand evidences, which have no reference cycles
        if folder is None:
            return _finish(job, _Scoring(job, pool, on_progress))
        return _execute_in(folder, job, pool, overwrite=overwrite, on_progress=on_progress)


def _execute_in(
    folder: Path, job: Job, pool: Backend | None, *, overwrite: bool, on_progress: OnProgress | None
) -> Run:
    check_folder(folder, job.settings, overwrite=overwrite)
    make_folder(folder)
    with Journal(folder, forget=overwrite) as journal:
        # Checked again: another process may have written before the journal was locked.
        stored = check_folder(folder, job.settings, overwrite=overwrite)
        scoring = _Scoring(job, pool, on_progress)
        scoring.take_over(journal)
        if stored is not None and not scoring.remaining and (finished := _finished(job, stored, scoring, folder)):
            relabel(folder, stored, job.settings)
            scoring.tell()
            return finished
        begin_folder(folder, job.settings, job.provenance, lint=job.lint)
        # What writes results.parquet is imported while the workers are at work.
        threading.Thread(target=importlib.import_module, args=("duckdb",), daemon=True).start()
        run = _finish(job, scoring, journal)
        journal.check_whole()
        finish_folder(folder, run, scoring.digests)
    return run


def _finished(job: Job, stored: RunFile, scoring: _Scoring, folder: Path) -> Run | None:
    """The stored run, if nothing except its name or tags is new. Its lint stays where none is asked for."""
    if stored.aggregates is None or not is_same_run(stored, job.settings, job.provenance, scoring.digests):
        return None
    if any(map(awaits_timing, scoring.found.values())):
        return None
    lint = read_lint(folder)
    if job.lint not in (None, lint):
        return None
    return Run(
        settings=job.settings,
        provenance=stored.provenance,
        evidence=scoring.evidence(),
        aggregates=stored.aggregates,
        lint=lint,
    )


class _Scoring:
    """A run in progress: the facts of the cases so far, and the remaining cases.

    Evidence stays in lines, in the journal's file where there is one, until somebody reads it. Only the evidence of
    cases that are judged in this process is kept itself.
    """

    def __init__(self, job: Job, pool: Backend | None, on_progress: OnProgress | None) -> None:
        self.job = job
        self.pool = pool
        self.found: dict[int, Judged] = {}
        self.digests: list[str] = []
        """The cases' digests; empty without a journal."""
        self.retried: set[int] = set()
        """Indices of the cases that were judged a second time."""
        self._resumed = 0
        self._on_progress = on_progress
        self._lines = KeptLines(len(job.works))
        self._reader = FactReader()
        self._left: TimeLeft | None = None
        self._ending = False

    @property
    def remaining(self) -> list[Work]:
        """The cases that are not judged yet."""
        return [work for work in self.job.works if work.index not in self.found]

    def take_over(self, journal: Journal) -> None:
        """Take over the cases that an earlier run finished. Raises RunError, naming the line, where one is damaged."""
        self.digests = [digest_of(work, self.job.bases.get(work.url.text, "")) for work in self.job.works]
        self._lines = KeptLines(len(self.job.works), path=journal.path)
        for work, digest in zip(self.job.works, self.digests, strict=True):
            if (place := journal.finished.get(digest)) is not None:
                evidence = _taken_over(journal, place, work, whole=self.job.scorer is not None)
                if is_last_word(evidence):
                    self._lines.note(work.index, place.start, place.length)
                    self.found[work.index] = evidence if self.job.scorer is not None else self._facts(work)
        self._resumed = len(self.found)

    def score(self, journal: Journal | None) -> None:
        """Judge the remaining cases and write each into the journal; at the end, judge doubtful ones once more."""
        self.tell()
        if self.job.scorer is not None:
            for work in self.remaining:
                evidence = self.job.scorer.evidence(work.case, work.prediction, work.url)
                if journal is not None:
                    journal.append(self.digests[work.index], encode_evidence(evidence))
                self.found[work.index] = evidence
                self.tell()
            return
        doubtful: list[Work] = []
        timed_out: list[Work] = []
        stalled = False
        with winding_up(self._wind_up) as interruption:
            for work, line, facts in self._scored_lines(self.remaining, attempt=0):
                if is_doubtful(facts):
                    doubtful.append(work)
                    stalled = stalled or not is_last_word(facts)
                    continue
                if may_have_stalled(facts):
                    timed_out.append(work)
                self._keep(journal, work, line, facts)
                self.tell()
            interruption.end_here()
            for work, line, facts in self._scored_lines([*doubtful, *(timed_out if stalled else ())], attempt=1):
                self.retried.add(work.index)
                self._keep(journal, work, line, facts)
                self.tell()
            interruption.end_here()

    def _wind_up(self) -> None:
        if self.pool is not None:
            self._ending = True
            self.pool.wind_up()
            # By a thread: a signal may come in the middle of any output, which cannot begin another.
            threading.Thread(target=self.tell, daemon=True).start()

    def _scored_lines(self, works: Sequence[Work], *, attempt: int) -> Iterator[tuple[Work, bytes, CaseFacts]]:
        if self.pool is None:
            return
        self._left = TimeLeft((work.url.text for work in works), self.job.settings.workers)
        for index, line, took_s in _score_all(self.job, works, self.pool, attempt):
            # Read while the workers go on with the next cases.
            work = self.job.works[index]
            self._left.done(work.url.text, took_s)
            yield work, line, self._reader.read(line, work.case, work.prediction)

    def _keep(self, journal: Journal | None, work: Work, line: bytes, facts: CaseFacts) -> None:
        if journal is None:
            self._lines.keep(work.index, line)
        else:
            self._lines.note(work.index, journal.append(self.digests[work.index], line), len(line))
        self.found[work.index] = facts

    def _facts(self, work: Work) -> CaseFacts:
        return self._reader.read(self._lines.line(work.index), work.case, work.prediction)

    def evidence(self) -> Sequence[Evidence]:
        """The evidence of all cases, in their order, once all are judged."""
        facts = [self.found[work.index] for work in self.job.works]
        held = tuple([one for one in facts if isinstance(one, Evidence)])
        if len(held) == len(facts):
            return held
        return LazyEvidence(len(facts), self._evidence_of, facts=facts, line=self._lines.line)

    def _evidence_of(self, place: int) -> Evidence:
        work = self.job.works[place]
        return decode_findings(self._lines.line(place), work.case, work.prediction)

    def time(self, journal: Journal | None) -> None:
        """Time the pairs that efficiency metrics wait for."""
        job = self.job
        if self.pool is None:
            return
        for index, evidence in time_pairs(
            job.works,
            self.found,
            job.metrics,
            job.settings,
            self.pool,
            evidence_of=self._evidence_of,
            retried=self.retried,
            on_progress=self._on_progress,
        ):
            work, line = job.works[index], encode_evidence(evidence)
            self._keep(journal, work, line, self._reader.read(line, work.case, work.prediction))

    def tell(self) -> None:
        """Report the progress."""
        if self._on_progress:
            total, finished = len(self.job.works), len(self.found)
            noun = counted(self.job.settings.repeats)
            left_s = None if self._left is None else self._left.seconds()
            self._on_progress(
                Progress(
                    total=total,
                    finished=finished,
                    resumed=self._resumed,
                    noun=noun,
                    left_s=left_s,
                    ending=self._ending,
                )
            )


def _taken_over(journal: Journal, place: Finished, work: Work, *, whole: bool) -> Evidence:
    """Decode a journal line. ``whole``: the line has more of the prediction; only its origin is taken anew."""
    line = journal.content(place)
    try:
        if not whole:
            return decode_findings(line, work.case, work.prediction)
        evidence = decode_evidence(line)
    except RunError as error:
        raise damaged(journal.path, place.number) from error
    prediction = replace(evidence.prediction, origin=work.prediction.origin)
    return replace(evidence, case=work.case, prediction=prediction)


def _finish(job: Job, scoring: _Scoring, journal: Journal | None = None) -> Run:
    """Judge the remaining cases and assemble the run."""
    started = perf_counter()
    scoring.score(journal)
    scoring.time(journal)
    facts = [scoring.found[work.index] for work in job.works]
    infos = [metric if isinstance(metric, MetricInfo) else MetricInfo.of(metric) for metric in job.metrics]
    doubtful = job.lint.doubtful() if job.lint is not None else frozenset[str]()
    aggregates = aggregate(facts, infos, repeats=job.settings.repeats, doubtful=doubtful)
    evidence = scoring.evidence()
    if job.settings.selection is not None:
        from assay.runs.aggregate.selections import selection_totals

        aggregates = replace(aggregates, selection=selection_totals(evidence))
    cache = None if job.provenance.cache is None else cache_use(facts)
    return Run(
        settings=job.settings,
        provenance=replace(job.provenance, wall_time_s=round(perf_counter() - started, 3), cache=cache),
        evidence=evidence,
        aggregates=aggregates,
        lint=job.lint,
    )


def _score_all(job: Job, works: Sequence[Work], pool: Backend, attempt: int) -> Iterator[tuple[int, bytes, float]]:
    if not works:
        return
    by_index = {work.index: work for work in works}
    batches = ([_task(job, work, attempt) for work in batch] for batch in plan_batches(works, pool.size))
    for outcome in pool.run(batches, shared=True):
        work = by_index[outcome.task_id]
        if isinstance(outcome, TaskLost):
            yield work.index, encode_evidence(_lost(job, work, outcome)), 0.0
        else:
            yield work.index, _evidence_line(job, work, outcome), outcome.took_s


def _task(job: Job, work: Work, attempt: int) -> Task:
    requests = tuple(request for metric in job.local_metrics for request in _requests(metric, work))
    payload = CaseTask(
        case=work.case,
        prediction=work.prediction,
        url=work.url,
        requests=requests,
        keep_rows=bool(job.local_metrics),
        attempt=attempt,
    )
    return Task(id=work.index, payload=pack_task(payload), database=work.url)


def _requests(metric: Metric, work: Work) -> tuple[QueryRequest, ...]:
    try:
        return tuple(metric.requests(work.case, work.prediction))
    except Exception:  # noqa: BLE001 - the per-case boundary: its score will tell
        return ()


def _evidence_line(job: Job, work: Work, done: TaskDone) -> bytes:
    outcome = done.outcome
    if isinstance(outcome, bytes):
        return outcome
    if not isinstance(outcome, CaseOutcome):
        raise AssayError(f"a worker answered with {type(outcome).__name__} where a CaseOutcome belongs")
    executions = outcome.executions
    evidence = decode_evidence(outcome.evidence)
    scores = {score.metric: score for score in evidence.scores}
    scorer = Scorer(Timekeeper(job.settings.limits.comparison_timeout_s), work.case, work.prediction, work.url)
    scorer.requests(job.local_metrics)  # their queries are executed already; a metric that fails here has no score
    for metric in job.local_metrics:
        scores[metric.name] = scorer.score(metric, executions, evidence.comparison, evidence.verdict)
    return encode_evidence(replace(evidence, scores=tuple(scores[metric.name] for metric in job.metrics)))


def _lost(job: Job, work: Work, lost: TaskLost) -> Evidence:
    """The evidence of a case whose scoring itself failed, for which no answer is to blame."""
    kind = lost.kind if lost.kind in ("timeout", "crashed", "out_of_memory") else "unscorable"
    failure = Failure(stage="compare", kind=kind, blame="assay", message=f"judging this case failed: {lost.message}")
    return Evidence(
        case=work.case,
        prediction=work.prediction,
        verdict=Verdict(outcome="unscored", reason=failure.message, failure=failure),
        scores=tuple(Score(metric=metric.name, value=None, failure=failure) for metric in job.metrics),
    )
