"""From the evidence of a run's cases to their summaries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from assay.model import CaseSummary, Evidence
from assay.model.summary import summarized
from assay.runs.store.codec import decode_value, encode_value
from assay.sql.features import features_of

_SHARED = (
    *("database", "difficulty", "tags", "conversation", "gold_features", "query_source", "answer_failure", "flags"),
    *("failure", "scores", "near_misses", "cause", "cause_table", "cause_column", "search"),
)
"""The fields in which many cases are equal."""


class Summarizer:
    """Makes the summaries of a run's cases. What many cases have in common, such as their scores, is stored once."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def summary(self, evidence: Evidence) -> CaseSummary:
        """The summary of one case."""
        return self.shared(summary_of(evidence))

    def shared(self, summary: CaseSummary) -> CaseSummary:
        """The summary, with parts of earlier summaries in place of equal ones."""
        once = self._known.setdefault
        parts = {name: once(part := getattr(summary, name), part) for name in _SHARED}
        if summary.outcome == "correct":  # few reasons, such as the number of rows; incorrect cases have many
            parts["reason"] = once(summary.reason, summary.reason)
        return replace(summary, **parts)


def summary_of(evidence: Evidence) -> CaseSummary:
    """The summary of one case by itself."""
    golds = evidence.case.golds
    return summarized(evidence, gold_features=features_of(golds[0]) if evidence.cause and golds else ())


def with_summary(line: bytes) -> bytes:
    """A journal line, and below it the summary, which a worker sends so that the main process need not decode both."""
    return line + b"\n" + encode_value(summary_of(decode_value(line, Evidence)))  # packed cells do not matter to it


def line_and_summary(scored: bytes) -> tuple[bytes, CaseSummary]:
    """The parts of `with_summary`."""
    line, _, summary = scored.partition(b"\n")
    return line, decode_value(summary, CaseSummary)


def summaries_of(evidence: Iterable[Evidence]) -> list[CaseSummary]:
    """The summaries of several cases, in their order."""
    return list(map(Summarizer().summary, evidence))
