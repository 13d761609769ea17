"""Turn any ``llm`` that ragas' metrics take into a model that Assay's judge can ask.

None of the libraries is imported unless one of its objects is passed in.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from functools import cache
from inspect import isawaitable
from time import perf_counter
from typing import Any

from assay.errors import AssayError, UsageError
from assay.llm_judge.prompt import ANSWER_SCHEMA
from assay.model import Failure, TokenUsage
from assay.ports import ChatMessage, ChatModel, Completion

_Ask = Callable[[Sequence[ChatMessage], Mapping[str, Any]], Any]


def model_of(llm: Any, name: str | None, loop: asyncio.AbstractEventLoop) -> tuple[ChatModel, bool]:
    """The model for ``llm``, and whether it was opened here."""
    if llm is None:
        raise UsageError("no llm is set: scorer.llm = 'gpt-4.1', a client, a chat model or a function")
    if isinstance(llm, str):
        from assay.api.llm_judging import open_model

        return open_model(llm), True
    if callable(getattr(llm, "complete", None)) and callable(getattr(llm, "describe", None)):
        return llm, False
    ask, called = _asking(getattr(llm, "langchain_llm", llm), name)  # as ragas wraps LangChain's
    return _ForeignModel(ask, loop, called), False


def _asking(llm: Any, name: str | None) -> tuple[_Ask, str]:
    """A function that asks ``llm``, and the model's name."""
    completions = getattr(getattr(llm, "chat", None), "completions", None)
    if completions is not None and callable(getattr(completions, "create", None)):
        if name is None:
            raise UsageError("the client of an API does not say which model: LLMSQLEquivalence(llm, model='gpt-4.1')")
        return _openai(completions, name), name
    for method in ("ainvoke", "invoke"):
        if callable(getattr(llm, method, None)):
            return _langchain(getattr(llm, method)), name or _name_of(llm)
    if callable(getattr(llm, "agenerate_text", None)):
        return _ragas(llm), name or _name_of(llm)
    if callable(getattr(llm, "generate", None)) and callable(getattr(llm, "agenerate", None)):
        return _structured(llm), name or _name_of(llm)
    if callable(llm):
        return _function(llm), name or _name_of(llm)
    raise UsageError(
        f"{type(llm).__name__} is no model: give a name, a client with chat.completions, what ragas' llm_factory "
        "returns, a LangChain model, an assay ChatModel, or a function from prompt to text"
    )


def _name_of(llm: Any) -> str:
    """A name under which the answers of this model can be kept."""
    for attribute in ("model_name", "model", "__qualname__"):
        if isinstance(name := getattr(llm, attribute, None), str):
            return name
    return type(llm).__qualname__


class _ForeignModel:
    """A model of another library as a ChatModel. Its retries and time limits are its own."""

    def __init__(self, ask: _Ask, loop: asyncio.AbstractEventLoop, name: str) -> None:
        self.name = name
        self._ask = ask
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
        wanted = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
        try:
            said = self._ask(messages, {name: value for name, value in wanted.items() if value is not None})
            if isawaitable(said):
                # On the caller's own loop, to which the client's connections belong.
                said = asyncio.run_coroutine_threadsafe(_awaited(said), self._loop).result()
            return _completion(said, perf_counter() - started)
        except AssayError:
            raise
        # The per-case boundary: an exception of a foreign client is the trouble of one question.
        except (Exception, CancelledError) as error:  # noqa: BLE001
            message = f"{self.name} raised {type(error).__name__}: {error}"
            return Failure(stage="ask", kind="ask_failed", blame="judge", message=message)

    def close(self) -> None:
        """Does nothing: the caller owns the model."""


async def _awaited(said: Awaitable[Any]) -> Any:
    return await said


def _openai(completions: Any, name: str) -> _Ask:
    def ask(messages: Sequence[ChatMessage], wanted: Mapping[str, Any]) -> Any:
        sent = [{"role": message.role, "content": message.content} for message in messages]
        return completions.create(model=name, messages=sent, **wanted)

    return ask


def _langchain(invoke: Callable[[Any], Any]) -> _Ask:
    return lambda messages, _: invoke([(message.role, message.content) for message in messages])


def _function(function: Callable[[str], Any]) -> _Ask:
    return lambda messages, _: function(_joined(messages))


def _ragas(llm: Any) -> _Ask:
    """A model of ragas' older kind, which takes LangChain's prompts: LlamaIndex's, Haystack's or a user's."""

    def ask(messages: Sequence[ChatMessage], wanted: Mapping[str, Any]) -> Any:
        from langchain_core.prompt_values import StringPromptValue

        prompt = StringPromptValue(text=_joined(messages))
        return llm.agenerate_text(prompt, **{name: wanted[name] for name in ("temperature",) if name in wanted})

    return ask


def _structured(llm: Any) -> _Ask:
    """What ragas' ``llm_factory`` returns: asked with a pydantic class, it answers with an object of it."""

    def ask(messages: Sequence[ChatMessage], _: Mapping[str, Any]) -> Any:
        generate = llm.agenerate if getattr(llm, "is_async", True) else llm.generate
        return generate(_joined(messages), _verdict_class())

    return ask


@cache
def _verdict_class() -> Any:
    """The judge's answer as a pydantic class: a caller with such a model has pydantic installed."""
    from pydantic import create_model

    types = {"string": str, "boolean": bool}
    fields = {name: (types[value["type"]], ...) for name, value in ANSWER_SCHEMA["properties"].items()}
    return create_model("Verdict", **fields)  # type: ignore[call-overload]


def _joined(messages: Sequence[ChatMessage]) -> str:
    return "\n\n".join(message.content for message in messages)


def _completion(said: Any, latency_s: float) -> Completion:
    """A foreign model's answer as a Completion: a text, an object with ``content``, or OpenAI's with ``choices``."""
    finish_reason = refusal = None
    content, usage = _plain(said), None
    if isinstance(choices := getattr(said, "choices", None), Sequence) and choices:
        message = choices[0].message
        content, refusal = message.content, getattr(message, "refusal", None)
        finish_reason = getattr(choices[0], "finish_reason", None)
        usage = getattr(said, "usage", None)
        tokens = (getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None))
    else:
        if not isinstance(content, str):
            content = getattr(said, "content", None)
        counts = getattr(said, "usage_metadata", None) or {}
        tokens = (counts.get("input_tokens"), counts.get("output_tokens"))
    if isinstance(content, list):  # in parts
        content = "".join(part if isinstance(part, str) else str(part.get("text", "")) for part in content)
    if content is not None and not isinstance(content, str):
        raise UsageError(f"the llm answered with {type(content).__name__}: a text was expected")
    if said is None or (content is None and refusal is None and finish_reason is None):
        raise UsageError(f"the llm answered with {type(said).__name__}: a text was expected")
    return Completion(
        message=ChatMessage(role="assistant", content=content or ""),
        finish_reason=finish_reason,
        refusal=refusal,
        tokens=TokenUsage(input=tokens[0], output=tokens[1]),
        latency_s=latency_s,
    )


def _plain(said: Any) -> Any:
    """The text of an answer in another form: an object of a class, or LangChain's list of generations."""
    if callable(dump := getattr(said, "model_dump", None)) and hasattr(said, "equivalent"):
        return json.dumps(dump(), ensure_ascii=False)
    generations = getattr(said, "generations", None)
    if isinstance(generations, list) and generations and generations[0]:
        return generations[0][0].text
    return said
