"""What the batch interfaces of model providers return, as predictions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import assay
from assay import registry
from assay.cases import load_predictions
from assay.errors import CaseFileError
from assay.model import Prediction, TokenUsage
from many_cases import each

QUERY = "SELECT 1"
CHAT = {"message": {"role": "assistant", "content": QUERY}}
CALL = {"function": {"name": "run_sql", "arguments": json.dumps({"query": QUERY})}, "type": "function", "id": "c"}
USAGE = {"prompt_tokens": 7, "completion_tokens": 3}
GEMINI = {"candidates": [{"content": {"role": "model", "parts": [{"text": QUERY}]}}]}


def openai(body: Any, status: int = 200) -> dict[str, Any]:
    return {"id": "batch_1", "custom_id": "a", "response": {"status_code": status, "body": body}, "error": None}


def anthropic(**result: Any) -> dict[str, Any]:
    return {"custom_id": "a", "result": result}


def read(folder: Path, *lines: dict[str, Any]) -> Sequence[Prediction]:
    path = folder / "output.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return load_predictions(path, formats=registry.case_formats()).predictions


@each(
    "line",
    [
        openai({"choices": [CHAT], "usage": USAGE}),
        openai(
            {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [CALL]}}], "usage": USAGE}
        ),
        openai(
            {
                "object": "response",
                "output": [
                    {"type": "reasoning", "summary": []},
                    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": QUERY}]},
                ],
                "usage": {"input_tokens": 7, "output_tokens": 3},
            }
        ),
        anthropic(
            type="succeeded",
            message={
                "type": "message",
                "role": "assistant",
                "content": [{"type": "text", "text": QUERY}],
                "usage": {"input_tokens": 7, "output_tokens": 3},
            },
        ),
        {"key": "a", "response": {**GEMINI, "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 3}}},
    ],
)
def test_a_response_is_the_prediction_of_its_request(line: dict[str, Any], tmp_path: Path) -> None:
    (prediction,) = read(tmp_path, line)
    assert (prediction.case_id, prediction.query, prediction.failure) == ("a", QUERY, None)
    assert prediction.tokens == TokenUsage(input=7, output=3)


@each(
    ("line", "said"),
    [
        (openai({"error": {"message": "the server had an error"}}, status=500), "the server had an error"),
        (openai({}, status=503), "the provider answered 503"),
        ({"custom_id": "a", "response": None, "error": {"code": "batch_expired", "message": "too late"}}, "too late"),
        ({"custom_id": "a", "response": None, "error": {"code": "batch_expired"}}, "batch_expired"),
        (anthropic(type="expired"), "the request is expired"),
        (anthropic(type="errored", error={"type": "error", "error": {"message": "bad request"}}), "bad request"),
        ({"key": "a", "error": {"code": 3, "message": "blocked"}}, "blocked"),
    ],
)
def test_a_failed_request_is_a_case_without_a_query(line: dict[str, Any], said: str, tmp_path: Path) -> None:
    (prediction,) = read(tmp_path, line)
    assert (prediction.case_id, prediction.query) == ("a", None)
    assert prediction.failure is not None
    assert (prediction.failure.kind, prediction.failure.blame) == ("unanswered", "system")
    assert said in prediction.failure.message


def test_several_choices_are_several_answers(tmp_path: Path) -> None:
    other = {"message": {"role": "assistant", "content": "SELECT 2"}}
    predictions = read(tmp_path, openai({"choices": [CHAT, other]}), {**openai({"choices": [CHAT]}), "custom_id": "b"})
    assert [(one.case_id, one.repeat, one.query) for one in predictions] == [
        ("a", 0, QUERY),
        ("a", 1, "SELECT 2"),
        ("b", 0, QUERY),
    ]


def test_a_batch_is_evaluated_without_options(tmp_path: Path) -> None:
    read(tmp_path, openai({"choices": [CHAT]}))
    cases = [{"id": "a", "question": "?", "gold_sql": QUERY}]
    run = assay.evaluate(cases, tmp_path / "output.jsonl", databases="sqlite:///:memory:", workers=1)
    assert [one.outcome for one in run.evidence] == ["correct"]
    assert not run.provenance.unread_columns


def test_a_table_with_such_columns_is_none(tmp_path: Path) -> None:
    (prediction,) = read(tmp_path, {"key": "a", "id": "a", "response": QUERY})
    assert prediction.query == QUERY
    with pytest.raises(CaseFileError, match="line 1"):
        read(tmp_path, {"response": {"body": {}}, "custom_id": None})
