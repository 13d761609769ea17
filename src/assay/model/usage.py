"""What an answer cost."""

from __future__ import annotations

from msgspec import Struct


class TokenUsage(Struct, frozen=True, kw_only=True):
    """Tokens that the system under test reports. None: not reported."""

    input: int | None = None
    output: int | None = None
    total: int | None = None


class UsageTotals(Struct, frozen=True, kw_only=True):
    """What the answers of a run cost in all. A sum is over the answers that report the number; None where none does."""

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
