"""People's reviews over a whole run: what is decided for each of its cases, and accuracy before and after."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec.structs import replace

from assay.model import (
    Agreement,
    Case,
    CaseSummary,
    Count,
    Evidence,
    InactiveReview,
    Outcome,
    Provenance,
    ReviewTotals,
    Run,
    RunSettings,
)
from assay.model.verdicts.review import Review
from assay.runs.aggregate.rates import Answers
from assay.runs.reviews.collection import Reviews
from assay.runs.reviews.deciding import NOTHING, Decided, reviewed
from assay.runs.reviews.finding import reviews_file
from assay.runs.reviews.keys import database_hash
from assay.runs.store.folder import FinishedRunFile, load_run
from assay.runs.store.journal import LazyEvidence

RunHeader: TypeAlias = Run | FinishedRunFile
_DIALECTS = {"postgresql": "postgres", "mariadb": "mysql", "spark": "databricks"}
NO_SUCH_CASE = "no such case"


class RunReviews:
    """The reviews of a run's question set, with the databases of the run."""

    def __init__(self, reviews: Reviews, settings: RunSettings, provenance: Provenance) -> None:
        self.reviews = reviews
        self._settings = settings
        self._provenance = provenance
        self._decided: dict[str, Decided] = {}
        scheme = settings.database.partition(":")[0].partition("+")[0]
        self._dialect = _DIALECTS.get(scheme, scheme)

    def decided(self, case: Case) -> Decided:
        """What is decided about a case of the run."""
        if not self.reviews.of(case.id):
            return NOTHING
        if (known := self._decided.get(case.id)) is None:
            now = database_hash(self._settings, self._provenance, case.database)
            known = self.reviews.decided(case, database_hash=now, dialect=self._dialect)
            self._decided[case.id] = known
        return known

    def applied(self, evidence: Evidence) -> Evidence:
        """The evidence with its reviewed verdict as it is now."""
        if evidence.reviewed is None and not self.reviews.of(evidence.case.id):
            return evidence
        return replace(evidence, reviewed=reviewed(evidence, self.decided(evidence.case)))

    def concerned(self, summaries: Sequence[CaseSummary]) -> list[int]:
        """The places of the answers that reviews concern, or concerned before."""
        of_case = self.reviews.of
        return [
            place for place, case in enumerate(summaries) if case.reviewed is not None or bool(of_case(case.case_id))
        ]

    def totals(self, summaries: Sequence[CaseSummary], *, repeats: int = 1) -> ReviewTotals | None:
        """Accuracy before and after; None if there is no review. All cases with reviews were `decided` before."""
        if not self.reviews.in_force:
            return None
        decisions: defaultdict[str, dict[str, None]] = defaultdict(dict)
        changes: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for case in summaries:
            if case.reviewed is None or case.review is None:
                continue
            decisions[case.review][case.case_id] = None
            if case.reviewed != case.outcome and not case.pending:
                changes[f"{case.outcome} to {case.reviewed}"][case.case_id] = None
        reviewed_ids = tuple(dict.fromkeys(case.case_id for case in summaries if case.reviewed is not None))
        known = set(self._decided)
        unsure = [name for name, found in self._decided.items() if found.unsure and name not in set(reviewed_ids)]
        answers = Answers.of(summaries, repeats=repeats)
        reviewers = tuple(dict.fromkeys(review.reviewer for review in self.reviews.in_force))
        return ReviewTotals(
            before=answers.rate([_value(case.outcome) for case in summaries]),
            after=answers.rate([_value(case.reviewed or case.outcome) for case in summaries]),
            reviewed=reviewed_ids,
            decisions=_counts(decisions),
            changes=_counts(changes),
            pending=tuple(dict.fromkeys(case.case_id for case in summaries if case.pending)),
            unsure=tuple(unsure),
            conflicts=tuple(name for name, found in self._decided.items() if found.conflicts),
            inactive=(
                *(self._inactive(review, why) for found in self._decided.values() for review, why in found.stale),
                *(self._inactive(review, NO_SUCH_CASE) for review in self.reviews.unknown(known)),
            ),
            done=sum(len(found.done) for found in self._decided.values()),
            settle=self.reviews.settle,
            reviewers=reviewers,
            agreement=self.agreement(known) if len(reviewers) > 1 else None,
        )

    def agreement(self, case_ids: Collection[str] | None = None) -> Agreement:
        """How far the reviewers agree about these cases; None: about all that have reviews."""
        return self.reviews.agreement(case_ids, dialect=self._dialect)

    def _inactive(self, review: Review, why: str) -> InactiveReview:
        return InactiveReview(
            review=review.id,
            case_id=review.case_id,
            decision=review.decision,
            reviewer=review.reviewer,
            why=why,
            line=self.reviews.lines.get(review.id),
        )


