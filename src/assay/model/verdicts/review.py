"""What a person decides about the answer to a question."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from assay.model.cases.leniency import STRICT, Leniency
from assay.model.verdicts.verdict import Outcome, Verdict

ReviewDecision = Literal["confirm", "accept", "reject", "gold_wrong", "ambiguous", "unanswerable", "unsure", "undo"]
"""``confirm``: the verdict is right. ``accept``: the answer is right, too. ``reject``: the answer is wrong.
``gold_wrong``: the gold query is wrong, with a corrected one or without. ``ambiguous``: the question has several
readings. ``unanswerable``: the question has no answer. ``unsure``: the person does not know. ``undo`` takes a review
back."""

ABOUT_THE_QUESTION: Final[frozenset[ReviewDecision]] = frozenset({"gold_wrong", "ambiguous", "unanswerable"})
"""These decisions hold for every answer to the question; the others hold for equal answers only."""

REVIEWS_FILE: Final = "reviews.jsonl"
"""The name under which a question set's reviews are found next to it, or in its folder."""

DrawMethod = Literal["random", "strata", "unequal"]


class Draw(Struct, frozen=True, kw_only=True):
    """How a case came into a review queue: what an estimate needs to know about its sample.

    ``frame`` names the answers that were drawn from, by a hash; ``size`` is their number. ``stratum_size`` of them are
    in this case's stratum, and ``stratum_draws`` of these were drawn in this round. ``probability`` is the case's own
    chance to be drawn. ``position`` is its place in the queue, from 0: queues are shuffled within a stratum, so that
    the first part of a stratum is a random sample, too.
    """

    frame: str
    size: int
    round: int
    method: DrawMethod
    seed: int
    stratum: str = ""
    stratum_size: int
    stratum_draws: int
    probability: float
    position: int


class Review(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One decision of one person: a line of ``reviews.jsonl``.

    A review holds for later runs and other systems as long as the question, its gold query and the database stay the
    same, and the answer has the same text or the same result.
    """

    id: str
    case_id: str
    decision: ReviewDecision
    outcome: Outcome | None = None
    """What the answer is by this decision. None: the person is not sure."""
    verdict: Outcome | None = None
    """What Assay said of the answer. None: there was no gold query."""
    query: str | None = None
    """The predicted query. None: the system gave a result, a selection, or nothing."""
    result: str | None = None
    """A hash of the predicted result, see `assay.comparison.result_hash`."""
    has_result: bool = True
    """With ``accept``: False if the answer had no result that could be compared. It never becomes a gold query then."""
    gold: str | None = None
    """The corrected gold query."""
    leniency: Leniency = STRICT
    """With ``ambiguous``: the differences that do not count as mistakes."""
    note: str = ""
    reviewer: str
    at: str
    """ISO 8601 in UTC."""
    question_hash: str
    gold_hash: str = ""
    """Empty if there was no gold query."""
    database_hash: str = ""
    """Empty if the database's content was not known."""
    run: str = ""
    """The run or the file of answers that was reviewed."""
    draw: Draw | None = None
    """None: the case was chosen, not drawn; its review enters no estimate."""
    undoes: str | None = None
    """With ``undo``: the id of the review that is taken back."""


class Reviewed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The verdict of one case by what people decided, next to Assay's own."""

    outcome: Outcome
    reason: str
    """A sentence that names the decision, for example ``Ana: the prediction is right, too``."""
    decision: ReviewDecision
    reviews: tuple[str, ...] = ()
    """The ids of the reviews that it follows from."""
    pending: bool = False
    """The case must be scored again by the corrected gold query: until then ``outcome`` is unscored."""
    judged: Verdict | None = None
    """The verdict by the question as people corrected it. None: nothing was executed for it."""
    judged_by: str = ""
    """A hash of the gold query that ``judged`` is by (`assay.runs.reviews.keys.gold_hash`)."""
