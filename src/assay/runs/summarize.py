"""From the evidence of a run's cases to their summaries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from assay.model import CaseSummary, Evidence
from assay.model.summary import summarized
from assay.sql.features import features_of


class Summarizer:
    """Makes the summaries of a run's cases. What many cases have in common, such as their scores, is stored once."""

    def __init__(self) -> None:
        self._shared: dict[Any, Any] = {}

    def summary(self, evidence: Evidence) -> CaseSummary:
        """The summary of one case."""
        golds = evidence.case.golds
        features = features_of(golds[0]) if evidence.cause and golds else ()
        return summarized(evidence, gold_features=features, once=self._once)

    def _once(self, value: Any) -> Any:
        return self._shared.setdefault(value, value)


def summaries_of(evidence: Iterable[Evidence]) -> list[CaseSummary]:
    """The summaries of several cases, in their order."""
    return list(map(Summarizer().summary, evidence))
