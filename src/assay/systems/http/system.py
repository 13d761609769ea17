"""Any HTTP endpoint that takes a question in JSON and answers a query in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from time import monotonic
from typing import Any

from assay.errors import InputError
from assay.model import Case, Prediction
from assay.model.decision import decision_said
from assay.systems.address import MASK, http_address, is_secret_name
from assay.systems.http.exchange import Exchange
from assay.systems.http.extras import parameter_value, seconds, text_of, timings, token_usage
from assay.systems.options import SystemOptions
from assay.systems.placeholders import check_placeholders, filled, history_messages
from assay.systems.predictions import QuestionFailed, answered, answered_with_rows

DEFAULT_TEMPLATE = '{"question": "{question}"}'
_HISTORY = "{history}"
"""A string that is only this becomes a list of messages."""
USUAL_QUERY_NAMES = ("sql_query", "query", "sql", "vql", "generated_sql", "prediction", "answer")
_ABSENT = object()


class HttpSystem:
    """``http:http://host/ask`` or ``http://host/ask``: the body from a template, the query by a path.

    ``options`` gives body_template, query_path, tokens_path and times_path; parameters become further fields of the
    body. Besides the times that the system reports, ``wall_time`` is measured here.
    """

    name = "http"

    def __init__(self, exchange: Exchange, template: dict[str, Any], options: SystemOptions) -> None:
        self._exchange = exchange
        self._template = template
        self._options = options

    @classmethod
    def open(cls, url: str, options: SystemOptions) -> HttpSystem:
        """Raises InputError for an invalid address, or a template that is not a JSON object with ``{question}``."""
        address = http_address(url, cls.name)
        template = _template(options.body_template or DEFAULT_TEMPLATE)
        template.update((name, parameter_value(value)) for name, value in options.parameters)
        return cls(Exchange(address, options), template, options)

    def describe(self) -> str:
        """The address, the body's template and the paths, without secrets."""
        body = json.dumps(_without_secrets(self._template), ensure_ascii=False, sort_keys=True)
        query = f" query_path={self._options.query_path}" if self._options.query_path else ""
        return f"{self.name}:{self._exchange.address.shown} body={body}{query}"

    def answer(self, case: Case) -> Prediction:
        """Ask one question. Raises SystemUnusable for refused credentials, a wrong path, or an unreachable server."""
        started = monotonic()
        body = _fill(self._template, case)
        if case.history and self._options.body_template is None:
            body = {"history": history_messages(case), **body}
        return self._exchange.ask(case, body, lambda said: self._read(case, said, started))

    def close(self) -> None:
        """Close the connections."""
        self._exchange.close()

    def _read(self, case: Case, said: dict[str, Any], started: float) -> Prediction:
        measured = (("wall_time", monotonic() - started),)
        given = _given(said, self._options.query_path)
        tokens = None if self._options.tokens_path is None else token_usage(_at(said, self._options.tokens_path))
        times = () if self._options.times_path is None else _times(said, self._options.times_path)
        seconds_of = tuple(dict(measured + times).items())
        if given is None or isinstance(given, str):
            prediction = answered(case, given, said=_prose(said), timings_s=seconds_of, tokens=tokens)
            return self._decided(prediction, said)
        with_rows = answered_with_rows(case, given, timings_s=seconds_of, tokens=tokens)
        if with_rows is None:
            path = self._options.query_path or "the usual names"
            raise QuestionFailed(
                f"the answer has no text at {path!r} but {type(given).__name__}: name the query's path"
            )
        return self._decided(with_rows, said)

    def _decided(self, prediction: Prediction, said: dict[str, Any]) -> Prediction:
        """With what the system says of its decision and of how sure it is, where paths for these were given."""
        options = self._options
        decision, confidence = None, None
        if options.decision_path is not None and (value := _at(said, options.decision_path)) is not _ABSENT:
            decision = decision_said(value)
            if decision is None and value not in (None, ""):
                raise QuestionFailed(
                    f"the answer has {value!r} at {options.decision_path!r}: expected answer, decline or clarify"
                )
        if options.confidence_path is not None and (value := _at(said, options.confidence_path)) is not _ABSENT:
            confidence = seconds(value)
            if value is not None and (confidence is None or confidence > 1.0):
                raise QuestionFailed(
                    f"the answer has {value!r} at {options.confidence_path!r}: expected a number from 0 to 1"
                )
        held_back = decision in ("decline", "clarify")
        failure = None if held_back else prediction.failure
        return replace(prediction, decision=decision, confidence=confidence, failure=failure)


class HttpsSystem(HttpSystem):
    """``https://host/ask``: the same over TLS, so that a plain ``https`` address is a system's URL."""

    name = "https"


def _template(text: str) -> dict[str, Any]:
    try:
        template = json.loads(text)
    except ValueError as error:
        raise InputError(
            f"the body template {text!r} is no JSON ({error}): placeholders stand within strings, "
            f"such as {DEFAULT_TEMPLATE}"
        ) from None
    if not isinstance(template, dict):
        raise InputError(f"the body template {text!r} is no JSON object: write one such as {DEFAULT_TEMPLATE}")
    names = check_placeholders(_strings(template), what=f"the body template {text!r}")
    if "question" not in names:
        raise InputError(f"the body template {text!r} has no {{question}} in any value: the system would not see it")
    return template


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in items for text in _strings(item)]


def _fill(value: Any, case: Case) -> Any:
    if isinstance(value, str):
        return history_messages(case) if value.strip() == _HISTORY else filled(value, case)
    if isinstance(value, dict):
        return {name: _fill(item, case) for name, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, case) for item in value]
    return value


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: MASK if is_secret_name(name) else _without_secrets(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_secrets(item) for item in value]
    return value


def _at(said: Any, path: str) -> Any:
    """The value at a dotted path of field names and zero-based list positions. `_ABSENT` where there is none."""
    value = said
    for step in path.split("."):
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and re.fullmatch(r"\d{1,9}", step) and int(step) < len(value):
            value = value[int(step)]
        else:
            return _ABSENT
    return value


def _given(said: dict[str, Any], path: str | None) -> object:
    """What the answer has in the place of the query: a text, rows, or None for nothing."""
    if path is None:
        name = next((name for name in USUAL_QUERY_NAMES if name in said), None)
        if (name is None or said[name] is None) and "rows" in said:
            return said
        if name is None:
            raise QuestionFailed(
                f"the answer has no field for the query: it has {_listed(said)}; name the query's path"
            )
        path = name
    query = _at(said, path)
    if query is _ABSENT:
        raise QuestionFailed(f"the answer has nothing at {path!r}: its fields are {_listed(said)}")
    return query


def _listed(said: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, list(said)[:10])) or "none"


def _times(said: dict[str, Any], path: str) -> tuple[tuple[str, float], ...]:
    found = _at(said, path)
    if isinstance(found, dict):
        return timings(found, found)
    value = seconds(found)
    return () if value is None else ((path.rpartition(".")[2], value),)


def _prose(said: Mapping[str, Any]) -> str:
    names = ("answer", "message", "error", "detail", "text")
    return next((text for name in names if (text := text_of(said.get(name)))), "")
