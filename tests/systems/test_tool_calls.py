"""A chat model that calls a tool: the SQL argument of a tool that executes queries is its query."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from assay.model import Case, Prediction
from assay.systems.chat.system import ChatSystem
from assay.systems.options import SystemOptions
from assay.testing.chat.answers import ChatAnswer
from assay.testing.chat.emulator import ChatEmulator

QUERY = "SELECT a FROM t"
CASE = Case(id="1", question="Which a?")


def _ask(*calls: tuple[str, Mapping[str, object] | str], content: str | None = None, **options: object) -> Prediction:
    written = tuple((name, one if isinstance(one, str) else json.dumps(one)) for name, one in calls)
    answer = ChatAnswer(content=content, tool_calls=written, finish_reason="tool_calls")
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


@pytest.mark.parametrize(
    "name", ["run_sql", "query", "execute_query", "executeQuery", "sql", "sql_db_query", "runSQL", "query_database"]
)
@pytest.mark.parametrize(
    "arguments",
    [
        {"sql": QUERY},
        {"query": QUERY + ";"},
        {"database": "shop", "sql_query": f"```sql\n{QUERY}\n```"},
        {"statement": QUERY, "limit": 10},
        {"input": QUERY},
        QUERY,
    ],
)
def test_the_sql_argument_is_the_query(name: str, arguments: Mapping[str, object] | str) -> None:
    prediction = _ask((name, arguments))
    assert (prediction.query, prediction.failure) == (QUERY, None)
    assert prediction.extraction is not None
    assert prediction.extraction.place == "tool"
    assert name in (prediction.raw or "")


@pytest.mark.parametrize("name", ["get_schema", "sql_db_schema", "list_tables", "check_query", "search", "calculator"])
def test_another_tool_is_named(name: str) -> None:
    prediction = _ask((name, {"table": "t"}))
    assert prediction.query is None
    assert prediction.failure is not None
    assert f'called the tool "{name}"' in prediction.failure.message


def test_the_tool_may_be_named() -> None:
    assert _ask(("ask_warehouse", {"input": QUERY}), query_tool="ask_warehouse").query == QUERY
    assert _ask(("run_sql", {"sql": QUERY}), query_tool="ask_warehouse").query is None
    assert _ask(("get_schema", {"table": "t"}), ("run_sql", {"sql": QUERY})).query == QUERY
    assert _ask(("run_sql", {"sql": QUERY}), content="I will query the table t.").query == QUERY


def test_a_call_without_one_query_is_told() -> None:
    several = _ask(("run_sql", {"sql": QUERY}), ("run_sql", {"sql": "SELECT b FROM t"}))
    assert several.query is None
    assert several.failure is not None
    assert "2 different statements" in several.failure.message
    for arguments in ({}, {"sql": ""}, {"sql": None}, "{"):
        none = _ask(("run_sql", arguments))
        assert none.query is None
        assert none.failure is not None
        assert "no argument of the call is one SQL statement" in none.failure.message
