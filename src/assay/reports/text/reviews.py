"""Reviews in words."""

from __future__ import annotations

from collections.abc import Mapping

from assay.model import STRICT
from assay.model.verdicts.review import Review, ReviewDecision

DECISIONS: Mapping[ReviewDecision, str] = {
    "confirm": "the verdict is right",
    "accept": "the prediction is right, too",
    "reject": "the prediction is wrong",
    "gold_wrong": "the gold query is wrong",
    "ambiguous": "the question is ambiguous",
    "unanswerable": "the question has no answer",
    "unsure": "not sure",
    "undo": "taken back",
}


def decision_said(review: Review) -> str:
    """A decision in words, without the note."""
    said = DECISIONS[review.decision]
    if review.decision == "gold_wrong" and review.gold:
        return f"{said}, and corrected"
    if review.decision == "ambiguous" and review.leniency != STRICT:
        return f"{said}: {review.leniency.said}"
    return said
