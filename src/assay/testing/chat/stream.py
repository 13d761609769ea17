"""A completion as server-sent events, in pieces."""

from __future__ import annotations

import json
from typing import Any

from assay.testing.chat.answers import ChatAnswer
from assay.testing.faults import Fault
from assay.testing.replying import Reply

_EVENT_STREAM = (("Content-Type", "text/event-stream; charset=utf-8"),)
_PIECES = 3


def streamed(answer: ChatAnswer, model: str, *, usage: Any, faults: list[Fault]) -> Reply:
    """The answer as a stream. A cut stream ends like a whole one, because it announces no length."""
    content = _events(answer, model, usage)
    kinds = {fault.kind for fault in faults}
    if "cut_off" in kinds:
        events = content.split(b"\n\n")
        content = b"".join(event + b"\n\n" for event in events[: len(events) // 2])
    if "malformed" in kinds:
        content = content.replace(b'"delta"', b'"delta', 1)
    return Reply(status=200, body=None, headers=_EVENT_STREAM, content=content)


def _events(answer: ChatAnswer, model: str, usage: Any) -> bytes:
    """The answer as server-sent events: texts in pieces, attachments by index, their data in two."""
    deltas: list[dict[str, Any]] = [{"role": "assistant"}]
    message = answer.message()
    content = message["content"] if isinstance(message["content"], str) else ""
    deltas += [{"content": piece} for piece in _pieces(content)]
    deltas += [{"refusal": piece} for piece in _pieces(answer.refusal or "")]
    for index, (name, arguments) in enumerate(answer.tool_calls):
        begun = {"index": index, "id": f"call_{index}", "type": "function"}
        deltas.append({"tool_calls": [{**begun, "function": {"name": name, "arguments": ""}}]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in _pieces(arguments)]
    for index, attachment in enumerate(answer.attachments):
        rest = dict(attachment)
        first, last = _halves(rest.pop("data", None))
        deltas.append({"custom_content": {"attachments": [{"index": index, **rest, **first}]}})
        if last:
            deltas.append({"custom_content": {"attachments": [{"index": index, **last}]}})
    if answer.state is not None:
        deltas.append({"custom_content": {"state": answer.state}})
    chunks: list[dict[str, Any]] = [] if answer.no_choices else [_chunk(model, delta) for delta in deltas]
    if answer.error is not None:
        chunks = [*chunks[: len(chunks) // 2], {"error": dict(answer.error)}]
    elif chunks:
        chunks.append(_chunk(model, {}, answer.finish_reason))
    if usage is not None:
        chunks.append({"object": "chat.completion.chunk", "model": model, "choices": [], "usage": usage})
    events = [": keep-alive", *(f"data: {json.dumps(chunk, ensure_ascii=False)}" for chunk in chunks), "data: [DONE]"]
    return "".join(f"{event}\n\n" for event in events).encode()


def _chunk(model: str, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": model, "choices": [choice]}


def _pieces(text: str) -> list[str]:
    size = max(1, -(-len(text) // _PIECES))
    return [text[start : start + size] for start in range(0, len(text), size)]


def _halves(data: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    if not isinstance(data, str):
        return ({} if data is None else {"data": data}), {}
    middle = len(data) // 2
    return {"data": data[:middle]}, {"data": data[middle:]}
