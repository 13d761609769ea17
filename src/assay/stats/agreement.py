"""How far two raters agree on yes/no questions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist


@dataclass(frozen=True, slots=True, kw_only=True)
class YesNoTable:
    """Counts of one rater's answers beside another's that is taken as the truth."""

    true_positives: int = 0
    false_positives: int = 0
    false_negatives: int = 0
    true_negatives: int = 0

    @property
    def n(self) -> int:
        """All of them."""
        return self.true_positives + self.false_positives + self.false_negatives + self.true_negatives


def cohen_kappa(table: YesNoTable, *, confidence: float = 0.95) -> tuple[float, float, float] | None:
    """Cohen's kappa with its interval, ``(kappa, low, high)``; None where it is not defined.

    Agreement beyond what the raters' own rates of yes would give by chance: 1 is perfect, 0 is
    chance, below 0 worse than that. Not defined without answers, and where both raters gave one and
    the same answer throughout. The interval is the large-sample one of Fleiss, Cohen and Everitt
    (Psychological Bulletin 72, 1969), cut to [-1, 1]; it is wide of the mark for a few dozen answers.
    """
    n = table.n
    if n == 0:
        return None
    joint = (
        (table.true_positives / n, table.false_positives / n),
        (table.false_negatives / n, table.true_negatives / n),
    )
    first = (sum(joint[0]), sum(joint[1]))
    second = (joint[0][0] + joint[1][0], joint[0][1] + joint[1][1])
    observed = joint[0][0] + joint[1][1]
    expected = sum(one * other for one, other in zip(first, second, strict=True))
    if expected == 1.0:
        return None
    kappa = (observed - expected) / (1 - expected)
    agreeing = sum(joint[i][i] * (1 - (first[i] + second[i]) * (1 - kappa)) ** 2 for i in (0, 1))
    differing = (1 - kappa) ** 2 * sum(joint[i][j] * (second[i] + first[j]) ** 2 for i, j in ((0, 1), (1, 0)))
    chance = (kappa - expected * (1 - kappa)) ** 2
    variance = max(agreeing + differing - chance, 0.0) / (n * (1 - expected) ** 2)
    margin = NormalDist().inv_cdf(0.5 + confidence / 2) * math.sqrt(variance)
    return kappa, max(-1.0, kappa - margin), min(1.0, kappa + margin)
