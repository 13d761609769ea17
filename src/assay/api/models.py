"""Open a chat model by its name, or turn a function or a model of another library into one.

None of the libraries is imported unless one of its objects is passed in.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from functools import cache
from inspect import isawaitable
from time import perf_counter
from typing import Any

from assay.api.public import public
from assay.errors import AssayError, UsageError
from assay.llm_judge.prompt import ANSWER_SCHEMA
from assay.model import Failure, Secret, TokenUsage
from assay.ports import ChatMessage, ChatModel, Completion

_Asks = Callable[[Any, Sequence[ChatMessage], Mapping[str, Any]], Any]


@public
def open_model(
    model: str,
    *,
    token: str | None = None,
    timeout_s: float = 120.0,
    retries: int = 3,
    parameters: Mapping[str, str] | None = None,
    verify_ssl: bool = True,
) -> ChatModel:
    """Open a chat model: ``gpt-4.1``, ``chat:http://host/v1`` with a parameter ``model``, or a deployment's URL.

    A model given by name alone is at ``OPENAI_BASE_URL``, else at OpenAI. Without ``token`` the key is that of
    ``ASSAY_TOKEN``, ``OPENAI_API_KEY`` or, for a deployment, ``DIAL_API_KEY``. Nothing is sent yet. Raises InputError.
    """
    from assay.systems.chat.model import HttpChatModel
    from assay.systems.options import SystemOptions

    text = model.strip()
    if not re.match(r"(?:chat:|https?://)", text, re.IGNORECASE):
        text = f"chat:{text}"
    key = token if token is not None else (os.environ.get("ASSAY_TOKEN") or "").strip() or None
    options = SystemOptions(
        token=None if key is None else Secret(key),
        timeout_s=timeout_s,
        retries=retries,
        parameters=tuple((parameters or {}).items()),
        verify_ssl=verify_ssl,
    )
    return HttpChatModel.open(text, options)


def model_of(
    llm: Any, name: str | None = None, loop: asyncio.AbstractEventLoop | None = None
) -> tuple[ChatModel, bool]:
    """The model for ``llm``, and whether it was opened here. Coroutines run on ``loop``; None: each on its own."""
    if llm is None:
        raise UsageError("no llm is set: give a name ('gpt-4.1'), a client, a chat model or a function")
    if isinstance(llm, str):
        return open_model(llm), True
    if _offers(llm, "complete", "describe"):
        return llm, False
    llm = getattr(llm, "langchain_llm", llm)  # as ragas wraps LangChain's
    asks = next((asks for methods, asks in _KINDS.items() if _offers(llm, *methods)), None)
    if asks is None:
        raise UsageError(
            f"{type(llm).__name__} is not a model: use a name, a client with chat.completions, what "
            "ragas' llm_factory returns, a LangChain model, an assay ChatModel, or a function from "
            "prompt to text"
        )
    if asks is _ask_openai and name is None:
        raise UsageError(
            "the client does not name a model: use open_model('gpt-4.1'), or LLMSQLEquivalence(llm, model='gpt-4.1')"
        )
    names = (getattr(llm, attribute, None) for attribute in ("model_name", "model", "__qualname__"))
    given = next((value for value in names if isinstance(value, str)), type(llm).__qualname__)
    return _ForeignModel(llm, asks, name or given, loop), False


def _offers(llm: Any, *methods: str) -> bool:
    return all(callable(_at(llm, method)) for method in methods)


def _at(llm: Any, path: str) -> Any:
    for name in path.split("."):
        llm = getattr(llm, name, None)
    return llm


class _ForeignModel:
    """A model of another library as a ChatModel. Its retries and time limits are its own."""

    def __init__(self, llm: Any, asks: _Asks, name: str, loop: asyncio.AbstractEventLoop | None) -> None:
        self.name = name
        self._llm = llm
        self._asks = asks
        self._loop = loop

    def describe(self) -> str:
        return f"{self.name} as given"

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        temperature: float | None = None,
        json_schema: Mapping[str, Any] | None = None,  # noqa: ARG002 - the prompt asks for JSON in words
        max_tokens: int | None = None,
        seed: int | None = None,
    ) -> Completion | Failure:
        started = perf_counter()
        wanted = {"model": self.name, "temperature": temperature, "max_tokens": max_tokens, "seed": seed}
        wanted = {name: value for name, value in wanted.items() if value is not None}
        try:
            answer = self._asks(self._llm, messages, wanted)
            if isawaitable(answer) and self._loop is None:
                answer = asyncio.run(_awaited(answer))
            elif isawaitable(answer) and self._loop is not None:
                # On the caller's own loop, to which the client's connections belong.
                answer = asyncio.run_coroutine_threadsafe(_awaited(answer), self._loop).result()
            return _completion(answer, perf_counter() - started)
        except AssayError:
            raise
        # The per-case boundary: an exception of a foreign client is the failure of one question.
        except (Exception, CancelledError) as error:  # noqa: BLE001
            message = f"{self.name} raised {type(error).__name__}: {error}"
            return Failure(stage="ask", kind="ask_failed", blame="judge", message=message)

    def close(self) -> None:
        """Does nothing: the caller owns the model."""


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer


def _ask_openai(client: Any, messages: Sequence[ChatMessage], wanted: Mapping[str, Any]) -> Any:
    sent = [{"role": message.role, "content": message.content} for message in messages]
    return client.chat.completions.create(messages=sent, **wanted)


def _ask_langchain(llm: Any, messages: Sequence[ChatMessage], _: Mapping[str, Any]) -> Any:
    invoke = getattr(llm, "ainvoke", None) or llm.invoke
    return invoke([(message.role, message.content) for message in messages])


def _ask_older_ragas(llm: Any, messages: Sequence[ChatMessage], wanted: Mapping[str, Any]) -> Any:
    """A model of ragas' older kind, which takes LangChain's prompts: LlamaIndex's, Haystack's or a user's."""
    from langchain_core.prompt_values import StringPromptValue

    temperature = {name: value for name, value in wanted.items() if name == "temperature"}
    return llm.agenerate_text(StringPromptValue(text=_joined(messages)), **temperature)


