"""What today's assistants send, logged or live: tools' results, messages with attachments, words."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.sdmx.built import query_of, span

import assay
from assay.model import Case, DatasetSelection, Failure, Selection, Term, Turn
from assay.ports import ChatMessage
from assay.sdmx.answers.messages import find_query
from assay.sdmx.answers.parser import answer_notes, read_answer

STRUCTURED = {
    "datasetUrn": "IMF.RES:WEO(9.0.0)",
    "executed": False,
    "filters": [
        {
            "dimensionId": "COUNTRY",
            "dimensionName": "Country",
            "operator": "in",
            "values": [{"id": "MEX", "name": "Mexico"}, {"id": "NOR", "name": None}],
            "isIndicator": False,
        },
        {
            "dimensionId": "INDICATOR",
            "operator": "in",
            "values": [{"id": "LP", "name": "Population"}],
            "isDefault": True,
        },
    ],
    "requestedPeriod": {"startPeriod": "2015", "endPeriod": "2020", "isDefault": False},
    "seriesCount": 2,
}
APP = {
    "urn": "IMF.RES:WEO(9.0.0)",
    "filters": [
        {"componentCode": "COUNTRY", "operator": "in", "values": ["MEX", "NOR"]},
        {"componentCode": "INDICATOR", "operator": "in", "values": ["LP"]},
        {"componentCode": "TIME_PERIOD", "operator": "between", "values": ["2015", "2020"]},
    ],
    "metadata": {"countryDimension": "COUNTRY", "keyDimensionIdsInDsdOrder": None},
    "disabled": True,
    "queryId": None,
}
META = {"statgpt.example/mcp-app": {"version": 3, "queries": [APP]}}
WORDS = [{"type": "text", "text": "Here is the population of Mexico and Norway."}]


def wanted(*, named: bool) -> Selection:
    countries = [Term(id="MEX", name="Mexico" if named else None), "NOR"]
    indicators = [Term(id="LP", name="Population" if named else None)]
    return Selection(
        datasets=(query_of("IMF.RES:WEO(9.0.0)", time=[span(2015, 2020)], COUNTRY=countries, INDICATOR=indicators),)
    )


STRUCTURED_FORMS: dict[str, Any] = {
    "structured content": {"status": "data_available", "queries": [STRUCTURED]},
    "result": {"content": WORDS, "structuredContent": {"status": "x", "queries": [STRUCTURED]}, "_meta": META},
    "response": {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {"content": WORDS, "structuredContent": {"queries": [STRUCTURED]}},
    },
    "query": STRUCTURED,
}
APP_FORMS: dict[str, Any] = {
    "meta": {"content": WORDS, "_meta": META, "isError": False},
    "meta, null": {"structuredContent": None, "_meta": META},
    "bare": {"queries": [APP]},
    "text": {"content": [{"type": "text", "text": json.dumps({"queries": [APP]})}]},
}
ATTACHED = {"type": "application/json", "title": "Query", "data": json.dumps(APP)}
OLDER = {"type": "text/markdown", "data": f"```json\n{json.dumps(APP)}\n```"}
MESSAGES: dict[str, Any] = {
    "attachment": {"role": "assistant", "content": "See there.", "custom_content": {"attachments": [ATTACHED]}},
    "older": {"content": "See there.", "custom_content": {"attachments": [OLDER], "state": {}}},
    "result attached": {
        "role": "assistant",
        "content": "See there.",
        "custom_content": {"attachments": [{**ATTACHED, "data": json.dumps({"_meta": META})}]},
    },
    "words": {"role": "assistant", "content": f"I asked {json.dumps(APP)} for you."},
    "parts": {"role": "assistant", "content": [{"type": "text", "text": json.dumps(APP)}]},
}


@pytest.mark.parametrize("form", STRUCTURED_FORMS)
def test_a_tools_result_is_read_with_its_names(form: str) -> None:
    assert read_answer(json.dumps(STRUCTURED_FORMS[form]), None) == wanted(named=True)


@pytest.mark.parametrize("form", APP_FORMS)
def test_a_tools_result_for_its_page_is_read(form: str) -> None:
    assert read_answer(json.dumps(APP_FORMS[form]), None) == wanted(named=False)


@pytest.mark.parametrize("form", MESSAGES)
def test_a_logged_message_is_read_as_the_live_one_is(form: str) -> None:
    message = MESSAGES[form]
    assert read_answer(json.dumps(message), None) == wanted(named=False)
    assert read_answer(json.dumps({"choices": [{"index": 0, "message": message}]}), None) == wanted(named=False)
    logged = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "Which?"}, message]
    if message.get("role") == "assistant":
        assert read_answer(json.dumps(logged), None) == wanted(named=False)
    if isinstance(message["content"], str):
        live = ChatMessage(role="assistant", content=message["content"], custom_content=message.get("custom_content"))
        raw = find_query(live.content, live.custom_content, lambda _: None)
        assert isinstance(raw, str)
        assert read_answer(raw, None) == wanted(named=False)


def test_several_queries_of_a_result_are_all_read() -> None:
    other = {**STRUCTURED, "datasetUrn": "IMF.STA:CPI", "requestedPeriod": None, "filters": None}
    both = read_answer(json.dumps({"queries": [STRUCTURED, other]}), None)
    assert isinstance(both, Selection)
    assert both.datasets == (*wanted(named=True).datasets, DatasetSelection(dataset="IMF.STA:CPI"))


@pytest.mark.parametrize(
    "value",
    [
        {"structuredContent": {"status": "missing_dimensions", "missingDimensions": [{"id": "COUNTRY"}]}},
        {"status": "several_datasets", "candidateDatasets": [], "queries": []},
        {"missingDimensions": ["COUNTRY"]},
        {"content": WORDS},
        {"role": "assistant", "content": "I only know statistics."},
        {"role": "assistant", "content": None, "custom_content": {"attachments": [{"type": "image/png", "url": "x"}]}},
        {"role": "assistant", "content": "?", "custom_content": {"attachments": [{**ATTACHED, "data": '{"rows": 3}'}]}},
        "I only know statistics.",
        "See https://example.org/about [1].",
        "42",
        "null",
        '"None of it."',
        "\ud800",
    ],
)
def test_words_alone_and_asking_back_select_nothing(value: Any) -> None:
    raw = value if isinstance(value, str) else json.dumps(value)
    assert read_answer(raw, None) == Selection()


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"isError": True, "content": [{"type": "text", "text": "no such tool"}]}, "'no such tool'"),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "timed out"}}, "'timed out'"),
        ({"queries": 5}, "at queries: contains the text '5'"),
        (
            {"queries": [{"datasetUrn": "A:B", "filters": [{"values": []}]}]},
            "at queries[0].filters[0]: the name of its dim",
        ),
        ({"queries": [{**STRUCTURED, "requestedPeriod": 2015}]}, "at queries[0].requestedPeriod: contains"),
        ({"choices": []}, "at choices"),
        ({"role": "assistant", "content": {}}, "at content"),
        ({"content": "x", "custom_content": []}, "at custom_content"),
        (
            {"content": "x", "custom_content": {"attachments": [{**ATTACHED, "data": "<html>"}]}},
            "'Query' is declared as JSON",
        ),
        ({"content": "x", "custom_content": {"attachments": [{**ATTACHED, "data": json.dumps(APP)[:-9]}]}}, "not JSON"),
        (
            {"content": "x", "custom_content": {"attachments": [{"type": "application/json", "url": "files/q.json"}]}},
            "may be in the attachment 'files/q.json'",
        ),
    ],
)
def test_what_cannot_be_read_is_said_and_is_not_nothing(value: Any, says: str) -> None:
    failure = read_answer(json.dumps(value), None)
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.blame) == ("unreadable_answer", "system")
    assert says in failure.message


@pytest.mark.parametrize("seed", range(8))
def test_damaged_messages_are_read_or_said(seed: int) -> None:
    chance = random.Random(seed)
    odd = (None, 1, 1.5, True, "", "x", [], {}, [None], {"id": 3}, [[]], "{", json.dumps(APP)[:40])

    def damaged(value: Any) -> Any:
        if chance.random() < 0.05:
            return chance.choice(odd)
        if isinstance(value, dict):
            return {key: damaged(one) for key, one in value.items() if chance.random() > 0.03}
        return [damaged(one) for one in value] if isinstance(value, list) else value

    forms = [*STRUCTURED_FORMS.values(), *APP_FORMS.values(), *MESSAGES.values()]
    for _ in range(200):
        value = damaged(chance.choice(forms))
        assert isinstance(read_answer(json.dumps(value), None), Selection | Failure)
        if isinstance(value, dict):
            content, custom = value.get("content"), value.get("custom_content")
            if isinstance(content, str) and isinstance(custom, dict | None):
                found = find_query(content, custom, lambda _: None)
                assert isinstance(found, str | Failure | None)


def test_files_hold_messages_and_results_in_every_layout(tmp_path: Path) -> None:
    cases = [
        Case(id=str(number), question="?", turns=(Turn(question="?", targets=(wanted(named=False),)),))
        for number in range(5)
    ]
    lines = [
        {"id": "0", "answer": MESSAGES["attachment"]},
        {"id": "1", **MESSAGES["attachment"]},
        {"id": "2", "messages": [{"role": "user", "content": "?"}, MESSAGES["older"] | {"role": "assistant"}]},
        {"id": "3", **APP_FORMS["meta"]},
        {"id": "4", "turns": [MESSAGES["result attached"]]},
    ]
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    run = assay.evaluate_selections(cases, path)
    assert {one.case.id: one.outcome for one in run.evidence} == dict.fromkeys("01234", "correct")


def test_words_are_noted_in_the_verdict() -> None:
    target = Selection()
    case = Case(id="one", question="?", turns=(Turn(question="?", targets=(target,)),))
    (evidence,) = assay.evaluate_selections([case], {"one": "I only know statistics."}).evidence
    assert evidence.outcome == "correct"
    assert "the answer has only words, which select nothing: 'I only know statistics.'" in evidence.verdict.reason
    assert answer_notes(json.dumps(STRUCTURED)) == ()


def said(*attachments: dict[str, Any], words: str = "See there.") -> dict[str, Any]:
    return {"role": "assistant", "content": words, "custom_content": {"attachments": list(attachments)}}


@pytest.mark.parametrize(
    "message",
    [
        said({**ATTACHED, "data": json.dumps(json.dumps(APP))}),
        said({"data": json.dumps(APP)}),
        said({"type": "text/markdown", "data": json.dumps(APP)}),
        said({"type": "text/markdown", "data": f"Asked:\n```\n{json.dumps(APP)}\n```"}, {"data": "Words."}),
        {"role": "assistant", "content": "", "customContent": {"attachments": [ATTACHED]}},
        {"content": WORDS, "structured_content": {"queries": [APP]}, "meta": None, "is_error": False},
        {"content": WORDS, "structured_content": None, "meta": META, "is_error": False},
    ],
    ids=["JSON twice", "no type", "bare JSON", "fence", "camel case", "snake case", "snake case, meta"],
)
def test_messages_and_results_are_read_as_libraries_write_them(message: dict[str, Any], tmp_path: Path) -> None:
    assert read_answer(json.dumps(message), None) == wanted(named=False)
    case = Case(id="one", question="?", turns=(Turn(question="?", targets=(wanted(named=False),)),))
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps({"id": "one", **message}))
    assert assay.evaluate_selections([case], path).evidence[0].outcome == "correct"


def test_an_attachment_that_cannot_be_read_is_said() -> None:
    for attachment, says in (
        ({"type": "application/json", "title": "Query"}, "the attachment 'Query' is declared as JSON but has neither"),
        ({**ATTACHED, "data": json.dumps('{"urn"')}, "the attachment 'Query' is declared as JSON but is not"),
        ({**ATTACHED, "data": ""}, "the attachment 'Query' is declared as JSON but is not"),
    ):
        read = read_answer(json.dumps(said(attachment)), None)
        assert isinstance(read, Failure)
        assert says in read.message
    failed = read_answer('{"content": [{"type": "text", "text": "boom"}], "is_error": true}', None)
    assert isinstance(failed, Failure)
    assert "boom" in failed.message


TOOL = [
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function"}]},
    {"role": "tool", "content": "3 series", "tool_call_id": "1"},
]


def asks(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([said(ATTACHED)], [said(ATTACHED)]),
        ([*TOOL, said(ATTACHED)], [*TOOL, *TOOL, said(ATTACHED)]),
        ([said(words="Let me look."), said(ATTACHED)], [said(ATTACHED), said(words="Anything else?")]),
    ],
    ids=["plain", "tools", "words around"],
)
def test_each_question_of_a_logged_conversation_has_one_answer(
    first: list[dict[str, Any]], second: list[dict[str, Any]], tmp_path: Path
) -> None:
    logged = [{"role": "system", "content": "Be kind."}, asks("a"), *first, asks("b"), *second]
    turn = Turn(question="?", targets=(wanted(named=False),))
    cases = [Case(id="two", question="?", turns=(turn, turn)), Case(id="one", question="?", turns=(turn,))]
    path = tmp_path / "answers.jsonl"
    records = [{"id": "two", "messages": logged}, {"id": "one", "answer": {"messages": logged}}]
    path.write_text("\n".join(map(json.dumps, records)))
    assert [one.outcome for one in assay.evaluate_selections(cases, path).evidence] == ["correct", "correct"]


def test_a_conversation_without_an_answer_is_said() -> None:
    read = read_answer(json.dumps({"messages": [asks("a")]}), None)
    assert isinstance(read, Failure)
    assert "without an assistant's answer" in read.message


@pytest.mark.parametrize("words", ["I only know statistics.", ""])
def test_a_message_without_a_query_is_noted_in_the_verdict(words: str) -> None:
    case = Case(id="one", question="?", turns=(Turn(question="?", targets=(wanted(named=False),)),))
    (evidence,) = assay.evaluate_selections([case], {"one": said(words=words)}).evidence
    assert evidence.outcome == "incorrect"
    assert "neither the message's attachments nor its text have a query" in evidence.verdict.reason
    assert (words in evidence.verdict.reason) is True


@pytest.mark.parametrize(
    ("logged", "outcomes"),
    [
        ([asks("a"), asks("b"), said(ATTACHED)], [False, True]),
        ([asks("a"), said(ATTACHED), asks("b")], [True, False]),
        ([said(words="Welcome!"), asks("a"), said(ATTACHED), asks("b"), said(ATTACHED)], [True, True]),
        ([said(words="Welcome!"), asks("a"), asks("b")], [False, False]),
        ([said(ATTACHED), said(ATTACHED)], [True, True]),
        ([asks("I am in Oslo."), asks("a"), said(ATTACHED), asks("b"), said(ATTACHED)], [True, True]),
    ],
    ids=["first unanswered", "last unanswered", "greeting", "greeting alone", "answers alone", "more said"],
)
def test_an_answer_of_a_logged_conversation_stays_with_its_question(
    logged: list[dict[str, Any]], outcomes: list[bool], tmp_path: Path
) -> None:
    turn = Turn(question="?", targets=(wanted(named=False),))
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps({"id": "one", "messages": logged}))
    (evidence,) = assay.evaluate_selections([Case(id="one", question="?", turns=(turn, turn))], path).evidence
    assert [one.score is not None and one.score.exact for one in evidence.turns] == outcomes
    assert evidence.outcome == ("correct" if all(outcomes) else "incorrect")
