"""How surely each sign and each trait points to each cause: one fitted model, log-odds to be added up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from math import exp

from msgspec import Struct

from assay.model.verdicts.diagnosis import CauseKind

ALWAYS = "always"
"""The name under which what holds for every pair stands."""


class Learnt(Struct, frozen=True, kw_only=True):
    """What each sign and each trait says for or against each cause."""

    weights: Mapping[CauseKind, Mapping[str, float]]

    def probability(self, kind: CauseKind, held: Iterable[str]) -> float:
        """How likely experts would give this label to a pair with these signs and traits."""
        weights = self.weights.get(kind, {})
        return 1 / (1 + exp(-weights.get(ALWAYS, 0.0) - sum(weights.get(name, 0.0) for name in held)))

    def points_to(self, kind: CauseKind, sign: str) -> float:
        """How much a sign speaks for a cause."""
        return self.weights.get(kind, {}).get(sign, 0.0)


@cache
def learnt() -> Learnt:
    """What stands in ``learnt.json``, which ``python benchmarks/causes.py --learn`` writes."""
    text = files("assay.diagnosis").joinpath("learnt.json").read_text(encoding="utf-8")
    return Learnt(weights=json.loads(text))
