"""ragas' LLMSQLEquivalence: the seed's own call, whatever model it is given."""

from __future__ import annotations

import asyncio
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from assay.errors import UsageError
from assay.llm_judge import JudgeSettings, QueryJudge
from assay.ragas import EquivalenceScore, LLMSQLEquivalence
from assay.testing import ChatAnswer, ChatEmulator, judge_by, same_text
from assay.testing.chat import last_question
from assay.testing.judge import fenced_queries, verdict
from many_cases import each

Asking = Callable[..., QueryJudge]


@dataclass
class Sample:
    response: Any
    reference: Any
    reference_contexts: Any = field(default_factory=lambda: ["Table order_items:\n- quantity: INT", "Table products"])


SEED = Sample(
    response="SELECT p.product_name, SUM(oi.quantity) AS total_quantity\nFROM order_items oi\nJOIN products p",
    reference="SELECT p.product_name, COUNT(oi.quantity) AS total_quantity\nFROM order_items oi\nJOIN products p",
)
SAME = Sample(response="SELECT 1", reference="select 1;")


def _rule(prompt: str) -> str:
    return verdict(same_text(*fenced_queries(prompt)))


async def _async_rule(prompt: str) -> str:
    await asyncio.sleep(0)
    return _rule(prompt)


def _openai_answer(text: str | None, **message: Any) -> SimpleNamespace:
    choice = SimpleNamespace(message=SimpleNamespace(content=text, refusal=None, **message), finish_reason="stop")
    return SimpleNamespace(choices=[choice], usage=SimpleNamespace(prompt_tokens=7, completion_tokens=3))


class _Completions:
    def create(self, *, model: str, messages: list[dict[str, str]], temperature: float) -> SimpleNamespace:
        assert (model, temperature) == ("gpt-x", 0.0)
        return _openai_answer(_rule(messages[-1]["content"]))


class _AsyncCompletions:
    async def create(self, *, model: str, messages: list[dict[str, str]], **wanted: Any) -> SimpleNamespace:
        await asyncio.sleep(0)
        return _openai_answer(_rule(messages[-1]["content"]))


class _Chain:
    model_name = "chain-1"

    def invoke(self, messages: list[tuple[str, str]]) -> SimpleNamespace:
        return SimpleNamespace(content=[{"type": "text", "text": _rule(messages[-1][1])}], usage_metadata=None)


class _AsyncChain:
    async def ainvoke(self, messages: list[tuple[str, str]]) -> SimpleNamespace:
        return SimpleNamespace(content=_rule(messages[-1][1]), usage_metadata={"input_tokens": 5, "output_tokens": 2})


def _client(completions: Any) -> SimpleNamespace:
    return SimpleNamespace(chat=SimpleNamespace(completions=completions))


LLMS = {
    "function": _rule,
    "async function": _async_rule,
    "client": _client(_Completions()),
    "async client": _client(_AsyncCompletions()),
    "chain": _Chain(),
    "async chain": _AsyncChain(),
    "wrapped chain": SimpleNamespace(langchain_llm=_Chain()),
}


@each("llm", LLMS.values(), ids=LLMS)
def test_any_kind_of_model_gives_the_seeds_scores(llm: Any) -> None:
    scorer = LLMSQLEquivalence(model="gpt-x")
    scorer.llm = llm
    assert asyncio.run(scorer.single_turn_ascore(SEED)) == 0
    assert scorer.single_turn_score(SAME) == 1
    assert scorer.batch_score([SEED, SAME, SAME]) == [0, 1, 1]


def test_a_model_by_its_name_or_as_a_chat_model(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatEmulator(answers=judge_by(same_text), token="key-12345") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "key-12345")
        assert LLMSQLEquivalence("gpt-4.1").single_turn_score(SAME) == 1
        model = asking(server, token="key-12345").model
        scorer = LLMSQLEquivalence(model, settings=JudgeSettings(both_orders=False))
        assert [scorer.single_turn_score(one) for one in (SEED, SAME)] == [0, 1]
        assert len(server.bodies) == 4
        asked = last_question(server.bodies[0]["messages"])
    assert "Table order_items:\n- quantity: INT\nTable products\n" in asked


def test_no_score_is_nan_and_says_why() -> None:
    with ChatEmulator(answers=lambda _: ChatAnswer(refusal="not that")) as server:
        scorer = LLMSQLEquivalence(f"chat:{server.openai_url}/openai/deployments/x".replace("/v1/", "/"))
        score = scorer.single_turn_score(SAME)
    assert math.isnan(score)
    assert score.reason == "the judge refused: not that"
    assert [vote.equivalent for vote in score.opinion.votes] == [None, None]
    copy = pickle.loads(pickle.dumps(score))
    assert isinstance(copy, EquivalenceScore)
    assert copy.reason == score.reason


def test_what_a_client_raises_is_the_reason() -> None:
    def failing(prompt: str) -> str:
        raise ConnectionError("nobody there")

    score = LLMSQLEquivalence(failing).single_turn_score(SAME)
    assert math.isnan(score)
    assert "failing raised ConnectionError: nobody there" in score.reason


def test_a_timeout_ends_the_wait_also_within_a_running_loop() -> None:
    async def slow(prompt: str) -> str:
        await asyncio.sleep(60)
        return _rule(prompt)

    async def impatient() -> None:
        scorer = LLMSQLEquivalence(_async_rule)
        assert (scorer.single_turn_score(SAME), await scorer.batch_ascore([SEED])) == (1, [0])
        await LLMSQLEquivalence(slow).single_turn_ascore(SAME, timeout=0.05)

    with pytest.raises(TimeoutError):
        asyncio.run(impatient())


@each(
    ("llm", "sample", "message"),
    [
        (None, SAME, "no llm is set"),
        (_client(_Completions()), SAME, "does not name a model"),
        (object(), SAME, "object is not a model"),
        (lambda prompt: 7, SAME, "answered with int"),
        (_rule, Sample(response=None, reference="SELECT 1"), "the sample's response is None"),
        (_rule, Sample(response="SELECT 1", reference=" "), "the sample's reference is ' '"),
    ],
)
def test_wrong_use_is_an_error(llm: Any, sample: Sample, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        LLMSQLEquivalence(llm).single_turn_score(sample)
