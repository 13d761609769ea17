"""Questions without an answer, and predictions that decline or ask back, in every common spelling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.cases.from_records import read_cases, read_predictions
from assay.cases.records import document_table
from assay.errors import CaseFileError
from assay.model import Case, FieldNames, Prediction
from many_cases import each


def cases_of(*rows: dict[str, Any]) -> list[Case]:
    asked = [{"id": str(number), "question": f"q{number}", **row} for number, row in enumerate(rows)]
    return list(read_cases(document_table(Path("dev.json"), asked), FieldNames()))


def answers_of(*rows: dict[str, Any]) -> list[Prediction]:
    given = [{"id": str(number), **row} for number, row in enumerate(rows)]
    return list(read_predictions(document_table(Path("p.json"), given), FieldNames()).predictions)


@each(
    ("row", "expects"),
    [
        ({"sql": "SELECT 1"}, "answer"),
        ({"sql": None}, "answer"),
        ({"sql": "null"}, "decline"),
        ({"sql": " NULL ;"}, "decline"),
        ({"gold_sql": ["null"]}, "decline"),
        ({"sql": None, "answerable": False}, "decline"),
        ({"sql": "SELECT 1", "answerable": True}, "answer"),
        ({"sql": "", "Is Answerable": "no"}, "decline"),
        ({"sql": "null", "is_impossible": True}, "decline"),
        ({"sql": "SELECT 1", "is_impossible": "0"}, "answer"),
        ({"sql": None, "infeasible": 1}, "decline"),
        ({"sql": None, "expects": "abstain"}, "decline"),
        ({"sql": None, "expects": "clarify"}, "clarify"),
        ({"sql": None, "expects": "Clarification", "answerable": False}, "clarify"),
        ({"sql": "SELECT 1", "answerable": None}, "answer"),
    ],
)
def test_what_is_right_to_do_with_a_question(row: dict[str, Any], expects: str) -> None:
    (case,) = cases_of(row)
    assert case.expects == expects
    assert "null" not in [gold.strip(" ;").lower() for gold in case.golds]


@each(
    ("row", "said"),
    [
        ({"sql": "null", "answerable": True}, "says"),
        ({"sql": None, "answerable": True, "is_impossible": True}, "an answer or it has none"),
        ({"sql": None, "expects": "declin"}, 'did you mean "decline"?'),
        ({"sql": None, "answerable": "perhaps"}, "expected true or false"),
        ({"sql": None, "answerable": 2}, "expected true or false"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(row: dict[str, Any], said: str) -> None:
    with pytest.raises(CaseFileError) as caught:
        cases_of({"sql": "SELECT 1"}, row)
    assert "dev.json, item 2" in str(caught.value)
    assert said in str(caught.value)


@each(
    ("row", "given"),
    [
        ({"sql": "SELECT 1"}, "answer"),
        ({"sql": "SELECT NULL"}, "answer"),
        ({"sql": "SELECT 1", "decision": "answer"}, "answer"),
        ({"sql": "null"}, "decline"),
        ({"sql": "Null;\n"}, "decline"),
        ({"sql": None}, "nothing"),
        ({"sql": "  "}, "nothing"),
        ({"sql": None, "decision": "answer"}, "nothing"),
        ({"sql": None, "decision": "decline"}, "decline"),
        ({"sql": "SELECT 1", "decision": "Abstained"}, "decline"),
        ({"sql": "SELECT 1", "declined": True}, "decline"),
        ({"sql": "SELECT 1", "declined": False}, "answer"),
        ({"sql": None, "abstained": "yes"}, "decline"),
        ({"sql": None, "answerable": False}, "decline"),
        ({"sql": None, "decision": "ask back"}, "clarify"),
        ({"sql": None, "clarification": "Which year?"}, "clarify"),
        ({"sql": None, "clarification": ""}, "nothing"),
        ({"sql": "I cannot answer this question."}, "answer"),
    ],
)
def test_what_a_prediction_does_and_no_text_in_words_says_so(row: dict[str, Any], given: str) -> None:
    (answer,) = answers_of(row)
    assert answer.given == given
    assert (answer.failure is not None) == (given == "nothing")


@each(
    ("row", "said"),
    [
        ({"decision": "anwser"}, 'did you mean "answer"?'),
        ({"decision": 3}, "expected answer, decline or clarify"),
        ({"decision": "answer", "declined": True}, "a system does one of these"),
        ({"confidence": 87}, "87 percent is 0.87"),
        ({"confidence": -0.1}, "from 0 to 1"),
        ({"confidence": "high"}, "expected a number"),
        ({"confidence": True}, "expected a number"),
        ({"logprob": 0.5}, "0 or less"),
    ],
)
def test_a_prediction_that_cannot_be_read_is_named_with_its_place(row: dict[str, Any], said: str) -> None:
    with pytest.raises(CaseFileError) as caught:
        answers_of({"sql": "SELECT 1"}, {"sql": "SELECT 1", **row})
    assert "p.json, item 2" in str(caught.value)
    assert said in str(caught.value)


@each(
    ("row", "confidence"),
    [
        ({"confidence": 0.25}, 0.25),
        ({"confidence": "0.5"}, 0.5),
        ({"confidence": ""}, None),
        ({"confidence": None}, None),
        ({"logprob": 0}, 1.0),
        ({"log_probability": -0.6931471805599453}, 0.5),
        ({"latency_s": 1.0}, None),
    ],
)
def test_how_sure_a_prediction_is(row: dict[str, Any], confidence: float | None) -> None:
    (answer,) = answers_of({"sql": "SELECT 1", **row})
    assert answer.confidence == (None if confidence is None else pytest.approx(confidence))


def test_answerable_beside_the_question_is_said_of_the_question() -> None:
    row = {"id": "1", "question": "q", "gold_sql": None, "answerable": False, "predicted_sql": "SELECT 1"}
    table = document_table(Path("both.json"), [row])
    (case,) = read_cases(table, FieldNames())
    (answer,) = read_predictions(table, FieldNames()).predictions
    assert (case.expects, answer.given) == ("decline", "answer")


def test_columns_of_other_names_are_named() -> None:
    asked = {"id": "1", "question": "q", "sql": None, "answerable": True, "meta": {"kind": "infeasible"}}
    (case,) = read_cases(document_table(Path("dev.json"), [asked]), FieldNames(answerable="meta.kind"))
    assert case.expects == "decline"
    said = {"id": "1", "sql": "SELECT 1", "decision": "approve", "did": {"refuse": True}, "score": "0.5"}
    fields = FieldNames(decision="did.refuse", confidence="score")
    (answer,) = read_predictions(document_table(Path("p.json"), [said]), fields).predictions
    assert (answer.given, answer.confidence) == ("decline", 0.5)
    with pytest.raises(CaseFileError, match='did you mean "score"'):
        read_predictions(document_table(Path("p.json"), [said]), FieldNames(confidence="scores"))
    with pytest.raises(CaseFileError, match="expected true or false"):
        read_cases(document_table(Path("dev.json"), [asked | {"kind": "odd"}]), FieldNames(answerable="kind"))
