"""The last part of a run with witnesses: does another database part each right answer from the gold query?

Pairs of one text are one query, and nothing is executed for them. The others go to the run's own workers, each pair
once, however many answers it has. The outcome is the answer's strength; no verdict changes.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from time import monotonic

from msgspec import Struct
from msgspec.structs import replace

from assay.model import Case, DatabaseUrl, Evidence, Prediction, Proof, RunSettings, Score, Strength, Verdict
from assay.model.verdicts.summary import CaseSummary
from assay.model.witness import AFTER_WITNESSES, Refutation, WitnessSettings
from assay.ports import Backend, Task, TaskLost
from assay.runs.execution.timing import one_query
from assay.runs.plan import Work
from assay.runs.progress import Progress
from assay.runs.store.codec import encode_value
from assay.runs.workers.worker_tasks import MatchTask

SAME_TEXT = Refutation(kind="proved", reason="the gold query's own text", proof=Proof(rules=("same text",)))
_SEVERAL = Refutation(
    kind="unknown", why="comparison", reason="the answer may contain several queries, and any of them counts"
)
_GIVEN = Refutation(
    kind="unknown",
    why="comparison",
    reason="a result was given in place of a query: it cannot be tried on other databases",
)
_AT_ONCE = 4
"""Pairs in a batch: few, so that a budget for all is kept."""
_AGREED = ("no_difference", "out_of_time")


def strength_of(found: Refutation) -> Strength:
    """The strength of a match by the result of looking for a witness."""
    if found.kind == "unknown":
        return "survived" if found.why in _AGREED and found.trials else "unknown"
    if found.proof is not None and found.proof.rules == ("same text",):
        return "same_text"
    return found.kind


def awaits_search(case: CaseSummary, wanted: WitnessSettings) -> bool:
    """Whether a match was not looked at, or in vain and with less computing, or no server, than is wanted now."""
    if case.outcome != "correct" or case.decision is not None:
        return False  # who rightly declines has no query
    found = case.search
    if found is None:
        return True
    if found.why == "no_engine" and wanted.scratch:
        return True
    undecided = found.kind in ("unknown", "bounded")
    return undecided and found.budget_s is not None and found.budget_s < wanted.seconds


def has_untried_repair(case: CaseSummary) -> bool:
    """Whether a wrong answer's repair was right on the run's database, and tried on no other."""
    return case.outcome == "incorrect" and case.repair_steps > 0 and case.repair_strength == "none"


def lacks_score(case: CaseSummary, settings: RunSettings) -> bool:
    """Whether the line was written before anybody asked for witnesses."""
    return AFTER_WITNESSES in settings.metrics and case.score(AFTER_WITNESSES) is None


def with_score(evidence: Evidence) -> Evidence:
    """The evidence with the score that takes a refuted match for wrong."""
    own = next((one for one in evidence.scores if one.metric == "match"), None)
    value = {"correct": 1.0, "incorrect": 0.0}.get(evidence.outcome)
    failure = evidence.verdict.failure if own is None else own.failure
    score = Score(metric=AFTER_WITNESSES, value=value, failure=failure if value is None else None)
    if evidence.outcome == "correct" and evidence.verdict.strength == "refuted" and evidence.refutation is not None:
        score = replace(score, value=0.0, detail=f"refuted: {evidence.refutation.reason}")
    others = tuple(one for one in evidence.scores if one.metric != AFTER_WITNESSES)
    return replace(evidence, scores=(*others, score))


def is_same_text(case: Case, prediction: Prediction) -> bool:
    """Whether the answer is a gold query's own text: one query, for which nothing need be executed."""
    return any(one_query(gold, prediction.query or "") for gold in case.golds)


def match_task(case: Case, prediction: Prediction, verdict: Verdict, url: DatabaseUrl, wanted: WitnessSettings) -> Task:
    """The task of looking for a witness; first against the gold query that the answer was scored by."""
    golds, judged = case.golds, verdict.gold_index or 0
    payload = MatchTask(
        golds=(*golds[judged : judged + 1], *golds[:judged], *golds[judged + 1 :]),
        predicted=prediction.query or "",
        url=url,
        options=case.options,
        witness=wanted,
    )
    return Task(id=0, payload=payload, database=url)


def with_strength(evidence: Evidence, found: Refutation, wanted: WitnessSettings) -> Evidence:
    """The evidence of a match with the result of looking for a witness, which is its strength."""
    verdict = replace(evidence.verdict, strength=strength_of(found))
    return replace(evidence, verdict=verdict, refutation=replace(found, budget_s=wanted.seconds))


