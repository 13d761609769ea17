"""The parts that every view is made of: rates with their texts, links to cases, counts of cases."""

from __future__ import annotations

from msgspec import Struct

from assay.model import Rate


class Figure(Struct, frozen=True, kw_only=True):
    """A rate and its texts: ``71.2 %``, ``[68.4, 73.9]``, ``736 of 1,034``."""

    rate: Rate
    text: str
    interval: str
    tally: str
    share: bool = True
    """Whether it reads as a percentage: only then can a bar from 0 to 1 show it."""


class CaseLink(Struct, frozen=True, kw_only=True):
    """A case by its id; ``anchor`` is unique within the report: the id, with an addition where ids look the same."""

    id: str
    anchor: str
    answer: str = ""
    """Which of several answers to its question: ``answer 2 of 3``; '' for the case itself, linked to its first."""


class CountRow(Struct, frozen=True, kw_only=True):
    """How many cases carry a name, what the name means, and which cases they are.

    ``share`` is of all cases, where its table does not say otherwise. ``blame`` is set for failures only; ``example``
    is the first one's message.
    """

    name: str
    meaning: str
    count: int
    share: float
    cases: tuple[CaseLink, ...]
    blame: str | None = None
    example: str | None = None
    facet: tuple[str, str] | None = None
    """The filter by which the table of cases shows them, such as ``("flag", "vacuous")``."""
