"""The accuracy of a frame from its labels: which formula, its interval, and what to know before trusting it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import numpy
from msgspec import Struct
from msgspec.structs import replace

from assay.errors import InputError
from assay.model.runs.estimate import (
    Bounds,
    Estimate,
    EstimateMethod,
    JudgeFigure,
    SignalFigure,
    StratumFigure,
    Target,
)
from assay.platform.surface import option
from assay.runs.estimates.frame import JUDGE, Frame, strata_of
from assay.runs.estimates.labels import Label, Labels
from assay.stats.estimates import (
    Estimated,
    Stratum,
    by_probability,
    by_strata,
    cross_fitted,
    labels_alone,
)

Unlabelled: TypeAlias = Literal["refuse", "bounds", "merge"]
"""What becomes of a stratum without labels. ``bounds``: it may be all wrong or all right. ``merge``: it counts as the
others do."""

FEW = 30
SEVERAL_FROM = 50
"""Labels from which on a regression on several signals is measured to hold."""
_FEW_IN_CELL, _FEW_IN_STRATUM = 3, 5
_NOTHING = 0.05


class _Way(Struct, frozen=True, kw_only=True):
    """A formula, ready to be applied to the labels; missing ones may be filled with a value."""

    method: EstimateMethod
    why: str
    apply: Callable[[float | None], Estimated]
    """With the labels that are unsure: None leaves them out."""
    parts: Sequence[str] = ()
    """The cell or stratum of each answer, or of each label if only those are known."""
    notes: tuple[str, ...] = ()


def estimate_accuracy(
    frame: Frame,
    labels: Labels,
    *,
    target: Target = "frame",
    confidence: float = 0.95,
    unlabelled: Unlabelled = "refuse",
) -> Estimate:
    """The estimate; without labels one that has the signals alone.

    Raises InputError if the labels support no claim: a stratum without labels, unless ``unlabelled`` says what to
    do with it.
    """
    judge = frame.signals.get(JUDGE, ())
    says = [value for value in judge if value is not None]
    empty = Estimate(
        name=frame.name,
        frame=frame.fingerprint,
        size=frame.size,
        target=target,
        confidence=confidence,
        unsure=len(labels.labels) - len(labels.known),
        judge=None if not says else JudgeFigure(says=float(numpy.mean(says)), opinions=len(says), bias=None),
        signals=_figures(frame, labels),
        notes=labels.notes,
    )
    if not labels.known:
        return empty
    way = _way_of(frame, labels, target, confidence, unlabelled)
    made = way.apply(None)
    known = labels.known
    right = sum(bool(one.right) for one in known)
    n = len(known)
    drawn_apart = way.method in ("strata", "unequal")
    alone = labels_alone(
        made.value * n if drawn_apart else right, n, frame.size, future=target == "future", confidence=confidence
    )
    strata = _strata(way, labels)
    explained = made.r_squared if way.method == "cross_fitted" else _explained(strata)
    notes = [*way.notes, *_warnings(frame, labels, strata, way.method, explained)]
    return replace(
        empty,
        method=way.method,
        why=way.why,
        value=made.value,
        interval=_bounds(made),
        labels=n,
        right=right,
        plain=_bounds(alone),
        bounds=_outer(made, way.apply(0.0), way.apply(1.0)) if empty.unsure else None,
        judge=None if empty.judge is None else replace(empty.judge, bias=empty.judge.says - made.value),
        r_squared=explained,
        strata=strata,
        notes=(*notes, *labels.notes),
    )


def _way_of(frame: Frame, labels: Labels, target: Target, confidence: float, unlabelled: Unlabelled) -> _Way:
    """The formula by how the labels were drawn and which signals there are."""
    methods = {draw.method for draw in labels.draws}
    ways = _Ways(frame, labels, target, confidence)
    if methods == {"strata"}:
        return ways.strata(unlabelled)
    if methods == {"unequal"}:
        return ways.unequal()
    speaking = frame.speaking
    n = len(labels.known)
    if not speaking:
        return ways.alone("the sample is random, without a signal")
    if len(speaking) == 1:
        name = next(iter(speaking))
        return ways.cells(strata_of(speaking, frame.size), f"the sample is random, with one signal: {name}")
    if n >= SEVERAL_FROM:
        return ways.cross_fitted(f"the sample is random, of {SEVERAL_FROM} or more, with several signals")
    why = f"the sample is random, of fewer than {SEVERAL_FROM}, with several signals"
    return ways.cells(strata_of(speaking, frame.size), why)


class _Ways:
    """The formulas over one frame and its labels."""

    def __init__(self, frame: Frame, labels: Labels, target: Target, confidence: float) -> None:
        self.frame = frame
        self.labels = labels
        self.future = target == "future"
        self.confidence = confidence

    def alone(self, why: str, *, notes: tuple[str, ...] = ()) -> _Way:
        """Formula 1."""

        def apply(unsure: float | None) -> Estimated:
            values = self.values(unsure)
            return labels_alone(
                sum(values), len(values), self.frame.size, future=self.future, confidence=self.confidence
            )

        return _Way(method="labels", why=why, apply=apply, notes=notes)

    def cells(self, parts: Sequence[str], why: str) -> _Way:
        """Formula 2 over cells of a random sample; formula 1 if a cell has too few labels."""
        counts = dict.fromkeys(parts, 0)
        for one in self.labels.known:
            counts[parts[one.place]] += 1
        few = [part for part, count in counts.items() if count < _FEW_IN_CELL]
        if few and len(counts) > 2:
            # The first cut alone: at most two cells.
            merged = [part.split(", a doubt")[0] for part in parts]
            if len(set(merged)) < len(counts):
                return self.cells(merged, why)
        if few or len(counts) < 2:
            note = (f"fewer than {_FEW_IN_CELL} labels with {few[0]!r}: no signal is used",) if few else ()
            return self.alone(f"{why}, but too few labels in a cell", notes=note)

        def apply(unsure: float | None) -> Estimated:
            return by_strata(self.strata_with(parts, unsure), future=self.future, confidence=self.confidence)

        return _Way(method="cells", why=why, apply=apply, parts=parts)

    def cross_fitted(self, why: str) -> _Way:
        """Formula 3."""
        signals = numpy.array([_filled(values) for values in self.frame.speaking.values()]).T
        seed = int(self.frame.fingerprint[:8], 16)

        def apply(unsure: float | None) -> Estimated:
            places = [one.place for one in self.used(unsure)]
            return cross_fitted(
                self.values(unsure),
                signals[places],
                signals,
                seed=seed,
                future=self.future,
                confidence=self.confidence,
            )

        return _Way(method="cross_fitted", why=why, apply=apply)

    def unequal(self) -> _Way:
        """Formula 4, without guesses."""

        def apply(unsure: float | None) -> Estimated:
            return by_probability(
                self.values(unsure),
                [one.draw.probability for one in self.used(unsure) if one.draw is not None],
                self.frame.size,
                future=self.future,
                confidence=self.confidence,
            )

        return _Way(method="unequal", why="each case was drawn with its own probability", apply=apply)

    def strata(self, unlabelled: Unlabelled) -> _Way:
        """Formula 2 over the strata that the cases were drawn from."""
        sizes = {draw.stratum: draw.stratum_size for draw in self.labels.draws}
        names = {one.place: one.draw.stratum for one in self.labels.labels if one.draw is not None}
        known = {names[one.place] for one in self.labels.known}
        unknown = self.frame.size - sum(sizes[name] for name in known)
        if unknown and unlabelled == "refuse":
            lacking = [name for name in sizes if name not in known] or ["never drawn from, or not reached yet"]
            raise InputError(
                f"{unknown:,} of {self.frame.size:,} answers are in a stratum without labels "
                f"({', '.join(lacking)}), about which nothing is known. Label at least {_FEW_IN_STRATUM} cases of it, "
                f"or give {option('--unlabelled', 'bounds')} (it may be all wrong or all right) or "
                f"{option('--unlabelled', 'merge')} (it counts as "
                "the others do, which nothing supports)"
            )

        def part(unsure: float | None) -> list[Stratum]:
            given = defaultdict(list)
            for one, value in zip(self.used(unsure), self.values(unsure), strict=True):
                given[names[one.place]].append(value)
            return [Stratum(size=sizes[name], labels=len(values), right=sum(values)) for name, values in given.items()]

        def apply(unsure: float | None) -> Estimated:
            strata = part(unsure)
            made = by_strata(strata, future=self.future, confidence=self.confidence)
            left = self.frame.size - sum(one.size for one in strata)
            if not left or unlabelled == "merge":
                return made
            share = left / self.frame.size
            return Estimated(
                value=made.value * (1 - share) + share / 2,
                low=made.low * (1 - share),
                high=made.high * (1 - share) + share,
                effective=made.effective,
            )

        notes: tuple[str, ...] = ()
        if unknown:
            as_what = "may be all wrong or all right" if unlabelled == "bounds" else "count as the others do"
            notes = (f"{unknown:,} of {self.frame.size:,} answers have no label in their stratum, and {as_what}",)
        parts = [names.get(place, "") for place in range(self.frame.size)]
        return _Way(method="strata", why="the cases were drawn from strata", apply=apply, parts=parts, notes=notes)

    def used(self, unsure: float | None) -> tuple[Label, ...]:
        """The labels that count."""
        return self.labels.known if unsure is None else self.labels.labels

    def values(self, unsure: float | None) -> list[float]:
        """Them, as numbers."""
        return [unsure or 0.0 if one.right is None else float(one.right) for one in self.used(unsure)]

    def strata_with(self, parts: Sequence[str], unsure: float | None) -> list[Stratum]:
        """The strata by a part per answer."""
        found: dict[str, list[float]] = {part: [] for part in parts}
        for one, value in zip(self.used(unsure), self.values(unsure), strict=True):
            found[parts[one.place]].append(value)
        sizes = {part: list(parts).count(part) for part in found}
        return [Stratum(size=sizes[part], labels=len(got), right=sum(got)) for part, got in found.items()]


def _strata(way: _Way, labels: Labels) -> tuple[StratumFigure, ...]:
    """The cells or strata with their labels, by name."""
    if not way.parts:
        return ()
    drawn = {draw.stratum: draw.stratum_size for draw in labels.draws} if way.method == "strata" else {}
    names = sorted(drawn) if drawn else sorted(set(way.parts))
    own = {name: [one for one in labels.labels if way.parts[one.place] == name] for name in names}
    return tuple(
        StratumFigure(
            name=name,
            size=drawn.get(name, 0) or list(way.parts).count(name),
            labels=sum(one.right is not None for one in own[name]),
            right=sum(bool(one.right) for one in own[name]),
            unsure=sum(one.right is None for one in own[name]),
        )
        for name in names
    )


def _explained(strata: Sequence[StratumFigure]) -> float | None:
    """How much of the labels' variance lies between strata; None if there are none, or no variance."""
    filled = [one for one in strata if one.labels]
    size = sum(one.size for one in filled)
    if len(filled) < 2:
        return None
    mean = sum(one.size / size * one.right / one.labels for one in filled)
    if not 0.0 < mean < 1.0:
        return None
    inside = sum(one.size / size * (one.right / one.labels) * (1 - one.right / one.labels) for one in filled)
    return max(0.0, 1.0 - inside / (mean * (1 - mean)))


