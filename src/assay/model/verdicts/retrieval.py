"""What retrieval had to do with a wrong answer, and the metrics that say so."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from assay.model.verdicts.verdict import Outcome

Retrieval: TypeAlias = Literal["missed", "had_it", "unknown"]
"""For a wrong answer: ``missed``: the system was not given everything that the gold query uses; ``had_it``: it was, and
still failed; ``unknown``: it does not say what it was given, or the gold query cannot be read."""

CONTEXT_COMPLETE: Final = "context_complete"
"""The metric that is 1 if the system was given everything that a gold query uses."""
RETRIEVAL_METRICS: Final = (
    *("context_table_recall", "context_table_precision", "context_column_recall", "context_column_precision"),
    CONTEXT_COMPLETE,
)
"""The metrics that a run computes by itself if predictions say what the system was given."""


def retrieval_of(outcome: Outcome, complete: float | None) -> Retrieval | None:
    """What retrieval had to do with an answer, by its `CONTEXT_COMPLETE`; None: the answer is not wrong."""
    if outcome != "incorrect":
        return None
    return "unknown" if complete is None else "had_it" if complete == 1.0 else "missed"
