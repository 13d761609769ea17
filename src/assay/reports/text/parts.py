"""A text in parts, so that a terminal can colour the queries in it and mark their differences."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import indent
from typing import TypeAlias

from msgspec import Struct

from assay.model import Evidence

MARGIN = "    "


class QueryText(Struct, frozen=True, kw_only=True):
    """A query on lines of its own, indented."""

    text: str
    beside: str | None = None
    """The query from which it differs; None: nothing is marked in it."""
    is_gold: bool = False
    """Whether it is the gold query of the two."""
    alike: tuple[str, ...] = ()
    """Clauses in which both say the same, however they spell it."""


TextPart: TypeAlias = str | QueryText
"""Lines of text, or a query."""


def plain_text(parts: Iterable[TextPart]) -> str:
    """The parts without colours and marks."""
    return "\n".join(part if isinstance(part, str) else indent(part.text.strip(), MARGIN) for part in parts)


def gold_text(item: Evidence, place: int, text: str) -> TextPart:
    """A gold query of a case by its index, marked if the prediction was compared with it, or a given result."""
    if place >= len(item.case.golds):
        return indent(text.strip(), MARGIN)
    beside = item.prediction.query if place == (item.verdict.gold_index or 0) and _marks(item) else None
    return QueryText(text=text, beside=beside, is_gold=True, alike=_alike(item))


def predicted_text(item: Evidence, text: str) -> QueryText:
    """The predicted query of a case, marked if it is wrong."""
    place, golds = item.verdict.gold_index or 0, item.case.golds
    beside = golds[place] if place < len(golds) and _marks(item) else None
    return QueryText(text=text, beside=beside, alike=_alike(item))


def _marks(item: Evidence) -> bool:
    return item.outcome == "incorrect" and item.prediction.query is not None


def _alike(item: Evidence) -> tuple[str, ...]:
    return () if item.diagnosis is None else item.diagnosis.alike
