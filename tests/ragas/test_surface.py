"""What today's ragas offers of these metrics, by its names: called, set and read as there."""

from __future__ import annotations

import asyncio
import copy
import json
import math
import os
import pickle
import subprocess
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from tests.ragas import asked

from assay.errors import MissingDependency, UsageError
from assay.ragas import DataCompyScore, LLMSQLEquivalence, MetricResult, SingleTurnSample, SQLSemanticEquivalence
from assay.testing import ChatEmulator, judge_by, same_text
from assay.testing.judge import fenced_queries, verdict
from many_cases import each

PAIR = {"reference": "id,v\n1,a\n2,b\n", "response": "id,v\n1,a\n2,c\n3,d\n"}
BROKEN = {"reference": PAIR["reference"], "response": 'id\n"1'}


def test_the_newer_surface_gives_value_and_reason() -> None:
    metric = DataCompyScore(mode="rows", metric="f1")
    result = asyncio.run(metric.ascore(**PAIR))
    assert (result.value, result.reason) == (0.4, "Mode: rows, Precision: 0.3333, Recall: 0.5000")
    assert metric.score(**PAIR) == result == 0.4
    assert result.to_dict() == {"result": 0.4, "reason": result.reason}
    assert repr(result) == f"MetricResult(value=0.4, reason={result.reason!r})"
    assert result + 0.1 == 0.5
    assert json.dumps(result) == "0.4"
    assert (result.traces, metric.name) == (None, "data_compare_score")
    broken = metric.score(**BROKEN)
    assert math.isnan(broken.value)
    assert broken.reason == 'response: the text is not CSV: a quote (") is opened and never closed'


def test_batches_take_mappings_and_samples_and_keep_their_order() -> None:
    metric = DataCompyScore("rows", "recall")
    inputs = [PAIR, BROKEN, SingleTurnSample(**PAIR), {**PAIR, "user_input": "how many?"}, {"reference": "a\n1"}]
    for results in (metric.batch_score(inputs), asyncio.run(metric.abatch_score(inputs))):
        assert [result.value for result in results[::2][:2]] == [0.5, 0.5]
        assert [math.isnan(result) for result in results] == [False, True, False, False, True]
        assert all(isinstance(result, MetricResult) and result.reason for result in results)


def test_from_within_a_running_loop() -> None:
    async def notebook() -> list[float]:
        metric = DataCompyScore()
        return [metric.score(**PAIR), *metric.batch_score([PAIR]), (await metric.abatch_score([PAIR]))[0]]

    assert asyncio.run(notebook()) == [0.4, 0.4, 0.4]


def test_attributes_may_be_set_and_are_checked() -> None:
    metric = DataCompyScore()
    metric.mode, metric.metric, metric.name = "columns", "precision", "mine"
    assert metric.score(**PAIR) == 0.5
    for name, value in [("mode", "cells"), ("mode", None), ("mode", ["rows"]), ("metric", "accuracy"), ("metric", 1)]:
        with pytest.raises(ValueError, match=name) as raised:
            setattr(metric, name, value)
        assert isinstance(raised.value, UsageError)
        with pytest.raises(ValueError, match=name):
            DataCompyScore(**{name: value})
    assert (metric.mode, metric.metric, metric.name) == ("columns", "precision", "mine")
    with pytest.raises(AttributeError):
        metric.mod = "rows"  # type: ignore[attr-defined]


