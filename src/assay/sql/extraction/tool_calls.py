"""The queries in the arguments of tool calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from assay.model.cases.decision import is_null_word
from assay.ports import ToolCall
from assay.sql.extraction.embedded_json import read_json
from assay.sql.extraction.objects import queries_in_json
from assay.sql.extraction.reading import read_plain_text
from assay.sql.extraction.statements import is_query

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_OF_QUERIES = frozenset({"sql", "query", "queries", "vql"})
_OF_OTHER_TASKS = frozenset(
    {"check", "checker", "delete", "describe", "explain", "format", "list", "log", "parse", "remove", "rewrite", "save"}
    | {"schema", "schemas", "store", "table", "tables", "update", "validate", "validator"}
)
_ARGUMENTS = ("arguments", "input", "args", "parameters")
_DEEPEST = 5


def tool_calls_of(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """The tool calls of an assistant's message: functions and custom tools, also in the earlier ``function_call``."""
    calls = message.get("tool_calls")
    listed = list(calls) if isinstance(calls, (list, tuple)) else [calls]
    listed.append(message.get("function_call"))
    return tuple(tool_call_of(call) for call in listed if isinstance(call, dict) and call)


def tool_call_of(call: Mapping[str, Any]) -> ToolCall:
    """One tool call, as any of the usual interfaces writes it."""
    tool = next((call[kind] for kind in ("function", "custom") if isinstance(call.get(kind), dict)), call)
    arguments = next((tool[name] for name in _ARGUMENTS if name in tool), None)
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
    return ToolCall(name=str(tool.get("name") or ""), arguments=text)


def runs_queries(name: str, query_tool: str | None) -> bool:
    """Whether a tool of that name executes a query: it is ``query_tool``, or if that is None, named like one.

    ``run_sql``, ``query`` and ``executeQuery`` are; ``sql_db_schema`` and ``check_query`` have another purpose.
    """
    if query_tool is not None:
        return name == query_tool
    words = _words(name)
    return not words.isdisjoint(_OF_QUERIES) and words.isdisjoint(_OF_OTHER_TASKS)


def queries_of(calls: Iterable[ToolCall], query_tool: str | None) -> Sequence[str]:
    """The different queries that the calls would execute, in their order.

    If no ``query_tool`` is named, a tool of another name counts as well if an argument is a query.
    """
    return tuple(dict.fromkeys(query for call in calls for query in _queries_of_call(call, query_tool)))


def _queries_of_call(call: ToolCall, query_tool: str | None) -> Iterator[str]:
    if runs_queries(call.name, query_tool):
        yield from _queries(call.arguments)
    elif query_tool is None and _words(call.name).isdisjoint(_OF_OTHER_TASKS):
        yield from filter(is_query, _queries(call.arguments))


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(name)}


def _queries(arguments: str) -> Iterator[str]:
    candidates, declined = queries_in_json(arguments)
    if candidates or declined:
        yield from (candidate.query for candidate in candidates if not candidate.draft and not declined)
        return
    try:
        texts: Iterable[str] = _texts(read_json(arguments))
    except (ValueError, RecursionError):
        texts = (arguments,)
    # Arguments under query names count, and so does a text that is the query itself.
    for text in texts:
        query = read_plain_text(text).query
        if query is not None and not is_null_word(query):
            yield query


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    """The texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)) and depth < _DEEPEST:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item, depth + 1)
