"""ragas' `LLMSQLEquivalence`, on Assay's judge: both orders, retries, and no score without a verdict.

scorer = LLMSQLEquivalence()
scorer.llm = "gpt-4.1"                           # or a client, a chat model, a function
await scorer.single_turn_ascore(sample)          # 1.0, 0.0, or NaN with a reason
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import nan
from typing import Any

from assay.api.models import model_of
from assay.llm_judge import JudgeSettings, Opinion, QueryJudge, QueryPair
from assay.llm_judge.opinion import unscored
from assay.model import Failure
from assay.ragas.surface import MetricResult, SingleTurnSample, WrongArgument
from assay.sql.extraction import completion_of, read_text

__all__ = ["EquivalenceScore", "LLMSQLEquivalence", "SQLSemanticEquivalence"]


class EquivalenceScore(MetricResult):
    """1.0 equivalent, 0.0 not, NaN unscored; ``reason`` says why, ``opinion`` contains the votes."""

    opinion: Opinion
    __repr__ = __str__ = float.__repr__

    @classmethod
    def of(cls, opinion: Opinion) -> EquivalenceScore:
        """The score of an opinion."""
        score = cls(nan if opinion.equivalent is None else float(opinion.equivalent), opinion.reason)
        score.opinion = opinion
        return score

    def __reduce__(self) -> tuple[Any, ...]:
        return (EquivalenceScore.of, (self.opinion,))


class LLMSQLEquivalence:
    """Whether a query is semantically equivalent to its reference, by an LLM. Nothing is executed.

    ``llm`` is a model's name or URL, an OpenAI client (sync or async; ``model`` then names the model),
    what ragas' ``llm_factory`` returns, a LangChain model, any ChatModel, or a function from prompt to
    text, plain or async. ``settings`` are the judge's: samples, orders, concurrency, cache, prompt.
    """

    def __init__(
        self,
        llm: Any = None,
        name: str = "llm_sql_equivalence_with_reference",
        *,
        model: str | None = None,
        settings: JudgeSettings | None = None,
    ) -> None:
        self.llm = llm
        self.name = name
        self.model = model
        self.settings: JudgeSettings = settings or JudgeSettings()

    async def single_turn_ascore(
        self,
        sample: Any,
        callbacks: Any = None,  # noqa: ARG002 - as ragas' own, which is called with them
        timeout: float | None = None,
    ) -> EquivalenceScore:
        """Score one sample: 1.0, 0.0, or NaN whose ``reason`` says why. ``timeout`` in seconds.

        A sample is anything with ``response``, ``reference`` and ``reference_contexts``, or a mapping with
        these keys. Raises UsageError if no ``llm`` is set or the sample lacks a query, TimeoutError
        after ``timeout``.
        """
        return (await asyncio.wait_for(self._ascores([_pair(sample)]), timeout))[0]

    def single_turn_score(self, sample: Any, callbacks: Any = None) -> EquivalenceScore:  # noqa: ARG002
        """As `single_turn_ascore`, also from within a running event loop, for example a notebook's."""
        return self._scores([_pair(sample)])[0]

    async def ascore(
        self, response: str, reference: str, reference_contexts: Sequence[str] | None = None
    ) -> EquivalenceScore:
        """Score one pair, as ragas' newer metrics are called: ``value``, ``reason``. Raises as `single_turn_ascore`."""
        sample = SingleTurnSample(response=response, reference=reference, reference_contexts=reference_contexts)
        return await self.single_turn_ascore(sample)

    def score(self, response: str, reference: str, reference_contexts: Sequence[str] | None = None) -> EquivalenceScore:
        """As `ascore`, also from within a running event loop."""
        sample = SingleTurnSample(response=response, reference=reference, reference_contexts=reference_contexts)
        return self.single_turn_score(sample)

    async def abatch_score(self, inputs: Sequence[Any]) -> list[EquivalenceScore]:
        """Score many samples or mappings, ``settings.concurrency`` questions at a time; returns scores in their order.

        One that lacks a query gets NaN with that reason, and the others are scored.
        """
        return await self._ascores([_pair_or_reason(sample) for sample in inputs])

    async def batch_ascore(self, samples: Sequence[Any]) -> list[EquivalenceScore]:
        """Another name of `abatch_score`."""
        return await self.abatch_score(samples)

    def batch_score(self, inputs: Sequence[Any]) -> list[EquivalenceScore]:
        """As `abatch_score`, for callers that do not await."""
        return self._scores([_pair_or_reason(sample) for sample in inputs])

    def _scores(self, pairs: Sequence[QueryPair | Opinion]) -> list[EquivalenceScore]:
        # In a separate thread, because the caller may be a notebook, whose event loop runs in this one.
        with ThreadPoolExecutor(max_workers=1) as executor:
            return executor.submit(lambda: asyncio.run(self._ascores(pairs))).result()

    async def _ascores(self, pairs: Sequence[QueryPair | Opinion]) -> list[EquivalenceScore]:
        model, ours = model_of(self.llm, self.model, asyncio.get_running_loop())
        judge = QueryJudge(model, self.settings)
        asked = [pair for pair in pairs if isinstance(pair, QueryPair)]

        def work() -> list[Opinion]:
            try:
                return judge.judge_all(asked)
            finally:
                (judge.close if ours else judge.close_cache)()

        # In a separate thread, because its model may run on this loop.
        opinions = iter(await asyncio.to_thread(work))
        return [EquivalenceScore.of(pair if isinstance(pair, Opinion) else next(opinions)) for pair in pairs]


class SQLSemanticEquivalence(LLMSQLEquivalence):
    """`LLMSQLEquivalence` under the name and arguments of ragas' newer metric."""

    def __init__(
        self,
        llm: Any = None,
        name: str = "sql_semantic_equivalence",
        *,
        model: str | None = None,
        settings: JudgeSettings | None = None,
    ) -> None:
        super().__init__(llm, name, model=model, settings=settings)


def _pair_or_reason(sample: Any) -> QueryPair | Opinion:
    try:
        return _pair(sample)
    except WrongArgument as error:
        return unscored(Failure(stage="load", kind="unscorable", blame="setup", message=str(error)), ())


def _pair(sample: Any) -> QueryPair:
    def value(name: str) -> Any:
        return sample.get(name) if isinstance(sample, Mapping) else getattr(sample, name, None)

    response, reference, contexts = value("response"), value("reference"), value("reference_contexts")
    if (completion := completion_of(response)) is not None:
        response = completion
    for name, text in (("response", response), ("reference", reference)):
        if not isinstance(text, str) or not text.strip():
            raise WrongArgument(f"the sample's {name} is {text!r}: give the text of a query")
    found = read_text(response)
    if found.place is not None and found.query is not None:
        response = found.query  # the one statement in a longer text, as everywhere else
    schema = contexts if isinstance(contexts, str) else "\n".join(map(str, contexts or ()))
    return QueryPair(first=response, second=reference, schema=schema)
