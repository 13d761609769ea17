"""One view of a leaderboard that every format draws, made by `assay.reports.views.leaderboard_build`.

All text in it is safe to show (`assay.reports.text.plain.visible`), but not escaped for any format.
"""

from __future__ import annotations

from msgspec import Struct

from assay.model import MetricDiff
from assay.reports.blocks.values import Figure


class StandingRow(Struct, frozen=True, kw_only=True):
    """One run's place."""

    place: str
    """``1``: the place by the mean alone."""
    possible: str
    """``1-3``: the places that the data leave possible."""
    letters: str
    label: str
    figure: Figure
    facts: tuple[tuple[str, str], ...]
    time: str = ""
    """The median time of an answer; empty where it is not known."""
    time_s: float | None = None
    tokens: str = ""
    """Per answer that states any."""
    cost: str = ""
    """In all, in US dollars."""
    cost_usd: float | None = None


class RateGrid(Struct, frozen=True, kw_only=True):
    """Rates of every run: by metric, or the leading metric's by group."""

    key: str
    """``metrics``, ``difficulty``, ``database``, ``tag``."""
    title: str
    columns: tuple[str, ...]
    cases: tuple[int, ...]
    """For each column its cases; empty where all columns have all of them."""
    cells: tuple[tuple[Figure, ...], ...]
    """``cells[run][column]``."""


class AloneRow(Struct, frozen=True, kw_only=True):
    """The cases that one run alone has right, and alone has wrong."""

    label: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]


class PairFigure(Struct, frozen=True, kw_only=True):
    """Two runs, the one with the higher mean first."""

    first: str
    second: str
    diff: MetricDiff
    """The record's, of the second minus the first."""
    difference: str
    """How far the first is above, in points, as in the matrix: ``+2.3``."""
    interval: str
    p_value: str
    adjusted_p_value: str
    apart: bool
    """Whether the two can be told apart."""


class LeaderboardView(Struct, frozen=True, kw_only=True):
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
    grids: tuple[RateGrid, ...] = ()
    only_right: tuple[tuple[int | None, ...], ...] = ()
    """``only_right[i][j]``: cases that run i has right and run j wrong; None on the diagonal."""
    alone: tuple[AloneRow, ...] = ()
    agreed: str = ""
    """How many cases all runs have right, and none: a sentence."""
