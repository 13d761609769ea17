"""ragas' `LLMSQLEquivalence`, on Assay's judge: both orders, retries, and no score where there is none.

scorer = LLMSQLEquivalence()
scorer.llm = "gpt-4.1"                           # or a client, a chat model, a function
await scorer.single_turn_ascore(sample)          # 1.0, 0.0, or NaN with a reason
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from inspect import isawaitable
from time import perf_counter
from typing import Any, Protocol

from assay.errors import AssayError, UsageError
from assay.llm_judge import JudgeSettings, Opinion, QueryJudge, QueryPair
from assay.model import Failure, TokenUsage
from assay.ports import ChatMessage, ChatModel, Completion

__all__ = ["EquivalenceScore", "LLMSQLEquivalence"]


class Sample(Protocol):
    """What is judged: ragas' SingleTurnSample, ours, or anything with these attributes."""

    response: Any
    reference: Any
    reference_contexts: Any


class EquivalenceScore(float):
    """1.0 equivalent, 0.0 not, NaN unscored; ``reason`` says why, ``opinion`` holds the votes."""

    opinion: Opinion

    @classmethod
    def of(cls, opinion: Opinion) -> EquivalenceScore:
        """The score of an opinion."""
        score = cls(math.nan if opinion.equivalent is None else float(opinion.equivalent))
        score.opinion = opinion
        return score

    @property
    def reason(self) -> str:
        """Why the score is what it is, in a sentence."""
        return self.opinion.reason

    def __reduce__(self) -> tuple[Any, ...]:
        return (EquivalenceScore.of, (self.opinion,))


