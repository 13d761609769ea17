"""What an answer cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """Tokens that the system under test said it used. None: it did not say."""

    input: int | None = None
    output: int | None = None
    total: int | None = None
