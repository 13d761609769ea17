"""Prices give the cost of each answer whose tokens are known, from every kind of system, and sums add up."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.errors import InputError
from assay.model import Case, Prediction, TokenUsage, Turn
from assay.runs.aggregate.totals import usage_of
from many_cases import each
from text_server import serving

_PRICES = {"price_in": 2.0, "price_out": 8.0}


@each("usage", ['{"input": 1000, "output": 500}', '{"prompt_tokens": 1000, "total_tokens": 1500}'])
@each(
    ("url", "options"),
    [("http:{}/ask", {"tokens_path": "tokens", "query_path": "sql_query"}), ("denodo:{}/answerDataQuestion", {})],
)
def test_prices_give_the_cost_of_an_answer(url: str, options: dict[str, str], usage: str) -> None:
    with serving(f'{{"sql_query": "SELECT 1 FROM t", "tokens": {usage}}}') as place:
        system = assay.open_system(url.format(place), **_PRICES, **options)  # type: ignore[arg-type]
        answer = system.answer(Case(id="1", question="q"))
        system.close()
    assert answer.cost_usd == pytest.approx((1000 * 2 + 500 * 8) / 1e6)


def _priced(case: Case) -> Prediction:
    return Prediction(case_id=case.id, query="SELECT 1", tokens=TokenUsage(input=1000, output=500))


def test_prices_give_the_cost_of_what_a_callable_reports() -> None:
    system = assay.open_system(f"python:{__name__}:_priced", **_PRICES)
    assert system.answer(Case(id="1", question="q")).cost_usd == pytest.approx(0.006)
    system.close()


@pytest.mark.parametrize("url", ["command:cat", "http:http://127.0.0.1:9/ask"])
def test_prices_without_tokens_are_refused(url: str) -> None:
    with pytest.raises(InputError, match="token"):
        assay.open_system(url, **_PRICES)


_COUNT = st.none() | st.integers(0, 10**9)


@given(st.lists(st.builds(TokenUsage, input=_COUNT, output=_COUNT, total=_COUNT), max_size=6))
def test_the_tokens_in_all_are_those_of_answers_that_tell_them_and_never_fewer_than_in_and_out(
    tokens: list[TokenUsage],
) -> None:
    usage = usage_of([Prediction(case_id=str(n), query="q", tokens=one) for n, one in enumerate(tokens)])
    telling = [one for one in tokens if one.total is not None or None not in (one.input, one.output)]
    assert (0 if usage is None else usage.answers_with_total) == len(telling)
    if usage is not None:
        assert (usage.total is None) == (not telling)
        assert (usage.total or 0) >= sum((one.input or 0) + (one.output or 0) for one in telling)
        assert (usage.total or 0) >= sum(one.total or 0 for one in telling)


def _text(case: Case) -> str:
    return "SELECT 1"


def _total_alone(case: Case) -> Prediction:
    return Prediction(case_id=case.id, query="SELECT 1", tokens=TokenUsage(total=1500))


_CHOICES = '"choices": [{"message": {"role": "assistant", "content": "SELECT 1"}}]'
_NO_TOKENS = ["{}", '"many"', '{"count": 5}', '{"input": -1, "output": "x"}']
_TOTALS = ["110", '{"total": 110}', '{"input": 100}']


def _closed(url: str, questions: int = 2, *, turns: tuple[Turn, ...] = (), **options: object) -> list[str]:
    """The warnings of a system that is closed twice after some questions."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        system = assay.open_system(url, **_PRICES, **options)  # type: ignore[arg-type]
        for number in range(questions):
            answer = system.answer(Case(id=str(number), question="q", turns=turns))
            assert turns or answer.failure is None
        system.close()
        system.close()
    return [str(one.message) for one in caught]


@each("usage", [*_NO_TOKENS, *_TOTALS])
@each("kind", ["http", "another path", "denodo", "chat"])
def test_prices_of_no_use_are_told_once(kind: str, usage: str) -> None:
    wanted = "input and output" if usage in _TOTALS and kind != "another path" else "token counts"
    body = f'{{"sql_query": "SELECT 1 FROM t", "tokens": {usage}}}'
    options: dict[str, object] = {}
    url = "http:{}/ask"
    if kind == "denodo":
        url = "denodo:{}/answerDataQuestion"
    elif kind == "chat":
        body, url = f'{{{_CHOICES}, "usage": {usage}}}', "chat:{}/v1"
        options = {"parameters": {"model": "m"}, "turns": (Turn(question="q"), Turn(question="r"))}
    else:
        options = {"tokens_path": "tokens" if kind == "http" else "usage.tokens", "query_path": "sql_query"}
    with serving(body) as place:
        (message,) = _closed(url.format(place), **options)
    assert "prices are given" in message
    assert wanted in message
    assert ("--tokens-path" in message) is ("tokens_path" in options)


@pytest.mark.parametrize("function", ["_text", "_total_alone"])
def test_prices_of_no_use_to_a_callable_are_told(function: str) -> None:
    (message,) = _closed(f"python:{__name__}:{function}", questions=1)
    assert "the answer does not have" in message


def test_prices_that_serve_are_not_told() -> None:
    assert _closed(f"python:{__name__}:_priced") == []
    assert _closed(f"python:{__name__}:_text", questions=0) == []
    with serving('{"sql_query": "SELECT 1 FROM t", "tokens": {"input": 1, "total": 3}}') as place:
        assert _closed(f"denodo:{place}/answerDataQuestion") == []
