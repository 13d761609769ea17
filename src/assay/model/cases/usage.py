"""What an answer cost."""

from __future__ import annotations

from math import isfinite
from typing import Any, SupportsFloat

from msgspec import Struct


class TokenUsage(Struct, frozen=True, kw_only=True, gc=False):
    """Tokens that the system under test reports. None: not reported."""

    input: int | None = None
    output: int | None = None
    total: int | None = None


class UsageTotals(Struct, frozen=True, kw_only=True):
    """What the answers of a run cost in all. A sum is over the answers that report the number; None if none does."""

    answers: int
    """The number of cases whose answer reports tokens or a cost."""
    input: int | None = None
    output: int | None = None
    total: int | None = None
    cost_usd: float | None = None
    answers_with_tokens: int = 0
    answers_with_input: int = 0
    answers_with_output: int = 0
    answers_with_total: int = 0
    answers_with_cost: int = 0


MOST = 10**12
"""The largest number of tokens, seconds or dollars that one answer can have. Nine million of them still fit 64 bits."""


def read_measure(value: Any) -> float | None:
    """A number from 0 to `MOST`, also if given as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (SupportsFloat, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError, TypeError, ArithmeticError):  # also a Decimal's signalling NaN
        return None
    return number if isfinite(number) and 0 <= number <= MOST else None
