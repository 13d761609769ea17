"""The HTTP side of the emulated chat server: one request in, one completion out, whole or in pieces."""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler
from typing import Any, TypeGuard

from assay.testing.chat import ChatAnswer, ChatEmulator, Messages, last_question
from assay.testing.faults import Fault
from assay.testing.replying import Reply, ReplyingHandler, damaged

_OPENAI = "/v1/chat/completions"
_DEPLOYMENT = re.compile(r"/openai/deployments/([^/]+)/chat/completions")
_EVENT_STREAM = (("Content-Type", "text/event-stream; charset=utf-8"),)
_PIECES = 3


def handler_of(emulator: ChatEmulator) -> type[BaseHTTPRequestHandler]:
    """The handler class of one emulator's server."""

    class Bound(_Handler):
        server_state = emulator

    return Bound


class _Handler(ReplyingHandler):
    server_state: ChatEmulator
    server_version = "assay-chat-emulator"

    def reply(self, path: str, body: Any) -> Reply:
        deployment = _DEPLOYMENT.fullmatch(path)
        if self.command == "GET":
            return self._file(path)
        if path != _OPENAI and deployment is None:
            return _refusal(404, f"Invalid URL (POST {path})", "invalid_request_error")
        given = self.headers.get("Api-Key") if deployment else _bearer(self.headers.get("Authorization"))
        messages = body.get("messages") if isinstance(body, dict) else None
        question = last_question(messages) if _are_messages(messages) else ""
        self.server_state.count_question(question)
        if not self.server_state.lets_in(given):
            return _refusal(401, "Incorrect API key provided", "invalid_request_error", code="invalid_api_key")
        model = deployment[1] if deployment else body.get("model") if isinstance(body, dict) else None
        problem = self._problem(body, model)
        if problem is not None:
            return problem
        faults = self.server_state.faults.met_by("ask", question)
        return self._with(faults) or self._answer(body, faults, str(model))

    def _file(self, path: str) -> Reply:
        state = self.server_state
        given = self.headers.get("Api-Key") or _bearer(self.headers.get("Authorization"))
        if not state.lets_in(given):
            return _refusal(401, "Incorrect API key provided", "invalid_request_error")
        content = state.files.get(path.removeprefix("/v1/"))
        if content is None:
            return _refusal(404, "No such file", "invalid_request_error")
        return Reply(status=200, body=None, content=content, headers=(("Content-Type", "application/json"),))

    def _problem(self, body: Any, model: Any) -> Reply | None:
        """What is wrong with the request, as OpenAI says it."""
        state = self.server_state
        if not isinstance(body, dict) or not _are_messages(body.get("messages")):
            return _refusal(400, "The body is no JSON object with messages", "invalid_request_error")
        if not model or (state.model is not None and model != state.model):
            return _refusal(404, f"The model `{model}` does not exist", "invalid_request_error", code="model_not_found")
        for name, message in state.refuses.items():
            if name in body:
                return _refusal(400, message, "invalid_request_error", param=name, code="unsupported_parameter")
        form = body.get("response_format")
        if form is not None and form.get("type") not in state.response_formats:
            message = f"'response_format' of type '{form.get('type')}' is not supported with this model"
            return _refusal(400, message, "invalid_request_error", param="response_format")
        if (problem := state.history_problem(body["messages"])) is not None:
            return _refusal(400, problem, "invalid_request_error")
        return None

    def _answer(self, body: dict[str, Any], faults: list[Fault], model: str) -> Reply:
        messages: Messages = body["messages"]
        answer = self.server_state.answer(messages)
        usage = answer.usage if answer.usage is not None else _counted(messages, answer)
        if self.server_state.streams or body.get("stream") is True:
            options = body.get("stream_options") or {}
            said = usage if self.server_state.streams or options.get("include_usage") else None
            reply = Reply(status=200, body=None, headers=_EVENT_STREAM, content=_stream(answer, model, said))
            return _damaged_stream(reply, faults)
        if answer.error is not None:
            return Reply(status=200, body={"error": dict(answer.error)})
        choice = {"index": 0, "message": answer.message(), "finish_reason": answer.finish_reason}
        whole = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "model": model,
            "choices": [] if answer.no_choices else [choice],
            "usage": usage,
        }
        return damaged(Reply(status=200, body=whole), faults)

    def _with(self, faults: list[Fault]) -> Reply | None:
        """The reply of the first fault that replaces the answer. Slow ones have been waited for."""
        for fault in faults:
            wait = () if fault.retry_after is None else (("Retry-After", fault.retry_after),)
            match fault.kind:
                case "slow":
                    if self.server_state.stopping.wait(fault.seconds):
                        return Reply(status=0, body=None, dropped=True)
                case "error":
                    return _refusal(500, fault.message, "server_error")
                case "busy":
                    return _refusal(429, "Rate limit reached", "requests", code="rate_limit_exceeded", headers=wait)
                case "unavailable":
                    return _refusal(fault.status, fault.message, "server_error", headers=wait)
                case "unauthorised":
                    return _refusal(401, "The API key has expired", "invalid_request_error")
                case "dropped":
                    return Reply(status=0, body=None, dropped=True)
                case _:
                    continue
        return None


def _stream(answer: ChatAnswer, model: str, usage: Any) -> bytes:
    """The answer as server-sent events: texts in pieces, attachments by index, their data in two."""
    deltas: list[dict[str, Any]] = [{"role": "assistant"}]
    message = answer.message()
    content = message["content"] if isinstance(message["content"], str) else ""
    deltas += [{"content": piece} for piece in _pieces(content)]
    deltas += [{"refusal": piece} for piece in _pieces(answer.refusal or "")]
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


def _damaged_stream(reply: Reply, faults: list[Fault]) -> Reply:
    """A stream is cut where it ends like a whole one: no length says that there was more to come."""
    kinds = {fault.kind for fault in faults}
    content = reply.content or b""
    if "cut_off" in kinds:
        events = content.split(b"\n\n")
        content = b"".join(event + b"\n\n" for event in events[: len(events) // 2])
    if "malformed" in kinds:
        content = content.replace(b'"delta"', b'"delta', 1)
    reply.content = content
    return reply


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


def _counted(messages: Messages, answer: ChatAnswer) -> dict[str, int]:
    prompt = sum(len(str(message.get("content")).split()) for message in messages)
    said = len(str(answer.content).split())
    return {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}


def _are_messages(messages: Any) -> TypeGuard[Messages]:
    return isinstance(messages, list) and bool(messages) and all(isinstance(one, dict) for one in messages)


def _bearer(authorization: str | None) -> str | None:
    kind, _, token = (authorization or "").partition(" ")
    return token if kind == "Bearer" else None


def _refusal(
    status: int,
    message: str,
    kind: str,
    *,
    param: str | None = None,
    code: str | None = None,
    headers: tuple[tuple[str, str], ...] = (),
) -> Reply:
    error = {"message": message, "type": kind, "param": param, "code": code}
    return Reply(status=status, body={"error": error}, headers=headers)
