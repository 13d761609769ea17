"""A run that people review: who decided what about each of its answers, and a place to put the next decision."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from assay.errors import InputError
from assay.model import STRICT, Case, Evidence, Leniency, Outcome, Run, Verdict
from assay.model.verdicts.review import ABOUT_THE_QUESTION, Draw, Review, ReviewDecision
from assay.runs.reviews.applying import RunReviews
from assay.runs.reviews.collection import Reviews
from assay.runs.reviews.deciding import Decided, Settle, about_answer, needs_execution, outcome_of, reviewed
from assay.runs.reviews.file import append_reviews, new_id, now
from assay.runs.reviews.keys import answer_key, database_hash, gold_hash, has_result, question_hash
from assay.sql.shape import same_text

ReviewState = Literal["unreviewed", "reviewed", "unsure", "stale"]
Holds = Literal["in force", "replaced", "of another answer", "stale", "done"]
"""``replaced``: by a later review of the same person; ``done``: the question set says the same by now."""
JudgedBy = Callable[[Evidence, Case], Verdict]
"""Scores an answer by a corrected case."""


class ListedReview(Struct, frozen=True, kw_only=True):
    """One review of a question, as it is listed with an answer to it."""

    review: Review
    holds: Holds
    changed: str = ""
    """What has changed since, if the review is stale: ``gold``, ``question and database``."""


class ReviewStatus(Struct, frozen=True, kw_only=True):
    """What people have decided about one answer of the run."""

    state: ReviewState = "unreviewed"
    reviews: tuple[ListedReview, ...] = ()
    """All that were not taken back, the latest first."""
    conflict: bool = False
    outcome: Outcome | None = None
    """By what people decided. None: not decided, or the answer is to be scored by the corrected gold query."""
    by: tuple[str, ...] = ()
    """Whose decisions are in force, the latest first; not those who are unsure."""


UNREVIEWED = ReviewStatus()


class ReviewDesk:
    """The reviews of a run's question set, as they are in the file now, and what they mean for the run's answers.

    The file may be written by others at any time: what they append is seen by the next call of `refresh`. An answer is
    named by its place in the run. For many threads at once.
    """

    def __init__(self, run: Run, file: Path, *, name: str, settle: Settle = "latest") -> None:
        """``name`` is the run's, for the reviews. Raises as `refresh`, and UsageError for an unknown ``settle``."""
        self.run, self.file = run, file
        self.draws: Mapping[int, Draw] = {}
        """How the queued answers were drawn, for those that were."""
        self.version = 0
        """Counts the changes of the file that were seen."""
        self.reviews = Reviews(())
        self._name, self._settle = name, settle
        self._lock = threading.RLock()
        self._seen: tuple[int, int, int] | None = None
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for place, summary in enumerate(run.summaries):
            self._places[summary.case_id].append(place)
        self._statuses: dict[int, ReviewStatus] = {}
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
            before = self.reviews
            self.reviews = (
                Reviews((), settle=self._settle) if seen is None else Reviews.read(self.file, settle=self._settle)
            )
            applied = RunReviews(self.reviews, self.run.settings, self.run.provenance)
            self.version += 1
            for case_id in {*before.by_case, *self.reviews.by_case}:
                if before.of(case_id) != self.reviews.of(case_id):
                    for place in self._places.get(case_id, ()):
                        self._statuses[place] = self._status(place, applied)
                        self._changed[place] = self.version
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
    def unknown(self) -> tuple[Review, ...]:
        """The reviews of questions that the run does not have."""
        return self.reviews.unknown(self._places)

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
        if gold and evidence.case.gold_count == 1 and any(same_text(gold, own, "") for own in evidence.case.golds):
            raise InputError("this is already the gold query of the case: change it, or confirm the verdict")
        review = Review(
            id=new_id(),
            case_id=evidence.case.id,
            decision=decision,
            verdict=evidence.outcome if evidence.case.gold_count or evidence.case.turns else None,
            query=query,
            result=result,
            has_result=decision != "accept" or has_result(evidence),
            gold=None if gold is None else _clean(gold),
            leniency=leniency,
            note=_clean(note),
            reviewer=_clean(reviewer),
            at=now(),
            question_hash=question_hash(evidence.case),
            gold_hash=gold_hash(evidence.case),
            database_hash=database_hash(self.run.settings, self.run.provenance, evidence.case.database),
            run=self._name,
            draw=None if place is None else self.draws.get(place),
        )
        outcome = evidence.outcome if decision == "confirm" else outcome_of(review)
        return replace(review, outcome=outcome)

    def scored(self, evidence: Evidence, review: Review, score: JudgedBy) -> Review:
        """The review with what the answer is by it: a corrected gold query is executed.

        So is an accepted query that the run did not execute, since the question was said to have no answer.
        """
        alone = self._alone(evidence.case, review)
        corrected = needs_execution(evidence, alone)
        if review.decision == "accept" and corrected is not None and evidence.predicted_execution is None:
            try:
                return replace(review, has_result=score(evidence, corrected).outcome == "correct")
            except InputError:  # it fails as a gold query
                return replace(review, has_result=False)
        if review.decision not in ABOUT_THE_QUESTION:
            return review
        found = reviewed(evidence, alone, judged=None if corrected is None else score(evidence, corrected))
        return replace(review, outcome=evidence.outcome if found is None else found.outcome)

    def corrected(self, evidence: Evidence, review: Review) -> Case | None:
        """The case by which an answer must be scored again if this review holds; None: nothing has to be executed."""
        return needs_execution(evidence, self._alone(evidence.case, review))

    def write(self, place: int, review: Review) -> None:
        """Append a review of an answer. It is on the disk when this returns.

        Who decides about the question after the answer, or the other way round, looking at the same answer, has changed
        their mind: the earlier decision is taken back. A later one of the same kind replaces the earlier one anyway.
        """
        self.refresh()
        earlier = [one.review for one in self.status(place).reviews if one.holds in ("in force", "replaced")]
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

        Raises InputError if there is none: a person cannot take back what another one decided.
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

    def _alone(self, case: Case, review: Review) -> Decided:
        return RunReviews(Reviews([review]), self.run.settings, self.run.provenance).decided(case)

    def _status(self, place: int, applied: RunReviews) -> ReviewStatus:
        evidence = self.run.evidence[place]
        key = answer_key(evidence)
        found = applied.decided(evidence.case)
        stale = {review.id: changed for review, changed in found.stale}
        done = {review.id for review in found.done}
        about = {review.id for review in about_answer(evidence, found)}
        seen: set[tuple[str, bool]] = set()
        listed = []
        for review in reversed(self.reviews.of(evidence.case.id)):
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
        verdict, outcome = reviewed(evidence, found), None
        if verdict is not None and not verdict.pending:
            outcome = verdict.outcome
        elif verdict is not None:
            # Who decided about the question looking at this answer has seen what the answer is by that.
            own = (one for one in counting if one.id in verdict.reviews and (one.query, one.result) == key)
            outcome = next((review.outcome for review in own), None)
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
            outcome=outcome,
            by=tuple(dict.fromkeys(review.reviewer for review in counting)),
        )


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


def _clean(text: str) -> str:
    """A text that a person wrote, without halves of characters, which no file can hold."""
    return text.encode("utf-8", "replace").decode()
