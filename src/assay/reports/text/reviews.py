"""Reviews in words."""

from __future__ import annotations

from assay.model import STRICT
from assay.model.verdicts.review import Review
from assay.reports.text.meanings import REVIEW_DECISIONS


def decision_said(review: Review) -> str:
    """A decision in words, without the note."""
    said = REVIEW_DECISIONS[review.decision]
    if review.decision == "gold_wrong" and review.gold:
        return f"{said}, and corrected"
    if review.decision == "ambiguous" and review.leniency != STRICT:
        return f"{said}: {review.leniency.said}"
    return said
