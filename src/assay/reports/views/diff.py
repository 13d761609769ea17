"""One view of a comparison of two runs that every format draws, so that no two reports can disagree.

All text in it is safe to show (`assay.reports.text.plain.visible`), but not escaped for any format.
`assay.reports.views.diff_build.view_of_diff` makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.model import ChangeKind, MetricDiff
from assay.reports.views.run import Fact, GateRow

Direction = Literal["better", "worse", "unclear", "unknown"]
"""``unclear``: chance alone could make the difference; ``unknown``: there is nothing to compare."""

SIGNS: dict[tuple[Direction, bool], str] = {
    ("better", True): "▲",
    ("better", False): "△",
    ("worse", True): "▼",
    ("worse", False): "▽",
}
"""By direction and whether the interval leaves 0 out; anything else may be chance."""
NO_SIGN = "·"
SIGNS_MEANING = "▲ better, ▼ worse; △ ▽ on these cases, while the interval holds 0; · may be chance"

ShownKind = ChangeKind | Literal["otherwise"]
"""``otherwise``: still wrong, but in another way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffFigure:
    """One metric's difference over some cases, and how it reads."""

    diff: MetricDiff
    share: bool
    """Whether its values read as percentages; else ``difference`` is no points."""
    baseline: str
    """``71.2 %``."""
    candidate: str
    difference: str
    """In points: ``+2.3``."""
    interval: str
    """``[+0.8, +3.9]``, or nothing."""
    p_value: str
    """``0.003``, or nothing."""
    adjusted_p_value: str
    decisive_p_value: str
    """That of the two which ``direction`` goes by: of the headline metric its own, else the adjusted one."""
    tally: str
    """Cases: ``1,034, 3 unscored``."""
    direction: Direction
    beyond: bool
    """Whether the interval leaves 0 out. One that allows for cases of a database being alike may not, where the test,
    which is of these very cases, rules out chance."""

    @property
    def sign(self) -> str:
        """As `SIGNS_MEANING` has it."""
        return SIGNS.get((self.direction, self.beyond), NO_SIGN)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffMetricRow:
    """One metric over all paired cases."""

    metric: str
    meaning: str
    explained: str
    """As `assay.reports.views.run.MetricRow.explained`."""
    figure: DiffFigure
    headline: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffGroupRow:
    """The headline metric over the cases that share a difficulty, database or tag."""

    name: str
    cases: int
    figure: DiffFigure


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffGroupTable:
    """One breakdown of the cases; ``title`` completes the headline metric's name and "by"."""

    kind: Literal["difficulty", "database", "tag"]
    title: str
    rows: tuple[DiffGroupRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SideText:
    """What one run did with a case."""

    state: str
    """``right``, ``wrong``, ``unscored`` or, with repeats, ``2 of 3 right``."""
    reason: str
    """One line."""
    query: str | None
    """As it is, line breaks included, cut where it is very long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """A case that changed sides, or is wrong otherwise."""

    id: str
    """``17``, or ``17 (was 16)`` where the baseline calls it otherwise."""
    question: str
    """One line."""
    where: str
    """Its database, difficulty and tags: ``concert_singer · hard``."""
    baseline: SideText
    candidate: SideText


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeTable:
    """The cases of one kind: how many, the first of them in full, and the ids of some more."""

    kind: ShownKind
    title: str
    """``Fixed``."""
    meaning: str
    count: int
    rows: tuple[ChangeRow, ...]
    more: tuple[str, ...]
    """Ids of all that follow ``rows``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCount:
    """How many paired cases are of a kind; kinds without a case are not counted."""

    kind: ShownKind
    name: str
    """``still right``."""
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchRow:
    """Cases that are not the same in both runs, by what is with them; ``names`` has one for each."""

    title: str
    meaning: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SideView:
    """One of the two runs."""

    role: Literal["baseline", "candidate"]
    label: str
    own: str
    """The headline over all of its own cases: ``73.5 % [70.7, 76.1], 1,034 cases``."""
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffView:
    """A comparison of two runs, ready to draw."""

    title: str
    """``graphix against din``."""
    baseline: SideView
    candidate: SideView
    headline_metric: str
    confidence: str
    """Such as ``95 %``."""
    direction: Direction
    firm: bool
    """Whether the interval of the headline leaves 0 out, too."""
    lead: str
    """The answer in a word or a few: ``Better``, ``No difference that these 120 cases can show``."""
    rest: str
    """The sentence after that and a colon."""
    counts: tuple[KindCount, ...]
    notes: tuple[str, ...]
    gates: tuple[GateRow, ...]
    changes: tuple[ChangeTable, ...]
    """Those with a case, what was fixed and broken first."""
    metrics: tuple[DiffMetricRow, ...]
    only_in_one: tuple[str, ...]
    """Sentences about metrics that only one of the runs has."""
    groups: tuple[DiffGroupTable, ...]
    matching: tuple[MatchRow, ...]
    paired: int
    power: str
    """What so many cases can show, in a sentence; empty where nothing is known of it."""
    methods: tuple[str, ...]
    """How interval and p came about: sentences."""

    @property
    def sentence(self) -> str:
        """Whether the candidate is better, in one sentence."""
        return f"{self.lead}: {self.rest}"


def first_names(names: Sequence[str], limit: int) -> str:
    """The first few names, and how many more there are: ``7, 12, +107``."""
    shown = ", ".join(names[:limit])
    return f"{shown}, +{len(names) - limit:,}" if len(names) > limit else shown
