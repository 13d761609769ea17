"""What people's reviews change about a run."""

from __future__ import annotations

from msgspec import Struct

from assay.model.runs.metric import Count, Rate
from assay.model.verdicts.review import ReviewDecision


class InactiveReview(Struct, frozen=True, kw_only=True):
    """A review that has no effect on a run, and why."""

    review: str
    """Its id."""
    case_id: str
    decision: ReviewDecision
    reviewer: str
    why: str
    """What changed since the review, such as ``gold`` or ``question and gold``; ``no such case``: the question set has
    no case with that id."""
    line: int | None = None
    """The line of the file; None: the reviews are not from a file."""


class ReviewTotals(Struct, frozen=True, kw_only=True):
    """Accuracy before and after people's reviews, and what they decided. All counts are of cases.

    The reviewed verdict of an answer stands beside Assay's own, in which nothing changes.
    """

    before: Rate
    """The share of right answers by Assay's own verdicts."""
    after: Rate
    """The same by the reviewed verdicts, and by Assay's own where there is none."""
    reviewed: tuple[str, ...] = ()
    """The cases with a reviewed verdict."""
    decisions: tuple[Count, ...] = ()
    """The reviewed cases by the decision that counts (`ReviewDecision`)."""
    changes: tuple[Count, ...] = ()
    """The cases whose verdict changes, such as ``incorrect to correct``."""
    pending: tuple[str, ...] = ()
    """The cases that are unscored until their answer is scored by the corrected gold."""
    unsure: tuple[str, ...] = ()
    """The cases of which somebody is not sure, and nobody decided anything."""
    conflicts: tuple[str, ...] = ()
    """The cases about which reviewers disagree."""
    inactive: tuple[InactiveReview, ...] = ()
    """Reviews without an effect, since what they are about changed or is not in the question set."""
    done: int = 0
    """How many reviews the question set follows by now."""
    settle: str = "latest"
    """Which decision counts where reviewers disagree."""
    reviewers: tuple[str, ...] = ()