def test_metrics_and_results_are_copied_and_pickled() -> None:
    metric = DataCompyScore(mode="columns", join_columns=["id"], abs_tol={"default": 0.1})
    for twin in (copy.copy(metric), copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
        assert (twin.mode, twin.join_columns, twin.abs_tol) == ("columns", ("id",), {"default": 0.1})
    result = metric.score(**PAIR)
    twin = pickle.loads(pickle.dumps(result))
    assert (twin, twin.reason) == (result, result.reason)


@pytest.mark.parametrize("absent", [None, math.nan])
def test_an_absent_answer_is_nan_with_a_reason(absent: Any) -> None:
    result = DataCompyScore().score(reference="a\n1", response=absent)
    assert (math.isnan(result), result.reason) == (True, "the sample has no response")


@each("table", [5, b"a\n1", [1, 2], object()])
def test_what_is_no_table_is_one_samples_trouble(table: Any) -> None:
    good, bad = DataCompyScore().batch_score([{"reference": "a\n1", "response": answer} for answer in ("a\n1", table)])
    assert good == 1
    assert math.isnan(bad)
    assert bad.reason.startswith("response: ")


def test_a_score_that_says_less_than_it_seems_to_says_so() -> None:
    result = DataCompyScore().score(reference="a\n1\n", response="b\n2\n")
    assert result.value == 1.0
    assert "no column is shared ('a' and 'b'), so every paired row counts as equal" in result.reason
    empty = DataCompyScore().score(reference="a\n1\n", response="a\n")
    assert empty.reason == "Mode: rows, Precision: 0.0000, Recall: 0.0000; the response has no rows"


def test_samples_take_all_that_ragas_samples_take() -> None:
    sample = SingleTurnSample(user_input="q", rubrics={"a": "b"}, multi_responses=["x"], persona_name="p", **PAIR)
    assert DataCompyScore().single_turn_score(sample) == 0.4


class _Factory:
    """As the objects of ragas' `llm_factory`: asked with a class, they answer with an object of it."""

    model = "gpt-x"

    def __init__(self, *, is_async: bool) -> None:
        self.is_async = is_async

    def generate(self, prompt: str, response_model: Any) -> Any:
        assert not self.is_async
        return self._answer(prompt, response_model)

    async def agenerate(self, prompt: str, response_model: Any) -> Any:
        assert self.is_async
        await asyncio.sleep(0)
        return self._answer(prompt, response_model)

    def _answer(self, prompt: str, response_model: Any) -> Any:
        return response_model(**json.loads(verdict(same_text(*fenced_queries(prompt)))))


@pytest.mark.parametrize("is_async", [True, False])
def test_models_of_the_factory_judge_queries(is_async: bool) -> None:
    pytest.importorskip("pydantic")
    metric = SQLSemanticEquivalence(llm=_Factory(is_async=is_async))
    assert metric.name == "sql_semantic_equivalence"
    same, other = {"response": "SELECT 1", "reference": "select 1"}, {"response": "SELECT 2", "reference": "select 1"}
    result = asyncio.run(metric.ascore(**same, reference_contexts=["table t"]))
    assert (result.value, result.reason) == (1.0, "2 of 2 votes say equivalent")
    assert metric.score(**other).value == 0.0
    empty = {"response": " ", "reference": "select 1"}
    for results in (metric.batch_score([same, empty, other]), asyncio.run(metric.abatch_score([same, empty, other]))):
        assert [results[0], results[2]] == [1.0, 0.0]
        assert math.isnan(results[1])
        assert results[1].reason == "the sample's response is ' ': give the text of a query"
    assert pickle.loads(pickle.dumps(result)).to_dict() == {"result": 1.0, "reason": result.reason}


def test_a_single_empty_query_is_a_value_error_as_in_ragas() -> None:
    for metric in (SQLSemanticEquivalence(llm=_Factory(is_async=False)), LLMSQLEquivalence(_Factory(is_async=False))):
        with pytest.raises(ValueError, match="response is ''"):
            metric.score(response="", reference="SELECT 1")


ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif("ragas" in packages_distributions(), reason="ragas is installed here")
def test_without_ragas_the_import_says_so() -> None:
    with pytest.raises(MissingDependency, match="pip install ragas"):
        import assay.ragas.adapter  # noqa: F401


def test_evaluate_runs_ours_and_hands_its_model_on() -> None:
    python = asked.interpreter()
    if python is None or subprocess.run([python, "-c", "import msgspec, sqlglot"], check=False).returncode:
        pytest.skip("no interpreter has ragas 0.4.3 and what Assay needs: ASSAY_RAGAS_PYTHON may name one")
    with ChatEmulator(answers=judge_by(same_text)) as server:
        done = subprocess.run(
            [python, str(Path(__file__).with_name("in_ragas.py")), server.openai_url],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            check=False,
        )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    names = "data_compare_score(mode=rows)", "data_compare_score(mode=columns)"
    first, second, third = ([row[name] for name in names] for row in found["ours"])
    assert first == [0.5, 0.5]
    assert all(map(math.isnan, second))
    assert third == [1.0, 0.0]
    assert found["theirs"][0] == {names[0]: 0.5}
    assert math.isnan(found["theirs"][1][names[0]])
    assert found["logged"] == [
        'data_compare_score has no score: response: the text is not CSV: a quote (") is opened and never closed'
    ] * len(names)
    assert found["required"] == ["reference", "reference_contexts", "response"]
    for how in ("factory, sync", "factory, async", "langchain"):
        assert found[how] == [{"llm_sql_equivalence_with_reference": score} for score in (1.0, 0.0)], how
    assert found["collections, sync"] == [1.0, 0.0]
    assert [value for value, _ in found["collections, async"]] == [1.0, 0.0]
    assert found["collections, async"][0][1] == "2 of 2 votes say equivalent"
