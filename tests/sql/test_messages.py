"""The completion in chat messages, whichever interface they come from."""

from __future__ import annotations

import json

import pytest

from assay.sql.extraction import are_queries, completion_of, completion_of_record, is_conversation, read_text
from many_cases import each

QUERY, DRAFT = "SELECT a FROM t", "SELECT z FROM y"
ARGUMENTS = json.dumps({"query": QUERY})
CALL = {"id": "1", "type": "function", "function": {"name": "run_sql", "arguments": ARGUMENTS}}
DRAFT_CALL = {"function": {"name": "run_sql", "arguments": json.dumps({"query": DRAFT})}}
OUTPUT = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": QUERY}]}
MESSAGES: dict[str, object] = {
    "completion": [{"role": "assistant", "content": QUERY}],
    "fence": [{"role": "assistant", "content": f"Here:\n```sql\n{QUERY}\n```"}],
    "thinking": [{"role": "assistant", "content": f"<think>{DRAFT}</think>{QUERY}"}],
    "conversation": [
        {"role": "system", "content": "Write SQL."},
        {"role": "user", "content": f"Is it {DRAFT}?"},
        {"role": "assistant", "content": QUERY},
    ],
    "last of several turns": [
        {"role": "assistant", "content": DRAFT},
        {"role": "user", "content": "No."},
        {"role": "assistant", "content": QUERY},
    ],
    "a turn of the user at the end": [{"role": "assistant", "content": QUERY}, {"role": "user", "content": "Thanks."}],
    "parts": [{"role": "assistant", "content": [{"type": "text", "text": QUERY}]}],
    "parts alone": [{"type": "thinking", "thinking": DRAFT}, {"type": "text", "text": QUERY}],
    "tool call": [{"role": "assistant", "content": None, "tool_calls": [CALL]}],
    "tool call with words": [{"role": "assistant", "content": "I run a query.", "tool_calls": [CALL]}],
    "tool call, then its result": [{"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "content": "5"}],
    "draft in a tool call": [
        {"role": "assistant", "tool_calls": [DRAFT_CALL]},
        {"role": "tool", "content": "no such table: y"},
        {"role": "assistant", "content": QUERY},
    ],
    "function call": {"role": "assistant", "content": None, "function_call": {"name": "query", "arguments": ARGUMENTS}},
    "tool use": [
        {"type": "text", "text": "I run it."},
        {"type": "tool_use", "id": "1", "name": "run_sql", "input": {"sql": QUERY}},
    ],
    "Anthropic": {"id": "m", "type": "message", "role": "assistant", "content": [{"type": "text", "text": QUERY}]},
    "Responses": {"id": "r", "object": "response", "output": [{"type": "reasoning", "summary": []}, OUTPUT]},
    "output items": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": DRAFT}]}, OUTPUT],
    "output items with a call": [
        OUTPUT | {"content": [{"type": "output_text", "text": "I run it."}]},
        {"type": "function_call", "call_id": "1", "name": "run_sql", "arguments": ARGUMENTS},
    ],
    "choices": {"id": "c", "choices": [{"message": {"role": "assistant", "content": QUERY}}]},
    "Gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": QUERY}]}}]},
    "Gemini's call": {
        "candidates": [{"content": {"parts": [{"functionCall": {"name": "sql", "args": {"q": QUERY}}}]}}]
    },
    "Ollama": {"model": "m", "message": {"role": "assistant", "content": QUERY}},
    "ShareGPT": [{"from": "human", "value": "How many?"}, {"from": "gpt", "value": QUERY}],
    "LangChain": [{"type": "human", "content": "How many?"}, {"type": "ai", "content": QUERY, "tool_calls": []}],
    "LangChain's call": [
        {"type": "ai", "content": "", "tool_calls": [{"name": "sql_db_query", "args": {"query": QUERY}, "id": "1"}]}
    ],
    "LangChain's pairs": [("human", "How many?"), ("ai", QUERY)],
    "a call of another name": {"role": "assistant", "tool_calls": [{"name": "run", "args": {"sql": QUERY}}]},
    "a record of nothing but a query": [{"sql": QUERY}],
    "under messages": {"messages": [{"role": "assistant", "content": QUERY}]},
    "absent fields": [{"role": "assistant", "content": QUERY, "tool_calls": None, "name": None}],
}


@each("messages", MESSAGES.values())
def test_the_query_of_chat_messages_is_read(messages: object) -> None:
    assert read_text(completion_of(messages)).query == QUERY
    for written in (json.dumps(messages), str(messages)):  # a cell of CSV, as JSON or as pandas writes it
        assert read_text(written).query == QUERY


def test_tuples_and_objects_of_client_libraries_are_messages() -> None:
    class Message:
        def model_dump(self) -> dict[str, object]:
            return {"type": "ai", "content": QUERY}

    assert completion_of((Message(),)) == QUERY
    assert completion_of(({"role": "assistant", "content": QUERY},)) == QUERY


def test_several_queries_in_one_turn_are_several_statements() -> None:
    reading = read_text(completion_of([{"role": "assistant", "tool_calls": [CALL, DRAFT_CALL]}]))
    assert (reading.query, reading.others, reading.several) == (None, (QUERY, DRAFT), True)


@each(
    "value",
    [
        *([], {}, None, 5, QUERY, [1, 2], [[1, "a"]], ["a", "b"], [QUERY], {"rows": [[1]]}, {"value": 1}),
        *([{"id": 1, "name": "a"}], [{"role": "admin", "content": "x"}], [{"type": "a", "text": "b"}]),
        *([{"role": "user"}], [("a", "b"), ("user", "c")]),
    ],
)
def test_rows_and_other_values_are_not_messages(value: object) -> None:
    assert completion_of(value) is None


@pytest.mark.parametrize("content", ["", None, []])
def test_an_assistant_that_says_nothing_gives_no_query(content: object) -> None:
    assert completion_of([{"role": "assistant", "content": content}]) == ""


def test_a_record_is_a_message_only_if_it_is_nothing_else() -> None:
    message = {"role": "assistant", "content": QUERY}
    assert completion_of_record(message) == QUERY
    assert completion_of_record(message | {"id": "1", "gold_sql": QUERY}) is None
    assert completion_of_record({"role": "user", "content": QUERY}) is None


def test_lists_of_queries_and_conversations_are_recognized() -> None:
    assert are_queries([QUERY])
    assert are_queries((QUERY, DRAFT))
    assert are_queries([{"sql": QUERY}, {"sql": DRAFT}])
    assert not are_queries(["a", "b"])
    assert not are_queries(QUERY)
    message = {"role": "assistant", "content": QUERY}
    assert is_conversation([{"role": "user", "content": "How many?"}, message])
    assert not is_conversation([message, message])
