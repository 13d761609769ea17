"""The emulated chat server: its answers, whole or in pieces, the requests it got, and those it refuses."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from hmac import compare_digest
from pathlib import Path
from typing import Any, TypeGuard

from assay.testing.chat.answers import ChatAnswer, ChatAnswers, Messages, last_question
from assay.testing.faults import Fault
from assay.testing.server import Emulator, Reply, Request, damaged

OUT_OF_SCOPE = "I have no data on that."
_OPENAI = "/v1/chat/completions"
_DEPLOYMENT = re.compile(r"/openai/deployments/([^/]+)/chat/completions")


class ChatEmulator(Emulator):
    """An OpenAI-compatible server and DIAL deployments on one loopback port, over real HTTP.

        with ChatEmulator(answers={"How many?": "Seven."}, token="k") as server:
            server.openai_url, server.deployment_url(), server.asked["How many?"]

    ``answers``: the answers, as a callable on the messages or by the last question; an unknown
    question gets an answer in words. ``token`` is expected as a bearer token, by deployments as
    ``Api-Key``. ``model`` is the only model and the only deployment; None: any name is accepted.
    ``response_formats``: the accepted types. ``refuses``: request fields that are refused, each
    with its error. ``streams``: answer with a stream whether asked to or not.
    ``files``: the files under ``/v1/…``, by path. ``faults`` are those of ``ask`` by question.

    An assistant message that comes back changed, above all in its state, is refused.
    """

    software = "assay-chat-emulator"

    def __init__(
        self,
        *,
        answers: ChatAnswers | Mapping[str, ChatAnswer | str] | None = None,
        token: str | None = None,
        model: str | None = None,
        response_formats: Iterable[str] = ("json_schema", "json_object", "text"),
        refuses: Mapping[str, str] | None = None,
        streams: bool = False,
        files: Mapping[str, bytes] | None = None,
        faults: Iterable[Fault] = (),
        port: int = 0,
        certificate: Path | None = None,
    ) -> None:
        super().__init__(port=port, certificate=certificate, faults=faults)
        self.model = model
        self.response_formats: tuple[str, ...] = tuple(response_formats)
        self.refuses: dict[str, str] = dict(refuses or {})
        self.streams = streams
        self.files: dict[str, bytes] = dict(files or {})
        self._answers = answers
        self._token = token
        self._asked: Counter[str] = Counter()
        self._given: dict[str, list[dict[str, Any]]] = {}

    @property
    def openai_url(self) -> str:
        """The base URL of the OpenAI-compatible API."""
        return f"{self.base_url}/v1"

    def deployment_url(self, name: str | None = None) -> str:
        """The completions URL of a DIAL deployment."""
        return f"{self.base_url}/openai/deployments/{name or self.model or 'assistant'}/chat/completions"

    @property
    def asked(self) -> Counter[str]:
        """How often each question came, answered or not."""
        with self._lock:
            return Counter(self._asked)

    @property
    def bodies(self) -> tuple[Mapping[str, Any], ...]:
        """The bodies of the requests for completions, in the order in which they were answered."""
        return tuple(call.body for call in self.calls if call.method == "POST")

    def reply(self, request: Request) -> Reply:
        """A completion, a file, or what is wrong with the request."""
        path, body = request.path, request.body
        deployment = _DEPLOYMENT.fullmatch(path)
        if request.method == "GET":
            return self._file(request)
        if path != _OPENAI and deployment is None:
            return _refusal(404, f"Invalid URL (POST {path})", "invalid_request_error")
        given = request.headers.get("Api-Key") if deployment else _bearer(request.headers.get("Authorization"))
        messages = body.get("messages") if isinstance(body, dict) else None
        question = last_question(messages) if _are_messages(messages) else ""
        with self._lock:
            self._asked[question] += 1
        if not self._lets_in(given):
            return _refusal(401, "Incorrect API key provided", "invalid_request_error", code="invalid_api_key")
        model = deployment[1] if deployment else body.get("model") if isinstance(body, dict) else None
        problem = self._problem(body, model)
        if problem is not None:
            return problem
        faults = self.faults.met_by("ask", question)
        return self.reply_of(faults, _fault_reply) or self._answer(body, faults, str(model))

    def _file(self, request: Request) -> Reply:
        given = request.headers.get("Api-Key") or _bearer(request.headers.get("Authorization"))
        if not self._lets_in(given):
            return _refusal(401, "Incorrect API key provided", "invalid_request_error")
        content = self.files.get(request.path.removeprefix("/v1/"))
        if content is None:
            return _refusal(404, "No such file", "invalid_request_error")
        return Reply(status=200, body=None, content=content, headers=(("Content-Type", "application/json"),))

    def _problem(self, body: Any, model: Any) -> Reply | None:
        """The error for a wrong request in OpenAI's form; None where it is right."""
        if not isinstance(body, dict) or not _are_messages(body.get("messages")):
            return _refusal(400, "The body is not a JSON object with messages", "invalid_request_error")
        if not model or (self.model is not None and model != self.model):
            return _refusal(404, f"The model `{model}` does not exist", "invalid_request_error", code="model_not_found")
        for name, message in self.refuses.items():
            if name in body:
                return _refusal(400, message, "invalid_request_error", param=name, code="unsupported_parameter")
        form = body.get("response_format")
        if form is not None and form.get("type") not in self.response_formats:
            message = f"'response_format' of type '{form.get('type')}' is not supported with this model"
            return _refusal(400, message, "invalid_request_error", param="response_format")
        if (problem := self._history_problem(body["messages"])) is not None:
            return _refusal(400, problem, "invalid_request_error")
        return None

    def _answer(self, body: dict[str, Any], faults: list[Fault], model: str) -> Reply:
        messages: Messages = body["messages"]
        answer = self._say(messages)
        usage = answer.usage if answer.usage is not None else _counted(messages, answer)
        if self.streams or body.get("stream") is True:
            options = body.get("stream_options") or {}
            said = usage if self.streams or options.get("include_usage") else None
            return streamed(answer, model, usage=said, faults=faults)
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

    def _lets_in(self, credential: str | None) -> bool:
        """Whether the credential is the expected token."""
        given = (credential or "").encode("utf-8", "replace")
        return self._token is None or compare_digest(given, self._token.encode())

    def _say(self, messages: Messages) -> ChatAnswer:
        """The answer to these messages, remembered for comparison with the history that comes back."""
        question = last_question(messages)
        if callable(self._answers):
            given = self._answers(messages)
        else:
            given = (self._answers or {}).get(question, OUT_OF_SCOPE)
        answer = ChatAnswer(content=given) if isinstance(given, str) else given
        with self._lock:
            self._given.setdefault(_conversation(messages), []).append(answer.message())
        return answer

    def _history_problem(self, messages: Messages) -> str | None:
        """What was changed in the history since it was sent from here; None where nothing was."""
        for index, message in enumerate(messages):
            if message.get("role") != "assistant":
                continue
            with self._lock:
                given = list(self._given.get(_conversation(messages[:index]), ()))
            if given and not any(_same(message, one) for one in given):
                names = ("content", "custom_content")
                lost = next((name for name in names if all(message.get(name) != one.get(name) for one in given)), "")
                return f"messages.{index} has lost its {lost or 'state'}: an answer has to come back as it was given"
        return None


