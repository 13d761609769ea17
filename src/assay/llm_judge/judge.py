"""Ask a model about pairs of queries: samples in both orders, cached answers, several at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any

from msgspec import Struct, field

from assay.errors import AssayError, UsageError
from assay.llm_judge.cache import AnswerCache, cache_key
from assay.llm_judge.opinion import Opinion, Order, Vote, opinion_of, unscored, vote_of
from assay.llm_judge.prompt import Prompt, QueryPair
from assay.model import Failure, TokenUsage
from assay.model.rejections import Rejections
from assay.ports import ChatMessage, ChatModel, Completion

_LAST_ANSWERS_S = 10.0
"""How long to wait for pending answers when an error ends the run."""
_POLL_S = 0.5  # on Windows a wait without a timeout would not see Ctrl-C


class JudgeSettings(Struct, frozen=True, kw_only=True):
    """How a judge is asked."""

    samples: int = 1
    """The number of answers per order of the queries."""
    both_orders: bool = True
    """Ask with the queries in both orders, so that position cannot decide."""
    temperature: float | None = 0.0
    max_tokens: int | None = None
    structured: bool = True
    """Ask for an answer that fits a JSON Schema; on servers without support, the prompt asks for it."""
    concurrency: int = 4
    """The number of concurrent questions."""
    max_query_chars: int = 20_000
    """A pair with a longer query (without comments) is unscored: the queries might differ in the truncated part."""
    cache: Path | None = None
    """The cache file; None: no cache."""
    retry_refusals: bool = False
    """Ask again what the judge refused to answer before."""
    usd_per_million_input: float | None = None
    usd_per_million_output: float | None = None
    prompt: Prompt = field(default_factory=Prompt)

    def __post_init__(self) -> None:
        if self.samples < 1 or self.concurrency < 1:
            raise UsageError(f"samples={self.samples}, concurrency={self.concurrency}: use values of at least 1")
        if any(price is not None and price < 0 for price in (self.usd_per_million_input, self.usd_per_million_output)):
            raise UsageError("the price of tokens is negative: use a number of at least 0")


class _Question(Struct, frozen=True, kw_only=True):
    """One question to the model."""

    messages: tuple[ChatMessage, ...]
    seed: int | None
    schema: Mapping[str, Any] | None


class _Placed(Struct, frozen=True, kw_only=True):
    """A vote, and the index of its pair."""

    place: int
    vote: Vote


class QueryJudge:
    """A model that scores pairs of queries. Close it, or use it in a ``with`` statement."""

    def __init__(self, model: ChatModel, settings: JudgeSettings | None = None) -> None:
        self.model = model
        self.settings: JudgeSettings = settings or JudgeSettings()
        self._cache = AnswerCache(self.settings.cache) if self.settings.cache is not None else None
        self._lock = Lock()
        self._under_way: dict[bytes, Lock] = {}
        """A lock per cache key whose question is being asked."""
        self._answered: set[bytes] = set()
        """The cache keys whose questions were answered since the judge was opened."""
        self._rejections = Rejections[_Question, _Placed]()
        self._sifting = Lock()

    def judge(self, pair: QueryPair) -> Opinion:
        """The opinion on one pair. Raises SystemUnusable if the model cannot answer any question."""
        return self.judge_all([pair])[0]

    def judge_all(
        self, pairs: Sequence[QueryPair], *, on_opinion: Callable[[int, Opinion], None] | None = None
    ) -> list[Opinion]:
        """The opinions on all pairs, in their order; ``on_opinion`` gets each with its index as soon as it is known.

        It is called in the caller's thread. If one question fails, its vote has no answer. Raises
        SystemUnusable as soon as the model proves unusable (`assay.model.rejections`), and lets KeyboardInterrupt
        through: then no more questions are sent, pending ones are dropped, and finished answers are in the cache.
        """
        opinions: dict[int, Opinion] = {}

        def settle(place: int, opinion: Opinion) -> None:
            opinions[place] = opinion
            if on_opinion is not None:
                on_opinion(place, opinion)

        open_places: list[int] = []
        for place, pair in enumerate(pairs):
            problem = self._problem(pair)
            if problem is None:
                open_places.append(place)
            else:
                settle(place, unscored(problem))
        wanted = list(self._ballot())
        ballots: dict[int, list[Vote]] = {place: [] for place in open_places}
        questions = ((place, order, sample) for place in open_places for order, sample in wanted)
        for place, vote in self._answers(pairs, questions, count=len(open_places) * len(wanted)):
            ballots[place].append(vote)
            if len(ballots[place]) == len(wanted):
                settle(place, opinion_of(sorted(ballots[place], key=lambda vote: (vote.order, vote.sample))))
        return [opinions[place] for place in range(len(pairs))]

    def prompt_of(self, pair: QueryPair) -> tuple[ChatMessage, ...]:
        """The messages about a pair, its queries in the given order, without sending them."""
        return self.settings.prompt.messages(pair)

    def close(self) -> None:
        """Close the model and the cache. Closing twice is harmless."""
        self.model.close()
        self.close_cache()

    def close_cache(self) -> None:
        """Close only the cache, if the model belongs to the caller."""
        if self._cache is not None:
            self._cache.close()

    def __enter__(self) -> QueryJudge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _problem(self, pair: QueryPair) -> str | None:
        """Why the judge is not asked about a pair; None if it is."""
        most = self.settings.max_query_chars
        for query in (pair.first, pair.second):
            length = len(self.settings.prompt.shown(query, pair.dialect))
            if length > most:
                return f"a query has {length:,} characters: the judge accepts at most {most:,}"
        return None

    def _ballot(self) -> Iterable[tuple[Order, int]]:
        orders: tuple[Order, ...] = ("given", "swapped") if self.settings.both_orders else ("given",)
        return ((order, sample) for order in orders for sample in range(self.settings.samples))

    def _answers(
        self, pairs: Sequence[QueryPair], questions: Iterator[tuple[int, Order, int]], *, count: int
    ) -> Iterator[tuple[int, Vote]]:
        """The votes with the indexes of their pairs, as they arrive. Raises an error that ends the run."""
        arrived: SimpleQueue[_Placed | BaseException] = SimpleQueue()
        stop = Event()
        unsifted = count

        def work() -> None:
            nonlocal unsifted
            while not stop.is_set():
                with self._sifting:
                    asked, begun = next(questions, None), self._rejections.seen
                if asked is None:
                    return
                place, order, sample = asked
                try:
                    vote, question, failure = self._vote(pairs[place], order, sample)
                    placed = _Placed(place=place, vote=vote)
                    with self._sifting:  # no further question is asked during a control question
                        if stop.is_set():
                            return
                        unsifted -= 1
                        for one in self._sifted(placed, question, failure, begun=begun, is_last=not unsifted):
                            arrived.put(one)
                # A model that cannot answer anything, an unusable cache, a defect: the caller's thread raises it.
                except BaseException as error:  # noqa: BLE001
                    stop.set()
                    arrived.put(error)

        # Daemon threads: after an interruption nothing waits for an answer that takes minutes.
        threads = [
            Thread(target=work, name=f"assay-judge-{number}", daemon=True)
            for number in range(min(self.settings.concurrency, count))
        ]
        for thread in threads:
            thread.start()
        try:
            while count:
                try:
                    one = arrived.get(timeout=_POLL_S)
                except Empty:
                    continue
                if isinstance(one, BaseException):
                    until = time.monotonic() + _LAST_ANSWERS_S
                    for thread in threads:  # a pending answer is cached
                        thread.join(max(0.0, until - time.monotonic()))
                    raise one
                count -= 1
                yield one.place, one.vote
        finally:
            stop.set()

    def _sifted(
        self, placed: _Placed, question: _Question, failure: Failure | None, *, begun: int, is_last: bool
    ) -> Iterator[_Placed]:
        """The votes that count by now: rejections wait until their cause is known. Raises SystemUnusable."""
        rejections = self._rejections
        if placed.vote.cached:
            rejections.answered(question)
            yield placed
        else:
            yield from rejections.sift(question, placed, failure, begun=begun)
            if rejections.unusable is not None:
                raise rejections.unusable
        if rejections.control is not None and rejections.needs_control(at_end=is_last):
            begun = rejections.seen
            answer = self._asked(rejections.control)
            yield from rejections.controlled(answer if isinstance(answer, Failure) else None, begun=begun)
        if is_last:
            yield from rejections.rest()

    def _vote(self, pair: QueryPair, order: Order, sample: int) -> tuple[Vote, _Question, Failure | None]:
        """A vote, its question to the model, and why it has no answer."""
        settings = self.settings
        messages = settings.prompt.messages(pair if order == "given" else pair.swapped())
        # Samples differ only by their seed, which changes little at temperature 0.
        seed = sample if settings.samples > 1 else None
        schema = settings.prompt.answer_schema if settings.structured else None
        question = _Question(messages=messages, seed=seed, schema=schema)
        asked = {"temperature": settings.temperature, "max_tokens": settings.max_tokens, "seed": seed, "schema": schema}
        material = settings.prompt.material(pair)

        def outcome(answer: Completion | Failure) -> tuple[Vote, _Question, Failure | None]:
            vote = vote_of(answer, order=order, sample=sample, material=material)
            return vote, question, answer if isinstance(answer, Failure) else None

        if self._cache is None:
            return outcome(self._asked(question))
        key = cache_key(self.model.describe(), asked, messages, sample)
        with self._lock:
            alone = self._under_way.setdefault(key, Lock())
        # A pair of equal queries has the same prompt in both orders: the second question waits for the first's answer.
        with alone:
            kept = self._cache.get(key)
            if kept is not None:
                shared = key in self._answered
                vote = vote_of(kept, order=order, sample=sample, cached=True, shared=shared, material=material)
                if shared or not (vote.abstained and settings.retry_refusals):
                    return vote, question, None
            answer = self._asked(question)
            vote, _, failure = outcome(answer)
            if isinstance(answer, Completion) and (vote.equivalent is not None or vote.abstained):
                self._cache.put(key, answer)
                self._answered.add(key)
        return vote, question, failure

    def _asked(self, question: _Question) -> Completion | Failure:
        settings = self.settings
        try:
            return self.model.complete(
                question.messages,
                temperature=settings.temperature,
                json_schema=question.schema,
                max_tokens=settings.max_tokens,
                seed=question.seed,
            )
        except AssayError:
            raise
        # The per-case boundary: an exception in a model's own code is the failure of one question. Other BaseExceptions
        # are caught, too: they would end the thread. Ctrl-C raises in the main thread only.
        except BaseException as error:  # noqa: BLE001
            message = f"asking raised {type(error).__name__}: {error}"
            return Failure(stage="ask", kind="ask_failed", blame="judge", message=message)


class Spending(Struct, frozen=True, kw_only=True):
    """The cost of opinions. Cached answers are free."""

    questions: int
    """Questions sent to the model now."""
    kept: int
    """Questions answered from the cache, by answers of earlier calls."""
    shared: int
    """Questions with the same prompt as another one of these, whose answer they share."""
    input_tokens: int
    output_tokens: int
    uncounted: int
    """Answers whose tokens the server did not count: they are excluded from both sums, as are failed questions."""
    cost_usd: float | None
    """None if a price is not given, or no answer was counted."""


def spending(opinions: Iterable[Opinion], settings: JudgeSettings) -> Spending:
    """Add up the questions, tokens and cost of opinions."""
    votes = [vote for opinion in opinions for vote in opinion.votes]
    asked = [vote for vote in votes if not vote.cached]
    answered = [vote for vote in asked if vote.latency_s is not None]
    counted = [vote.tokens for vote in answered if vote.tokens not in (None, TokenUsage())]
    input_tokens = sum(tokens.input or 0 for tokens in counted if tokens is not None)
    output_tokens = sum(tokens.output or 0 for tokens in counted if tokens is not None)
    prices = (settings.usd_per_million_input, settings.usd_per_million_output)
    cost = None
    if None not in prices and (counted or not answered):
        cost = (input_tokens * (prices[0] or 0.0) + output_tokens * (prices[1] or 0.0)) / 1_000_000
    return Spending(
        questions=len(asked),
        kept=sum(vote.cached and not vote.shared for vote in votes),
        shared=sum(vote.shared for vote in votes),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        uncounted=len(answered) - len(counted),
        cost_usd=cost,
    )
