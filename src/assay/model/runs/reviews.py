"""What people's reviews change about a run, and how far the reviewers agree."""

from __future__ import annotations

from msgspec import Struct

from assay.model.runs.metric import Count, Kappa, Rate
from assay.model.verdicts.review import Review, ReviewDecision
from assay.model.verdicts.verdict import Outcome


class InactiveReview(Struct, frozen=True, kw_only=True):
    """A review that has no effect on a run, and why."""

    review: str
    """Its id."""
    case_id: str
    decision: ReviewDecision
    reviewer: str
    why: str
    """What changed since the review, for example ``gold`` or ``question and gold``; ``no such case``: the question set
    has no case with that id."""
    line: int | None = None
    """The line of the file; None: the reviews are not from a file."""


class PairAgreement(Struct, frozen=True, kw_only=True):
    """How far two reviewers agree on the answers that both decided on."""

    first: str
    second: str
    outcomes: tuple[Outcome, ...]
    """What the answers are, by either of them: the rows and the columns of ``table``."""
    table: tuple[tuple[int, ...], ...]
    """Answers, by what the first reviewer says (rows) and the second (columns)."""
    agreed: Rate
    kappa: Kappa | None
    """Cohen's. None: there are no such answers, or both reviewers say the same of all of them."""


class Conflict(Struct, frozen=True, kw_only=True):
    """One question, or one answer to it, about which reviewers disagree."""

    case_id: str
    about_question: bool
    reviews: tuple[Review, ...]
    """The latest decision of each reviewer, the oldest first."""
    settled: Review | None
    """The decision that counts. None: several have the same number of votes."""


class Agreement(Struct, frozen=True, kw_only=True):
    """How far the reviewers of a question set agree: whether an answer is correct, incorrect or cannot be scored.

    Decisions are compared if they are about the same answer to the same question with the same gold query: same text,
    or the same result. Of several decisions of one person the latest counts; "not sure" is left out.
    """

    reviewers: tuple[tuple[str, int], ...]
    """Names, each with the number of answers that this person decided on, most first."""
    pairs: tuple[PairAgreement, ...]
    """Every two reviewers who decided on the same answers."""
    everyone: Rate
    """How many of the answers with several reviewers they all say the same of."""
    fleiss: Kappa | None = None
    """Fleiss' kappa of three reviewers or more, over the ``fleiss_answers`` that each of them decided on."""
    fleiss_answers: int = 0
    conflicts: tuple[Conflict, ...]
    settle: str
    """The rule by which conflicts are settled."""


class ReviewTotals(Struct, frozen=True, kw_only=True):
    """Accuracy before and after people's reviews, and what they decided. All counts are of cases.

    The reviewed verdict of an answer is shown next to Assay's own, which does not change.
    """

    before: Rate
    """The share of right answers by Assay's own verdicts."""
    after: Rate
    """The same by the reviewed verdicts, and by Assay's own if there is none."""
    reviewed: tuple[str, ...] = ()
    """The cases with a reviewed verdict."""
    decisions: tuple[Count, ...] = ()
    """The reviewed cases by the decision that counts (`ReviewDecision`)."""
    changes: tuple[Count, ...] = ()
    """The cases whose verdict changes, for example ``incorrect to correct``."""
    pending: tuple[str, ...] = ()
    """The cases that are unscored until their answer is scored by the corrected gold query."""
    unsure: tuple[str, ...] = ()
    """The cases with a reviewer who is not sure, and without a decision."""
    conflicts: tuple[str, ...] = ()
    """The cases about which reviewers disagree."""
    inactive: tuple[InactiveReview, ...] = ()
    """Reviews without an effect, since what they are about changed or is not in the question set."""
    done: int = 0
    """How many reviews the question set follows by now."""
    settle: str = "latest"
    """Which decision counts if reviewers disagree."""
    reviewers: tuple[str, ...] = ()
    agreement: Agreement | None = None
    """None if fewer than two people reviewed anything."""
