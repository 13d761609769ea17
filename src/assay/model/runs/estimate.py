"""What is known of the accuracy of answers when people labelled a few of them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Target = Literal["frame", "future"]
"""``frame``: the accuracy of these answers. ``future``: of future answers; these are a sample of them."""

EstimateMethod = Literal["labels", "cells", "cross_fitted", "strata", "unequal"]
"""``labels``: no signal is used. ``cells``: a random sample, each value of a signal by its share of the answers.
``cross_fitted``: a random sample and a regression on the signals. ``strata``: drawn from parts of the answers.
``unequal``: drawn with a probability of its own each."""


class Bounds(Struct, frozen=True, kw_only=True):
    """A lower and an upper bound of a rate or of a difference."""

    low: float
    high: float


class SignalFigure(Struct, frozen=True, kw_only=True):
    """A signal: what it says of all answers, and how it fits the labels."""

    name: str
    known: int
    """Number of answers that it is about."""
    share: float | None
    """How many of these it calls right; None: of none."""
    labels_for: int
    """Labelled answers that it calls right."""
    right_for: int
    labels_against: int
    right_against: int


class StratumFigure(Struct, frozen=True, kw_only=True):
    """A part of the answers with its labels."""

    name: str
    size: int
    labels: int
    right: int
    unsure: int = 0


class JudgeFigure(Struct, frozen=True, kw_only=True):
    """The judge's own number, and how far it is from the estimate."""

    says: float
    opinions: int
    bias: float | None
    """The judge's number minus the estimate; None without an estimate."""


class Drawn(Struct, frozen=True, kw_only=True):
    """The cases to label next, and the interval to expect once they are labelled."""

    cases: int
    round: int
    seed: int
    strata: tuple[StratumFigure, ...]
    """As they are now."""
    more: tuple[int, ...]
    """How many cases of each are drawn."""
    expected: Bounds | None
    """None for a difference, whose labels say nothing yet."""
    queue: str = ""
    """The file that they were written to."""
    assumed: bool = False
    """There are too few labels to expect anything by: the widest interval is given, that of an accuracy of 50 %."""


class Estimate(Struct, frozen=True, kw_only=True):
    """The accuracy of answers without the gold query, from labels of a few of them and signals of all."""

    name: str
    """The answers as the user named them."""
    frame: str
    """A hash of the questions and answers; the draws of labels name it."""
    size: int
    target: Target = "frame"
    confidence: float = 0.95
    method: EstimateMethod | None = None
    """None: there are no labels."""
    why: str = ""
    """Why this method, in a sentence."""
    value: float | None = None
    interval: Bounds | None = None
    labels: int = 0
    right: int = 0
    unsure: int = 0
    """Drawn answers whose reviewer is not sure whether they are right."""
    plain: Bounds | None = None
    """The interval of the labels alone: of as many random labels, if these were drawn from strata."""
    bounds: Bounds | None = None
    """Around the intervals with all unsure answers wrong and with all of them right; None if there are none."""
    judge: JudgeFigure | None = None
    r_squared: float | None = None
    """How much of the labels' variance the signals explain."""
    signals: tuple[SignalFigure, ...] = ()
    strata: tuple[StratumFigure, ...] = ()
    notes: tuple[str, ...] = ()
    """What to know before trusting the number."""
    drawn: Drawn | None = None

    @property
    def narrower(self) -> float | None:
        """By which share the interval is narrower than that of the labels alone; negative: wider."""
        if self.interval is None or self.plain is None or self.plain.high == self.plain.low:
            return None
        return 1.0 - (self.interval.high - self.interval.low) / (self.plain.high - self.plain.low)


class EstimatedDifference(Struct, frozen=True, kw_only=True):
    """How much more often a second system is right than the first, from labels of the answers that differ."""

    name: str
    other: str
    frame: str
    size: int
    different: int
    """Questions to which the two gave different results."""
    target: Target = "frame"
    confidence: float = 0.95
    value: float | None = None
    """The other's accuracy minus the first's; None: there are no labels."""
    interval: Bounds | None = None
    bounds: Bounds | None = None
    """Around the intervals with the unsure answers to one side and to the other; None if there are none."""
    labels: int = 0
    """Questions with different results whose two answers both have a label."""
    gains: int = 0
    losses: int = 0
    unsure: int = 0
    notes: tuple[str, ...] = ()
    drawn: Drawn | None = None