def _ask_newer_ragas(llm: Any, messages: Sequence[ChatMessage], _: Mapping[str, Any]) -> Any:
    """What ragas' ``llm_factory`` returns: called with a pydantic class, it returns an object of it."""
    generate = llm.agenerate if getattr(llm, "is_async", True) else llm.generate
    return generate(_joined(messages), _verdict_class())


def _ask_function(function: Callable[[str], Any], messages: Sequence[ChatMessage], _: Mapping[str, Any]) -> Any:
    return function(_joined(messages))


_KINDS: dict[tuple[str, ...], _Asks] = {
    ("chat.completions.create",): _ask_openai,
    ("ainvoke",): _ask_langchain,
    ("invoke",): _ask_langchain,
    ("agenerate_text",): _ask_older_ragas,
    ("generate", "agenerate"): _ask_newer_ragas,
    ("__call__",): _ask_function,
}
"""How to ask a model with these methods; the first that fits."""


@cache
def _verdict_class() -> Any:
    """The judge's answer as a pydantic class: a caller with such a model has pydantic installed."""
    from pydantic import create_model

    types = {"string": str, "boolean": bool}
    fields = {name: (types[value["type"]], ...) for name, value in ANSWER_SCHEMA["properties"].items()}
    return create_model("Verdict", **fields)  # type: ignore[call-overload]


def _joined(messages: Sequence[ChatMessage]) -> str:
    return "\n\n".join(message.content for message in messages)


def _completion(answer: Any, latency_s: float) -> Completion:
    """A foreign model's answer as a Completion: a text, an object with ``content``, or OpenAI's with ``choices``."""
    choices = getattr(answer, "choices", None)
    finish_reason = refusal = None
    if isinstance(choices, Sequence) and choices:
        message = choices[0].message
        content, refusal = message.content, getattr(message, "refusal", None)
        finish_reason = getattr(choices[0], "finish_reason", None)
        usage = getattr(answer, "usage", None)
        tokens = TokenUsage(
            input=getattr(usage, "prompt_tokens", None), output=getattr(usage, "completion_tokens", None)
        )
    else:
        content = _content(answer)
        counts = getattr(answer, "usage_metadata", None) or {}
        tokens = TokenUsage(input=counts.get("input_tokens"), output=counts.get("output_tokens"))
    if isinstance(content, list):  # in parts
        content = "".join(part if isinstance(part, str) else str(part.get("text", "")) for part in content)
    if not isinstance(content, str | None):
        raise UsageError(f"the llm answered with {type(content).__name__}: expected a text")
    if answer is None or (content is None and refusal is None and finish_reason is None):
        raise UsageError(f"the llm answered with {type(answer).__name__}: expected a text")
    return Completion(
        message=ChatMessage(role="assistant", content=content or ""),
        finish_reason=finish_reason,
        refusal=refusal,
        tokens=tokens,
        latency_s=latency_s,
    )


def _content(answer: Any) -> Any:
    """The text of an answer: itself, an object of the verdict's class, LangChain's generations, or ``content``."""
    if isinstance(answer, str):
        return answer
    if hasattr(answer, "equivalent") and hasattr(answer, "model_dump"):
        return json.dumps(answer.model_dump(), ensure_ascii=False)
    if generations := getattr(answer, "generations", None):
        return generations[0][0].text
    return getattr(answer, "content", None)
