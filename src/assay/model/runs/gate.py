"""What a run must reach, and whether it did."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

HEADLINE: Final = "headline"
"""In place of a metric's name: the metric that leads the run, which is `match` if it is computed."""


class Gates(Struct, frozen=True, kw_only=True):
    """What a run must reach so that a build may pass. Nothing is demanded by default."""

    minimum: tuple[tuple[str, float], ...] = ()
    """Per metric, the lowest mean over its scored cases that passes, for example ``("match", 0.80)``."""
    max_drop: tuple[tuple[str, float], ...] = ()
    """Per metric, how far its mean may lie below the baseline's, over the cases that both runs have."""
    fail_on_regression: tuple[str, ...] = ()
    """Metrics, or ``headline``, that must not be significantly worse than the baseline's."""
    alpha: float = 0.05
    """The significance level of those tests, after Holm's correction across ``fail_on_regression``."""
    must_pass: tuple[str, ...] = ()
    """Cases that must all be correct, as ``tag:smoke``, ``difficulty:easy``, ``database:shop`` or ``id:17``."""

    @property
    def any(self) -> bool:
        """Whether anything is demanded."""
        return bool(self.minimum or self.max_drop or self.fail_on_regression or self.must_pass)

    @property
    def needs_baseline(self) -> bool:
        """Whether some gate needs a second run to compare with."""
        return bool(self.max_drop or self.fail_on_regression)


class GateResult(Struct, frozen=True, kw_only=True):
    """Whether the run passes one gate."""

    gate: str
    """As the user wrote it: ``min match=0.8``, ``must-pass tag:smoke``."""
    passed: bool
    wanted: str
    """For example ``at least 80.0 %``."""
    found: str
    """For example ``76.2 % [73.5, 78.7], 788 of 1,034``."""
    missed_by: str | None = None
    """By how much a missed gate is missed: ``3.8 points``, ``2 of 12 cases``."""
    case_ids: tuple[str, ...] = ()
    """The cases that fail the gate, in the run's order."""
