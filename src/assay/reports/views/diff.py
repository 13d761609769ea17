"""One view of a comparison of two runs that every format draws, so that no two reports can disagree.

All text in it is safe to show (`assay.reports.text.plain.visible`), but not escaped for any format.
`assay.reports.views.diff_build.view_of_diff` makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from assay.model import ChangeKind, GateResult, MetricDiff

Direction = Literal["better", "worse", "unclear", "unknown"]
"""``unclear``: chance alone could make the difference; ``unknown``: there is nothing to compare."""

SIGNS: dict[tuple[Direction, bool], str] = {
    ("better", True): "▲",
    ("better", False): "△",
    ("worse", True): "▼",
    ("worse", False): "▽",
}
"""The sign by direction and by whether the interval excludes 0; `NO_SIGN` for all others, which may be chance."""
NO_SIGN = "·"
SIGNS_MEANING = "▲ better, ▼ worse; △ ▽ on these cases, while the interval holds 0; · may be chance"

ShownKind = ChangeKind | Literal["otherwise"]
"""``otherwise``: still wrong, in another way."""


class DiffFigure(Struct, frozen=True, kw_only=True):
    """One metric's difference over some cases, with its texts."""

    diff: MetricDiff
    share: bool
    """Whether its values read as percentages; else ``difference`` is not in points."""
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
    """The p-value that decides ``direction``: its own for the headline metric, else the adjusted one."""
    tally: str
    """Cases: ``1,034, 3 unscored``."""
    direction: Direction
    beyond: bool
    """Whether the interval excludes 0. An interval that allows for cases of a database being alike may include 0
    where the test, which is over these cases only, rules out chance."""

    @property
    def sign(self) -> str:
        """One of the signs that `SIGNS_MEANING` explains."""
        return SIGNS.get((self.direction, self.beyond), NO_SIGN)


class DiffMetricRow(Struct, frozen=True, kw_only=True):
    """One metric over all paired cases."""

    metric: str
    meaning: str
    explained: str
    """As `assay.reports.views.run.MetricRow.explained`."""
    figure: DiffFigure
    headline: bool


class DiffGroupRow(Struct, frozen=True, kw_only=True):
    """The headline metric over the cases that share a difficulty, database or tag."""

    name: str
    cases: int
    figure: DiffFigure


class DiffGroupTable(Struct, frozen=True, kw_only=True):
    """One breakdown of the cases; ``title`` completes the headline metric's name and "by"."""

    kind: Literal["difficulty", "database", "tag"]
    title: str
    rows: tuple[DiffGroupRow, ...]


class SideText(Struct, frozen=True, kw_only=True):
    """One run's answer to a case."""

    state: str
    """``right``, ``wrong``, ``unscored`` or, with repeats, ``2 of 3 right``."""
    reason: str
    """One line."""
    query: str | None
    """The query's text with its line breaks, cut where it is very long."""


class WeakerRow(Struct, frozen=True, kw_only=True):
    """A match of both runs for which other databases say less now."""

    case: str
    baseline: str
    """Its strength in words."""
    candidate: str


class ChangeRow(Struct, frozen=True, kw_only=True):
    """A case that changed between right and wrong, or is wrong in another way."""

    id: str
    """``17``, or ``17 (was 16)`` where the baseline has another id for it."""
    question: str
    """One line."""
    where: str
    """Its database, difficulty and tags: ``concert_singer · hard``."""
    baseline: SideText
    candidate: SideText


class ChangeTable(Struct, frozen=True, kw_only=True):
    """The cases of one kind: how many, the first of them in full, and the ids of some more."""

    kind: ShownKind
    title: str
    """``Fixed``."""
    meaning: str
    count: int
    rows: tuple[ChangeRow, ...]
    more: tuple[str, ...]
    """Ids of all cases after those in ``rows``."""


class KindCount(Struct, frozen=True, kw_only=True):
    """How many paired cases are of a kind; kinds without a case are left out."""

    kind: ShownKind
    name: str
    """``still right``."""
    count: int


class MatchRow(Struct, frozen=True, kw_only=True):
    """Cases that are not the same in both runs, by how they differ; ``names`` has one name per case."""

    title: str
    meaning: str
    names: tuple[str, ...]


class CauseRow(Struct, frozen=True, kw_only=True):
    """How often one cause is a wrong answer's primary one in each run, over the cases that both have."""

    name: str
    baseline: int
    candidate: int
    fixed: int
    """Cases that the baseline has wrong by this cause, and the candidate not."""
    new: int
    """Cases that the candidate has wrong by this cause, and the baseline not."""


class SideView(Struct, frozen=True, kw_only=True):
    """One of the two runs."""

    role: Literal["baseline", "candidate"]
    label: str
    own: str
    """The headline over all of its own cases: ``73.5 % [70.7, 76.1], 1,034 cases``."""
    facts: tuple[tuple[str, str], ...]


class DiffView(Struct, frozen=True, kw_only=True):
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
    """Whether the interval of the headline also excludes 0."""
    lead: str
    """The answer in a few words: ``Better``, ``No difference that these 120 cases can show``."""
    rest: str
    """The rest of the sentence, after ``lead`` and a colon."""
    counts: tuple[KindCount, ...]
    notes: tuple[str, ...]
    gates: tuple[GateResult, ...]
    changes: tuple[ChangeTable, ...]
    """The kinds that have a case, fixed and broken first."""
    metrics: tuple[DiffMetricRow, ...]
    only_in_one: tuple[str, ...]
    """Sentences about metrics that only one of the runs has."""
    groups: tuple[DiffGroupTable, ...]
    matching: tuple[MatchRow, ...]
    paired: int
    power: str
    """The smallest difference that this number of cases can show, in a sentence; empty where it is not known."""
    methods: tuple[str, ...]
    """How interval and p-value were computed: sentences."""
    causes: tuple[CauseRow, ...] = ()
    """The most frequent first; empty where neither run names causes."""
    weaker: tuple[WeakerRow, ...] = ()
    """The matches that lost strength; empty where not both runs looked for witnesses."""

    @property
    def sentence(self) -> str:
        """Whether the candidate is better, in one sentence."""
        return f"{self.lead}: {self.rest}"


def first_names(names: Sequence[str], limit: int) -> str:
    """The first few names, and how many more there are: ``7, 12, +107``."""
    shown = ", ".join(names[:limit])
    return f"{shown}, +{len(names) - limit:,}" if len(names) > limit else shown
