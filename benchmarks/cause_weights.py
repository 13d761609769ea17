"""Learn from experts' labels what signs and traits say for and against each cause: `learnt_from`.

Logistic regression, one cause at a time. Weights are drawn towards what a sign may mean (`assay.diagnosis.naming`):
a sign that few pairs have keeps its readings, and a trait that few pairs have says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from assay.diagnosis.naming import ALWAYS, READINGS, CauseModel
from assay.model import CauseKind

Numbers = NDArray[np.float64]
FIRST_READING, OTHER_READING = 2.5, 0.8
"""The log-odds that a sign's readings begin with."""
PULL_OF_SIGNS, PULL_OF_TRAITS, PULL_OF_FREQUENCY = 8.0, 20.0, 0.3
"""How strongly weights are drawn to what they begin with."""
_SHARE = 0.5
"""How often a cause that no sign points to is given, as a share of how often it is given at all."""
_ROUNDS = 10


class Example(Struct, frozen=True, kw_only=True):
    """One pair, as naming sees it, and what experts call it."""

    signs: frozenset[str]
    traits: frozenset[str]
    labels: frozenset[CauseKind]


def learnt_from(examples: Sequence[Example]) -> CauseModel:
    """The weights that these pairs teach."""
    signs = sorted({name for one in examples for name in one.signs} | set(READINGS))
    traits = sorted({name for one in examples for name in one.traits})
    names = [ALWAYS, *signs, *traits]
    held = np.array([[float(name == ALWAYS or name in one.signs | one.traits) for name in names] for one in examples])
    pull = np.array([PULL_OF_FREQUENCY, *[PULL_OF_SIGNS] * len(signs), *[PULL_OF_TRAITS] * len(traits)])
    kinds = sorted({kind for readings in READINGS.values() for kind in readings} - {"other"})
    weights: dict[CauseKind, dict[str, float]] = {}
    for kind in kinds:
        given = np.array([float(kind in one.labels) for one in examples])
        share = min(max(_SHARE * float(given.mean()), 0.01), 0.5)
        start = np.array([log(share / (1 - share)), *(_reading(name, kind) for name in names[1:])])
        found = _fitted(held, given, start, pull)
        rounded = {name: round(value, 2) for name, value in zip(names, found.tolist(), strict=True)}
        weights[kind] = {name: value for name, value in rounded.items() if value}
    return CauseModel(weights=weights)


def _reading(name: str, kind: CauseKind) -> float:
    readings = READINGS.get(name, ())
    return 0.0 if kind not in readings else FIRST_READING if readings[0] == kind else OTHER_READING


def _fitted(held: Numbers, given: Numbers, start: Numbers, pull: Numbers) -> Numbers:
    """The weights that make the labels most likely, by Newton's method."""
    found = start
    for _ in range(_ROUNDS):
        likely = 1 / (1 + np.exp(-(held @ found)))
        slope = held.T @ (likely - given) + pull * (found - start)
        curve = (held * (likely * (1 - likely) + 1e-6)[:, None]).T @ held + np.diag(pull)
        found = found - np.linalg.solve(curve, slope)
    return found
