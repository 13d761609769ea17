"""A chat model that calls a tool: the SQL argument of a tool that executes queries is its query."""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec.structs import replace

from assay.model import Case, Prediction
from assay.ports import ChatMessage, Completion
from assay.sql.extraction.tool_calls import tool_calls_of
from assay.systems.chat.prompt import Prompt
from assay.systems.chat.sql import _prediction
from assay.systems.chat.system import ChatSystem
from assay.systems.options import SystemOptions
from assay.testing.chat.answers import ChatAnswer
from assay.testing.chat.emulator import ChatEmulator
from many_cases import each

QUERY = "SELECT a FROM t"
CASE = Case(id="1", question="Which a?")


def _ask(
    *calls: tuple[str, Mapping[str, object] | str],
    content: str | None = None,
    finish_reason: str | None = "tool_calls",
    **options: object,
) -> Prediction:
    written = tuple((name, one if isinstance(one, str) else json.dumps(one)) for name, one in calls)
    answer = ChatAnswer(content=content, tool_calls=written, finish_reason=finish_reason)
    found: list[Prediction] = []
    for stream in ("false", "true"):
        parameters = (("model", "m"), ("stream", stream))
        with ChatEmulator(answers=lambda _: answer) as server:
            asked = SystemOptions(parameters=parameters, **options)  # type: ignore[arg-type]
            system = ChatSystem.open(f"chat:{server.openai_url}", replace(asked, prompt=None))
            try:
                template = replace(system._template, text="{question}")
                system._template = template
                found.append(replace(system.answer(CASE), timings_s=(), tokens=None))
            finally:
                system.close()
    assert found[0] == found[1], "a streamed answer is read like any other"
    return found[0]


@each("name", ["run_sql", "query", "execute_query", "executeQuery", "sql", "sql_db_query", "runSQL", "query_database"])
@each(
    "arguments",
    [
        {"sql": QUERY},
        {"query": QUERY + ";"},
        {"database": "shop", "sql_query": f"```sql\n{QUERY}\n```"},
        {"statement": QUERY, "limit": 10},
        {"input": QUERY},
        {"queries": [QUERY]},
        {"sql": [QUERY]},
        {"calls": [{"text": QUERY}]},
        QUERY,
    ],
)
def test_the_sql_argument_is_the_query(name: str, arguments: Mapping[str, object] | str) -> None:
    prediction = _ask((name, arguments))
    assert (prediction.query, prediction.failure) == (QUERY, None)
    assert prediction.extraction.place == "tool"
    assert name in (prediction.raw or "")


def _message(prediction: Prediction, kind: str | None = None) -> str:
    assert prediction.query is None
    assert kind is None or prediction.failure.kind == kind
    return prediction.failure.message


@each("name", ["get_schema", "sql_db_schema", "list_tables", "check_query", "search", "calculator"])
def test_another_tool_is_named(name: str) -> None:
    assert f'called the tool "{name}"' in _message(_ask((name, {"table": "t"})))


def test_a_call_without_one_query_is_told() -> None:
    several = _ask(("run_sql", {"sql": QUERY}), ("run_sql", {"sql": "SELECT b FROM t"}))
    assert "2 different statements" in _message(several)
    for arguments in ({}, {"sql": ""}, {"sql": None}, "null", "5", "true", '"null"', "[]", {"sql": 7}, {"sql": [None]}):
        assert "no argument of the call is one SQL statement" in _message(_ask(("run_sql", arguments)))


def _read(message: Mapping[str, object], finish_reason: str | None = None) -> Prediction:
    completion = Completion(
        message=ChatMessage(role="assistant", content=""),
        finish_reason=finish_reason,
        tool_calls=tool_calls_of(message),
    )
    return _prediction(CASE, completion, Prompt(text=""), SystemOptions())


def test_the_tool_may_be_named() -> None:
    assert _ask(("ask_warehouse", {"input": QUERY}), query_tool="ask_warehouse").query == QUERY
    assert _ask(("run_sql", {"sql": QUERY}), query_tool="ask_warehouse").query is None
    assert _ask(("get_schema", {"table": "t"}), ("run_sql", {"sql": QUERY})).query == QUERY
    assert _ask(("run_sql", {"sql": QUERY}), content="I will query the table t.").query == QUERY


WRITTEN = [
    json.dumps({"sql": QUERY}),
    json.dumps({"database": "shop", "options": {"limit": 5}, "query": QUERY}),
    json.dumps({"args": {"sql": QUERY}, "explain": True}),
    json.dumps({"queries": [QUERY]}, indent=2),
    json.dumps([{"sql": QUERY}, {"sql": QUERY}]),
    json.dumps(QUERY),
    f"```json\n{json.dumps({'sql': QUERY})}",
]


@each("arguments", WRITTEN)
def test_a_call_that_was_cut_off_is_never_a_query(arguments: str) -> None:
    """Wherever the arguments end, and whether or not the server says that they were cut off."""
    for length in range(arguments.index(QUERY[0]), len(arguments)):
        message = {"tool_calls": [{"function": {"name": "run_sql", "arguments": arguments[:length]}}]}
        for finish_reason in ("length", "max_tokens", "MAX_TOKENS", "tool_calls", "stop", None):
            prediction = _read(message, finish_reason)
            assert prediction.extraction is None
            assert '"run_sql"' in _message(prediction, "unreadable_answer")


def test_a_cut_call_is_told_from_a_complete_one() -> None:
    """Over both forms of the response."""
    for cut in ('{"sql": "SELECT a FROM t', '{"sql": "SELECT a FROM t WHERE b=1"', "{", '{"sql": "SELECT a'):
        for finish_reason in ("length", "tool_calls"):
            prediction = _ask(("run_sql", {"sql": QUERY}), ("run_sql", cut), finish_reason=finish_reason)
            assert ("max_tokens" in _message(prediction, "unreadable_answer")) is (finish_reason == "length")
            assert cut in (prediction.raw or "")
    assert _ask(("run_sql", {"sql": QUERY}), finish_reason="length").query == QUERY
    assert _ask(("run_sql", QUERY + ";"), finish_reason="length").query == QUERY
    assert _ask(("run_sql", json.dumps({"sql": QUERY}) + "</tool_call>")).query == QUERY
    assert _ask(("run_sql", QUERY), finish_reason="length").query is None
    assert _ask(("get_schema", '{"table": "'), ("run_sql", {"sql": QUERY}), finish_reason="length").query == QUERY


@each(
    "message",
    [
        {"tool_calls": [{"type": "custom", "custom": {"name": "TOOL", "input": QUERY}}]},
        {"tool_calls": [{"type": "custom", "custom": {"name": "TOOL", "input": json.dumps({"sql": QUERY})}}]},
        {"tool_calls": [{"type": "function", "function": {"name": "TOOL", "arguments": {"sql": QUERY}}}]},
        {"tool_calls": [{"type": "function_call", "name": "TOOL", "arguments": json.dumps({"sql": QUERY})}]},
        {"tool_calls": [{"type": "tool_use", "name": "TOOL", "input": {"sql": QUERY}}]},
        {"tool_calls": {"type": "function", "function": {"name": "TOOL", "arguments": {"sql": QUERY}}}},
        {"function_call": {"name": "TOOL", "arguments": json.dumps({"sql": QUERY})}},
    ],
)
def test_each_form_of_a_call_is_read(message: Mapping[str, object]) -> None:
    for name in ("run_sql", "run"):
        assert _read(json.loads(json.dumps(message).replace("TOOL", name))).query == QUERY
    assert '"check_sql"' in _message(_read(json.loads(json.dumps(message).replace("TOOL", "check_sql"))))
