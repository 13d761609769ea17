"""The quality of a judge: its opinions compared with the truth."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from assay.model import Kappa, Rate
from assay.stats import wilson_interval
from assay.stats.agreement import YesNoTable, cohen_kappa


class Calibration(Struct, frozen=True, kw_only=True):
    """A judge measured against the truth, with *equivalent* as the positive answer.

    Unscored pairs are excluded from all rates but count in ``unscored``. ``kappa`` is None
    if both sides give the same single answer throughout.
    """

    table: YesNoTable
    unscored: int
    accuracy: Rate
    precision: Rate
    """The share of the pairs called equivalent that are equivalent."""
    recall: Rate
    """The share of the equivalent pairs that the judge calls equivalent."""
    specificity: Rate
    """The share of the different pairs that the judge calls not equivalent."""
    kappa: Kappa | None


def calibrate(judged: Iterable[tuple[bool, bool | None]], *, confidence: float = 0.95) -> Calibration:
    """Measure a judge on pairs of the truth (is it equivalent?) and the judge's verdict, None if unscored."""
    pairs = list(judged)
    table = YesNoTable(
        true_positives=pairs.count((True, True)),
        false_positives=pairs.count((False, True)),
        false_negatives=pairs.count((True, False)),
        true_negatives=pairs.count((False, False)),
    )
    unscored = len(pairs) - table.n

    def rate(numerator: int, n: int) -> Rate:
        low, high = wilson_interval(numerator, n, confidence=confidence) or (None, None)
        return Rate(
            n=n,
            numerator=numerator,
            unscored=unscored,
            value=numerator / n if n else None,
            low=low,
            high=high,
            confidence=confidence,
        )

    return Calibration(
        table=table,
        unscored=unscored,
        accuracy=rate(table.true_positives + table.true_negatives, table.n),
        precision=rate(table.true_positives, table.true_positives + table.false_positives),
        recall=rate(table.true_positives, table.true_positives + table.false_negatives),
        specificity=rate(table.true_negatives, table.true_negatives + table.false_positives),
        kappa=cohen_kappa(table.counts, confidence=confidence),
    )
