"""Queries in JSON objects, as models write them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from assay.model.cases.decision import decision_said, holds_nothing, is_null_word
from assay.sql.extraction.candidate import Candidate
from assay.sql.extraction.embedded_json import iter_json_objects
from assay.sql.extraction.fences import clean_query
from assay.sql.extraction.statements import is_statement, opening_of

_NAMES = frozenset({"sql", "sqlquery", "generatedsql", "predictedsql", "finalsql", "vql", "vqlquery", "sqlstatement"})
_LOOSE_NAMES = frozenset({"query", "finalquery", "statement", "answer", "code"})
"""Names that may also hold a question or a sentence."""
_DRAFT_NAMES = frozenset({"draftsql", "draftquery", "draft", "initialsql", "initialquery"})
_ANSWERABLE = frozenset({"answerable", "isanswerable", "feasible", "isfeasible"})
_DECISIONS = frozenset({"decision", "action", "abstain", "abstained", "decline", "declined", "refuse", "refused"})
_ERRORS = frozenset({"error", "errormessage"})
_MOST_STARTS = 50
_DEEPEST = 5


def queries_in_json(text: str) -> tuple[list[Candidate], bool]:
    """The queries in the JSON of a text, and whether one of its objects declines to give one.

    JSON: objects in the text, or a text that is one string, or a list of strings.
    """
    found = [
        Candidate(query=query, start=0, end=len(text), place="json")
        for item in _strings(text)
        if (query := clean_query(item)) is not None and is_statement(query)
    ]
    declined = False
    for start, end, value in iter_json_objects(text, starts=_MOST_STARTS):
        if _declines(value):
            declined = True
        for query, is_draft in _queries(value):
            if query is None:
                declined = True
            else:
                found.append(Candidate(query=query, start=start, end=end, draft=is_draft, place="json"))
    return found, declined


def _strings(text: str) -> list[str]:
    if not text.lstrip().startswith(('"', "[")):
        return []
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]


def beside_json(text: str) -> str:
    """The text without its JSON objects."""
    for start, end, _ in reversed(list(iter_json_objects(text, starts=_MOST_STARTS))):
        text = text[:start] + text[end:]
    return text


def _declines(value: Mapping[str, Any]) -> bool:
    for name, item in value.items():
        key = _plain(name)
        if key in _ERRORS and isinstance(item, str) and not (holds_nothing(item) or is_null_word(item)):
            return True
        if key in _ANSWERABLE and (str(item).lower() in ("no", "false") or decision_said(str(item)) == "decline"):
            return True
        if key in _DECISIONS and decision_said(item) in ("decline", "clarify"):
            return True
    return False


def _queries(value: object, depth: int = 0) -> Iterator[tuple[str | None, bool]]:
    """Each query with whether it is a draft; None if no query has a query's name."""
    if isinstance(value, list) and depth < _DEEPEST:
        for item in value:
            yield from _queries(item, depth + 1)
    if not isinstance(value, dict):
        return
    for name, item in value.items():
        key = _plain(name)
        if isinstance(item, (dict, list)):
            if depth < _DEEPEST:
                yield from _queries(item, depth + 1)
        elif key in _DRAFT_NAMES and isinstance(item, str) and (query := clean_query(item)):
            yield query, True
        elif key in _NAMES:
            query = clean_query(item) if isinstance(item, str) else None
            yield (None if query is None or is_null_word(query) else query), False
        elif key in _LOOSE_NAMES and isinstance(item, str) and opening_of(query := clean_query(item) or ""):
            yield query, False
        elif key == "query" and (item is None or item == ""):
            yield None, False


def _plain(name: object) -> str:
    return "".join(filter(str.isalnum, str(name))).lower()
