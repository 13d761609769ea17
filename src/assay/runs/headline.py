"""Which metric stands for a run where one must: it decides what is right and what is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from assay.errors import InputError
from assay.model import RunSettings

QUERY_HEADLINE = "match"
SELECTION_HEADLINE = "exact_match"


def headline_metric(settings: RunSettings) -> str:
    """`match`, or for selections `exact_match`; the run's first metric where it did not ask for that."""
    wanted = SELECTION_HEADLINE if settings.selection is not None else QUERY_HEADLINE
    return wanted if wanted in settings.metrics else next(iter(settings.metrics), wanted)


def common_headline(runs: Sequence[RunSettings]) -> str:
    """The same for runs that are compared: of the metrics that all have, in the last one's order.

    Raises InputError where they share none.
    """
    last = runs[-1]
    shared = [metric for metric in last.metrics if all(metric in one.metrics for one in runs)]
    if not shared:
        asked = "; ".join(", ".join(one.metrics) for one in runs)
        raise InputError(
            f"the runs have no metric in common ({asked}): run them again with the same --metrics, or none named"
        )
    wanted = headline_metric(last)
    return wanted if wanted in shared else shared[0]