def _warnings(
    frame: Frame, labels: Labels, strata: Sequence[StratumFigure], method: EstimateMethod, explained: float | None
) -> list[str]:
    known = labels.known
    notes = []
    if len(known) < FEW:
        notes.append(
            f"{len(known)} labels: with fewer than {FEW} the interval is wide, and a claim is hardly supported"
        )
    if method == "strata":
        for one in strata:
            if 0 < one.labels < min(_FEW_IN_STRATUM, one.size):
                notes.append(f"the stratum {one.name!r} has {one.labels} labels: give it at least {_FEW_IN_STRATUM}")
    if len({one.right for one in known}) == 1 and len(known) < frame.size:
        word = "right" if known[0].right else "wrong"
        notes.append(f"all {len(known)} labels say {word}: they do not show how often an answer is not")
    elif explained is not None and explained < _NOTHING:
        notes.append(
            "the signals say almost nothing about these labels (R² below 0.05): they do not narrow the interval"
        )
    judge = frame.signals.get(JUDGE)
    if judge is not None:
        fits = _fit(judge, known)
        if not any(value is not None for value in judge):
            notes.append("the judge gave no opinion")
        elif len({value for value in judge if value is not None}) < 2:
            notes.append("the judge says the same about every answer: it has no information")
        elif fits is not None and fits < _NOTHING:
            notes.append("the judge has no information about these labels (R² below 0.05): ignore its number")
    return notes


