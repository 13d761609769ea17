"""The systems under test, and models behind a chat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from assay.model import Case, DatabaseSchema, Failure, Prediction, TokenUsage


class System(Protocol):
    """A system under test that answers questions live. Several threads ask it at once."""

    name: str

    def describe(self) -> str:
        """What the system is and how it is asked, without secrets. Equal descriptions mean equal requests."""
        ...

    def answer(self, case: Case) -> Prediction:
        """Ask one question. A failure of one question comes back as a Prediction with a Failure.

        Raises `assay.errors.SystemUnusable` if no question could be answered, for example for wrong
        credentials: that ends the run.
        """
        ...

    def close(self) -> None:
        """Release connections. Closing twice is harmless."""
        ...


class SchemaSource(Protocol):
    """Tells a system what a case's database holds. Several threads call it at once."""

    def __call__(self, case: Case) -> DatabaseSchema:
        """The schema of the case's database. Raises `assay.errors.InputError` if it cannot be read."""
        ...


class AsksAboutDatabases(System, Protocol):
    """A System that puts the database's schema into its requests."""

    def with_databases(self, schemas: SchemaSource) -> System:
        """The system to ask in place of this one. Closing this one closes both."""
        ...


_CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "incomplete"})
"""Finish reasons of an answer that its length limit ended."""


class ChatMessage(Struct, frozen=True, kw_only=True):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str
    custom_content: Mapping[str, Any] | None = None
    """DIAL's addition, as it came: attachments, and the state that the next request must carry back."""


class ToolCall(Struct, frozen=True, kw_only=True):
    """A tool that a model asks to be called."""

    name: str
    arguments: str
    """As they came: JSON, unless the model made a mistake."""


class Completion(Struct, frozen=True, kw_only=True):
    """What a model answered."""

    message: ChatMessage
    model: str | None = None
    """The model that answered, as it calls itself."""
    finish_reason: str | None = None
    """``stop``, ``length``, ``content_filter``, ``refusal`` …; None if it is unknown."""
    refusal: str | None = None
    """What the model said instead of an answer if it refused."""
    tool_calls: tuple[ToolCall, ...] = ()
    """The tools that the model asks to be called, instead of an answer or with one."""
    tokens: TokenUsage | None = None
    latency_s: float = 0.0
    """From the request to the end of the answer, without the time between attempts."""

    @property
    def is_cut_off(self) -> bool:
        """Whether the answer ended at its length limit, in the words of any of the usual servers."""
        return self.finish_reason is not None and self.finish_reason.lower() in _CUT_OFF

    @property
    def refused(self) -> bool:
        """Whether the model refused to answer: it says so, or its finish reason does."""
        return bool(self.refusal) or _plain(self.finish_reason) == "refusal"

    @property
    def withheld(self) -> bool:
        """Whether a content filter withheld the answer."""
        return _plain(self.finish_reason) in _FILTER_REASONS


_FILTER_REASONS = frozenset(
    {
        "content_filter",
        "content_filtered",
        "guardrail_intervened",
        "safety",
        "prohibited_content",
        "blocklist",
        "spii",
        "recitation",
        "sensitive",
        "error_toxic",
    }
)
"""The finish reasons of content filters, as servers and gateways name them."""


def _plain(finish_reason: str | None) -> str:
    return (finish_reason or "").strip().casefold().replace("-", "_")


class ChatModel(Protocol):
    """A model behind an OpenAI-compatible endpoint. Several threads ask it at once."""

    name: str
    """The model or deployment."""

    def describe(self) -> str:
        """Endpoint, model and settings, without secrets."""
        ...

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        temperature: float | None = None,
        json_schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
    ) -> Completion | Failure:
        """Ask once, with retries after a transient error; a lasting error is returned as a Failure.

        ``json_schema`` asks for output of that schema. Raises
        `assay.errors.SystemUnusable` if no question could be answered.
        """
        ...

    def close(self) -> None:
        """Release connections. Closing twice is harmless."""
        ...
