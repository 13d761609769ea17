"""Gates: requirements for a run, and their results."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

HEADLINE: Final = "headline"
"""In place of a metric's name: the metric that leads the run, which is `match` if it is computed."""


class Gates(Struct, frozen=True, kw_only=True):
    """Requirements for a run. Default: none."""

    minimum: tuple[tuple[str, float], ...] = ()
    """Per metric, the lowest mean over its scored cases that passes, for example ``("match", 0.80)``."""
    max_drop: tuple[tuple[str, float], ...] = ()
    """Per metric, the largest drop of its mean below the baseline's, over the cases that both runs have."""
    fail_on_regression: tuple[str, ...] = ()
    """Metrics, or ``headline``, that must not be significantly worse than the baseline's."""
    alpha: float = 0.05
    """The significance level of those tests, after Holm's correction across ``fail_on_regression``."""
    must_pass: tuple[str, ...] = ()
    """Cases that must all be correct, for example ``tag:smoke``, ``difficulty:easy`` or ``id:17``."""

    max_unscored: float | None = None
    """The largest share of unscored cases that passes, for example 0.05. With it, a run within this share that passes
    its other gates ends with status 0 although some cases failed for a reason that may pass."""

    @property
    def any(self) -> bool:
        """Whether there is a gate."""
        of_metrics = self.minimum or self.max_drop or self.fail_on_regression
        return bool(of_metrics or self.must_pass) or self.max_unscored is not None

    @property
    def needs_baseline(self) -> bool:
        """Whether some gate needs a second run to compare with."""
        return bool(self.max_drop or self.fail_on_regression)


class GateResult(Struct, frozen=True, kw_only=True):
    """Whether the run passes one gate."""

    gate: str
    """The gate as written by the user: ``min match=0.8``, ``must-pass tag:smoke``."""
    passed: bool
    wanted: str
    """For example ``at least 80.0 %``."""
    found: str
    """For example ``76.2 % [73.5, 78.7], 788 of 1,034``."""
    missed_by: str | None = None
    """The distance to a missed gate: ``3.8 points``, ``2 of 12 cases``."""
    case_ids: tuple[str, ...] = ()
    """The cases that fail the gate, in the run's order."""
