"""Input and output of ragas' metrics: a sample, a result, and batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from msgspec import Struct

from assay.errors import UsageError


class WrongArgument(UsageError, ValueError):
    """A wrong argument for which ragas raises ValueError."""


class SingleTurnSample(Struct, frozen=True, kw_only=True):
    """The input of a metric. Every metric also takes ragas' own sample, or any object with these attributes."""

    user_input: str | None = None
    """The question."""
    response: Any = None
    """The answer of the system under test: CSV text or a data frame, or a query for a judge."""
    reference: Any = None
    """The correct answer, in the same form."""
    reference_contexts: Sequence[str] | None = None
    """The database's schema, one text per table."""
    retrieved_contexts: Sequence[str] | None = None
    retrieved_context_ids: Sequence[str | int] | None = None
    """This and the following attributes are accepted as in ragas, but no metric here reads them."""
    reference_context_ids: Sequence[str | int] | None = None
    multi_responses: Sequence[str] | None = None
    rubrics: Mapping[str, str] | None = None
    persona_name: str | None = None
    query_style: str | None = None
    query_length: str | None = None


class MetricResult(float):
    """A score as a number with ``value`` and ``reason``; NaN if there is no score."""

    reason: str | None
    traces: dict[str, Any] | None

    def __new__(cls, value: float, reason: str | None = None, traces: dict[str, Any] | None = None) -> Self:
        """Make the number, with its reason and traces."""
        result = super().__new__(cls, value)
        result.reason = reason
        result.traces = traces
        return result

    @property
    def value(self) -> float:
        """The plain number."""
        return float(self)

    def to_dict(self) -> dict[str, Any]:
        """``result`` and ``reason``, as ragas names them."""
        return {"result": self.value, "reason": self.reason}

    def __repr__(self) -> str:
        why = f", reason={self.reason!r}" if self.reason else ""
        return f"{type(self).__name__}(value={self.value!r}{why})"

    __str__ = __repr__

    def __reduce__(self) -> tuple[Any, ...]:
        return (MetricResult, (self.value, self.reason, self.traces))
