"""Adapt requests to what an endpoint accepts, and remember that for the next request."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from assay.systems.http.complaint import complaint_of

_RENAMED = {"max_tokens": "max_completion_tokens"}
# Parameters that affect how an answer is found, but not the question: omitting one is better than no answer.
_DROPPABLE = ("temperature", "top_p", "seed", "max_tokens", "max_completion_tokens", "stream_options")
_NOT_TAKEN = re.compile(
    r"unsupported|not support|n't support|unrecogni[sz]ed|unknown|not permitted|unexpected|deprecated|not allowed"
    r"|extra (?:fields?|inputs?)|only the default|invalid (?:argument|parameter|field)|instead",
    re.IGNORECASE,
)
_FORMAT = re.compile(r"response[_ ]format|json[_ ](?:schema|object)|structured[_ ]output|guided[_ ]", re.IGNORECASE)
_FORMATS = ("json_schema", "json_object", None)


class Adaptations:
    """What an endpoint is known not to accept. Used by several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._format = 0
        self._renamed: dict[str, str] = {}
        self._dropped: list[str] = []

    @property
    def notes(self) -> tuple[str, ...]:
        """How requests differ from the intended ones, one sentence per difference."""
        with self._lock:
            notes = [
                f"the endpoint does not accept {name}: sent as {other}"
                for name, other in self._renamed.items()
                if other not in self._dropped
            ]
            notes += [f"the endpoint does not accept {name}: omitted" for name in self._dropped]
            if self._format:
                instead = _FORMATS[self._format] or "words alone"
                notes.append(f"the endpoint does not accept response_format json_schema: requested by {instead}")
            return tuple(notes)

    def body(
        self, messages: Sequence[Mapping[str, Any]], fields: Mapping[str, Any], schema: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """The request's body in the form that the endpoint accepts, as far as is known."""
        with self._lock:
            renamed, dropped, form = dict(self._renamed), set(self._dropped), _FORMATS[self._format]
        body: dict[str, Any] = {"messages": list(messages)}
        for name, value in fields.items():
            sent = renamed.get(name, name)
            if sent not in dropped:
                body[sent] = value
        if schema is None:
            return body
        if form == "json_schema":
            body["response_format"] = {"type": "json_schema", "json_schema": _described(schema)}
            return body
        body.pop("response_format", None)
        if form == "json_object":
            body["response_format"] = {"type": "json_object"}
        body["messages"] = _with_schema(messages, schema)
        return body

    def learn(self, sent: Mapping[str, Any], refusal: bytes, *, with_schema: bool) -> bool:
        """Whether to send another request after ``sent`` was answered 400 or 422 with ``refusal``."""
        said = complaint_of(refusal)
        blamed = _blamed(refusal)
        text = f"{blamed} {said}"
        with self._lock:
            if with_schema and "response_format" in sent and _FORMAT.search(text):
                form = _FORMATS.index(sent["response_format"]["type"])
                self._format = max(self._format, form + 1)
                return True
            if not _NOT_TAKEN.search(text):
                return False
            named = [name for name in _DROPPABLE if name in sent and re.search(rf"\b{name}\b", text)]
            if not named:
                return False
            name = named[0] if blamed not in named else blamed
            self._leave_out(name)
            return True

    def _leave_out(self, name: str) -> None:
        if name in _RENAMED:
            self._renamed[name] = _RENAMED[name]  # perhaps again: another thread had the same refusal
        elif name not in self._dropped:
            self._dropped.append(name)


def _blamed(refusal: bytes) -> str:
    """The parameter that the error names as its ``param``; empty if it names none."""
    try:
        error = json.loads(refusal).get("error")
        return str(error.get("param") or "")
    except (ValueError, AttributeError, RecursionError):
        return ""


def _described(schema: Mapping[str, Any]) -> dict[str, Any]:
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", str(schema.get("title") or "answer"))[:64]
    described: dict[str, Any] = {"name": name, "schema": dict(schema)}
    # Servers refuse a strict schema that allows further properties; a schema that is not strict is only a hint.
    if _is_closed(schema):
        described["strict"] = True
    return described


def _is_closed(schema: Any) -> bool:
    """Whether every object of the schema requires all of its properties and allows no others."""
    if isinstance(schema, list):
        return all(map(_is_closed, schema))
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        required = schema.get("required")
        if schema.get("additionalProperties") is not False or not isinstance(required, list):
            return False
        return set(required) == set(properties) and all(map(_is_closed, properties.values()))
    return all(_is_closed(value) for value in schema.values())


def _with_schema(messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages with the schema written into the system message, for endpoints without a field for it."""
    words = (
        "Answer with one JSON object that fits this JSON schema, and with nothing else:\n"
        f"{json.dumps(schema, ensure_ascii=False)}"
    )
    first = messages[0] if messages else None
    if first is not None and first.get("role") == "system":
        return [{**first, "content": f"{first['content']}\n\n{words}"}, *messages[1:]]
    return [{"role": "system", "content": words}, *messages]
