"""A run that people review: who decided what about each of its answers, and a place to put the next decision."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from assay.errors import InputError
from assay.model import STRICT, Case, DatabaseUrl, Evidence, Leniency, Outcome, Run, Verdict
from assay.model.verdicts.review import ABOUT_THE_QUESTION, Draw, Review, ReviewDecision
from assay.runs.reviews.deciding import (
    Decided,
    Settle,
    about_answer,
    decided,
    needs_execution,
    outcome_of,
    reviewed,
)
from assay.runs.reviews.file import append_reviews, in_force, new_id, now, read_reviews
from assay.runs.reviews.keys import answer_key, gold_hash, question_hash
from assay.sql.shape import same_text

ReviewState = Literal["unreviewed", "reviewed", "unsure", "stale"]
Holds = Literal["in force", "replaced", "of another answer", "stale", "done"]
"""``replaced``: by a later review of the same person; ``done``: the question set says the same by now."""
JudgedBy = Callable[[Evidence, Case], Verdict]
"""Scores an answer by a corrected case."""


class ListedReview(Struct, frozen=True, kw_only=True):
    """One review of a question, as it is listed beside an answer to it."""

    review: Review
    holds: Holds
    changed: str = ""
    """Of a stale review, what has changed since: ``gold``, ``question and database``."""


class ReviewStatus(Struct, frozen=True, kw_only=True):
    """What people have decided about one answer of the run."""

    state: ReviewState = "unreviewed"
    reviews: tuple[ListedReview, ...] = ()
    """All that were not taken back, the latest first."""
    conflict: bool = False
    outcome: Outcome | None = None
    """By what people decided. None: nobody decided, or the answer is to be scored by the corrected gold query."""
    by: tuple[str, ...] = ()
    """Whose decisions are in force, the latest first; not those who are unsure."""


UNREVIEWED = ReviewStatus()


class ReviewDesk:
    """The reviews of a run's question set, as they are in the file now, and what they mean for the run's answers.

    The file may be written by others at any time: what they append is seen by the next call of `refresh`. An answer is
    named by its place in the run. For many threads at once.
    """

    def __init__(
        self,
        run: Run,
        file: Path,
        *,
        name: str,
        settle: Settle = "latest",
        dialect: str = "",
    ) -> None:
        self.run, self.file = run, file
        self._name, self._settle, self._dialect = name, settle, dialect
        self.draws: Mapping[int, Draw] = {}
        """How the queued answers were drawn, for those that were."""
        self._lock = threading.RLock()
        self._seen: tuple[int, int, int] | None = None
        self._of_case: dict[str, list[Review]] = {}
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for place, summary in enumerate(run.summaries):
            self._places[summary.case_id].append(place)
        self._statuses: dict[int, ReviewStatus] = {}
        self._digests = {one.name: one.digest for one in run.provenance.inputs}
        self.version = 0
        """Counts the changes of the file that were seen."""
        self._changed: dict[int, int] = {}
        """The version at which the status of each place changed last."""
        self.refresh()

    def refresh(self) -> None:
        """Read the file again if it has changed. Raises InputError, naming the line, if it is damaged."""
        with self._lock:
            try:
                found = self.file.stat()
                seen = (found.st_mtime_ns, found.st_size, found.st_ino)
            except FileNotFoundError:
                seen = None
            if seen == self._seen and self.version:
                return
            reviews: defaultdict[str, list[Review]] = defaultdict(list)
            for review in [] if seen is None else read_reviews(self.file):
                reviews[review.case_id].append(review)
            self.version += 1
            for case_id in {*reviews, *self._of_case}:
                if reviews.get(case_id) != self._of_case.get(case_id):
                    for place in self._places.get(case_id, ()):
                        self._statuses[place] = self._status(place, reviews[case_id])
                        self._changed[place] = self.version
            self._of_case = dict(reviews)
            self._seen = seen

    def status(self, place: int) -> ReviewStatus:
        """What people decided about an answer, as of the last `refresh`."""
        return self._statuses.get(place, UNREVIEWED)

    def changed_since(self, version: int) -> dict[int, ReviewStatus]:
        """The statuses that changed after a version of the file."""
        with self._lock:
            return {place: self._statuses[place] for place, at in self._changed.items() if at > version}

    @property
    def done(self) -> int:
        """How many answers are reviewed."""
        return sum(status.state == "reviewed" for status in self._statuses.values())

    @property
    def unknown(self) -> tuple[str, ...]:
        """The ids of reviewed questions that the run does not have."""
        return tuple(sorted(case_id for case_id in self._of_case if case_id not in self._places))

    @property
    def reviews(self) -> list[Review]:
        """Every line of the file about the run's questions."""
        return [review for case_id, group in self._of_case.items() if case_id in self._places for review in group]

    def draft(
        self,
        evidence: Evidence,
        decision: ReviewDecision,
        *,
        reviewer: str,
        note: str = "",
        gold: str | None = None,
        leniency: Leniency = STRICT,
        place: int | None = None,
    ) -> Review:
        """A decision about an answer, not written yet.

        Raises InputError if the corrected gold query is the one that the case has.
        """
        query, result = answer_key(evidence)
        if (
            gold
            and evidence.case.gold_count == 1
            and any(same_text(gold, own, self._dialect) for own in evidence.case.golds)
        ):
            raise InputError("this is the gold query that the case has: change it, or confirm the verdict")
        review = Review(
            id=new_id(),
            case_id=evidence.case.id,
            decision=decision,
            verdict=evidence.outcome if evidence.case.gold_count or evidence.case.turns else None,
            query=query,
            result=result,
            gold=gold,
            leniency=leniency,
            note=note,
            reviewer=reviewer,
            at=now(),
            question_hash=question_hash(evidence.case),
            gold_hash=gold_hash(evidence.case),
            database_hash=self._database_hash(evidence.case),
            run=self._name,
            draw=None if place is None else self.draws.get(place),
        )
        outcome = evidence.outcome if decision == "confirm" else outcome_of(review)
        return replace(review, outcome=outcome)

    def scored(self, evidence: Evidence, review: Review, score: JudgedBy) -> Review:
        """The review with what the answer is by it: a corrected gold query is executed."""
        if review.decision not in ABOUT_THE_QUESTION:
            return review
        alone = self._decided(evidence.case, [review])
        corrected = needs_execution(evidence, alone)
        found = reviewed(evidence, alone, judged=None if corrected is None else score(evidence, corrected))
        return replace(review, outcome=evidence.outcome if found is None else found.outcome)

    def corrected(self, evidence: Evidence, review: Review) -> Case | None:
        """The case by which an answer must be scored again if this review holds; None: nothing has to be executed."""
        return needs_execution(evidence, self._decided(evidence.case, [review]))

    def write(self, place: int, review: Review) -> None:
        """Append a review of an answer. It is on the disk when this returns.

        Who decides about the question after the answer, or the other way round, looking at the same answer, has changed
        their mind: the earlier decision is taken back. A later one of the same kind replaces the earlier one anyway.
        """
        self.refresh()
        earlier = [one.review for one in self.status(place).reviews if one.holds == "in force"]
        changed = [
            one
            for one in earlier
            if one.reviewer == review.reviewer
            and (one.decision in ABOUT_THE_QUESTION) != (review.decision in ABOUT_THE_QUESTION)
            and ((one.query, one.result) == (review.query, review.result) or review.decision == "confirm")
        ]
        append_reviews(self.file, [*(_undo(one, review.reviewer) for one in changed), review])
        self.refresh()

    def take_back(self, place: int, *, reviewer: str, review_id: str | None = None) -> Review:
        """Take back a person's review of an answer, by default the latest, and return it.

        Raises InputError if there is none: nobody takes back what another person decided.
        """
        own = [
            one.review
            for one in self.status(place).reviews
            if one.review.reviewer == reviewer
            and review_id in (None, one.review.id)
            and one.holds != "of another answer"
        ]
        if not own:
            case_id = self.run.summaries[place].case_id
            raise InputError(f"{case_id} has no review by {reviewer} to take back")
        append_reviews(self.file, [_undo(own[0], reviewer)])
        self.refresh()
        return own[0]

    def _decided(self, case: Case, reviews: Sequence[Review]) -> Decided:
        return decided(
            case, reviews, database_hash=self._database_hash(case), settle=self._settle, dialect=self._dialect
        )

    def _status(self, place: int, reviews: Sequence[Review]) -> ReviewStatus:
        evidence = self.run.evidence[place]
        found = self._decided(evidence.case, reviews)
        stale = {review.id: changed for review, changed in found.stale}
        done = {review.id for review in found.done}
        about = {review.id for review in about_answer(evidence, found)}
        seen: set[tuple[str, bool]] = set()
        listed = []
        for review in reversed(in_force(reviews)):
            holds: Holds = "in force"
            of_question = review.decision in ABOUT_THE_QUESTION
            if review.id in stale:
                holds = "stale"
            elif review.id in done:
                holds = "done"
            elif not of_question and review.id not in about:
                holds = "of another answer" if review in found.answers else "replaced"
            elif (review.reviewer, of_question) in seen:
                holds = "replaced"
            else:
                seen.add((review.reviewer, of_question))
            listed.append(ListedReview(review=review, holds=holds, changed=stale.get(review.id, "")))
        active = [one.review for one in listed if one.holds in ("in force", "done")]
        counting = [review for review in active if review.decision != "unsure"]
        ids = {review.id for review in counting}
        verdict = reviewed(evidence, found)
        state: ReviewState = "unreviewed"
        if counting:
            state = "reviewed"
        elif active:
            state = "unsure"
        elif stale:
            state = "stale"
        return ReviewStatus(
            state=state,
            reviews=tuple(listed),
            conflict=any(len({review.id for review in group} & ids) > 1 for group in found.conflicts),
            outcome=None if verdict is None or verdict.pending else verdict.outcome,
            by=tuple(dict.fromkeys(review.reviewer for review in counting)),
        )

    def _database_hash(self, case: Case) -> str:
        """A hash of the content of a case's database, as the run knows it."""
        try:
            url = DatabaseUrl.parse(self.run.settings.database).render(case.database)
        except InputError:  # several URLs, or none
            return ""
        return self._digests.get(str(url), "")


def _undo(review: Review, reviewer: str) -> Review:
    """The line that takes a review back."""
    return Review(
        id=new_id(),
        case_id=review.case_id,
        decision="undo",
        reviewer=reviewer,
        at=now(),
        question_hash=review.question_hash,
        undoes=review.id,
    )
