"""From the evidence of a run's cases to their summaries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from assay.model import CaseSummary, Evidence, Score
from assay.model.verdicts.summary import summarized, without_details
from assay.runs.store.codec import decode_evidence_as, decode_value, encode_value

_SHARED = (
    *("database", "difficulty", "tags", "conversation", "gold_features", "query_source", "answer_failure", "flags"),
    *("failure", "near_misses", "cause", "cause_table", "cause_column", "search"),
)
"""The fields in which many cases are equal."""
_shared_parts = attrgetter(*_SHARED)
_MOST_REMEMBERED = 1000
"""What many cases have in common is among the first that come: later ones are not remembered."""

Scored: TypeAlias = tuple[bytes, bytes, bytes]
"""A case as workers send it: its line of evidence, its scores, and the rest of its summary, each as JSON. So the main
process decodes no evidence, and the scores that many cases share once."""


class _Stored(Evidence, frozen=True, kw_only=True, omit_defaults=True):
    """Evidence as it is decoded for its summary alone: its scores stay encoded, which many cases share."""

    scores: msgspec.Raw = msgspec.Raw(b"[]")  # type: ignore[assignment]


class Summarizer:
    """Makes the summaries of a run's cases. What many cases have in common, such as their scores, is stored once."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}
        self._encoded: dict[bytes, tuple[Score, ...]] = {}
        self._alike: dict[tuple[Any, ...], list[tuple[str, Any]]] = {}

    def summary(self, evidence: Evidence) -> CaseSummary:
        """The summary of one case."""
        found = summary_of(evidence)
        return self._share(found, self._known.setdefault(found.scores, found.scores))

    def received(self, scored: Sequence[Scored]) -> list[CaseSummary]:
        """The summaries of cases from what workers sent."""
        summaries = decode_value(b"[%s]" % b",".join([rest for _, _, rest in scored]), list[CaseSummary])
        for (_, scores, _), summary in zip(scored, summaries, strict=True):
            self._share(summary, self._scores(scores))
        return summaries

    def stored(self, line: bytes) -> CaseSummary:
        """The summary of the case in a line of a journal. Raises RunError if the line is damaged."""
        evidence = decode_evidence_as(line, _Stored)
        scores = self._scores(bytes(evidence.scores))
        return self._share(summary_of(evidence, scores), scores)

    def _scores(self, encoded: bytes) -> tuple[Score, ...]:
        """The scores without their details; those that many cases have are decoded once."""
        if (known := self._encoded.get(encoded)) is not None:
            return known
        once = self._known.setdefault
        scores = tuple([once(score, score) for score in without_details(decode_value(encoded, tuple[Score, ...]))])
        if len(self._encoded) < _MOST_REMEMBERED:
            self._encoded[encoded] = scores
        return scores

    def _share(self, summary: CaseSummary, scores: tuple[Score, ...]) -> CaseSummary:
        """Put parts of earlier summaries in place of equal ones, in a summary that only the caller has."""
        once = self._known.setdefault
        parts = _shared_parts(summary)
        if (alike := self._alike.get(parts)) is None:
            used = ((name, part) for name, part in zip(_SHARED, parts, strict=True) if part not in (None, "", ()))
            alike = [(name, once(part, part)) for name, part in used]
            if len(self._alike) < _MOST_REMEMBERED:
                self._alike[parts] = alike
        for name, part in alike:
            force_setattr(summary, name, part)
        if summary.outcome == "correct":  # few reasons, such as the number of rows; incorrect cases have many
            force_setattr(summary, "reason", once(summary.reason, summary.reason))
        force_setattr(summary, "scores", scores)
        return summary


def summary_of(evidence: Evidence, scores: tuple[Score, ...] | None = None) -> CaseSummary:
    """The summary of one case by itself; ``scores``: those of the evidence without their details, if they are known."""
    golds = evidence.case.golds
    return summarized(
        evidence,
        scores=scores,
        gold_features=features_of(golds[0]) if evidence.cause and golds else (),
    )


def with_summary(line: bytes, evidence: Evidence | None = None) -> Scored:
    """A case as workers send it. ``evidence`` is what the line holds, where the caller has it."""
    # Packed cells do not matter to a summary.
    evidence = decode_value(line, Evidence) if evidence is None else evidence
    return line, encode_value(without_details(evidence.scores)), encode_value(summary_of(evidence, ()))


def summaries_of(evidence: Iterable[Evidence]) -> list[CaseSummary]:
    """The summaries of several cases, in their order."""
    return list(map(Summarizer().summary, evidence))


_HIDDEN = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL)
_FEATURES: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (name, tuple(words.split()), re.compile(pattern, re.IGNORECASE))
    for name, words, pattern in (
        ("join", "join", r"\bjoin\b"),
        (
            "aggregate",
            "count sum avg min max total group_concat string_agg",
            r"\b(?:count|sum|avg|min|max|total|group_concat|string_agg)\s*\(",
        ),
        ("GROUP BY", "group", r"\bgroup\s+by\b"),
        ("HAVING", "having", r"\bhaving\b"),
        ("ORDER BY", "order", r"\border\s+by\b"),
        ("LIMIT", "limit fetch top", r"\b(?:limit|fetch\s+(?:first|next)|top\s*\(?\s*\d)"),
        ("DISTINCT", "distinct", r"\bdistinct\b"),
        ("subquery", "select", r"\(\s*select\b"),
        ("CTE", "with", r"^\s*with\b"),
        ("set operation", "union intersect except minus", r"\b(?:union|intersect|except|minus)\b"),
        ("window", "over", r"\bover\s*\("),
        ("CASE", "case iif", r"\bcase\b|\biif\s*\("),
        ("LIKE", "like", r"\bi?like\b"),
        (
            "dates",
            "date julianday extract strftime year month",
            r"\b(?:strftime|date|datetime|julianday|extract|date_trunc|year|month)\s*\(",
        ),
    )
)
"""A feature's name, words one of which every query with it has, and its pattern, which takes longer to look for."""


@lru_cache(maxsize=8192)
def features_of(query: str) -> tuple[str, ...]:
    """The features in a query's text, literals, names in quotes and comments left aside. Searched, not parsed."""
    text = _HIDDEN.sub(" ' ", query)
    has = text.lower().__contains__
    found = tuple(name for name, words, pattern in _FEATURES if any(map(has, words)) and pattern.search(text))
    return found or ("none of these",)