class LLMSQLEquivalence:
    """Whether a query is semantically equivalent to its reference, by an LLM. Nothing is executed.

    ``llm`` is a model's name or URL, an OpenAI client (sync or async; ``model`` then names the model), a
    LangChain model, any ChatModel, or a function from prompt to text, plain or async. ``settings`` are
    the judge's: samples, orders, concurrency, cache, prompt.
    """

    def __init__(
        self,
        llm: Any = None,
        *,
        model: str | None = None,
        settings: JudgeSettings | None = None,
        name: str = "llm_sql_equivalence_with_reference",
    ) -> None:
        self.llm = llm
        self.model = model
        self.settings = settings or JudgeSettings()
        self.name = name

    async def single_turn_ascore(
        self,
        sample: Sample,
        callbacks: Any = None,  # noqa: ARG002 - as ragas' own, which is called with them
        timeout: float | None = None,
    ) -> EquivalenceScore:
        """Score one sample: 1.0, 0.0, or NaN whose ``reason`` says why. ``timeout`` in seconds.

        Raises UsageError where no ``llm`` is set or the sample lacks a query, TimeoutError after ``timeout``.
        """
        scores = self._ascores([sample])
        return (await (scores if timeout is None else asyncio.wait_for(scores, timeout)))[0]

    def single_turn_score(self, sample: Sample, callbacks: Any = None) -> EquivalenceScore:  # noqa: ARG002
        """As `single_turn_ascore`, also from within a running event loop such as a notebook's."""
        return self.batch_score([sample])[0]

    async def batch_ascore(self, samples: Sequence[Sample]) -> list[EquivalenceScore]:
        """Score many samples, ``settings.concurrency`` questions at a time, in their order."""
        return await self._ascores(samples)

    def batch_score(self, samples: Sequence[Sample]) -> list[EquivalenceScore]:
        """As `batch_ascore`, for callers that do not await."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self._ascores(samples))
        with ThreadPoolExecutor(max_workers=1) as executor:
            return executor.submit(lambda: asyncio.run(self._ascores(samples))).result()

    async def _ascores(self, samples: Sequence[Sample]) -> list[EquivalenceScore]:
        pairs = [_pair(sample) for sample in samples]
        loop = asyncio.get_running_loop()
        model, ours = _model_of(self.llm, self.model, loop)
        judge = QueryJudge(model, self.settings)

        def work() -> list[Opinion]:
            try:
                return judge.judge_all(pairs)
            finally:
                if ours:
                    judge.close()
                else:
                    judge.close_cache()

        # A thread of its own: what it waits for may run on this loop.
        return [EquivalenceScore.of(opinion) for opinion in await asyncio.to_thread(work)]


def _pair(sample: Any) -> QueryPair:
    texts = {name: getattr(sample, name, None) for name in ("response", "reference")}
    for name, text in texts.items():
        if not isinstance(text, str) or not text.strip():
            raise UsageError(f"the sample's {name} is {text!r}: give the text of a query")
    contexts = getattr(sample, "reference_contexts", None) or ()
    schema = contexts if isinstance(contexts, str) else "\n".join(contexts)
    return QueryPair(first=str(texts["response"]), second=str(texts["reference"]), schema=schema)


def _model_of(llm: Any, name: str | None, loop: asyncio.AbstractEventLoop) -> tuple[ChatModel, bool]:
    """The model behind whatever was given, and whether it was opened here."""
    if llm is None:
        raise UsageError("no llm is set: scorer.llm = 'gpt-4.1', a client, a chat model or a function")
    if isinstance(llm, str):
        from assay.api.judge_model import open_model

        return open_model(llm), True
    if callable(getattr(llm, "complete", None)) and callable(getattr(llm, "describe", None)):
        return llm, False
    llm = getattr(llm, "langchain_llm", llm)  # as ragas wraps LangChain's
    completions = getattr(getattr(llm, "chat", None), "completions", None)
    if completions is not None and callable(getattr(completions, "create", None)):
        if name is None:
            raise UsageError("the client of an API does not say which model: LLMSQLEquivalence(llm, model='gpt-4.1')")
        return _ForeignModel(_openai(completions, name), loop, name), False
    for method in ("ainvoke", "invoke"):
        if callable(getattr(llm, method, None)):
            return _ForeignModel(_langchain(getattr(llm, method)), loop, name or _name_of(llm)), False
    if callable(llm):
        return _ForeignModel(_function(llm), loop, name or _name_of(llm)), False
    raise UsageError(
        f"{type(llm).__name__} is no model: give a name, a client with chat.completions, a LangChain model, "
        "an assay ChatModel, or a function from prompt to text"
    )


def _name_of(llm: Any) -> str:
    """A name under which the answers of this model can be kept."""
    for attribute in ("model_name", "model", "__qualname__"):
        if isinstance(name := getattr(llm, attribute, None), str):
            return name
    return type(llm).__qualname__


_Ask = Callable[[Sequence[ChatMessage], Mapping[str, Any]], Any]


class _ForeignModel:
    """Somebody else's model as a ChatModel. It retries and bounds its time as it was made to."""

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
                # On the caller's own loop: its connections belong to that one.
                said = asyncio.run_coroutine_threadsafe(_awaited(said), self._loop).result()
            return _completion(said, perf_counter() - started)
        except AssayError:
            raise
        # The per-case boundary: whatever another's client raises is the trouble of one question.
        except (Exception, CancelledError) as error:  # noqa: BLE001
            message = f"{self.name} raised {type(error).__name__}: {error}"
            return Failure(stage="ask", kind="ask_failed", blame="judge", message=message)

    def close(self) -> None:
        """It is not ours to close."""


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
    return lambda messages, _: function("\n\n".join(message.content for message in messages))


def _completion(said: Any, latency_s: float) -> Completion:
    """What foreign models answer: a text, an object with ``content``, or OpenAI's with ``choices``."""
    finish_reason = refusal = None
    content, usage = said, None
    if isinstance(choices := getattr(said, "choices", None), Sequence) and choices:
        message = choices[0].message
        content, refusal = message.content, getattr(message, "refusal", None)
        finish_reason = getattr(choices[0], "finish_reason", None)
        usage = getattr(said, "usage", None)
        tokens = (getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None))
    else:
        if not isinstance(said, str):
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