def _fit(signal: Sequence[float | None], known: Sequence[Label]) -> float | None:
    """The squared correlation of a signal with the labels; None if either says always the same."""
    pairs = [(value, float(bool(one.right))) for one in known if (value := signal[one.place]) is not None]
    if len(pairs) < 2 or any(len({pair[side] for pair in pairs}) < 2 for side in (0, 1)):
        return None
    found = float(numpy.corrcoef(numpy.array(pairs).T)[0, 1])
    return found**2


def _figures(frame: Frame, labels: Labels) -> tuple[SignalFigure, ...]:
    return tuple(_figure(name, values, labels.known) for name, values in frame.signals.items())


def _figure(name: str, values: Sequence[float | None], known: Sequence[Label]) -> SignalFigure:
    given = [value for value in values if value is not None]
    told = [(value >= 0.5, bool(one.right)) for one in known if (value := values[one.place]) is not None]
    return SignalFigure(
        name=name,
        known=len(given),
        share=sum(value >= 0.5 for value in given) / len(given) if given else None,
        labels_for=sum(says for says, _ in told),
        right_for=sum(says and right for says, right in told),
        labels_against=sum(not says for says, _ in told),
        right_against=sum(not says and right for says, right in told),
    )


def _filled(values: Sequence[float | None]) -> list[float]:
    """A signal with its mean if it says nothing."""
    given = [value for value in values if value is not None]
    mean = sum(given) / len(given) if given else 0.0
    return [mean if value is None else value for value in values]


def _bounds(made: Estimated) -> Bounds:
    return Bounds(low=float(made.low), high=float(made.high))


def _outer(*made: Estimated) -> Bounds:
    return Bounds(low=float(min(one.low for one in made)), high=float(max(one.high for one in made)))
