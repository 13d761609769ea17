"""One question's answer and its reference, under ragas' names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct


class SingleTurnSample(Struct, frozen=True, kw_only=True):
    """The input of a metric. Every metric also takes ragas' own sample, or any object with these attributes."""

    user_input: str | None = None
    """The question."""
    response: Any = None
    """The answer of the system under test: CSV text or a data frame, or a query for a judge."""
    reference: Any = None
    """The right answer, in the same form."""
    reference_contexts: Sequence[str] | None = None
    """The database's schema, one text per table."""
    retrieved_contexts: Sequence[str] | None = None
    retrieved_context_ids: Sequence[str | int] | None = None
    """This and the following attributes are accepted as in ragas, and no metric here reads them."""
    reference_context_ids: Sequence[str | int] | None = None
    multi_responses: Sequence[str] | None = None
    rubrics: Mapping[str, str] | None = None
    persona_name: str | None = None
    query_style: str | None = None
    query_length: str | None = None
