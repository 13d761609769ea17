"""Chat models over real HTTP: what is sent, what is read, and what becomes of trouble."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic, process_time
from typing import Any

import pytest

from assay.errors import InputError, SystemUnusable
from assay.model import Failure, Secret, TokenUsage
from assay.ports import ChatMessage, ChatModel, Completion
from assay.systems.chat.model import HttpChatModel, chat_address
from assay.systems.options import SystemOptions
from assay.testing import ChatAnswer, ChatEmulator, Fault
from many_cases import each
from replying import replying

Quick = Callable[..., SystemOptions]
QUESTION = "How many clients are there?"
ASKED = (ChatMessage(role="user", content=QUESTION),)
SCHEMA = {
    "title": "A verdict!",
    "type": "object",
    "properties": {"equal": {"type": "boolean"}},
    "required": ["equal"],
    "additionalProperties": False,
}
MODEL = (("model", "big"),)


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "DIAL_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def _model(url: str, options: SystemOptions) -> Iterator[HttpChatModel]:
    model = HttpChatModel.open(f"chat:{url}", options)
    try:
        yield model
    finally:
        model.close()


def _ask(url: str, options: SystemOptions, **wanted: Any) -> Completion | Failure:
    with _model(url, options) as model:
        return model.complete(ASKED, **wanted)


def _completion(url: str, options: SystemOptions, **wanted: Any) -> Completion:
    answer = _ask(url, options, **wanted)
    assert isinstance(answer, Completion), answer
    return answer


def _failure(
    url: str, options: SystemOptions, *, kind: str = "ask_failed", blame: str = "system", **wanted: Any
) -> str:
    answer = _ask(url, options, **wanted)
    assert isinstance(answer, Failure), answer
    assert (answer.stage, answer.kind, answer.blame) == ("ask", kind, blame)
    return answer.message


@contextmanager
def _server(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Iterator[tuple[str, list[Any]]]:
    """A server of one answer, for what the emulator is too well-behaved to say."""
    with replying(lambda _: (status, body, headers or {})) as (url, seen):
        yield f"{url}/v1", seen


def _message(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", **fields}, "finish_reason": "stop"}]}


def _events(*chunks: Any, done: bool = True, end: str = "\n\n") -> bytes:
    texts = [chunk if isinstance(chunk, str) else json.dumps(chunk) for chunk in chunks]
    return "".join(f"data: {text}{end}" for text in [*texts, *(["[DONE]"] if done else [])]).encode()


def _delta(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta}]}


STREAM = {"Content-Type": "text/event-stream"}


# What is sent, and where


@each(
    ("url", "asked_at", "deployment"),
    [
        ("http://h/v1", "http://h/v1/chat/completions", None),
        ("http://h:81/v1/", "http://h:81/v1/chat/completions", None),
        ("https://h/v1/chat/completions", "https://h/v1/chat/completions", None),
        ("http://h/v1?tenant=a", "http://h/v1/chat/completions?tenant=a", None),
        (
            "http://h/dial/openai/deployments/stat%20gpt/chat/completions?api-version=2024-02-01",
            "http://h/dial/openai/deployments/stat%20gpt/chat/completions?api-version=2024-02-01",
            "stat gpt",
        ),
        ("http://h/openai/deployments/big", "http://h/openai/deployments/big/chat/completions", "big"),
    ],
)
@each("scheme", ["chat:", ""])
def test_an_address_in_any_of_its_forms_is_that_of_the_completions(
    scheme: str, url: str, asked_at: str, deployment: str | None
) -> None:
    place = chat_address(scheme + url, {})
    assert place.address.url.reveal() == asked_at
    assert (place.model, place.is_deployment) == (deployment, deployment is not None)


def test_a_model_alone_is_asked_of_the_environments_base_url() -> None:
    place = chat_address("chat:gpt-4.1", {"OPENAI_BASE_URL": "http://h:9/v1"})
    assert (place.model, place.address.url.reveal()) == ("gpt-4.1", "http://h:9/v1/chat/completions")
    assert chat_address("chat:gpt-4.1", {}).address.url.reveal() == "https://api.openai.com/v1/chat/completions"


@pytest.mark.parametrize("url", ["chat:localhost:8000/v1", "chat:10.0.0.1:80", "chat:llm.example.org:443/v1"])
def test_a_host_is_not_taken_for_a_model_of_openai(url: str) -> None:
    with pytest.raises(InputError, match="names a host, not a chat model: use chat:http://"):
        chat_address(url, {})
    for model in ("llama3.2:1b", "meta-llama/llama-3:free", "gpt-4.1"):
        assert chat_address(f"chat:{model}", {}).model == model


@each("url", ["chat:", "chat:two words", "chat:ftp://h/v1", "chat:http://", "chat:http://[::1/v1"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InputError, match=r"(does not name|has an invalid host|has no)"):
        chat_address(url, {})


def test_parameters_become_fields_and_a_calls_own_weigh_more(quick: Quick) -> None:
    parameters = (*MODEL, ("temperature", "1"), ("seed", "1"), ("max_completion_tokens", "9"), ("user", "me"))
    with ChatEmulator(answers={QUESTION: "Seven."}, model="big") as server:
        answer = _completion(server.openai_url, quick(parameters=parameters), temperature=0.0, max_tokens=5)
        (body,) = server.bodies
    assert answer.message == ChatMessage(role="assistant", content="Seven.")
    assert (answer.model, answer.finish_reason, answer.refusal) == ("big", "stop", None)
    assert answer.tokens == TokenUsage(input=5, output=1, total=6)
    assert answer.latency_s > 0
    assert body == {
        "model": "big",
        "messages": [{"role": "user", "content": QUESTION}],
        "temperature": 0.0,
        "seed": 1,
        "max_tokens": 5,
        "user": "me",
    }


def test_the_model_is_one_for_all_that_need_one(quick: Quick) -> None:
    with (
        ChatEmulator(answers={QUESTION: "Seven."}) as server,
        _model(server.openai_url, quick(parameters=MODEL)) as model,
    ):
        port: ChatModel = model
        assert port.name == "big"
        assert isinstance(port.complete(ASKED), Completion)


def test_models_that_are_named_twice_or_not_at_all_are_refused(quick: Quick) -> None:
    with pytest.raises(InputError, match="needs a model: set the parameter model=NAME"):
        HttpChatModel.open("chat:http://h/v1", quick())
    with pytest.raises(InputError, match="two models are named, 'small' and 'big'"):
        HttpChatModel.open("chat:small", quick(parameters=MODEL))
    with pytest.raises(InputError, match="'messages' cannot be set"):
        HttpChatModel.open("chat:small", quick(parameters=(("messages", "[]"),)))


def test_the_api_version_goes_into_the_query_string(quick: Quick) -> None:
    with _server(200, _message(content="x")) as (url, seen):
        deployment = url.removesuffix("/v1") + "/openai/deployments/big/chat/completions?api-version=old&a=b"
        _completion(deployment, quick(parameters=(("api-version", "2024-10-21"),), token=Secret("tok-12345")))
    path, headers, body = seen[0]
    assert path.endswith("?a=b&api-version=2024-10-21")
    assert headers["Api-Key"] == "tok-12345"
    assert "Authorization" not in headers
    assert list(body) == ["messages"]


@pytest.mark.parametrize("deployment", [True, False])
def test_keys_come_from_the_options_else_from_the_environment(
    quick: Quick, monkeypatch: pytest.MonkeyPatch, deployment: bool
) -> None:
    name, other = ("DIAL_API_KEY", "OPENAI_API_KEY") if deployment else ("OPENAI_API_KEY", "DIAL_API_KEY")
    monkeypatch.setenv(other, "other-key-1")
    with ChatEmulator(answers={QUESTION: "Seven."}, token="good-key-1") as server:
        url = server.deployment_url() if deployment else server.openai_url
        with pytest.raises(SystemUnusable, match=rf"asks for credentials.*ASSAY_TOKEN, or {name}"):
            _ask(url, quick(parameters=MODEL))
        monkeypatch.setenv(name, "good-key-1")
        assert _completion(url, quick(parameters=MODEL)).message.content == "Seven."
        with pytest.raises(SystemUnusable, match="refuses the credentials") as refused:
            _ask(url, quick(parameters=MODEL, token=Secret("wrong-key-1")))
    assert "wrong-key-1" not in str(refused.value)


def test_no_secret_is_described_or_logged_or_told_on(quick: Quick, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    parameters = (*MODEL, ("api_key", "key-98765"), ("max_tokens", "64"), ("metadata", '{"token": "tok-nested"}'))
    options = quick(parameters=parameters, token=Secret("tok-12345"))
    error = {"error": {"message": "bad key tok-12345 and key-98765 sig-12345"}}
    with _server(400, error) as (url, _), _model(url + "?sig=a&auth=sig-12345", options) as model:
        failure = model.complete(ASKED)
        described = model.describe()
    with _server(200, _message(content="tok-12345!", refusal="no tok-12345")) as (url, _):
        answer = _completion(url, options)
    assert isinstance(failure, Failure)
    assert (answer.message.content, answer.refusal) == ("***!", "no ***")
    for secret in ("tok-12345", "key-98765", "sig-12345", "tok-nested"):
        for text in (failure.message, described, caplog.text):
            assert secret not in text
    assert "max_tokens=64" in described
    assert "model=big" in described


# What the endpoint does not take


@pytest.mark.parametrize(
    ("formats", "sent", "notes"),
    [
        (("json_schema", "json_object"), ["json_schema"], 0),
        (("json_object",), ["json_schema", "json_object"], 1),
        ((), ["json_schema", "json_object", None], 1),
    ],
)
def test_structured_output_falls_back_once_for_all(
    quick: Quick, formats: tuple[str, ...], sent: list[str | None], notes: int
) -> None:
    server = ChatEmulator(answers={QUESTION: '{"equal": true}'}, response_formats=formats)
    with server, _model(server.openai_url, quick(parameters=MODEL)) as model:
        for _ in range(2):
            answer = model.complete(ASKED, json_schema=SCHEMA)
            assert isinstance(answer, Completion), answer
            assert json.loads(answer.message.content) == {"equal": True}
        bodies, told = server.bodies, model.notes
        assert isinstance(model.complete(ASKED), Completion)
        assert "response_format" not in server.bodies[-1]
    assert [(body.get("response_format") or {}).get("type") for body in bodies] == [*sent, sent[-1]]
    assert len(told) == notes
    first, last = bodies[0], bodies[-1]
    assert first["response_format"]["json_schema"] == {"name": "A_verdict_", "schema": SCHEMA, "strict": True}
    if notes:
        assert json.dumps(SCHEMA) in last["messages"][0]["content"]
        assert last["messages"][1:] == [{"role": "user", "content": QUESTION}]
    else:
        assert last["messages"] == [{"role": "user", "content": QUESTION}]


def test_a_system_message_of_the_callers_own_takes_the_schema_in(quick: Quick) -> None:
    with ChatEmulator(response_formats=()) as server, _model(server.openai_url, quick(parameters=MODEL)) as model:
        model.complete([ChatMessage(role="system", content="Be strict."), *ASKED], json_schema=SCHEMA)
        messages = server.bodies[-1]["messages"]
    assert [message["role"] for message in messages] == ["system", "user"]
    assert messages[0]["content"].startswith("Be strict.\n\nAnswer with one JSON object")


def test_a_schema_that_leaves_room_is_not_called_strict(quick: Quick) -> None:
    with ChatEmulator() as server:
        _completion(server.openai_url, quick(parameters=MODEL), json_schema={"type": "object", "properties": {}})
        assert "strict" not in server.bodies[0]["response_format"]["json_schema"]


def test_a_parameter_that_is_not_taken_is_renamed_or_left_out_and_noted(quick: Quick) -> None:
    refuses = {
        "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead.",
        "temperature": "Unsupported value: 'temperature' does not support 0 with this model. "
        "Only the default (1) value is supported.",
        "seed": "Extra inputs are not permitted",
    }
    server = ChatEmulator(refuses=refuses)
    with server, _model(server.openai_url, quick(parameters=MODEL)) as model:
        described = model.describe()
        for _ in range(2):
            assert isinstance(model.complete(ASKED, temperature=0, max_tokens=7, seed=1), Completion)
        assert model.describe() == described
        assert len(server.bodies) == 5
        assert server.bodies[-1] == server.bodies[-2]
        assert server.bodies[-1]["max_completion_tokens"] == 7
        assert not {"temperature", "max_tokens", "seed"} & set(server.bodies[-1])
    assert model.notes == (
        "the endpoint does not accept max_tokens: sent as max_completion_tokens",
        "the endpoint does not accept temperature: omitted",
        "the endpoint does not accept seed: omitted",
    )


def test_what_fastapi_says_of_an_unknown_field_is_understood(quick: Quick) -> None:
    detail = {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}
    with _server(422, detail) as (url, seen):
        assert "body.seed: Extra inputs" in _failure(url, quick(parameters=MODEL), kind="rejected", seed=1)
    assert [("seed" in body) for _, _, body in seen] == [True, False]


def test_a_value_out_of_range_is_not_quietly_left_out(quick: Quick) -> None:
    error = {
        "error": {"message": "max_tokens is too large: 999999. This model has at most 4096", "param": "max_tokens"}
    }
    with _server(400, error) as (url, seen):
        assert "too large: 999999" in _failure(url, quick(parameters=MODEL), kind="rejected", max_tokens=999999)
    assert len(seen) == 1


def test_many_threads_learn_it_together(quick: Quick) -> None:
    server = ChatEmulator(response_formats=(), refuses={"temperature": "temperature is not supported"})
    answers: list[Completion | Failure] = []
    with server, _model(server.openai_url, quick(parameters=MODEL)) as model:

        def ask() -> None:
            answers.append(model.complete(ASKED, temperature=0, json_schema=SCHEMA))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        before = len(server.bodies)
        ask()
        assert len(server.bodies) == before + 1
    assert [type(answer) for answer in answers] == [Completion] * 9
    assert len(model.notes) == 2


# What is read


def test_content_comes_in_parts_or_not_at_all(quick: Quick) -> None:
    parts = [{"type": "text", "text": "Seven"}, {"type": "image_url"}, {"type": "text", "text": " of them."}, 5]
    options = quick(parameters=MODEL)
    with ChatEmulator(answers={QUESTION: ChatAnswer(content=parts)}) as server:
        assert _completion(server.openai_url, options).message.content == "Seven of them."
    with ChatEmulator(answers={QUESTION: ChatAnswer(content=None)}) as server:
        assert _completion(server.openai_url, options).message.content == ""
    with _server(200, _message(content=[{"type": "refusal", "refusal": "I will not."}])) as (url, _):
        assert _completion(url, options).refusal == "I will not."


@each("streams", [False, True])
@each(
    "given",
    [
        ChatAnswer(content=None, refusal="I cannot help with that."),
        ChatAnswer(content="SELECT", finish_reason="length"),
        ChatAnswer(content="", finish_reason="content_filter"),
    ],
    ids=["refusal", "length", "content_filter"],
)
def test_refusals_and_cut_answers_are_the_callers_to_see(quick: Quick, given: ChatAnswer, streams: bool) -> None:
    with ChatEmulator(answers={QUESTION: given}, streams=streams) as server:
        answer = _completion(server.openai_url, quick(parameters=MODEL))
    assert (answer.message.content, answer.finish_reason, answer.refusal) == (
        given.content or "",
        given.finish_reason,
        given.refusal,
    )


@pytest.mark.parametrize("choice", [{}, {"message": None}])
def test_a_filtered_choice_may_have_no_message(choice: dict[str, Any], quick: Quick) -> None:
    with _server(200, {"choices": [{**choice, "index": 0, "finish_reason": "content_filter"}]}) as (url, _):
        answer = _completion(url, quick(parameters=MODEL))
    assert (answer.message.content, answer.finish_reason, answer.withheld) == ("", "content_filter", True)


def test_a_prompt_that_azures_filter_refuses_is_an_answer_that_says_so(quick: Quick) -> None:
    error = {"error": {"code": "content_filter", "message": "The response was filtered", "status": 400}}
    with _server(400, error) as (url, seen):
        answer = _completion(url, quick(parameters=MODEL), json_schema=SCHEMA)
    assert (answer.finish_reason, answer.refusal, len(seen)) == ("content_filter", "The response was filtered", 1)


@pytest.mark.parametrize("asked_for", [True, False])
def test_a_stream_is_put_together_whoever_wanted_it(quick: Quick, asked_for: bool) -> None:
    attachments = (
        {"type": "application/json", "title": "a", "data": json.dumps({"urn": "A:B", "filters": []})},
        {"type": "text/markdown", "title": "b", "url": "files/x.md"},
    )
    state = {"step": 2, "items": [{"index": 0, "x": "é"}]}
    given = ChatAnswer(content="Grüße, 7 clients.", attachments=attachments, state=state)
    parameters = (*MODEL, ("stream", "true")) if asked_for else MODEL
    with ChatEmulator(answers={QUESTION: given}, streams=not asked_for) as server:
        streamed = _completion(server.openai_url, quick(parameters=parameters))
        (body,) = server.bodies
    with ChatEmulator(answers={QUESTION: given}) as server:
        whole = _completion(server.openai_url, quick(parameters=MODEL))
    assert (body.get("stream"), body.get("stream_options")) == (
        (True, {"include_usage": True}) if asked_for else (None, None)
    )
    assert streamed.message == whole.message
    assert streamed.message.custom_content == {"attachments": list(attachments), "state": state}
    assert (streamed.tokens, streamed.finish_reason, streamed.model) == (whole.tokens, "stop", "big")


def test_streams_of_other_habits_are_read(quick: Quick) -> None:
    chunks = _events(
        {"choices": []},
        {"choices": [{"index": 1, "delta": {"content": "another"}}]},
        _delta(role="assistant", content=None),
        _delta(role="assistant", content="Se"),
        {"choices": [{"index": 0, "delta": {"content": "ven"}, "finish_reason": "stop"}], "usage": {"total_tokens": 3}},
        end="\r\n\r\n",
    )
    with _server(200, b": hello\r\n\r\n" + chunks) as (url, _):  # not even called a stream
        answer = _completion(url, quick(parameters=MODEL))
    assert (answer.message, answer.tokens) == (ChatMessage(role="assistant", content="Seven"), TokenUsage(total=3))


@each(
    ("content", "tries", "message"),
    [
        (_events(_delta(content="Se"), done=False), 3, "truncated: it ended without [DONE] (3 tries)"),
        (_events(_delta(content="Se"), '{"choices": [', done=False), 3, "truncated, or not JSON"),
        (_events(_delta(content="Se"), {"error": {"message": "worker died", "code": "500"}}), 3, "worker died"),
        (_events({"error": {"message": "too long", "code": "400"}}), 1, "returned an error: too long"),
        (_events({"error": {"message": "bad", "type": "invalid_request_error"}}), 1, "error: bad"),
        (_events("[1]"), 1, "is not an object"),
        (_events({"choices": []}), 1, "no choice with a message"),
        (b"", 1, "not JSON: it is empty"),
    ],
)
def test_streams_that_break_off(quick: Quick, content: bytes, tries: int, message: str) -> None:
    headers = STREAM if content else {}
    with _server(200, content, headers) as (url, seen):
        kind = "rejected" if "no choice" in message or "it is empty" in message else "ask_failed"
        assert message in _failure(url, quick(parameters=MODEL), kind=kind)
    assert len(seen) == tries


def test_a_long_stream_is_read_in_time_that_grows_with_its_length(quick: Quick) -> None:
    piece = json.dumps(_delta(content="word ", custom_content={"attachments": [{"index": 0, "data": "x" * 50}]}))
    with _server(200, _events(*[piece] * 50_000), STREAM) as (url, _):
        started = process_time()
        answer = _completion(url, quick(parameters=MODEL, timeout_s=120))
        assert process_time() - started < 60
    assert len(answer.message.content) == 250_000
    assert answer.message.custom_content == {"attachments": [{"data": "x" * 2_500_000}]}


@pytest.mark.parametrize("content", [b"[" * 100_000, _events('{"a":' * 900 + "1" + "}" * 900)])
def test_json_nested_too_deeply_is_a_failure(quick: Quick, content: bytes) -> None:
    with _server(200, content) as (url, _):
        assert isinstance(_ask(url, quick(parameters=MODEL, retries=0)), Failure)


def test_what_cannot_be_sent_is_a_failure(quick: Quick) -> None:
    with ChatEmulator() as server, _model(server.openai_url, quick(parameters=MODEL)) as model:
        odd = ChatMessage(role="assistant", content="", custom_content={"state": float("nan")})
        failure = model.complete([*ASKED, odd, *ASKED])
        half = model.complete([ChatMessage(role="user", content="\ud800")])
        assert len(server.calls) == 1
    assert isinstance(failure, Failure)
    assert "cannot be sent as JSON" in failure.message
    assert isinstance(half, Completion)


# Trouble


@each("streams", [False, True])
@each(
    ("fault", "asked"),
    [
        (Fault(kind="busy", retry_after="0", times=2), 3),
        (Fault(kind="error", times=2), 3),
        (Fault(kind="unavailable", status=503, retry_after="0", times=1), 2),
        (Fault(kind="unavailable", status=529, times=1), 2),
        (Fault(kind="dropped", times=1), 2),
        (Fault(kind="cut_off", times=1), 2),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else "",
)
def test_trouble_that_passes_is_waited_for(quick: Quick, fault: Fault, asked: int, streams: bool) -> None:
    with ChatEmulator(answers={QUESTION: "Seven."}, faults=[fault], streams=streams) as server:
        assert _completion(server.openai_url, quick(parameters=MODEL)).message.content == "Seven."
        assert server.asked[QUESTION] == asked


def test_retry_after_is_waited_for_and_not_part_of_the_latency(quick: Quick) -> None:
    fault = Fault(kind="busy", retry_after="1", times=1)
    with ChatEmulator(answers={QUESTION: "Seven."}, faults=[fault]) as server:
        started = monotonic()
        answer = _completion(server.openai_url, quick(parameters=MODEL))
        took = monotonic() - started
    assert took >= 1
    assert answer.latency_s <= took - 1


@each(
    ("fault", "message"),
    [
        (Fault(kind="busy"), "answers 429: Rate limit reached (3 tries)"),
        (Fault(kind="error", message="it broke"), "answers 500: it broke (3 tries)"),
        (Fault(kind="malformed"), "is not JSON"),
        (Fault(kind="slow", seconds=600), "no answer within 0.5 s"),
        (Fault(kind="unavailable", status=413, message="too much"), "answers 413: too much"),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else "",
)
def test_trouble_that_stays_is_a_failure(quick: Quick, fault: Fault, message: str) -> None:
    with ChatEmulator(answers={QUESTION: "Seven."}, faults=[fault]) as server:
        blame = "network" if fault.kind == "busy" else "system"
        options = quick(parameters=MODEL, **({"timeout_s": 0.5} if fault.kind == "slow" else {}))
        kind = "rejected" if fault.kind == "unavailable" else "ask_failed"
        assert message in _failure(server.openai_url, options, kind=kind, blame=blame)


@each(
    ("body", "message"),
    [
        ({"choices": []}, "no choice with a message: its fields are 'choices'"),
        ({"choices": [{"text": "old"}]}, "no choice with a message"),
        ({}, "its fields are none"),
        ([1], "not an object"),
        (b"<html>hello</html>", "is not JSON"),
        ({"error": {"message": "no such thing", "code": 400}}, "returned an error: no such thing"),
    ],
)
def test_answers_that_are_none_are_failures(quick: Quick, body: Any, message: str) -> None:
    with _server(200, body) as (url, _):
        kind = "ask_failed" if "returned an error" in message else "rejected"
        assert message in _failure(url, quick(parameters=MODEL), kind=kind)


def test_a_refusal_that_speaks_of_a_model_is_one_questions_own_once_others_were_answered(quick: Quick) -> None:
    server = ChatEmulator(answers={QUESTION: "Seven."}, refuses={"seed": "the model says: image not found"})
    with server, _model(server.openai_url, quick(parameters=MODEL)) as model:
        assert isinstance(model.complete(ASKED), Completion)
        assert isinstance(model.complete(ASKED, seed=1), Failure)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_with_a_reason_of_its_own_is_about_the_one_question(quick: Quick, status: int) -> None:
    body = {"error": {"message": "your input was flagged by the moderation"}}
    with _server(status, body) as (url, seen), _model(url, quick(parameters=MODEL)) as model:
        refused = model.complete(ASKED)
    assert isinstance(refused, Failure)
    assert (refused.kind, refused.code, refused.blame, len(seen)) == ("rejected", f"HTTP {status}", "system", 1)
    assert "flagged by the moderation" in refused.message


def test_what_no_question_could_be_asked_of_is_unusable(quick: Quick) -> None:
    options = quick(parameters=MODEL)
    with ChatEmulator(model="small") as server:
        with pytest.raises(
            SystemUnusable, match=r"404: The model `big` does not exist: check the model's name and the"
        ):
            _ask(server.openai_url, options)
        with pytest.raises(SystemUnusable, match=r"404: Invalid URL.*ends in /v1"):
            _ask(server.base_url, options)
    nobody = server_url = "http://127.0.0.1:9/v1"
    with pytest.raises(SystemUnusable, match="does not respond"):
        _ask(nobody, quick(parameters=MODEL, retries=0))
    for status, body in (
        (403, {"error": {"message": "Country, region, or territory not supported"}}),
        (403, {"error": {"message": "Forbidden"}}),
        (401, {"error": {"message": "Incorrect API key provided"}}),
        (400, {"error": {"message": "big is not a valid model ID"}}),
        (429, {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}),
        (302, {}),
    ):
        with _server(status, body, {"Location": server_url}) as (url, seen), pytest.raises(SystemUnusable):
            _ask(url, options)
        assert len(seen) == 1