def _value(outcome: Outcome) -> float | None:
    return {"correct": 1.0, "incorrect": 0.0}.get(outcome)


def _counts(found: Mapping[str, Iterable[str]]) -> tuple[Count, ...]:
    named = ((name, tuple(ids)) for name, ids in found.items())
    counts = (Count(name=name, count=len(ids), case_ids=ids) for name, ids in named)
    return tuple(sorted(counts, key=lambda one: (-one.count, one.name)))


def with_reviews(run: Run, reviews: Reviews | None) -> Run:
    """The run with the present state of a file of reviews, in place of the state that it was made with.

    Nothing is executed: an answer that must be scored by a gold query that was corrected since is pending.
    """
    applied = RunReviews(reviews or Reviews(()), run.settings, run.provenance)
    places = applied.concerned(run.summaries)
    if not places:
        totals = applied.totals(run.summaries, repeats=run.settings.repeats)
        return run if totals == run.aggregates.reviews else _with_totals(run, totals)
    summaries = list(run.summaries)
    changed: dict[int, Evidence] = {}
    for place in places:
        evidence = run.evidence[place]
        now = applied.applied(evidence)
        if now != evidence:
            changed[place] = now
            summaries[place] = replace(
                summaries[place],
                reviewed=None if now.reviewed is None else now.reviewed.outcome,
                review=None if now.reviewed is None else now.reviewed.decision,
                pending=now.reviewed is not None and now.reviewed.pending,
            )
    run = _with_totals(run, applied.totals(summaries, repeats=run.settings.repeats))
    if not changed:
        return run
    before = run.evidence
    lazy = LazyEvidence(len(before), lambda place: changed.get(place) or before[place])
    return replace(run, summaries=summaries, evidence=lazy)


def _with_totals(run: Run, totals: ReviewTotals | None) -> Run:
    return replace(run, aggregates=replace(run.aggregates, reviews=totals))


ReviewsChoice: TypeAlias = Reviews | Literal[False] | None
"""The reviews to apply to a stored run. None: those of its file, as the file is now; False: none."""


def load_reviewed_run(folder: Path, reviews: ReviewsChoice = None) -> Run:
    """A stored run with these reviews, or else with the present state of its file, as `with_reviews` says.

    False: with none. If its file is not found, the run is as it was made. Raises as `load_run` and `Reviews.read`.
    """
    run = load_run(folder)
    if reviews is False:
        return with_reviews(run, None)
    reviews = reviews or _reviews_now(folder, run)
    return run if reviews is None else with_reviews(run, reviews)


def reviews_to_apply(run: Path, head: RunHeader, reviews: ReviewsChoice) -> RunReviews | None:
    """What applies reviews to the cases of a stored run; None: its cases stay as they are stored."""
    if reviews is False:
        return RunReviews(Reviews(()), head.settings, head.provenance)
    found = reviews or _reviews_now(run, head)
    return None if found is None else RunReviews(found, head.settings, head.provenance)


def _reviews_now(folder: Path, run: RunHeader) -> Reviews | None:
    """The present state of the file of a stored run's reviews."""
    path = reviews_of_run(folder, run.settings, run.provenance)
    if path is None:
        return None
    totals, found = run.aggregates.reviews, Reviews.read(path)
    if totals is None or totals.settle not in ("majority", *(review.reviewer for review in found.every)):
        return found
    return Reviews(found.every, path=path, settle=totals.settle, lines=found.lines, note=found.note)


def path_for_run(reviews: Path, folder: Path | None) -> str:
    """How a run's provenance names the file: seen from the run's folder."""
    if folder is None:
        return str(reviews)
    try:
        return Path(os.path.relpath(reviews, folder)).as_posix()
    except ValueError:  # another drive
        return str(reviews.absolute())


def cases_for_run(cases: str, folder: Path) -> str | None:
    """How a run's provenance names its question set; None if it is not a file or folder."""
    return path_for_run(Path(cases), folder) if cases and Path(cases).exists() else None


def reviews_of_run(folder: Path, settings: RunSettings, provenance: Provenance) -> Path | None:
    """The file of a stored run's reviews: the one with which it was made, otherwise the one next to its question
    set."""
    found = reviews_file(folder, settings, provenance)
    return found if found is not None and found.exists() else None
