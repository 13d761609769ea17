"""How far raters agree: Cohen's kappa for two of them, Fleiss' for more, each with its interval.

Both intervals are large-sample ones after 4 cases were added, spread evenly over the counts: over the cells of the
table, or over the patterns that the raters' votes on one case can make. With two raters, or three, and two categories
that is 1 per count. So the intervals do not claim certainty if raters never differ. The value itself has no
added cases. How often they hold the true kappa: `assay docs background/measured/statistics`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations_with_replacement
from statistics import NormalDist
from typing import Final, TypeAlias

from msgspec import Struct

from assay.model import Kappa

ADDED: Final = 4.0
"""How many cases are added for an interval, in all. One per count is too many if there are more than four counts."""


class YesNoTable(Struct, frozen=True, kw_only=True):
    """Counts of one rater's answers against another's that are taken as the truth."""

    true_positives: int = 0
    false_positives: int = 0
    false_negatives: int = 0
    true_negatives: int = 0

    @property
    def n(self) -> int:
        """The number of answers."""
        return self.true_positives + self.false_positives + self.false_negatives + self.true_negatives

    @property
    def counts(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The same as rows of one rater's yes and no, with columns of the other's."""
        return (self.true_positives, self.false_positives), (self.false_negatives, self.true_negatives)


def cohen_kappa(table: Sequence[Sequence[int]], *, confidence: float = 0.95, added: float = ADDED) -> Kappa | None:
    """Cohen's kappa of a square table: a row per category of the first rater, a column per category of the second.

    Chance is what the raters' own rates of each category give (Cohen, Educational and Psychological Measurement 20,
    1960), the variance that of Fleiss, Cohen and Everitt (Psychological Bulletin 72, 1969). None if kappa is not
    defined: without cases, and if both raters gave the same single answer throughout. ``added``: how many cases
    to add for the interval.
    """
    categories = range(len(table))
    cells = [(row, column) for row in categories for column in categories]

    def parts(shares: Sequence[float]) -> _Parts:
        by = dict(zip(cells, shares, strict=True))
        rows = [math.fsum(by[row, column] for column in categories) for row in categories]
        columns = [math.fsum(by[row, column] for row in categories) for column in categories]
        chance = math.fsum(row * column for row, column in zip(rows, columns, strict=True))
        return [float(row == column) for row, column in cells], chance, [columns[r] + rows[c] for r, c in cells]

    return _kappa([table[row][column] for row, column in cells], parts, confidence, added)


def fleiss_kappa(
    patterns: Mapping[tuple[int, ...], int],
    *,
    raters: int,
    categories: int,
    confidence: float = 0.95,
    added: float = ADDED,
) -> Kappa | None:
    """Fleiss' kappa of cases that the same number of raters put into categories (Psychological Bulletin 76, 1971).

    A pattern says how many raters chose each category, for example ``(2, 1)``; its count is the number of cases. The
    variance is that of the delta method. None if kappa is not defined, as for `cohen_kappa`.
    """
    possible = [
        tuple(chosen.count(category) for category in range(categories))
        for chosen in combinations_with_replacement(range(categories), raters)
    ]
    pairs = raters * (raters - 1)

    def parts(shares: Sequence[float]) -> _Parts:
        rates = [
            math.fsum(share * pattern[category] / raters for share, pattern in zip(shares, possible, strict=True))
            for category in range(categories)
        ]
        agreed = [sum(votes * (votes - 1) for votes in pattern) / pairs for pattern in possible]
        slopes = [
            2 * math.fsum(rate * votes / raters for rate, votes in zip(rates, pattern, strict=True))
            for pattern in possible
        ]
        return agreed, math.fsum(rate * rate for rate in rates), slopes

    return _kappa([patterns.get(pattern, 0) for pattern in possible], parts, confidence, added)


_Parts: TypeAlias = tuple[list[float], float, list[float]]
"""The agreement within each pattern, the agreement by chance, and its slope by each pattern's share."""


def _kappa(
    counts: Sequence[int], parts: Callable[[Sequence[float]], _Parts], confidence: float, added: float
) -> Kappa | None:
    """Kappa from the counts of patterns, its interval by the delta method from the counts and the ``added`` cases."""
    n = sum(counts)
    if n == 0:
        return None
    agreed, chance, _ = parts([count / n for count in counts])
    if math.isclose(chance, 1.0):
        return None
    observed = math.fsum(count * each for count, each in zip(counts, agreed, strict=True)) / n
    value = (observed - chance) / (1 - chance)

    total = n + added
    shares = [(count + added / len(counts)) / total for count in counts]
    agreed, chance, slopes = parts(shares)
    missed = 1 - math.fsum(share * each for share, each in zip(shares, agreed, strict=True))
    centre = 1 - missed / (1 - chance)
    gradient = [
        each / (1 - chance) - missed * slope / (1 - chance) ** 2 for each, slope in zip(agreed, slopes, strict=True)
    ]
    mean = math.fsum(share * each for share, each in zip(shares, gradient, strict=True))
    variance = math.fsum(share * (each - mean) ** 2 for share, each in zip(shares, gradient, strict=True)) / total
    half = NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(variance)
    return Kappa(
        value=value,
        low=max(-1.0, min(value, centre - half)),
        high=min(1.0, max(value, centre + half)),
        confidence=confidence,
    )
