"""When a test is significant, and p-values corrected for many tests at once."""

from __future__ import annotations

from collections.abc import Sequence

from assay.errors import UsageError


def is_significant(p_value: float | None, alpha: float) -> bool:
    """Whether a test at the level ``alpha`` rejects: its p-value is at most alpha. False for None, which means no test.

    Gates, comparisons and leaderboards all use this rule. A p-value is the lowest level that rejects (Lehmann & Romano,
    Testing Statistical Hypotheses, 2005, section 3.3), so a p-value equal to alpha rejects.
    """
    return p_value is not None and p_value <= alpha


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values so that the chance of any false finding among them stays below the level of the tests.

    Holm's step-down method (Scandinavian Journal of Statistics 6, 1979), for tests that depend on each
    other in any way: with m values in rising order, the i-th becomes the largest of (m - j + 1)·p_j over
    j <= i, at most 1. The result keeps the given order. None, for a test that was not made, stays None
    and does not count in m. Raises `UsageError` for a value outside [0, 1].
    """
    known = [(p, index) for index, p in enumerate(p_values) if p is not None]
    for p, _ in known:
        if not 0.0 <= p <= 1.0:
            raise UsageError(f"a p-value must lie within 0 and 1, got {p!r}")
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, index) in enumerate(sorted(known)):
        highest = max(highest, min(1.0, (len(known) - rank) * p))
        adjusted[index] = highest
    return adjusted
