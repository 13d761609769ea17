"""Score the cases of a run: those that have an answer, and then each as its answer arrives."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain

from msgspec.structs import replace

from assay.errors import AssayError, RunError
from assay.model import Case, CaseSummary, Evidence, Failure, Prediction, Score, Verdict
from assay.platform.spool import Spool
from assay.ports import Backend, QueryRequest, Task, TaskDone, TaskLost
from assay.runs.aggregate.summarize import Scored, Summarizer, with_summary
from assay.runs.execution.asking import ResponseStream
from assay.runs.execution.first_cases import FirstCases
from assay.runs.execution.interruption import is_stopping
from assay.runs.execution.reviewing import verdicts_by
from assay.runs.execution.strengths import Search, awaits_search, has_untried_repair, lacks_score, with_score
from assay.runs.execution.timing import time_pairs
from assay.runs.plan import Job, OnProgress, Waiting, Work, plan_places, to_judge
from assay.runs.progress import Progress, TimeLeft, counted
from assay.runs.reviews.applying import RunReviews
from assay.runs.reviews.collection import Reviews
from assay.runs.reviews.deciding import needs_execution, reviewed
from assay.runs.store.codec import decode_evidence, encode_evidence, pack_task
from assay.runs.store.journal import Journal, LazyEvidence, damaged
from assay.runs.workers.worker_tasks import CaseOutcome
from assay.scoring.queries.metric_scores import MetricScorer
from assay.scoring.queries.verdicts import is_final_answer, may_have_stalled, needs_retry
from assay.scoring.time_limit import TimeLimit

_MOST_IN_MEMORY = 32 * 1024 * 1024
"""Bytes of evidence of a run without a folder that stay in memory; more go to a temporary file."""


class CaseRunner:
    """A run in progress: the summaries of the cases so far, and the remaining cases.

    Evidence stays in lines, in the journal's file if there is one, until somebody reads it.
    """

    def __init__(
        self,
        job: Job,
        pool: Backend | None,
        on_progress: OnProgress | None,
        *,
        journal: Journal | None = None,
        live: ResponseStream | None = None,
        begin: Callable[[], None] | None = None,
    ) -> None:
        self.job = job
        self.pool = pool
        self.works = job.works
        """The cases, each with its answer as soon as there is one."""
        self.begun = False
        """Whether the folder says that a run is being made in it."""
        self._summaries: list[CaseSummary | None] = [None] * len(self.works)
        self._judged = 0
        self.retried: set[int] = set()
        """Indices of the cases that were scored a second time."""
        self._resumed = 0
        self._begin = begin
        self._journal = journal
        self._live = live
        self._unanswered = set(range(len(self.works))) if live is not None else set()
        self._waiting = Waiting(1 if pool is None else pool.size)
        for place, prediction in () if live is None else live.held.items():
            self._answer(place, prediction)
        self._on_progress = on_progress
        self._lines = Spool[bytes](bytes, path=None if journal is None else journal.path, buffer_bytes=_MOST_IN_MEMORY)
        """Lines of evidence, as they arrived; a later line for a case replaces the earlier one."""
        self._line_at = array("q", [-1]) * len(self.works)
        """The index in them of each case's line."""
        self._summarizer = Summarizer()
        self._left: TimeLeft | None = None
        self._ending = False
        self._stage: Progress | None = None
        """The state of the search for witnesses, or of what comes behind it, while it goes on."""

    @property
    def unanswered(self) -> bool:
        """Whether answers are still to come."""
        return bool(self._unanswered)

    @property
    def remaining(self) -> Sequence[int]:
        """The places of the cases that have an answer, and are not scored yet."""
        unanswered = self._unanswered
        return array("q", [at for at, known in enumerate(self._summaries) if known is None and at not in unanswered])

    @property
    def digests(self) -> Iterable[str]:
        """The cases' digests, in their order, once all are answered."""
        return (self.works.digest(place) for place in range(len(self.works)))

    def begin(self) -> None:
        """Have the folder say that a run is being made in it."""
        if not self.begun and self._begin is not None:
            self._begin()
        self.begun = True

    def take_over(self) -> None:
        """Take over the cases that an earlier run finished. Raises RunError, naming the line, where one is damaged."""
        for place in range(len(self.works)):
            if place not in self._unanswered:
                self._take_over(place)
        self._resumed = self._judged

    def _take_over(self, at: int) -> bool:
        """Take over the case at that place if an earlier run finished it."""
        journal = self._journal
        if journal is None or (place := journal.finished.get(self.works.digest(at))) is None:
            return False
        try:
            summary = self._summarizer.summary(self._decoded(journal.content(place), at))
        except RunError as error:
            raise damaged(journal.path, place.number) from error
        if not is_final_answer(summary):
            return False
        self._line_at[at] = len(self._lines)
        self._lines.note(place.start, place.length)
        self._note(at, summary)
        return True

    def _note(self, place: int, summary: CaseSummary) -> None:
        self._judged += self._summaries[place] is None
        self._summaries[place] = summary

    def _answer(self, place: int, prediction: Prediction) -> None:
        extract = self.job.settings.extract
        self.works.answer(place, to_judge(self.works[place].case, prediction, extract=extract))
        self._unanswered.discard(place)

    def _arrived(self) -> None:
        """Let the answers that have arrived be scored, if none was scored before."""
        assert self._live is not None
        assert self.pool is not None
        for place, prediction in self._live.take():
            self._answer(place, prediction)
            if self._take_over(place):
                self._live.acknowledge(1)
                if self._left is not None:
                    self._left.drop(self.works.url(place).text)
            else:
                self._waiting.add(place, self.works.url(place).text)
        if self._live.failure is not None:
            self.pool.stop_gracefully()
        self.tell()

    def _batches(self, places: Sequence[int], size: int) -> Iterator[Sequence[int] | None]:
        """The places to be scored, and then those whose answers arrive; None while there is none."""
        for batch in plan_places(places, self.works.url, self.works.gold, size):
            if self._ending:
                return
            yield batch
        live = self._live
        while live is not None and not self._ending and live.failure is None:
            if batch := self._waiting.batch():
                live.acknowledge(len(batch))
                yield batch
            elif live.over:
                return
            else:
                yield None

    def judge(self) -> None:
        """Score the remaining cases and write each into the journal; at the end, score doubtful ones once more.

        Answers of a live system are scored as they arrive. Raises its failure, if it has one.
        """
        self.tell()
        if self.job.scorer is not None:
            for place in self.remaining:
                work = self.works[place]
                self._store(place, self.job.scorer.evidence(work.case, work.prediction, work.url))
                self._flush()
                self.tell()
            return
        doubtful: list[int] = []
        timed_out: list[int] = []
        stalled = False
        first = FirstCases()

        def is_kept(place: int, summary: CaseSummary) -> bool:
            nonlocal stalled
            first.take(summary)
            if needs_retry(summary):
                doubtful.append(place)
                stalled = stalled or not is_final_answer(summary)
                return False
            if may_have_stalled(summary):
                timed_out.append(place)
            return True

        def is_final(place: int, _: CaseSummary) -> bool:
            self.retried.add(place)
            return True

        with is_stopping(self._wind_up) as interruption:
            pool, live = self.pool, self._live
            if pool is not None and live is not None:
                live.begin(lambda: pool.soon(self._arrived))
            self._score(self.remaining, 0, is_kept)
            if live is not None and interruption.asked:
                self.tell()
                live.finish()
            interruption.end_here()
            if live is not None and live.failure is not None:
                raise live.failure
            self._score([*doubtful, *(timed_out if stalled else ())], 1, is_final)
            interruption.end_here()

    def _wind_up(self) -> None:
        """Called by a signal handler, in the middle of anything: what it calls takes no lock and writes nothing."""
        if self.pool is not None:
            self._ending = True
            if self._live is not None:
                self._live.stop()
            self.pool.stop_gracefully()
            self.pool.soon(self.tell)

    def _score(self, places: Sequence[int], attempt: int, is_kept: Callable[[int, CaseSummary], bool]) -> None:
        """Have cases scored by the workers. Evidence that arrives together and ``is_kept`` is written together."""
        pool = self.pool
        if pool is None or not (places or self._unanswered):
            return
        names = (self.works.url(place).text for place in chain(places, self._unanswered))
        self._left = left = TimeLeft(names, self.job.settings.workers)
        batches = (None if batch is None else self._tasks(batch, attempt) for batch in self._batches(places, pool.size))
        arrived: list[TaskDone | TaskLost] = []

        def take_in() -> None:
            outcomes = arrived.copy()
            arrived.clear()
            scored = [self._scored(outcome) for outcome in outcomes]
            summaries = self._summarizer.received(scored)
            cases: list[tuple[int, bytes, CaseSummary]] = []
            for outcome, (line, _, _), summary in zip(outcomes, scored, summaries, strict=True):
                place = outcome.task_id
                left.done(self.works.url(place).text, outcome.took_s if isinstance(outcome, TaskDone) else 0.0)
                if is_kept(place, summary):
                    cases.append((place, line, summary))
            self._keep(cases)
            self._flush()
            self.tell()

        try:
            for outcome in pool.run(batches, shared=True):
                if not arrived:
                    pool.soon(take_in)
                arrived.append(outcome)
        finally:
            take_in()

    def _scored(self, outcome: TaskDone | TaskLost) -> Scored:
        if isinstance(outcome, TaskLost):
            return with_summary(encode_evidence(_lost(self.job, self.works[outcome.task_id], outcome)))
        match outcome.outcome:
            case (bytes() as line, bytes() as scores, bytes() as rest):
                return line, scores, rest
            case CaseOutcome() as scored:
                return with_summary(_with_local_scores(self.job, self.works[outcome.task_id], scored))
            case other:
                raise AssayError(f"a worker answered with {type(other).__name__} where a line of evidence belongs")

    def _tasks(self, places: Sequence[int], attempt: int) -> list[Task]:
        url, metrics = self.works.url, self.job.local_metrics
        if not attempt and not metrics:
            payloads = zip(places, self.works.tasks(places), strict=True)
            return [Task(id=place, payload=payload, database=url(place)) for place, payload in payloads]
        tasks: list[Task] = []
        for place in places:
            work = self.works[place]
            requests: list[QueryRequest] = []
            for metric in metrics:
                with suppress(Exception):  # the per-case boundary: its score will tell
                    requests += tuple(metric.requests(work.case, work.prediction))
            payload = pack_task(replace(work, attempt=attempt, requests=tuple(requests), keep_rows=bool(metrics)))
            tasks.append(Task(id=place, payload=payload, database=url(place)))
        return tasks

    def _keep(self, cases: Sequence[tuple[int, bytes, CaseSummary]]) -> None:
        """Keep cases, each given by its place, its line and its summary. In the journal they are after `_flush`."""
        if not cases:
            return
        self.begin()
        journal, lines = self._journal, self._lines
        if journal is not None:
            starts = journal.put([(self.works.digest(place), line) for place, line, _ in cases])
        for number, (place, line, summary) in enumerate(cases):
            self._line_at[place] = len(lines)
            if journal is None:
                lines.append_line(line)
            else:
                lines.note(starts[number], len(line))
            self._note(place, summary)

    def _line(self, place: int) -> bytes:
        return self._lines.line(self._line_at[place])

    def evidence(self) -> Sequence[Evidence]:
        """The evidence of all cases, in their order, once all are scored."""
        return LazyEvidence(len(self._summaries), self._evidence_of, line=self._line)

    def summaries(self) -> Sequence[CaseSummary]:
        """The summaries of all cases, in their order, once all are scored."""
        return [summary for summary in self._summaries if summary is not None]

    def _evidence_of(self, place: int) -> Evidence:
        return self._decoded(self._line(place), place)

    def _decoded(self, line: bytes, place: int) -> Evidence:
        work, evidence = self.works[place], decode_evidence(line)
        prediction = work.prediction
        if self.job.scorer is not None:
            # What scores in this process may read more of the prediction, which is in the line alone.
            prediction = replace(evidence.prediction, origin=prediction.origin)
        return replace(evidence, case=work.case, prediction=prediction)

    def time(self) -> None:
        """Time the pairs that efficiency metrics wait for."""
        job = self.job
        if self.pool is None:
            return
        for index, evidence in time_pairs(
            self.works,
            self.summaries(),
            job.metrics,
            job.settings,
            self.pool,
            evidence_of=self._evidence_of,
            retried=self.retried,
            on_progress=self._on_progress,
        ):
            self._store(index, evidence)
        self._flush()

    def search(self) -> None:
        """Look for witnesses of the matches that lack a strength, if the job asks for that."""
        settings, wanted = self.job.settings, self.job.witness
        summaries = self.summaries()
        for place in [place for place, case in enumerate(summaries) if lacks_score(case, settings)]:
            self._store(place, with_score(self._evidence_of(place)))
        self._flush()  # the search reads these lines
        if wanted is not None and self.pool is not None:
            repairs = frozenset(place for place, case in enumerate(summaries) if has_untried_repair(case))
            waiting = [place for place, case in enumerate(summaries) if place in repairs or awaits_search(case, wanted)]

            def searching(state: Progress) -> None:
                self._stage = state
                self.tell()

            with is_stopping(self._wind_up) as interruption:
                search = Search(
                    works=self.works,
                    wanted=wanted,
                    pool=self.pool,
                    evidence_of=self._evidence_of,
                    tell=searching,
                    ended=lambda: self._ending,
                    repairs=repairs,
                )
                for place, evidence in search.strengthened(waiting):
                    self._store(place, evidence)
                self._flush()
                interruption.end_here()
            self._stage = None

    def review(self) -> RunReviews:
        """Note in the evidence what people's reviews decide, and score answers by the gold queries that they
        corrected."""
        applied = RunReviews(self.job.reviews or Reviews(()), self.job.settings, self.job.provenance)
        corrected: dict[int, Case] = {}
        for place in applied.concerned(self.summaries()):
            evidence = self._evidence_of(place)
            found = applied.decided(evidence.case)
            now = reviewed(evidence, found)
            case = needs_execution(evidence, found)
            if case is not None and (now is None or now.judged is None):
                corrected[place] = case
            elif now != evidence.reviewed:
                self._store(place, replace(evidence, reviewed=now))
        self._flush()
        if not corrected:
            return applied
        self._stage = Progress(stage="reviewing", total=len(corrected), finished=0)
        self.tell()
        with is_stopping(self._wind_up) as interruption:
            scored = verdicts_by(corrected, self.works, self.pool, self.job.scorer, ended=lambda: self._ending)
            for finished, (place, verdict) in enumerate(scored, 1):
                evidence = self._evidence_of(place)
                judged = reviewed(evidence, applied.decided(evidence.case), judged=verdict)
                self._store(place, replace(evidence, reviewed=judged))
                self._flush()
                self._stage = replace(self._stage, finished=finished)
                self.tell()
            interruption.end_here()
        self._stage = None
        return applied

    def _flush(self) -> None:
        if self._journal is not None:
            self._journal.flush()

    def _store(self, place: int, evidence: Evidence) -> None:
        self._keep([(place, encode_evidence(evidence), self._summarizer.summary(evidence))])

    def tell(self) -> None:
        """Report the progress."""
        if self._on_progress is None:
            return
        in_flight = 0
        if self._ending:
            in_flight = 0 if self.pool is None else self.pool.in_flight
            in_flight += 0 if self._live is None else self._live.in_flight
        if self._stage is not None:
            self._on_progress(replace(self._stage, ending=self._ending, in_flight=in_flight))
            return
        asking = self._live if self._unanswered else None
        judged, left_s = self._judged, None if self._left is None else self._left.seconds()
        if asking is not None and (asking_s := asking.left_s()) is not None:
            left_s = max(asking_s, left_s or 0.0)  # asking and scoring go on side by side
        elif asking is not None:
            left_s = None
        self._on_progress(
            Progress(
                stage="scoring" if asking is None else "asking",
                total=len(self.works),
                finished=judged if asking is None else asking.count,
                judged=None if asking is None else judged,
                resumed=self._resumed if asking is None else len(asking.held),
                noun=counted(self.job.settings.repeats),
                left_s=left_s,
                ending=self._ending,
                in_flight=in_flight,
            )
        )


