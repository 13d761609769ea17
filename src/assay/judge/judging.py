"""Ask a model about pairs of queries: samples in both orders, kept answers, several at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from assay.errors import UsageError
from assay.judge.cache import AnswerCache, cache_key
from assay.judge.opinion import Opinion, Order, Vote, opinion_of, vote_of
from assay.judge.prompt import ANSWER_SCHEMA, Prompt, QueryPair
from assay.model import TokenUsage
from assay.ports import ChatModel, Completion


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """How a judge is asked."""

    samples: int = 1
    """Answers in each order."""
    both_orders: bool = True
    """Ask with the queries in either order, so that position cannot decide."""
    temperature: float | None = 0.0
    max_tokens: int | None = None
    structured: bool = True
    """Ask for an answer by a JSON Schema; servers that cannot do that are asked in words."""
    concurrency: int = 4
    cache: Path | None = None
    """A file to keep answers in; None: nothing is kept."""
    usd_per_million_input: float | None = None
    usd_per_million_output: float | None = None
    prompt: Prompt = field(default_factory=Prompt)

    def __post_init__(self) -> None:
        if self.samples < 1 or self.concurrency < 1:
            raise UsageError("a judge needs at least 1 sample, and at least 1 question at once")


class QueryJudge:
    """A model that judges pairs of queries."""

    def __init__(self, model: ChatModel, settings: JudgeSettings | None = None) -> None:
        self.model = model
        self.settings = settings or JudgeSettings()
        self._cache = AnswerCache(self.settings.cache) if self.settings.cache is not None else None

    def judge(self, pair: QueryPair) -> Opinion:
        """The opinion on one pair. Raises SystemUnusable where the model can answer nothing at all."""
        return self.judge_all([pair])[0]

    def judge_all(
        self, pairs: Sequence[QueryPair], *, on_opinion: Callable[[int, Opinion], None] | None = None
    ) -> list[Opinion]:
        """The opinions on all pairs, in their order; ``on_opinion`` is told of each as it stands, with its place."""
        opinions: list[Opinion | None] = [None] * len(pairs)
        ballots: list[list[Vote]] = [[] for _ in pairs]
        wanted = list(self._ballot())
        executor = ThreadPoolExecutor(max_workers=self.settings.concurrency, thread_name_prefix="assay-judge")
        try:
            futures = {
                executor.submit(self._vote, pair, order, sample): place
                for place, pair in enumerate(pairs)
                for order, sample in wanted
            }
            for future in as_completed(futures):
                place = futures[future]
                ballots[place].append(future.result())
                if len(ballots[place]) == len(wanted):
                    votes = sorted(ballots[place], key=lambda vote: (vote.order, vote.sample))
                    opinions[place] = opinion = opinion_of(votes)
                    if on_opinion is not None:
                        on_opinion(place, opinion)
        finally:
            # Whoever stops early does not wait for questions that were not asked yet.
            executor.shutdown(wait=True, cancel_futures=True)
        return [opinion for opinion in opinions if opinion is not None]

    def close(self) -> None:
        """Let go of the model and the kept answers."""
        self.model.close()
        if self._cache is not None:
            self._cache.close()

    def _ballot(self) -> Iterable[tuple[Order, int]]:
        orders: tuple[Order, ...] = ("given", "swapped") if self.settings.both_orders else ("given",)
        return ((order, sample) for order in orders for sample in range(self.settings.samples))

    def _vote(self, pair: QueryPair, order: Order, sample: int) -> Vote:
        settings = self.settings
        messages = settings.prompt.messages(pair if order == "given" else pair.swapped())
        # Samples differ by their seed alone; where the temperature is 0 that is little.
        seed = sample if settings.samples > 1 else None
        asked = {"temperature": settings.temperature, "max_tokens": settings.max_tokens, "seed": seed}
        key = cache_key(self.model.describe(), {**asked, "structured": settings.structured}, messages, sample)
        kept = self._cache.get(key) if self._cache is not None else None
        if kept is not None:
            return vote_of(kept, order=order, sample=sample, cached=True)
        answer = self.model.complete(
            messages,
            temperature=settings.temperature,
            json_schema=ANSWER_SCHEMA if settings.structured else None,
            max_tokens=settings.max_tokens,
            seed=seed,
        )
        vote = vote_of(answer, order=order, sample=sample)
        if self._cache is not None and isinstance(answer, Completion) and vote.equivalent is not None:
            self._cache.put(key, answer)
        return vote


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What opinions cost. Kept answers cost nothing; tokens that a server did not count are not in it."""

    questions: int
    """Asked of the model now."""
    kept: int
    """Answered from the cache."""
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    """None where no price was given."""


def spending(opinions: Iterable[Opinion], settings: JudgeSettings) -> Spending:
    """Add up what was asked."""
    votes = [vote for opinion in opinions for vote in opinion.votes]
    asked = [vote for vote in votes if not vote.cached]
    used = [vote.tokens or TokenUsage() for vote in asked]
    input_tokens = sum(tokens.input or 0 for tokens in used)
    output_tokens = sum(tokens.output or 0 for tokens in used)
    prices = (settings.usd_per_million_input, settings.usd_per_million_output)
    cost = None
    if any(price is not None for price in prices):
        cost = (input_tokens * (prices[0] or 0.0) + output_tokens * (prices[1] or 0.0)) / 1_000_000
    return Spending(
        questions=len(asked),
        kept=len(votes) - len(asked),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost_usd=cost,
    )
