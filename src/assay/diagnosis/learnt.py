"""What experts' labels taught beyond the weights set by hand: log-odds by cause, sign and trait."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from math import exp, log

from msgspec import Struct

from assay.model.diagnosis import CauseKind

HAND = 0.4
"""How much of the log-odds that the weights set by hand give counts beside what was learnt."""
_LEAST, _MOST = 0.01, 0.97
ALWAYS = "always"
"""The name under which what holds for every pair is kept."""


class Learnt(Struct, frozen=True, kw_only=True):
    """What each sign and each trait says for or against each cause, as log-odds to be added up."""

    weights: Mapping[CauseKind, Mapping[str, float]]

    def probability(self, kind: CauseKind, by_hand: float, held: Iterable[str]) -> float:
        """How likely experts would give this label; ``by_hand`` is what the weights set by hand say."""
        weights = self.weights.get(kind)
        if weights is None:
            return by_hand
        known = HAND * log_odds(by_hand) + weights.get(ALWAYS, 0.0)
        return 1 / (1 + exp(-known - sum(weights.get(name, 0.0) for name in held)))

    def points_to(self, kind: CauseKind, sign: str) -> float:
        """How much a sign speaks for a cause, beyond the weights set by hand."""
        return self.weights.get(kind, {}).get(sign, 0.0)


def log_odds(probability: float) -> float:
    """The log-odds of a probability, which is taken for neither impossible nor certain."""
    within = min(max(probability, _LEAST), _MOST)
    return log(within / (1 - within))


@cache
def learnt() -> Learnt:
    """What stands in ``learnt.json``, which ``python benchmarks/causes.py --learn`` writes."""
    text = files("assay.diagnosis").joinpath("learnt.json").read_text(encoding="utf-8")
    return Learnt(weights=json.loads(text))
