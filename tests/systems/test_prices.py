"""Prices give the cost of each answer whose tokens are known, from every kind of system, and sums add up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.errors import InputError
from assay.model import Case, Prediction, TokenUsage
from assay.runs.aggregate.totals import usage_of
from text_server import serving

_PRICES = {"price_in": 2.0, "price_out": 8.0}


@pytest.mark.parametrize("usage", ['{"input": 1000, "output": 500}', '{"prompt_tokens": 1000, "total_tokens": 1500}'])
@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("http:{}/ask", {"tokens_path": "tokens", "query_path": "sql_query"}),
        ("denodo:{}/answerDataQuestion", {}),
    ],
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
def test_the_tokens_in_all_are_never_fewer_than_those_in_and_out(tokens: list[TokenUsage]) -> None:
    usage = usage_of([Prediction(case_id=str(n), query="q", tokens=one) for n, one in enumerate(tokens)])
    if usage is not None:
        assert (usage.total or 0) >= (usage.input or 0) + (usage.output or 0)
        assert usage.answers_with_total >= max(usage.answers_with_input, usage.answers_with_output)
