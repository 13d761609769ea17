"""Judge the cases of a run: those that have an answer, and then each as its answer arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from assay.errors import AssayError, RunError
from assay.model import Evidence, Failure, Prediction, Score, Verdict
from assay.ports import Backend, Metric, QueryRequest, Task, TaskDone, TaskLost
from assay.runs.asking import LiveAnswers
from assay.runs.interruption import winding_up
from assay.runs.job import Job, OnProgress
from assay.runs.plan import Waiting, Work, answered, digest_of, plan_batches
from assay.runs.progress import Progress, counted
from assay.runs.store.codec import decode_evidence, decode_findings, encode_evidence, pack_task
from assay.runs.store.facts import CaseFacts, FactReader, Judged
from assay.runs.store.journal import Finished, Journal, damaged
from assay.runs.store.kept_lines import KeptLines, LazyEvidence
from assay.runs.time_left import TimeLeft
from assay.runs.timing import time_pairs
from assay.runs.worker_tasks import CaseOutcome, CaseTask
from assay.scoring.queries.metric_scores import Scorer
from assay.scoring.queries.verdicts import is_doubtful, is_last_word, may_have_stalled
from assay.scoring.timekeeping import Timekeeper


class Judging:
    """A run in progress: the facts of the cases so far, and the remaining cases.

    Evidence stays in lines, in the journal's file where there is one, until somebody reads it. Only the evidence of
    cases that are judged in this process is kept itself.
    """

    def __init__(
        self,
        job: Job,
        pool: Backend | None,
        on_progress: OnProgress | None,
        *,
        live: LiveAnswers | None = None,
        begin: Callable[[], None] | None = None,
    ) -> None:
        self.job = job
        self.pool = pool
        self.works = list(job.works)
        """The cases, each with its answer as soon as there is one."""
        self.begun = False
        """Whether the folder says that a run is being made in it."""
        self.found: dict[int, Judged] = {}
        self.digests: list[str] = []
        """The cases' digests; empty without a journal."""
        self.retried: set[int] = set()
        """Indices of the cases that were judged a second time."""
        self._resumed = 0
        self._begin = begin
        self._live = live
        self._unanswered = set(range(len(self.works))) if live is not None else set()
        self._waiting = Waiting(1 if pool is None else pool.size)
        for place, prediction in () if live is None else live.held.items():
            self._answer(place, prediction)
        self._on_progress = on_progress
        self._lines = KeptLines(len(job.works))
        self._reader = FactReader()
        self._left: TimeLeft | None = None
        self._ending = False

    @property
    def unanswered(self) -> bool:
        """Whether answers are still to come."""
        return bool(self._unanswered)

    @property
    def remaining(self) -> list[Work]:
        """The cases that have an answer, and are not judged yet."""
        return [work for work in self.works if work.index not in self.found and work.index not in self._unanswered]

    def begin(self) -> None:
        """Have the folder say that a run is being made in it."""
        if not self.begun and self._begin is not None:
            self._begin()
        self.begun = True

    def take_over(self, journal: Journal) -> None:
        """Take over the cases that an earlier run finished. Raises RunError, naming the line, where one is damaged."""
        self.digests = [""] * len(self.works)
        self._lines = KeptLines(len(self.works), path=journal.path)
        for work in self.works:
            if work.index not in self._unanswered:
                self._take_over(journal, work)
        self._resumed = len(self.found)

    def _take_over(self, journal: Journal, work: Work) -> bool:
        """Take over the case where an earlier run finished it."""
        digest = self.digests[work.index] = digest_of(work, self.job.bases.get(work.url.text, ""))
        if (place := journal.finished.get(digest)) is None:
            return False
        evidence = _taken_over(journal, place, work, whole=self.job.scorer is not None)
        if not is_last_word(evidence):
            return False
        self._lines.note(work.index, place.start, place.length)
        self.found[work.index] = evidence if self.job.scorer is not None else self._facts(work)
        return True

    def _answer(self, place: int, prediction: Prediction) -> Work:
        work = self.works[place] = answered(self.works[place], prediction)
        self._unanswered.discard(place)
        return work

    def _arrived(self, journal: Journal | None) -> None:
        """Let the answers that have arrived be judged, where none was judged before."""
        assert self._live is not None
        assert self.pool is not None
        for place, prediction in self._live.take():
            work = self._answer(place, prediction)
            if journal is not None and self._take_over(journal, work):
                self._live.done_with(1)
                if self._left is not None:
                    self._left.drop(work.url.text)
            else:
                self._waiting.add(work)
        if self._live.failure is not None:
            self.pool.wind_up()
        self.tell()

    def _batches(self, works: Sequence[Work], size: int) -> Iterator[Sequence[Work] | None]:
        """The works, and then the answers that arrive; None while there is none."""
        for batch in plan_batches(works, size):
            if self._ending:
                return
            yield batch
        live = self._live
        while live is not None and not self._ending and live.failure is None:
            if batch := self._waiting.batch():
                live.done_with(len(batch))
                yield batch
            elif live.over:
                return
            else:
                yield None

    def judge(self, journal: Journal | None) -> None:
        """Judge the remaining cases and write each into the journal; at the end, judge doubtful ones once more.

        Answers of a live system are judged as they arrive. Raises its failure, where it has one.
        """
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
            pool, live = self.pool, self._live
            if pool is not None and live is not None:
                live.begin(lambda: pool.soon(lambda: self._arrived(journal)))
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
            if live is not None and live.failure is not None:
                raise live.failure
            for work, line, facts in self._scored_lines([*doubtful, *(timed_out if stalled else ())], attempt=1):
                self.retried.add(work.index)
                self._keep(journal, work, line, facts)
                self.tell()
            if journal is not None:
                journal.flush()
            interruption.end_here()

    def _wind_up(self) -> None:
        """Called by a signal handler, in the middle of anything: what it calls takes no lock and writes nothing."""
        if self.pool is not None:
            self._ending = True
            if self._live is not None:
                self._live.stop()
            self.pool.wind_up()
            self.pool.soon(self.tell)

    def _scored_lines(self, works: Sequence[Work], *, attempt: int) -> Iterator[tuple[Work, bytes, CaseFacts]]:
        if self.pool is None or not (works or self._unanswered):
            return
        names = [work.url.text for work in works] + [self.works[place].url.text for place in self._unanswered]
        self._left = left = TimeLeft(names, self.job.settings.workers)
        for index, line, took_s in self._scored(self.pool, works, attempt):
            # Read while the workers go on with the next cases.
            work = self.works[index]
            left.done(work.url.text, took_s)
            yield work, line, self._reader.read(line, work.case, work.prediction)

    def _scored(self, pool: Backend, works: Sequence[Work], attempt: int) -> Iterator[tuple[int, bytes, float]]:
        job = self.job
        batches = (
            None if batch is None else [_task(job, work, attempt) for work in batch]
            for batch in self._batches(works, pool.size)
        )
        for outcome in pool.run(batches, shared=True):
            work = self.works[outcome.task_id]
            if isinstance(outcome, TaskLost):
                yield work.index, encode_evidence(_lost(job, work, outcome)), 0.0
            else:
                yield work.index, _evidence_line(job, work, outcome), outcome.took_s

    def _keep(self, journal: Journal | None, work: Work, line: bytes, facts: CaseFacts) -> None:
        self.begin()
        if journal is None:
            self._lines.keep(work.index, line)
        else:
            if self.pool is not None and not journal.waits:
                self.pool.soon(journal.flush)  # what has arrived together is written together
            self._lines.note(work.index, journal.put(self.digests[work.index], line), len(line))
        self.found[work.index] = facts

    def _facts(self, work: Work) -> CaseFacts:
        return self._reader.read(self._lines.line(work.index), work.case, work.prediction)

    def evidence(self) -> Sequence[Evidence]:
        """The evidence of all cases, in their order, once all are judged."""
        facts = self.facts()
        held = tuple([one for one in facts if isinstance(one, Evidence)])
        return held if len(held) == len(facts) else LazyEvidence(len(facts), self._evidence_of, facts=facts)

    def facts(self) -> list[Judged]:
        """The facts of all cases, in their order, once all are judged."""
        return [self.found[place] for place in range(len(self.works))]

    def _evidence_of(self, place: int) -> Evidence:
        work = self.works[place]
        return decode_findings(self._lines.line(place), work.case, work.prediction)

    def time(self, journal: Journal | None) -> None:
        """Time the pairs that efficiency metrics wait for."""
        job = self.job
        if self.pool is None:
            return
        for index, evidence in time_pairs(
            self.works,
            self.found,
            job.metrics,
            job.settings,
            self.pool,
            evidence_of=self._evidence_of,
            retried=self.retried,
            on_progress=self._on_progress,
        ):
            work, line = self.works[index], encode_evidence(evidence)
            self._keep(journal, work, line, self._reader.read(line, work.case, work.prediction))
        if journal is not None:
            journal.flush()

    def tell(self) -> None:
        """Report the progress."""
        if self._on_progress is None:
            return
        asking = self._live if self._unanswered else None
        judged = len(self.found)
        self._on_progress(
            Progress(
                stage="judging" if asking is None else "asking",
                total=len(self.works),
                finished=judged if asking is None else asking.count,
                judged=None if asking is None else judged,
                resumed=self._resumed if asking is None else len(asking.held),
                noun=counted(self.job.settings.repeats),
                left_s=self._left_s(asking),
                ending=self._ending,
                in_flight=self.pool.in_flight if self._ending and self.pool is not None else 0,
            )
        )

    def _left_s(self, asking: LiveAnswers | None) -> float | None:
        """How long it will go on: asking and judging go on side by side."""
        judging_s = None if self._left is None else self._left.seconds()
        if asking is None:
            return judging_s
        asking_s = asking.left_s()
        return None if asking_s is None else max(asking_s, judging_s or 0.0)


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
