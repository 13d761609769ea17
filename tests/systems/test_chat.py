"""SDMX assistants by chat, over real HTTP: conversations, and the queries in their answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from answering import ask_all
from assay.errors import CaseFileError, SystemUnusable
from assay.model import Case, Failure, Prediction, Secret, TokenUsage, Turn
from assay.ports import ChatMessage
from assay.sdmx.answers.messages import find_query
from assay.systems.chat.system import ChatSystem
from assay.systems.options import SystemOptions
from assay.testing import ChatAnswer, ChatEmulator, Fault
from assay.testing.__main__ import main
from assay.testing.chat import read_answers
from many_cases import each

Quick = Callable[..., SystemOptions]

WEO = {
    "urn": "IMF.RES:WEO(1.0.0)",
    "filters": [{"component_code": "COUNTRY", "operator": "in", "values": ["MEX"]}],
    "metadata": {"country_dimension": "COUNTRY"},
}
CPI = {"urn": "IMF.STA:CPI", "filters": []}
DATA_URL = "https://sdmx.example/data/IMF.RES,WEO,1.0/MEX.LP.A?startPeriod=2015"
MEXICO, CANADA, CUBA = "And for Mexico?", "And for Canada?", "And for Cuba?"


def _json(query: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "application/json", "title": "Query", "data": json.dumps(query), **fields}


def _conversation(*questions: str) -> Case:
    return Case(id="c", question="\n".join(questions), turns=tuple(Turn(question=question) for question in questions))


def _answer(server: ChatEmulator, case: Case, options: SystemOptions) -> Prediction:
    system = ChatSystem.open(f"chat:{server.deployment_url()}", options)
    try:
        return system.answer(case)
    finally:
        system.close()


@pytest.mark.parametrize("streams", [False, True])
def test_a_conversation_sends_its_history_along_as_it_came(quick: Quick, streams: bool) -> None:
    def answers(messages: Any) -> ChatAnswer:
        number = len(messages)
        return ChatAnswer(
            content=f"Answer {number}.",
            attachments=(_json({**WEO, "number": number}), {"type": "image/png", "url": "files/a.png"}),
            state={"seen": number},
            usage={"prompt_tokens": number, "completion_tokens": 2},
        )

    with ChatEmulator(answers=answers, token="key-12345", streams=streams) as server:
        prediction = _answer(server, _conversation(MEXICO, CANADA, CUBA), quick(token=Secret("key-12345")))
        bodies = server.bodies
    assert [json.loads(turn.raw or "")["number"] for turn in prediction.turns] == [1, 3, 5]
    assert [turn.text for turn in prediction.turns] == ["Answer 1.", "Answer 3.", "Answer 5."]
    assert [turn.failure for turn in prediction.turns] == [None] * 3
    assert prediction.tokens == TokenUsage(input=9, output=6)
    assert prediction.timing_s("total_execution_time") == sum(turn.latency_s or 0 for turn in prediction.turns)
    assert (prediction.case_id, prediction.query, prediction.failure) == ("c", None, None)
    assert prediction.raw == "Answer 1.\n\nAnswer 3.\n\nAnswer 5."
    assert [len(body["messages"]) for body in bodies] == [1, 3, 5]
    assert bodies[2]["messages"][1] == {
        "role": "assistant",
        "content": "Answer 1.",
        "custom_content": {
            "attachments": [_json({**WEO, "number": 1}), {"type": "image/png", "url": "files/a.png"}],
            "state": {"seen": 1},
        },
    }


def test_the_emulator_refuses_a_history_without_its_state(quick: Quick) -> None:
    import httpx

    with ChatEmulator(answers={MEXICO: ChatAnswer(content="Well.", state=[1])}) as server:
        messages = [{"role": "user", "content": MEXICO}]
        first = httpx.post(server.deployment_url(), json={"messages": messages}).json()["choices"][0]["message"]
        follow = {"role": "user", "content": CUBA}
        whole = httpx.post(server.deployment_url(), json={"messages": [*messages, first, follow]})
        del first["custom_content"]
        lost = httpx.post(server.deployment_url(), json={"messages": [*messages, first, follow]})
    assert (whole.status_code, lost.status_code) == (200, 400)
    assert lost.json()["error"]["message"].startswith("messages.1 has lost its custom_content")


def test_the_cases_context_is_said_first(quick: Quick) -> None:
    case = Case(id="c", question=MEXICO, context="Prefer annual data.", turns=(Turn(question=MEXICO),))
    with ChatEmulator() as server:
        _answer(server, case, quick())
        assert server.bodies[0]["messages"] == [
            {"role": "system", "content": "Prefer annual data."},
            {"role": "user", "content": MEXICO},
        ]


def test_words_alone_selected_nothing_and_are_no_failure(quick: Quick) -> None:
    answers = {MEXICO: "I only know about statistics.", CANADA: ChatAnswer(content=None, refusal="No.")}
    with ChatEmulator(answers=answers) as server:
        prediction = _answer(server, _conversation(MEXICO, CANADA), quick())
    assert [(turn.raw, turn.text, turn.failure) for turn in prediction.turns] == [
        (None, "I only know about statistics.", None),
        (None, "No.", None),
    ]
    assert prediction.failure is None


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        (ChatAnswer(content="I would like to", finish_reason="length"), "unreadable_answer", "truncated at its length"),
        (ChatAnswer(content="", finish_reason="content_filter"), "unanswered", "(finish_reason content_filter)"),
        (
            ChatAnswer(
                content="See there.", attachments=({"type": "application/json", "url": "http://other/q?sig=1"},)
            ),
            "unreadable_answer",
            "in the attachment 'http://other/q' on another server: it was not fetched",
        ),
    ],
    ids=["length", "nothing", "elsewhere"],
)
def test_an_answer_that_cannot_be_read_does_not_end_the_conversation(
    quick: Quick, given: ChatAnswer, kind: str, message: str
) -> None:
    with ChatEmulator(answers={MEXICO: given, CANADA: ChatAnswer(attachments=(_json(CPI),))}) as server:
        prediction = _answer(server, _conversation(MEXICO, CANADA), quick())
    first, second = prediction.turns
    assert first.raw is None
    assert first.failure.kind == kind
    assert message in first.failure.message
    assert (second.raw, second.failure) == (json.dumps(CPI), None)
    assert prediction.failure is None


def test_a_question_that_fails_ends_its_conversation(quick: Quick) -> None:
    fault = Fault(kind="error", question=CANADA, message="out of order")
    with ChatEmulator(answers={MEXICO: ChatAnswer(attachments=(_json(WEO),))}, faults=[fault]) as server:
        prediction = _answer(server, _conversation(MEXICO, CANADA, CUBA), quick())
        assert (server.asked[CANADA], server.asked[CUBA]) == (3, 0)
    first, second, third = prediction.turns
    assert (first.raw, first.failure) == (json.dumps(WEO), None)
    assert second.failure == prediction.failure
    assert second.failure.kind == "ask_failed"
    assert "out of order" in second.failure.message
    assert third.failure.kind == "ask_failed"
    assert third.failure.message.startswith("not asked, since the earlier question 2 failed: the server answers 500")
    assert prediction.timing_s("total_execution_time") == first.latency_s


def test_credentials_that_expire_end_the_run(quick: Quick) -> None:
    fault = Fault(kind="unauthorised", question=CANADA)
    with (
        ChatEmulator(faults=[fault]) as server,
        pytest.raises(SystemUnusable, match="no longer accepts the credentials"),
    ):
        _answer(server, _conversation(MEXICO, CANADA), quick(token=Secret("key-12345")))


def test_files_of_the_same_server_are_fetched_with_the_same_key(quick: Quick) -> None:
    attachments = (
        {"type": "application/json", "title": "q", "url": "files/bucket/q%201.json"},
        {"type": "application/json; charset=utf-8", "title": "no query", "data": '{"rows": 5}'},
    )
    files = {"files/bucket/q%201.json": b"\xef\xbb\xbf" + json.dumps(WEO).encode()}
    answers = {MEXICO: ChatAnswer(attachments=attachments)}
    with ChatEmulator(answers=answers, files=files, token="key-12345") as server:
        prediction = _answer(server, _conversation(MEXICO), quick(token=Secret("key-12345")))
        assert [call.path for call in server.calls] == [
            "/openai/deployments/assistant/chat/completions",
            "/v1/files/bucket/q%201.json",
        ]
        assert prediction.turns[0].raw == json.dumps(WEO)
        server.files.clear()
        failed = _answer(server, _conversation(MEXICO, CANADA), quick(token=Secret("key-12345")))
    assert [turn.failure.kind for turn in failed.turns if turn.failure] == ["ask_failed"] * 2
    assert "'files/bucket/q%201.json' cannot be fetched: the server answers 404: No such file" in failed.failure.message


@each("url", ["{other}/f.json", "//{place}/f.json", "{ours}/f.json", "file:///f.json", "http://["])
def test_no_key_goes_to_another_server(quick: Quick, url: str) -> None:
    answers: dict[str, ChatAnswer | str] = {}
    with ChatEmulator() as other, ChatEmulator(answers=answers, token="key-12345") as server:
        ours = server.base_url.replace("://", "://user@")
        place = other.base_url.removeprefix("http:").strip("/")
        url = url.format(other=other.base_url, place=place, ours=ours)
        answers[MEXICO] = ChatAnswer(attachments=({"type": "application/json", "url": url},))
        (turn,) = _answer(server, _conversation(MEXICO), quick(token=Secret("key-12345"))).turns
        assert (len(server.calls), other.calls) == (1, ())
    assert turn.failure.kind == "unreadable_answer"


def test_a_secret_that_a_server_sends_back_is_masked(quick: Quick) -> None:
    query = {**WEO, "note": "key-12345"}
    with ChatEmulator(answers={MEXICO: ChatAnswer(content="key-12345", attachments=(_json(query),))}) as server:
        prediction = _answer(server, _conversation(MEXICO), quick(token=Secret("key-12345")))
    assert "key-12345" not in repr(prediction)
    assert json.loads(prediction.turns[0].raw or "")["note"] == "***"


def test_a_question_for_sql_about_no_database_says_what_is_missing(quick: Quick, case: Case) -> None:
    with ChatEmulator() as server:
        with pytest.raises(SystemUnusable, match="shows the database, but none is known"):
            _answer(server, case, quick())
        assert server.calls == ()


def test_several_conversations_are_held_at_once(quick: Quick, answers_when_waiting: Callable[..., None]) -> None:
    cases = [_conversation(f"{number}?", CANADA) for number in range(12)]
    cases = [Case(id=str(number), question=case.question, turns=case.turns) for number, case in enumerate(cases)]

    def answers(messages: Any) -> ChatAnswer:
        return ChatAnswer(content=messages[0]["content"], state={"first": messages[0]["content"]})

    found: list[Prediction] = []
    slow = Fault(kind="slow", seconds=600)
    with ChatEmulator(answers=answers, faults=[slow]) as server:
        system = ChatSystem.open(f"chat:{server.openai_url}", quick(parameters=(("model", "big"),)))
        answers_when_waiting(server, 4)
        ask_all(system, cases, concurrency=4, on_answer=found.append)
        system.close()
        assert server.peak_concurrency == 4
    assert {one.case_id: [turn.text for turn in one.turns] for one in found} == {
        str(number): [f"{number}?"] * 2 for number in range(12)
    }


# Where the query is


def _found(content: str = "", *attachments: Any) -> str | Failure | None:
    custom = {"attachments": list(attachments)} if attachments else None
    message = ChatMessage(role="assistant", content=content, custom_content=custom)
    return find_query(message.content, message.custom_content, lambda url: None)


def _fenced(query: Any) -> str:
    return f"The query:\n```json\n{json.dumps(query)}\n```\nThat is all."


def test_json_attachments_come_first_and_several_make_a_list() -> None:
    assert _found(_fenced(CPI), _json(WEO)) == json.dumps(WEO)
    assert json.loads(str(_found("", _json(WEO), _json({"rows": 1}), _json(CPI)))) == [WEO, CPI]
    assert json.loads(str(_found("", _json([WEO, CPI])))) == [WEO, CPI]
    assert json.loads(str(_found("", {"type": "Application/JSON", "data": WEO}))) == WEO


def test_a_query_attached_as_broken_json_is_left_to_its_reader() -> None:
    broken = json.dumps(WEO)[:-1]
    assert _found("", {"type": "application/json", "data": broken}) == broken
    both = _found("", _json(CPI), {"type": "application/json", "data": broken})
    assert isinstance(both, str)
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(both)


def test_the_older_form_is_a_fence_in_a_markdown_attachment() -> None:
    older = {"urn": "IMF.RES:WEO", "filters": [{"componentCode": "COUNTRY", "operator": "in", "values": "MEX,CAN"}]}
    assert json.loads(str(_found("See attached.", {"type": "text/markdown", "data": _fenced(older)}))) == older
    assert json.loads(str(_found("See attached.", {"data": _fenced(older)}))) == older
    assert _found("See attached.", {"type": "text/html", "data": _fenced(older)}) is None


@each(
    ("content", "query"),
    [
        (_fenced(WEO), json.dumps(WEO)),
        (json.dumps(WEO), json.dumps(WEO)),
        (f"Here {{it}} is: {json.dumps(WEO)}, as asked {{.", json.dumps(WEO)),
        (f"Ask {DATA_URL}.", DATA_URL),
        (f"Ask [here]({DATA_URL}), or <{DATA_URL}>.", DATA_URL),
        (f"```\n{DATA_URL}\n```", DATA_URL),
        ("https://h/rest/data/IMF.RES,WEO,1.0/MEX..", "https://h/rest/data/IMF.RES,WEO,1.0/MEX.."),
        ("Ask https://h/rest/data/IMF.RES,WEO,1.0/MEX.LP.", "https://h/rest/data/IMF.RES,WEO,1.0/MEX.LP"),
        (
            "`https://h/3.0/data/dataflow/IMF.RES/WEO/1.0/MEX.*?c[TIME_PERIOD]=ge:2015+le:2020`",
            "https://h/3.0/data/dataflow/IMF.RES/WEO/1.0/MEX.*?c[TIME_PERIOD]=ge:2015+le:2020",
        ),
        ("https://h/data/A,B/X https://h/data/C,D/Y", '["https://h/data/A,B/X",\n"https://h/data/C,D/Y"]'),
        ('The keys are "urn" and "filters".', None),
        ("See https://h/about/metadata.", None),
        ("```sql\nSELECT 1\n```", None),
        ('{"urn": 1, "filters": ' + "[" * 100_000, '{"urn": 1, "filters": ' + "[" * 100_000),
        ("Ask {'urn': 'A:B', 'filters': []}", "Ask {'urn': 'A:B', 'filters': []}"),
        ('"urn" "filters"' + "{" * 200_000, None),
        ("", None),
    ],
)
def test_a_query_in_the_words_themselves_is_found(content: str, query: str | None) -> None:
    assert _found(content) == query


@pytest.mark.parametrize("custom", [{"attachments": None}, {"attachments": [5, None, {}]}, {"attachments": {"a": 1}}])
def test_attachments_of_no_known_shape_select_nothing(custom: Any) -> None:
    message = ChatMessage(role="assistant", content="Well.", custom_content=custom)
    assert find_query(message.content, message.custom_content, lambda url: None) is None


# The emulator from a file, as `python -m assay.testing --chat FILE` starts it


def test_the_emulator_reads_its_answers_from_a_file(quick: Quick, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    lines = [{"question": MEXICO, "content": "Here.", "queries": [WEO, CPI], "state": {"a": 1}}, {"question": CANADA}]
    file.write_text("\n\n".join(map(json.dumps, lines)), encoding="utf-8")
    with ChatEmulator(answers=read_answers(file)) as server:
        mexico, canada = _answer(server, _conversation(MEXICO, CANADA), quick()).turns
    assert (mexico.text, json.loads(mexico.raw or "")) == ("Here.", [WEO, CPI])
    assert canada.failure.kind == "unanswered"


@each("line", ["[", "5", '{"content": "a"}', '{"question": "a", "contents": "b"}'])
def test_answers_that_cannot_be_read_name_their_line(tmp_path: Path, line: str) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(f'{{"question": "a"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(CaseFileError, match=r"answers\.jsonl, line 2: is not an answer"):
        read_answers(file)
    assert main(["--chat", str(file)]) == 2
