"""What a metric returns, as ragas' newer metrics give it, and the error that their callers expect."""

from __future__ import annotations

from typing import Any

from assay.errors import UsageError


class WrongArgument(UsageError, ValueError):
    """An argument that ragas answers with ValueError."""


class MetricResult(float):
    """A score that is a number and says why: ``value``, ``reason``. NaN where there is none."""

    reason: str | None
    traces: dict[str, Any] | None

    def __new__(cls, value: float, reason: str | None = None, traces: dict[str, Any] | None = None) -> MetricResult:
        """A number that remembers where it comes from."""
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
