"""The emulated chat server: what it answers, what it was asked, and what it does not take."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, TypeAlias

from assay.errors import CaseFileError
from assay.testing.faults import Fault, FaultPlan
from assay.testing.server import Emulator

OUT_OF_SCOPE = "I have no data on that."


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatAnswer:
    """What one completion says."""

    content: Any = ""
    """A text, None, or a list of parts."""
    attachments: tuple[Mapping[str, Any], ...] = ()
    """DIAL's, each with ``type``, ``title``, and ``data`` or ``url``."""
    state: Any = None
    """DIAL's: whoever goes on with the conversation has to send it back."""
    finish_reason: str | None = "stop"
    refusal: str | None = None
    usage: Mapping[str, Any] | None = None
    """None: words are counted."""
    no_choices: bool = False
    error: Mapping[str, Any] | None = None
    """An error in place of the answer, of status 200; in a stream after its first half."""

    def message(self) -> dict[str, Any]:
        """The assistant message."""
        message: dict[str, Any] = {"role": "assistant", "content": self.content}
        if self.refusal is not None:
            message["refusal"] = self.refusal
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


class ChatEmulator(Emulator):
    """An OpenAI-compatible server and DIAL deployments on one loopback port, over real HTTP.

        with ChatEmulator(answers={"How many?": "Seven."}, token="k") as server:
            server.openai_url, server.deployment_url(), server.asked["How many?"]

    ``answers``: what to say to the messages, as a callable, or by the last question; one that is not
    among them gets an answer in words. ``token`` is wanted as a bearer token, by deployments as
    ``Api-Key``. ``model`` is the one model and the one deployment that there is; None: any is.
    ``response_formats``: the types that are taken. ``refuses``: request fields that are not, each
    with the error that says so. ``streams``: answer with a stream whether asked to or not.
    ``files``: what ``/v1/…`` holds, by path. ``faults`` are those of ``ask`` by question.

    An assistant message that comes back otherwise than it was sent, its state above all, is refused.
    """

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
        super().__init__(port=port, certificate=certificate)
        self.model = model
        self.response_formats = tuple(response_formats)
        self.refuses = dict(refuses or {})
        self.streams = streams
        self.files = dict(files or {})
        self.faults = FaultPlan(faults)
        self._answers = answers
        self._token = token
        self._asked: Counter[str] = Counter()
        self._given: dict[str, list[dict[str, Any]]] = {}

    def handler(self) -> type[BaseHTTPRequestHandler]:
        """The HTTP side."""
        from assay.testing.chat_handler import handler_of

        return handler_of(self)

    @property
    def openai_url(self) -> str:
        """The base URL of the OpenAI-compatible API."""
        return f"{self.base_url}/v1"

    def deployment_url(self, name: str | None = None) -> str:
        """The completions URL of a DIAL deployment."""
        return f"{self.base_url}/openai/deployments/{name or self.model or 'assistant'}/chat/completions"

    @property
    def asked(self) -> Counter[str]:
        """How often each question came, whatever became of it."""
        with self._lock:
            return Counter(self._asked)

    @property
    def bodies(self) -> tuple[Mapping[str, Any], ...]:
        """The bodies of the requests for completions, in the order in which they were answered."""
        return tuple(call.body for call in self.calls if call.method == "POST")

    def lets_in(self, credential: str | None) -> bool:
        """Whether that token is the one wanted."""
        given = (credential or "").encode("utf-8", "replace")
        return self._token is None or compare_digest(given, self._token.encode())

    def answer(self, messages: Messages) -> ChatAnswer:
        """What to say to these messages. It is remembered, to be compared with what comes back."""
        question = last_question(messages)
        if callable(self._answers):
            given = self._answers(messages)
        else:
            given = (self._answers or {}).get(question, OUT_OF_SCOPE)
        answer = ChatAnswer(content=given) if isinstance(given, str) else given
        with self._lock:
            self._given.setdefault(_conversation(messages), []).append(answer.message())
        return answer

    def count_question(self, question: str) -> None:
        """A question has come."""
        with self._lock:
            self._asked[question] += 1

    def history_problem(self, messages: Messages) -> str | None:
        """What of the history is not as it was sent from here; None where all of it is."""
        for place, message in enumerate(messages):
            if message.get("role") != "assistant":
                continue
            with self._lock:
                given = list(self._given.get(_conversation(messages[:place]), ()))
            if given and not any(_same(message, one) for one in given):
                names = ("content", "custom_content")
                lost = next((name for name in names if all(message.get(name) != one.get(name) for one in given)), "")
                return f"messages.{place} has lost its {lost or 'state'}: an answer has to come back as it was given"
        return None


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
                f'is no answer ({error}): write {{"question": …, "content": …, "queries": […]}}',
                path=str(path),
                place=f"line {number}",
            ) from error
    return found


def query_attachment(query: Mapping[str, Any]) -> dict[str, Any]:
    """A data query as an SDMX assistant attaches it."""
    return {"type": "application/json", "title": "Data query", "data": json.dumps(query, ensure_ascii=False)}


def last_question(messages: Messages) -> str:
    """The content of the last user message."""
    return next((str(one.get("content")) for one in reversed(messages) if one.get("role") == "user"), "")


def _conversation(messages: Messages) -> str:
    return json.dumps([one.get("content") for one in messages if one.get("role") == "user"])


def _same(message: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    content = given["content"]
    # What was said in parts, or not at all, can only come back as the text that it makes.
    same_content = not isinstance(content, str) or message.get("content") == content
    return same_content and message.get("custom_content") == given.get("custom_content")
