"""One view of a leaderboard that every format draws, made by `assay.reports.views.leaderboard_build`.

All text in it is safe to show (`assay.reports.text.plain.visible`), but not escaped for any format.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.model import MetricDiff
from assay.reports.views.figures import Figure
from assay.reports.views.run import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingRow:
    """One run's place."""

    place: str
    """``1``: the place by the mean alone."""
    possible: str
    """``1-3``: the places that the data leave possible."""
    letters: str
    label: str
    figure: Figure
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairFigure:
    """Two runs, the one with the higher mean first."""

    first: str
    second: str
    diff: MetricDiff
    """The difference of the second minus the first."""
    difference: str
    """How far the second is below, in points: ``-2.3``."""
    interval: str
    p_value: str
    adjusted_p_value: str
    apart: bool
    """Whether the two can be told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardView:
    """Several runs, best first, ready to draw."""

    title: str
    metric: str
    confidence: str
    lead: str
    """Which run is first, and whether another may be: a sentence."""
    cases: str
    """The cases that the runs are ranked over: a sentence."""
    notes: tuple[str, ...]
    standings: tuple[StandingRow, ...]
    matrix: tuple[tuple[str | None, ...], ...]
    """``matrix[i][j]``: by how many points run i lies above (+) or below (-) run j, ``=`` where the two cannot be told
    apart; None on the diagonal, and where a pair was not compared."""
    pairs: tuple[PairFigure, ...]
    legend: tuple[str, ...]
    """What places, letters and signs mean, and how they were computed: sentences."""
