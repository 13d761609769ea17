"""One question's answer and what it is compared with, under the names that ragas gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleTurnSample:
    """What a metric scores. Every metric takes ragas' own sample as well: anything with these attributes."""

    user_input: str | None = None
    """The question."""
    response: Any = None
    """What the system under test answered: CSV text or a data frame here, a query for a judge."""
    reference: Any = None
    """What is right, in the same form."""
    reference_contexts: Sequence[str] | None = None
    """The database's schema, a text a table."""
    retrieved_contexts: Sequence[str] | None = None
    retrieved_context_ids: Sequence[str | int] | None = None
    """This and what follows is taken as ragas takes it, and read by no metric here."""
    reference_context_ids: Sequence[str | int] | None = None
    multi_responses: Sequence[str] | None = None
    rubrics: Mapping[str, str] | None = None
    persona_name: str | None = None
    query_style: str | None = None
    query_length: str | None = None
