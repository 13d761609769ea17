"""A statement within a text, and which of several counts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

_FINAL = re.compile(r"\b(?:final(?:ly|i[sz]ed)?|corrected|revised)\b", re.IGNORECASE)
_DRAFT = re.compile(r"\b(?:draft|first (?:attempt|try|version)|initial|preliminary)\b", re.IGNORECASE)
_COMMENT = re.compile(r"\s*(?:--(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/)", re.DOTALL)
_MOST_LABEL = 200


class Candidate(Struct, frozen=True, kw_only=True):
    """A statement that a text contains, from ``start`` up to ``end``."""

    query: str
    start: int
    end: int
    complete: bool = True
    """False if the statement goes to the end of the text and nothing marks its end."""
    draft: bool = False


def choose(text: str, found: Sequence[Candidate]) -> Candidate | None:
    """The statement that counts; None if the text contains several different ones and marks none as the final one.

    A statement that occurs twice is one. What precedes a statement, or its first comment, may call it the draft or the
    final one.
    """
    first: dict[str, Candidate] = {}
    finals: dict[str, Candidate] = {}
    others: dict[str, Candidate] = {}
    place = 0
    for candidate in found:
        label = _label(text[place : candidate.start], candidate.query)
        place = candidate.end
        is_draft = candidate.draft or _DRAFT.search(label) is not None
        key = " ".join(candidate.query.split()).rstrip("; ")
        first.setdefault(key, candidate)
        if not is_draft:
            others.setdefault(key, candidate)
            if _FINAL.search(label):
                finals.setdefault(key, candidate)
    for group in (first, finals, others):
        if len(group) == 1:
            return next(iter(group.values()))
    return None


def _label(before: str, query: str) -> str:
    """The line before a statement, and the statement's first comment."""
    lines = [line for line in before[-_MOST_LABEL:].splitlines() if line.strip()]
    comment = _COMMENT.match(query)
    return f"{lines[-1] if lines else ''} {(comment['line'] or comment['block'] or '') if comment else ''}"
