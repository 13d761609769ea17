"""Which causes the signs point to, the surest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from assay.diagnosis.signs import Sign
from assay.diagnosis.weights import ALONE, BACKGROUND, MOST_NAMED, NAMED_FROM, WEIGHTS
from assay.model.diagnosis import CauseKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A cause with the sign that points to it most surely."""

    kind: CauseKind
    probability: float
    sign: Sign


def name_causes(found: Sequence[Sign], *, proved: frozenset[int] = frozenset()) -> list[Named]:
    """The causes that the signs point to: the primary one, then those at least `NAMED_FROM` probable.

    ``proved`` are the places of the signs whose clauses the repair replaces. Where there are some, the primary cause is
    one of theirs.
    """
    if not found:
        return []
    ranked = _ranked(found)
    settled = [sign for place, sign in enumerate(found) if place in proved]
    if settled and len(settled) < len(found):
        first = _ranked(settled)[0]
        rest = [one for one in ranked if one.kind != first.kind]
        ranked = [first, *rest]
    return [ranked[0], *(one for one in ranked[1:MOST_NAMED] if one.probability >= NAMED_FROM)]


def _ranked(found: Sequence[Sign]) -> list[Named]:
    missed: dict[CauseKind, float] = defaultdict(lambda: 1.0)
    best: dict[CauseKind, tuple[float, Sign]] = {}
    by_name = {sign.name: sign for sign in reversed(found)}
    for name, sign in by_name.items():
        for kind, weight in WEIGHTS.get(name, {}).items():
            missed[kind] *= 1 - weight
            if kind not in best or weight > best[kind][0]:
                best[kind] = (weight, sign)
    for kind, weight in BACKGROUND.items():
        if kind in missed:
            missed[kind] *= 1 - weight
    named = [Named(kind=kind, probability=1 - rest, sign=best[kind][1]) for kind, rest in missed.items()]
    named.sort(key=lambda one: (-one.probability, one.kind))
    if len(by_name) == 1:
        (name,) = by_name
        own = meaning_alone(name)
        others = [one for one in named if one.kind != own]
        sign = by_name[name]
        return [Named(kind=own, probability=1.0, sign=sign), *others]
    return named


def meaning_alone(name: str) -> CauseKind:
    """What a sign means where nothing else differs."""
    weights = WEIGHTS.get(name, {})
    if name in ALONE or not weights:
        return ALONE.get(name, "other")
    return max(weights, key=lambda kind: weights[kind])
