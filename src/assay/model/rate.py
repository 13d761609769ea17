"""A rate with what is needed to judge it."""

from __future__ import annotations

from msgspec import Struct


class Rate(Struct, frozen=True, kw_only=True):
    """A mean of per-case values with everything needed to judge it.

    ``value`` is numerator / n, and None where n is 0. ``low`` and ``high`` bound it at
    ``confidence``: Wilson's interval for values within [0, 1], at an effective sample size where
    they are not all 0 or 1; Student's t for any others. ``unscored`` cases are in none of these
    numbers.
    """

    n: int
    numerator: float
    unscored: int
    value: float | None
    low: float | None
    high: float | None
    confidence: float = 0.95