def _with_local_scores(job: Job, work: Work, outcome: CaseOutcome) -> bytes:
    evidence = decode_evidence(outcome.evidence)
    scores = {score.metric: score for score in evidence.scores}
    scorer = MetricScorer(TimeLimit(job.settings.limits.comparison_timeout_s), work.case, work.prediction, work.url)
    scorer.requests(job.local_metrics)  # their queries are executed already; a metric that fails here has no score
    for metric in job.local_metrics:
        scores[metric.name] = scorer.score(metric, outcome.executions, evidence.comparison, evidence.verdict)
    asked = [metric.name for metric in job.metrics if metric.name in scores]
    return encode_evidence(replace(evidence, scores=tuple(scores[name] for name in dict.fromkeys((*asked, *scores)))))


def _lost(job: Job, work: Work, lost: TaskLost) -> Evidence:
    """The evidence of a case whose scoring itself failed, which is not attributed to the answer."""
    kind = lost.kind if lost.kind in ("timeout", "crashed", "out_of_memory") else "unscorable"
    failure = Failure(stage="compare", kind=kind, blame="assay", message=f"scoring this case failed: {lost.message}")
    return Evidence(
        case=work.case,
        prediction=work.prediction,
        verdict=Verdict(outcome="unscored", reason=failure.message, failure=failure),
        scores=tuple(Score(metric=metric.name, value=None, failure=failure) for metric in job.metrics),
    )