def _conversation(messages: Messages) -> str:
    return json.dumps([message.get("content") for message in messages if message.get("role") == "user"])


def _same(message: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    content = given["content"]
    # Content in parts, or without any, can only come back as its text.
    same_content = not isinstance(content, str) or message.get("content") == content
    return same_content and message.get("custom_content") == given.get("custom_content")


def _fault_reply(fault: Fault) -> Reply | None:
    """The reply of a fault in place of the model's; None if the fault does something else."""
    wait = () if fault.retry_after is None else (("Retry-After", fault.retry_after),)
    match fault.kind:
        case "error":
            return _refusal(500, fault.message, "server_error")
        case "busy":
            return _refusal(429, "Rate limit reached", "requests", code="rate_limit_exceeded", headers=wait)
        case "unavailable":
            return _refusal(fault.status, fault.message, "server_error", headers=wait)
        case "unauthorised":
            return _refusal(401, "The API key has expired", "invalid_request_error")
        case _:
            return None


def _counted(messages: Messages, answer: ChatAnswer) -> dict[str, int]:
    prompt = sum(len(str(message.get("content")).split()) for message in messages)
    said = len(str(answer.content).split())
    return {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}


def _are_messages(messages: Any) -> TypeGuard[Messages]:
    return isinstance(messages, list) and bool(messages) and all(isinstance(message, dict) for message in messages)


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
