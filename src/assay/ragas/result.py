"""The result of a metric in the form of ragas' newer metrics, and the error that their callers expect."""

from __future__ import annotations

from typing import Any

from assay.errors import UsageError


class WrongArgument(UsageError, ValueError):
    """A wrong argument for which ragas raises ValueError."""


class MetricResult(float):
    """A score as a number with ``value`` and ``reason``; NaN where there is no score."""

    reason: str | None
    traces: dict[str, Any] | None

    def __new__(cls, value: float, reason: str | None = None, traces: dict[str, Any] | None = None) -> MetricResult:
        """Make the number, with its reason and traces."""
        result = super().__new__(cls, value)
        result.reason = reason
        result.traces = traces
        return result

    @property
    def value(self) -> float:
        """The number alone."""
        return float(self)

    def to_dict(self) -> dict[str, Any]:
        """``result`` and ``reason``, as ragas names them."""
        return {"result": self.value, "reason": self.reason}

    def __repr__(self) -> str:
        why = f", reason={self.reason!r}" if self.reason else ""
        return f"MetricResult(value={self.value!r}{why})"

    __str__ = __repr__

    def __reduce__(self) -> tuple[Any, ...]:
        return (MetricResult, (self.value, self.reason, self.traces))
