"""The answers of an emulated model, and the questions in its messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from assay.errors import CaseFileError


class ChatAnswer(Struct, frozen=True, kw_only=True):
    """The content of one completion."""

    content: Any = ""
    """A text, None, or a list of parts."""
    attachments: tuple[Mapping[str, Any], ...] = ()
    """Attachments as in DIAL, each with ``type``, ``title``, and ``data`` or ``url``."""
    state: Any = None
    """The state as in DIAL: a client has to send it back to go on with the conversation."""
    finish_reason: str | None = "stop"
    refusal: str | None = None
    tool_calls: tuple[tuple[str, str], ...] = ()
    """The tools that the model asks to be called, each with its name and its arguments in JSON."""
    usage: Mapping[str, Any] | None = None
    """The token counts; None: words are counted."""
    no_choices: bool = False
    error: Mapping[str, Any] | None = None
    """An error in place of the answer, with status 200; in a stream after its first half."""

    def message(self) -> dict[str, Any]:
        """The assistant message."""
        message: dict[str, Any] = {"role": "assistant", "content": self.content}
        if self.refusal is not None:
            message["refusal"] = self.refusal
        if self.tool_calls:
            message["tool_calls"] = [
                {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
                for index, (name, arguments) in enumerate(self.tool_calls)
            ]
        custom: dict[str, Any] = {}
        if self.attachments:
            custom["attachments"] = [dict(one) for one in self.attachments]
        if self.state is not None:
            custom["state"] = self.state
        if custom:
            message["custom_content"] = custom
        return message


Messages: TypeAlias = Sequence[Mapping[str, Any]]
ChatAnswers: TypeAlias = Callable[[Messages], ChatAnswer | str]


def read_answers(path: Path) -> dict[str, ChatAnswer]:
    """Answers by question from JSON lines: ``question`` with ``content``, ``attachments``, ``state``, ``queries``.

    ``queries`` are SDMX data queries, each to be sent as a JSON attachment. Raises CaseFileError.
    """
    found: dict[str, ChatAnswer] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CaseFileError(f"cannot be read: {error}", path=str(path)) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = dict(json.loads(line))
            question = record.pop("question")
            queries = [query_attachment(query) for query in record.pop("queries", ())]
            attachments = (*record.pop("attachments", ()), *queries)
            found[question] = ChatAnswer(attachments=attachments, **record)
        except (ValueError, TypeError, KeyError) as error:
            raise CaseFileError(
                f'is not an answer ({error}): write {{"question": …, "content": …, "queries": […]}}',
                path=str(path),
                place=f"line {number}",
            ) from error
    return found


def query_attachment(query: Mapping[str, Any]) -> dict[str, Any]:
    """The attachment in which an SDMX assistant sends a data query."""
    return {"type": "application/json", "title": "Data query", "data": json.dumps(query, ensure_ascii=False)}


def last_question(messages: Messages) -> str:
    """The content of the last user message."""
    return next((str(message.get("content")) for message in reversed(messages) if message.get("role") == "user"), "")
