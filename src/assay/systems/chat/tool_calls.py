"""The query in a chat model's tool call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from assay.ports import ToolCall
from assay.sql.extraction import queries_in_json, read_text

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_OF_QUERIES = frozenset({"sql", "query", "queries", "vql"})
_OF_OTHER_TASKS = frozenset(
    {"check", "checker", "describe", "explain", "list", "schema", "schemas", "table", "tables", "validate", "validator"}
)


def tool_calls_of(message: dict[str, Any]) -> tuple[ToolCall, ...]:
    """The tool calls of an assistant's message, also in the earlier form ``function_call``."""
    calls = message.get("tool_calls")
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return tuple(
        ToolCall(name=str(function.get("name") or ""), arguments=_as_text(function.get("arguments")))
        for function in [*functions, message.get("function_call")]
        if isinstance(function, dict)
    )


def _as_text(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def runs_queries(name: str, query_tool: str | None) -> bool:
    """Whether a tool of that name executes a query: it is ``query_tool``, or if that is None, named like one.

    ``run_sql``, ``query`` and ``executeQuery`` are; ``sql_db_schema`` and ``check_query`` have another task.
    """
    if query_tool is not None:
        return name == query_tool
    words = {word.lower() for word in _WORD.findall(name)}
    return not words.isdisjoint(_OF_QUERIES) and words.isdisjoint(_OF_OTHER_TASKS)


def queries_of(calls: Iterable[ToolCall], query_tool: str | None) -> Sequence[str]:
    """The different queries that the calls would execute, in their order."""
    return tuple(
        dict.fromkeys(
            query for call in calls if runs_queries(call.name, query_tool) for query in _queries(call.arguments)
        )
    )


def _queries(arguments: str) -> Iterator[str]:
    found, declined = queries_in_json(arguments)
    if found or declined:
        yield from (one.query for one in found if not one.draft and not declined)
        return
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        values = None
    # Arguments under names of their own count if exactly one is a statement; a lone text may be the query itself.
    texts = list(values.values()) if isinstance(values, dict) else [values if isinstance(values, str) else arguments]
    statements = [query for text in texts if isinstance(text, str) and (query := read_text(text).query) is not None]
    if len(statements) == 1:
        yield statements[0]
