"""One question of a conversation over SDMX data, ready to draw. All text is safe to show, but not escaped."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

TermState = Literal["right", "extra", "missing"]
"""In both (true positives), only selected (false positives), only in the target (false negatives)."""


class TermView(Struct, frozen=True, kw_only=True):
    """One judged term. ``name`` and ``dataset`` are empty where there is none or it is not needed."""

    code: str
    name: str = ""
    dataset: str = ""
    note: str = ""

    @property
    def line(self) -> str:
        """The term on one line: ``LP: Population (invented code, of IMF:CPI)``."""
        aside = ", ".join(filter(None, (self.note, self.dataset and f"in {self.dataset}")))
        return (f"{self.code}: {self.name}" if self.name else self.code) + (f" ({aside})" if aside else "")


class TermList(Struct, frozen=True, kw_only=True):
    """The terms of one state: all are counted, the first ones shown."""

    state: TermState
    count: int
    terms: tuple[TermView, ...]

    @property
    def left_out(self) -> int:
        """How many terms are not shown."""
        return self.count - len(self.terms)


class DimensionView(Struct, frozen=True, kw_only=True):
    """One dimension of one turn: its three lists, always in the order right, extra, missing."""

    name: str
    lists: tuple[TermList, TermList, TermList]
    precision: str
    recall: str

    @property
    def is_empty(self) -> bool:
        """Whether neither side has a term: an explicitly empty target that was met."""
        return not any(terms.count for terms in self.lists)


class TimeView(Struct, frozen=True, kw_only=True):
    """The periods of one dataset, in words. ``good`` None: not judged."""

    dataset: str
    said: str
    target: str
    selected: str
    good: bool | None


class TurnView(Struct, frozen=True, kw_only=True):
    """One question of a conversation, and how its answer compares with the target."""

    label: str
    """``Turn 2`` of a conversation, else empty."""
    question: str
    said: str
    """Such as ``exact`` or ``not exact``."""
    exact: bool | None
    """None: not scored."""
    figures: str
    """Such as ``macro recall 0.500, macro precision 1.000``; empty where the turn is not scored."""
    dimensions: tuple[DimensionView, ...]
    beyond: tuple[DimensionView, ...]
    """Dimensions that the target does not have."""
    datasets: tuple[tuple[TermState, str], ...]
    time: tuple[TimeView, ...]
    remarks: tuple[str, ...]
    """The target it was judged by, terms that match through a hierarchy, terms compared by code alone."""
    failures: tuple[str, ...]
    text: str | None
    raw: str | None
