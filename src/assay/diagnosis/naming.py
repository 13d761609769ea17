"""Which causes the signs point to, the surest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.diagnosis.learnt import Learnt, learnt
from assay.diagnosis.readings import (
    EXCLUDED,
    MOST_NAMED,
    NAMED_BESIDE_REPAIR,
    NAMED_FROM,
    NAMED_WHERE_SURE,
    READINGS,
)
from assay.diagnosis.signs import Sign, has_same_columns
from assay.model.verdicts.diagnosis import CauseKind


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
    settled = [sign for place, sign in enumerate(found) if place in proved]
    unsettled = frozenset(sign.name for place, sign in enumerate(found) if place not in proved)
    others = unsettled | frozenset(sign.name for sign in settled if not has_same_columns(sign.difference))
    same = frozenset(sign.name for sign in settled) - others
    ranked = _ranked(found, held, taught, same)
    if settled and len(settled) < len(found):
        if len({sign.name for sign in settled}) == 1:  # the repair shows that nothing else need differ
            first = _ranked(settled, held, taught, same)[0]
        else:
            first = _supported(ranked, settled, taught, same) or _ranked(settled, held, taught, same)[0]
        ranked = [first, *(one for one in ranked if one.kind != first.kind)]
        return _likely_enough(ranked, doubted=unsettled - frozenset(sign.name for sign in settled))
    return _likely_enough(ranked)


def _supported(ranked: Sequence[Named], settled: Sequence[Sign], taught: Learnt, same: frozenset[str]) -> Named | None:
    """The surest cause, everything weighed, that one of these signs may mean, with the one that points to it most."""
    for one in ranked:
        signs = [sign for sign in settled if one.kind in READINGS.get(sign.name, ())]
        signs = [sign for sign in signs if not _is_excluded(one.kind, sign.name, same)]
        if signs:
            return replace(one, sign=max(signs, key=lambda sign: taught.points_to(one.kind, sign.name)))
    return None


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


def _ranked(found: Sequence[Sign], traits: Sequence[str], taught: Learnt, same: frozenset[str]) -> list[Named]:
    """The causes that some sign speaks for. ``same``: see `_is_excluded`."""
    by_name = {sign.name: sign for sign in reversed(found)}
    held = (*by_name, *traits)
    named = []
    for kind, weights in taught.weights.items():
        speaking = [name for name in by_name if weights.get(name, 0.0) >= _POINTS]
        speaking = [name for name in speaking if not _is_excluded(kind, name, same)]
        if not speaking:
            continue
        names = [name for name in by_name if default_cause(name) == kind] or speaking
        name = max(names, key=lambda name: weights.get(name, 0.0))
        if weights.get(name, 0.0) >= _POINTS:
            named.append(Named(kind=kind, probability=taught.probability(kind, held), sign=by_name[name]))
    named.sort(key=lambda one: (-one.probability, one.kind))
    if len(by_name) == 1 or not named:
        name = found[0].name
        own = default_cause(name)
        others = [one for one in named if one.kind != own]
        likely = next((one.probability for one in named if one.kind == own), 1.0)
        return [Named(kind=own, probability=likely, sign=by_name[name]), *others]
    return named


def _is_excluded(kind: CauseKind, name: str, same: frozenset[str]) -> bool:
    """Whether the differences of a sign rule out a cause.

    ``same`` are the signs whose differences are all repaired and have the same columns on both sides: with gold's value
    in ``name = 'Ann'`` the answer is right, so that ``name`` is the right column.
    """
    if kind == "attribute_mismatch" and name in same and default_cause(name) != kind:
        return True
    return kind in EXCLUDED.get(name, ())


_POINTS = 0.3
"""A cause rests on a sign that speaks at least so much for it."""


def default_cause(name: str) -> CauseKind:
    """What a sign means where nothing else differs."""
    return READINGS.get(name, ("other",))[0]