class Search(Struct, kw_only=True):
    """Looks for witnesses of a run's matches, and of the repairs that would make others match."""

    works: Sequence[Work]
    wanted: WitnessSettings
    pool: Backend
    evidence_of: Callable[[int], Evidence]
    tell: Callable[[Progress], None]
    ended: Callable[[], bool]
    """Whether the user asked to stop."""
    repairs: frozenset[int] = frozenset()
    """The places whose answer is wrong: its repair is tried in its place."""
    clock: Callable[[], float] = monotonic
    _until: float | None = None

    def strengthened(self, places: Sequence[int]) -> Iterator[tuple[int, Evidence]]:
        """Each match with its strength, as it becomes known. A budget for all of them may leave some out."""
        pairs: dict[bytes, array[int]] = {}
        order: list[tuple[str, int]] = []
        for place in places:
            work = self.works[place]
            prediction = self._held_against_gold(place)
            verdict = self.evidence_of(place).verdict if work.case.results else None
            met_result = verdict is not None and (verdict.gold_index or 0) >= len(work.case.golds)
            if prediction.query is None or met_result:
                yield place, self._with(place, _GIVEN)
            elif is_same_text(work.case, prediction):
                yield place, self._with(place, SAME_TEXT)
            elif work.case.options.table is not None:
                yield place, self._with(place, _SEVERAL)
            else:
                # A hash, since texts would take much room in a large run.
                key = encode_value([work.url.text, work.case.golds, prediction.query, work.case.options])
                alike = pairs.setdefault(blake2b(key, digest_size=16).digest(), array("q"))
                if not alike:
                    order.append((work.url.text, place))
                alike.append(place)
        if not pairs or self.ended():
            return
        total, finished = len(pairs), 0
        by_first = {alike[0]: alike for alike in pairs.values()}
        if self.wanted.total_s is not None:
            self._until = self.clock() + self.wanted.total_s
        self._say(total, finished)
        for outcome in self.pool.run(self._batches(sorted(order)), shared=True):
            if isinstance(outcome, TaskLost):
                found = Refutation(
                    kind="unknown", why="lost", reason=f"looking for a witness failed: {outcome.message}"
                )
            else:
                assert isinstance(outcome.outcome, Refutation)
                found = outcome.outcome
            for place in by_first[outcome.task_id]:
                yield place, self._with(place, found)
            finished += 1
            self._say(total, finished)

    def _batches(self, order: list[tuple[str, int]]) -> Iterator[list[Task]]:
        """Pairs of one database after the other: a worker keeps what it read of it."""
        batch: list[Task] = []
        for _, place in order:
            if self.ended() or (self._until is not None and self.clock() >= self._until):
                return
            work, verdict = self.works[place], self.evidence_of(place).verdict
            prediction = self._held_against_gold(place)
            task = replace(match_task(work.case, prediction, verdict, work.url, self.wanted), id=place)
            if batch and (len(batch) == _AT_ONCE or batch[0].database != task.database):
                yield batch
                batch = []
                if self._until is not None and self.clock() >= self._until:
                    return
            batch.append(task)
        if batch:
            yield batch

    def _held_against_gold(self, place: int) -> Prediction:
        """The answer, or a wrong one repaired."""
        prediction = self.works[place].prediction
        diagnosis = self.evidence_of(place).diagnosis if place in self.repairs else None
        if diagnosis is None or diagnosis.repair is None:
            return prediction
        return replace(prediction, query=diagnosis.repair.query)

    def _with(self, place: int, found: Refutation) -> Evidence:
        if place in self.repairs:
            # The evidence of a wrong answer with the outcome of the search for a counterexample to its repair.
            evidence = self.evidence_of(place)
            diagnosis = evidence.diagnosis
            if diagnosis is None or diagnosis.repair is None:
                return evidence
            told = found.reason + (f"; differs if {found.causes[0].message}" if found.causes else "")
            repair = replace(diagnosis.repair, strength=strength_of(found), elsewhere=told if found.differs else "")
            return replace(evidence, diagnosis=replace(diagnosis, repair=repair))
        return with_score(with_strength(self.evidence_of(place), found, self.wanted))

    def _say(self, total: int, finished: int) -> None:
        left_s = None if self._until is None else max(0.0, self._until - self.clock())
        self.tell(Progress(stage="witnesses", total=total, finished=finished, noun="pairs", most_left_s=left_s))
