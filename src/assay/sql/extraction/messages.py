"""Read a prediction that consists of chat messages in place of a text."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from msgspec import Struct

from assay.ports import ToolCall
from assay.sql.extraction.embedded_json import read_json
from assay.sql.extraction.statements import is_query
from assay.sql.extraction.tool_calls import queries_of, tool_call_of, tool_calls_of

_MODEL_ROLES = frozenset({"assistant", "model", "ai", "gpt", "chatbot", "bot", "aimessage", "aimessagechunk"})
_OTHER_ROLES = frozenset(
    {"system", "developer", "user", "human", "tool", "function", "ipython", "observation", "environment"}
)
_THINKING = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_text", "summary_text"})
_CALLS = frozenset({"tool_use", "tool_call", "function_call", "custom_tool_call", "mcp_call"})
_RESULTS = frozenset({"tool_result", "function_call_output", "custom_tool_call_output", "tool_output"})
_TEXTS = frozenset({"text", "output_text", "refusal"})
_OF_MESSAGES = frozenset(
    {"role", "from", "type", "content", "parts", "value", "tool_calls", "function_call", "refusal", "name", "audio"}
    | {"annotations", "reasoning", "reasoning_content", "additional_kwargs", "response_metadata"}
)
"""Keys of messages. A record with others may be a row of a table with a column called ``role``."""
_IN_TEXT = re.compile(r"['\"](?:role|from|type|choices|candidates)['\"]\s*:")
"""What the JSON of every message contains."""
_MOST_LITERAL = 1_000_000


class _Entry(Struct, frozen=True, kw_only=True):
    """What one message says."""

    by_model: bool
    text: str = ""
    calls: tuple[ToolCall, ...] = ()


def completion_of(value: object) -> str | None:
    """The answer in chat messages: the assistant's last text, or the query of its tool call; None for other values.

    ===================================================================  ===================================
    ``[{"role": "assistant", "content": "SELECT 1"}]``                   OpenAI, TRL, ShareGPT, LangChain
    ``[("human", "Which?"), ("ai", "SELECT 1")]``                        LangChain's pairs
    ``[{"type": "text", "text": "SELECT 1"}]``                           parts of a content
    ``{"role": "assistant", "tool_calls": [{"function": {…}}]}``         a tool call: the query that it passes
    ``[{"type": "tool_use", "name": "run_sql", "input": {…}}]``          Anthropic
    ``[{"type": "message", "content": […]}, {"type": "function_call"}]`` OpenAI's Responses
    ``{"choices": […]}``, ``{"output": […]}``, ``{"candidates": […]}``   whole responses
    ===================================================================  ===================================

    Several different queries in one turn's tool calls are a JSON list of them. The answer is empty if the assistant
    says nothing.
    """
    value = _plain(value)
    entries = _entries(value)
    if entries is None:
        return _query_of_item(value[0]) if isinstance(value, list) and len(value) == 1 else None
    turns = list(reversed(entries))
    while turns and not turns[0].by_model:
        turns.pop(0)
    answer = list(takewhile(lambda entry: entry.by_model, turns))
    calls = [call for entry in reversed(answer) for call in entry.calls]
    if queries := queries_of(calls, None):
        return queries[0] if len(queries) == 1 else json.dumps(queries, ensure_ascii=False)
    return next((entry.text for entry in answer if entry.text.strip()), "")


def completion_of_record(record: Mapping[str, Any]) -> str | None:
    """As `completion_of`, of a record that is nothing but one message of a model, or one response; None for others."""
    is_message = _role(record) in _MODEL_ROLES and (record.get("type") == "message" or _OF_MESSAGES.issuperset(record))
    is_response = "choices" in record or "candidates" in record or record.get("object") == "response"
    return completion_of(record) if is_message or is_response else None


def completion_in_text(text: str) -> str | None:
    """As `completion_of`, of a text that is messages in JSON, or as Python prints them; None for other texts."""
    if not text.lstrip().startswith(("[", "{")) or not _IN_TEXT.search(text):
        return None
    try:
        value = read_json(text)
    except (ValueError, RecursionError):
        if len(text) > _MOST_LITERAL:
            return None
        try:
            value = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None
    return completion_of(value)


def is_conversation(items: Sequence[object]) -> bool:
    """Whether items are the messages of one conversation, the model's and others'."""
    roles = {_role(item) if isinstance(item, Mapping) and "content" in item else None for item in items}
    return None not in roles and not roles <= _MODEL_ROLES


SEVERAL_QUERIES = "is a list of queries, and one prediction is one query: give each case one text, not a list"


def are_queries(value: object) -> bool:
    """Whether a value is a list of texts that are statements: several predictions, or one in a list by mistake."""
    value = _plain(value)
    return (
        isinstance(value, list)
        and bool(value)
        and all((isinstance(item, str) and is_query(item)) or _query_of_item(item) is not None for item in value)
    )


def _query_of_item(item: object) -> str | None:
    """The query in a mapping of nothing else, such as ``{"sql": "SELECT 1"}``."""
    values = list(item.values()) if isinstance(item, Mapping) and len(item) == 1 else []
    return values[0] if values and isinstance(values[0], str) and is_query(values[0]) else None


def _plain(value: Any) -> Any:
    """A value with lists for arrays and tuples, and mappings for the message objects of client libraries."""
    if isinstance(value, tuple) or type(value).__name__ == "ndarray":
        value = list(value)
    if isinstance(value, list):
        return [_plain(item) for item in value] if value and not isinstance(value[0], (int, float, str)) else value
    if isinstance(value, Mapping) or not callable(dump := getattr(value, "model_dump", None)):
        return value
    return dump()


def _entries(value: Any) -> list[_Entry] | None:
    """The messages of a value; None if it is something else."""
    if isinstance(value, Mapping):
        return _entries_of_mapping(value)
    if not isinstance(value, list) or not value:
        return None
    if _are_parts(value):
        return [_entry(value, by_model=True)]
    entries: list[_Entry] = []
    for item in value:
        of_item = _entries_of_item(item)
        if of_item is None:
            return None
        entries += of_item
    return entries


def _entries_of_mapping(value: Mapping[str, Any]) -> list[_Entry] | None:
    """A message, or a response that contains messages."""
    for name, within in (("choices", "message"), ("candidates", "content")):
        choices = value.get(name)
        if isinstance(choices, Sequence) and choices and isinstance(choices[0], Mapping):
            message = choices[0].get(within)
            return [_message(message, by_model=True)] if isinstance(message, Mapping) else None
    for name in ("output", "messages"):
        if isinstance(value.get(name), list) and _role(value) is None:
            return _entries(value[name])
    if _role(value) is None and isinstance(value.get("message"), Mapping) and _role(value["message"]) is not None:
        return _entries_of_item(value["message"])
    return _entries_of_item(value)


def _entries_of_item(item: Any) -> list[_Entry] | None:
    """One message, or one item of a response; None if it is something else."""
    item = _plain(item)
    if isinstance(item, list) and len(item) == 2 and _role({"role": item[0]}) is not None:
        item = {"role": item[0], "content": item[1]}
    if not isinstance(item, Mapping):
        return None
    if (role := _role(item)) is not None:
        names = ("content", "parts", "value", "tool_calls", "function_call", "refusal")
        if not any(name in item for name in names):
            return None
        return [_message(item, by_model=role in _MODEL_ROLES)]
    kind = item.get("type")
    if kind in _CALLS:
        return [_Entry(by_model=True, calls=(tool_call_of(item),))]
    if kind in _RESULTS:
        return [_Entry(by_model=False)]
    return [] if kind in _THINKING else None


def _role(item: Mapping[str, Any]) -> str | None:
    """The role of a message in small letters; None if the mapping is not a message."""
    for name in ("role", "from", "type"):
        role = item.get(name)
        if isinstance(role, str) and (role := role.lower()) in _MODEL_ROLES | _OTHER_ROLES:
            return role
    return None


def _are_parts(items: Sequence[Any]) -> bool:
    """Whether items are the parts of one content: texts, thinking and tool calls without a role, at least one a text or
    an Anthropic tool call."""
    kinds = [item.get("type") if isinstance(item, Mapping) and _role(item) is None else None for item in items]
    return all(kind in _TEXTS | _THINKING | _CALLS for kind in kinds) and any(
        (kind in _TEXTS and isinstance(item.get("text", item.get("refusal")), str)) or kind == "tool_use"
        for kind, item in zip(kinds, items, strict=True)
    )


def _message(message: Mapping[str, Any], *, by_model: bool) -> _Entry:
    content = next((message[name] for name in ("content", "parts", "value") if message.get(name) is not None), None)
    entry = _entry(content if content is not None else message.get("refusal"), by_model=by_model)
    return _Entry(by_model=by_model, text=entry.text, calls=(*entry.calls, *tool_calls_of(message)))


def _entry(content: Any, *, by_model: bool) -> _Entry:
    content = _plain(content)
    parts = content if isinstance(content, list) else [content]
    texts = [text for part in parts if (text := _text_of(part))]
    return _Entry(by_model=by_model, text="\n".join(texts), calls=tuple(_calls_of(parts)))


def _text_of(part: Any) -> str:
    """The text of a part of a content; empty for thinking and calls."""
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping) or part.get("thought") or part.get("type") in _THINKING:
        return ""
    text = part.get("text", part.get("refusal"))
    if isinstance(text, Mapping):
        text = text.get("value")
    return text if isinstance(text, str) else ""


def _calls_of(parts: Sequence[Any]) -> Iterator[ToolCall]:
    for part in parts:
        if isinstance(part, Mapping):
            nested = part.get("functionCall") or part.get("function_call")
            if isinstance(nested, Mapping):
                yield tool_call_of(nested)
            elif part.get("type") in _CALLS:
                yield tool_call_of(part)
