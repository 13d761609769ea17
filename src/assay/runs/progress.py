"""How far a run has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The state of one stage of a run: asking the system, judging its answers, or timing the right ones."""

    stage: Literal["asking", "judging", "timing"] = "judging"
    total: int
    finished: int
    resumed: int = 0
    """Of the finished, those that an earlier, interrupted run had finished."""
