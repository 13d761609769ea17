"""How large a difference a comparison of two runs could have shown, and how many cases would show one.

How yes/no metrics correct the formula for McNemar's test was decided by measurement: how often the exact test at 0.05
found, in 10,000 samples, the difference that n cases of a discordant share ψ should show in 80 % of samples. The
correction of the middle column is used.

    n       ψ        no step    half a step    a whole step
    50      0.1        78 %        86 %            93 %
    100     0.1        79 %        87 %            91 %
    100     0.3        76 %        80 %            82 %
    200     0.1        77 %        81 %            85 %
    500     0.05       77 %        80 %            83 %
    1034    0.2        78 %        79 %            81 %
    5000    0.1        79 %        80 %            80 %
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

from assay.errors import UsageError
from assay.stats.intervals import wilson_interval


def detectable_difference(
    n: int,
    *,
    variance: float | None = None,
    discordant: float | None = None,
    alpha: float = 0.05,
    power: float = 0.80,
    design_effect: float = 1.0,
) -> float | None:
    """The smallest mean difference that ``n`` paired cases show with ``power`` at the two-sided level ``alpha``.

    Give ``variance`` of the differences for a graded metric, or for a yes/no metric ``discordant``, the share of cases
    that only one run has right; None if neither is known. ``design_effect`` reduces cases in clusters to a smaller
    number of independent ones.

    Graded: (z_α/2 + z_β)·√(variance / n); None if the variance is 0, which does not show the true spread. Yes/no: see
    `cases_needed`. The discordant share bounds the difference; if the result would exceed it, the share is raised with
    it. A sample without discordant cases does not prove that there are none: the share is then the upper end of its 95
    % Wilson interval. None if ``n`` is 0, or no difference up to 1 is enough. Raises `UsageError` for impossible
    numbers.
    """
    z_alpha, z_beta = _quantiles(alpha, power)
    _check(variance, discordant, design_effect)
    if n < 0:
        raise UsageError(f"the number of cases must not be negative, got {n!r}")
    if n == 0 or (discordant is None and not variance):
        return None
    alone = n / design_effect
    if discordant is None:
        return (z_alpha + z_beta) * math.sqrt((variance or 0.0) / alone)
    share = discordant or _unseen(alone)

    def enough(difference: float) -> bool:
        return _yes_no_cases(difference, max(share, difference), z_alpha, z_beta) <= alone

    return _smallest(enough)


def cases_needed(
    difference: float,
    *,
    variance: float | None = None,
    discordant: float | None = None,
    alpha: float = 0.05,
    power: float = 0.80,
    design_effect: float = 1.0,
) -> int | None:
    """How many paired cases show a mean ``difference`` with ``power`` at the two-sided level ``alpha``.

    Give ``variance`` or ``discordant`` as for `detectable_difference`. None if the difference is 0 or neither is known.

    Graded: (z_α/2 + z_β)²·variance / d². Yes/no: n·d - ½ = z_α/2·√(nψ) + z_β·√(n(ψ - d²)) solved for n, with ψ the
    discordant share, but at least d: Miettinen 1968 and Connor 1987 (Biometrics 24 and 43) for McNemar's test, and a
    half for the step of the exact one (see the module). Raises `UsageError` for impossible numbers.
    """
    z_alpha, z_beta = _quantiles(alpha, power)
    _check(variance, discordant, design_effect)
    size = abs(difference)
    if size == 0.0 or (discordant is None and not variance):
        return None
    if discordant is None:
        alone = (z_alpha + z_beta) ** 2 * (variance or 0.0) / size**2
    elif size > 1.0:
        raise UsageError(f"rates cannot differ by more than 1, got {difference!r}")
    else:
        alone = _yes_no_cases(size, max(discordant, size), z_alpha, z_beta)
    return max(1, math.ceil(alone * design_effect))


def _yes_no_cases(difference: float, share: float, z_alpha: float, z_beta: float) -> float:
    root = z_alpha * math.sqrt(share) + z_beta * math.sqrt(max(0.0, share - difference * difference))
    return ((root + math.sqrt(root * root + 2.0 * difference)) / (2.0 * difference)) ** 2


def _unseen(n: float) -> float:
    bounds = wilson_interval(0, math.ceil(n))
    return bounds[1] if bounds else 1.0


def _smallest(enough: Callable[[float], bool]) -> float | None:
    """The smallest difference that is enough, by bisection."""
    if not enough(1.0):
        return None
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _quantiles(alpha: float, power: float) -> tuple[float, float]:
    if not 0.0 < alpha < 1.0 or not 0.0 < power < 1.0:
        raise UsageError(f"alpha and power must lie between 0 and 1, got {alpha!r} and {power!r}")
    normal = NormalDist()
    return normal.inv_cdf(1.0 - alpha / 2.0), normal.inv_cdf(power)


def _check(variance: float | None, discordant: float | None, design_effect: float) -> None:
    if variance is not None and discordant is not None:
        raise UsageError("give variance for a graded metric or discordant for a yes/no metric, not both")
    if variance is not None and not 0.0 <= variance < math.inf:
        raise UsageError(f"the variance must be finite and not negative, got {variance!r}")
    if discordant is not None and not 0.0 <= discordant <= 1.0:
        raise UsageError(f"the discordant share must lie within 0 and 1, got {discordant!r}")
    if not 1.0 <= design_effect < math.inf:
        raise UsageError(f"the design effect must be at least 1, got {design_effect!r}")
