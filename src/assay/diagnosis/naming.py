"""Which causes the signs point to, the surest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.diagnosis.learnt import Learnt, learnt
from assay.diagnosis.signs import Sign
from assay.diagnosis.weights import (
    ALONE,
    BACKGROUND,
    MOST_NAMED,
    NAMED_BESIDE_REPAIR,
    NAMED_FROM,
    NAMED_WHERE_SURE,
    WEIGHTS,
)
from assay.model.diagnosis import CauseKind


class Named(Struct, frozen=True, kw_only=True):
    """A cause with the sign that points to it most surely."""

    kind: CauseKind
    probability: float
    sign: Sign


def name_causes(
    found: Sequence[Sign],
    traits: Iterable[str] = (),
    *,
    proved: frozenset[int] = frozenset(),
    taught: Learnt | None = None,
) -> list[Named]:
    """The causes that the signs point to: the primary one, then those that are probable enough to be named.

    ``proved`` are the places of the signs whose clauses the repair replaces. Where there are some, the primary cause is
    one of theirs.
    """
    if not found:
        return []
    taught, held = taught or learnt(), tuple(traits)
    ranked = _ranked(found, held, taught)
    settled = [sign for place, sign in enumerate(found) if place in proved]
    if settled and len(settled) < len(found):
        if len({sign.name for sign in settled}) == 1:  # the repair shows that nothing else need differ
            first = _ranked(settled, held, taught)[0]
        else:
            first = _supported(ranked, settled) or _ranked(settled, held, taught)[0]
        ranked = [first, *(one for one in ranked if one.kind != first.kind)]
        rest = frozenset(sign.name for sign in found) - frozenset(sign.name for sign in settled)
        return _likely_enough(ranked, doubted=rest)
    return _likely_enough(ranked)


def _supported(ranked: Sequence[Named], settled: Sequence[Sign]) -> Named | None:
    """The surest cause, everything weighed, that one of these signs points to, with the one that does so most."""
    for one in ranked:
        weights = [(WEIGHTS.get(sign.name, {}).get(one.kind, 0.0), sign) for sign in settled]
        weight, sign = max(weights, key=lambda pair: pair[0])
        if weight >= _POINTS:
            return replace(one, sign=sign)
    return None


_POINTS = 0.25
"""A sign with a smaller weight does not make a cause the primary one by itself."""


def _likely_enough(ranked: Sequence[Named], *, doubted: frozenset[str] = frozenset()) -> list[Named]:
    """The first, and each further one that is worth a line: the surer those before it, the surer it must be.

    The signs that are ``doubted`` are of differences that need no repair: their causes must be surer.
    """
    named = [ranked[0]]
    wrong = 1 - ranked[0].probability
    for one in ranked[1:MOST_NAMED]:
        needed = (
            NAMED_FROM + NAMED_WHERE_SURE * (1 - wrong) + (NAMED_BESIDE_REPAIR if one.sign.name in doubted else 0.0)
        )
        if one.probability >= needed:
            named.append(one)
            wrong *= 1 - one.probability
    return named


def _ranked(found: Sequence[Sign], traits: Sequence[str], taught: Learnt) -> list[Named]:
    by_name = {sign.name: sign for sign in reversed(found)}
    held = (*by_name, *traits)
    named = []
    for kind, by_hand in hand_weighed(by_name).items():
        sign = max(by_name, key=lambda name: (WEIGHTS.get(name, {}).get(kind, 0.0), taught.points_to(kind, name)))
        if WEIGHTS.get(sign, {}).get(kind) or taught.points_to(kind, sign) > 0:
            likely = taught.probability(kind, by_hand, held)
            named.append(Named(kind=kind, probability=likely, sign=by_name[sign]))
    named.sort(key=lambda one: (-one.probability, one.kind))
    if len(by_name) == 1:
        (name,) = by_name
        own = meaning_alone(name)
        others = [one for one in named if one.kind != own]
        likely = next((one.probability for one in named if one.kind == own), 1.0)
        return [Named(kind=own, probability=likely, sign=by_name[name]), *others]
    return named


def hand_weighed(names: Iterable[str]) -> dict[CauseKind, float]:
    """By cause, how probable the weights set by hand make it; 0 for a cause that no sign points to."""
    missed: dict[CauseKind, float] = defaultdict(lambda: 1.0)
    for name in dict.fromkeys(names):
        for kind, weight in WEIGHTS.get(name, {}).items():
            missed[kind] *= 1 - weight
    for kind, weight in BACKGROUND.items():
        if kind in missed:
            missed[kind] *= 1 - weight
    return {kind: 1 - missed[kind] if kind in missed else 0.0 for kind in _KINDS}


_KINDS: tuple[CauseKind, ...] = tuple(dict.fromkeys(kind for weights in WEIGHTS.values() for kind in weights))


def meaning_alone(name: str) -> CauseKind:
    """What a sign means where nothing else differs."""
    weights = WEIGHTS.get(name, {})
    if name in ALONE or not weights:
        return ALONE.get(name, "other")
    return max(weights, key=lambda kind: weights[kind])
