"""Learn from experts' labels what signs and traits say for and against each cause: `learnt_from`.

Logistic regression, one label at a time, drawn towards the weights that were set by hand: a sign that few pairs have
keeps what it was given. A label with fewer than `LEAST_PAIRS` pairs learns only how frequent it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.diagnosis.learnt import ALWAYS, HAND, Learnt, log_odds
from assay.diagnosis.naming import hand_weighed
from assay.diagnosis.weights import WEIGHTS
from assay.model import CauseKind

Numbers = NDArray[np.float64]
LEAST_PAIRS = 10
LEAST_SEEN = 3
"""A sign that fewer pairs have keeps the weight that it was given."""
PULL = 20.0
"""How strongly weights are drawn to those set by hand."""
_PULL_OF_FREQUENCY = 0.3
_HALF = 0.5
"""How much of a weight set by hand stands in the log-odds of its sign; the rest is in `HAND`."""
_SHARE = 0.35
"""How often a label is given that no sign points to, as a share of how often it is given at all."""
_ROUNDS = 25
_STILL = 1e-6
"""Newton's method ends where no weight moves further than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One pair, as naming sees it, and what experts call it."""

    signs: frozenset[str]
    traits: frozenset[str]
    labels: frozenset[CauseKind]


def learnt_from(examples: Sequence[Example]) -> Learnt:
    """The weights that these pairs teach."""
    seen = Counter(name for one in examples for name in one.signs)
    names = [*sorted(name for name, count in seen.items() if count >= LEAST_SEEN)]
    names += sorted({name for one in examples for name in one.traits})
    held = np.array([[1.0, *(float(name in one.signs | one.traits) for name in names)] for one in examples])
    by_hand = [hand_weighed(one.signs) for one in examples]
    weights: dict[CauseKind, dict[str, float]] = {}
    for kind in by_hand[0]:
        given = np.array([float(kind in one.labels) for one in examples])
        weights[kind] = first = _first(kind, float(given.mean()))
        start = np.array(
            [HAND * log_odds(hand[kind]) + _sum(first, one.signs) for hand, one in zip(by_hand, examples, strict=True)]
        )
        enough = given.sum() >= LEAST_PAIRS
        found = _fitted(held if enough else held[:, :1], given, start)
        for name, value in zip([ALWAYS, *names], found.tolist(), strict=False):
            first[name] = first.get(name, 0.0) + value
        weights[kind] = {name: round(value, 2) for name, value in sorted(first.items()) if abs(value) >= 0.01}
    return Learnt(weights=weights)


def _first(kind: CauseKind, share: float) -> dict[str, float]:
    """What the weights set by hand say for a label that is given so often."""
    rest = log_odds(_SHARE * min(max(share, 0.02), 0.5))
    found = {ALWAYS: _HALF * rest}
    for name, weights in WEIGHTS.items():
        if kind in weights:
            found[name] = _HALF * max(0.0, log_odds(weights[kind]) - rest)
    return found


def _sum(weights: dict[str, float], names: frozenset[str]) -> float:
    return weights[ALWAYS] + sum(weights.get(name, 0.0) for name in names)


def _fitted(held: Numbers, given: Numbers, start: Numbers) -> Numbers:
    """The corrections that make the labels most likely, by Newton's method."""
    found: Numbers = np.zeros(held.shape[1])
    pull = np.full(held.shape[1], PULL)
    pull[0] = _PULL_OF_FREQUENCY
    for _ in range(_ROUNDS):
        likely = 1 / (1 + np.exp(-(start + held @ found)))
        slope = held.T @ (likely - given) + pull * found
        curve = (held * (likely * (1 - likely) + 1e-6)[:, None]).T @ held + np.diag(pull)
        step = np.linalg.solve(curve, slope)
        found = found - step
        if np.abs(step).max() < _STILL:
            break
    return found
