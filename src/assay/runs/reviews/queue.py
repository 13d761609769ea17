"""Which cases a person should look at first (a stand-in: the run's order)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from assay.model import Run
from assay.model.verdicts.review import Draw, Review


class QueuedCase(Struct, frozen=True, kw_only=True):
    """An answer in the queue: its place in the run, and why it is there."""

    index: int
    why: tuple[str, ...] = ()
    worth: float = 0.0
    draw: Draw | None = None
    cluster: str = ""


def review_queue(
    run: Run,
    reviews: Sequence[Review],
    *,
    others: Sequence[Run] = (),
    minutes: float | None = None,
) -> tuple[QueuedCase, ...]:
    """The answers of a run in the order in which a person should look at them."""
    del reviews, others, minutes
    return tuple(QueuedCase(index=index) for index in range(len(run.summaries)))
