"""Any HTTP endpoint that takes a question in JSON and returns a query in JSON."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

from msgspec.structs import replace

from assay.errors import InputError
from assay.model import Case, Decision, Prediction
from assay.model.cases.decision import decision_said, holds_nothing
from assay.model.cases.usage import read_measure
from assay.platform.surface import option
from assay.sql.context import Context, InvalidContext, read_context
from assay.systems.address import MASK, http_address, is_secret_name
from assay.systems.http.exchange import Exchange
from assay.systems.http.extras import json_kind, parameter_value, shown_json, text_of, timings, token_usage
from assay.systems.options import SystemOptions
from assay.systems.placeholders import check_placeholders, filled, history_messages
from assay.systems.predictions import QuestionFailed, UnknownForm, answered, answered_with_value

DEFAULT_TEMPLATE = '{"question": "{question}"}'
_HISTORY = "{history}"
"""A string that is only this becomes a list of messages."""
USUAL_QUERY_NAMES = ("sql_query", "query", "sql", "vql", "generated_sql", "prediction", "answer")
_ABSENT = object()
_HELD_BACK = ("decline", "clarify")
_NAME_THE_PATH = "name the query's path (--query-path, in Python query_path)"
_NO_QUERY = "no field for the query"
"""The code of that failure."""
_MOST_LISTED = 120
"""Maximum length of the listed field names of an answer."""
_MOST_UNREAD = 60
"""Maximum length of an invalid confidence in a message."""


class HttpSystem:
    """``http:http://host/ask`` or ``http://host/ask``: the body from a template, the query by a path.

    ``options`` gives body_template, query_path, tokens_path, times_path and the other paths; parameters become further
    fields of the body. In addition to the times that the system reports, ``wall_time`` is measured here.
    """

    name = "http"

    def __init__(self, exchange: Exchange, template: dict[str, Any], options: SystemOptions) -> None:
        self._exchange = exchange
        self._template = template
        self._options = options
        self._told_of: set[str] = set()
        """The fields of answers with an unknown form, each reported once."""

    @classmethod
    def open(cls, url: str, options: SystemOptions) -> HttpSystem:
        """Raises InputError for an invalid address, or a template that is not a JSON object with ``{question}``."""
        address = http_address(url, cls.name)
        if options.has_prices and options.tokens_path is None:
            raise InputError(
                f"prices are given, but not the path of the token counts: name it ({option('--tokens-path', 'usage')})"
            )
        template = _template(options.body_template or DEFAULT_TEMPLATE)
        template.update((name, parameter_value(value)) for name, value in options.parameters)
        return cls(Exchange(address, options), template, options)

    def describe(self) -> str:
        """The address, the body's template and the paths, without secrets."""
        body = json.dumps(_without_secrets(self._template), ensure_ascii=False, sort_keys=True)
        options = self._options
        paths = {
            "query_path": options.query_path,
            "decision_path": options.decision_path,
            "confidence_path": options.confidence_path,
            "context_path": options.context_path,
        }
        told = "".join(f" {name}={path}" for name, path in paths.items() if path)
        return f"{self.name}:{self._exchange.address.shown} body={body}{told}"

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
        decision = self._decision(said)
        try:
            given = _given(said, self._options.query_path)
        except QuestionFailed:
            if decision not in _HELD_BACK:  # a system that declines need not return a query, not even an empty one
                raise
            given = None
        tokens = None if self._options.tokens_path is None else token_usage(_at(said, self._options.tokens_path))
        times = () if self._options.times_path is None else _times(said, self._options.times_path)
        seconds_of = tuple(dict(measured + times).items())
        if given is None or isinstance(given, str):
            prediction = answered(case, given, said=_prose(said), timings_s=seconds_of, tokens=tokens)
        else:
            with_value = answered_with_value(case, given, timings_s=seconds_of, tokens=tokens)
            if with_value is None:
                path = self._options.query_path or "the usual names"
                raise UnknownForm(
                    f"the answer has {json_kind(given)} at {path!r} instead of a query: "
                    f"{shown_json(given)}; {_NAME_THE_PATH}",
                    code=_NO_QUERY,
                )
            prediction = with_value
        failure = None if decision in _HELD_BACK else prediction.failure
        context = self._context(case, said)
        return replace(
            prediction,
            decision=decision,
            confidence=self._confidence(case, said),
            context_tables=context.tables,
            context_columns=context.columns,
            failure=failure,
        )

    def _decision(self, said: dict[str, Any]) -> Decision | None:
        """The decision that the system reports, if a path for it is given."""
        path = self._options.decision_path
        value = _ABSENT if path is None else _at(said, path)
        if value is _ABSENT or value is None or value == "":
            return None
        decision = decision_said(value)
        if decision is None:
            raise UnknownForm(
                f"the answer has {value!r} at {path!r}: expected answer, decline or clarify; name the "
                "decision's path (--decision-path, in Python decision_path)",
                code="unknown decision",
            )
        return decision

    def _confidence(self, case: Case, said: dict[str, Any]) -> float | None:
        """The confidence that the system reports, if a path for it is given.

        A value that is not a number from 0 to 1 is reported once, and does not invalidate the answer: it counts as
        missing.
        """
        path = self._options.confidence_path
        value = _ABSENT if path is None else _at(said, path)
        if value is _ABSENT or value is None or value == "":
            return None
        confidence = read_measure(value)
        if confidence is not None and confidence <= 1.0:
            return confidence
        if "confidence" not in self._told_of:
            self._told_of.add("confidence")
            shown = self._exchange.scrub(repr(value))[:_MOST_UNREAD]  # part of a secret would not be recognized
            warnings.warn(
                f"the answer to case {case.id} has {shown} at {path!r}: expected a number from 0 to "
                "1; such answers count as without a confidence",
                UserWarning,
                stacklevel=2,
            )
        return None

    def _context(self, case: Case, said: dict[str, Any]) -> Context:
        """The context that the system reports, if a path for it is given.

        An invalid context is reported once, and does not invalidate the answer: it counts as missing.
        """
        path = self._options.context_path
        value = _ABSENT if path is None else _at(said, path)
        if value is _ABSENT:
            return Context()
        try:
            # Masked first: names are quoted if necessary, and a secret in quotes would not be recognized.
            return read_context(_each_text(value, self._exchange.scrub))
        except InvalidContext as error:
            if "context" not in self._told_of:
                self._told_of.add("context")
                warnings.warn(
                    f"in the answer to case {case.id}, at {path!r}, {error}; such answers count as without a context",
                    UserWarning,
                    stacklevel=2,
                )
            return Context()


class HttpsSystem(HttpSystem):
    """``https://host/ask``: the same over TLS, so that a plain ``https`` address is a system's URL."""

    name = "https"


def _template(text: str) -> dict[str, Any]:
    try:
        template = json.loads(text)
    except ValueError as error:
        # The text is not shown: it may hold a secret, and its fields are not known.
        raise InputError(
            f"the request template is not JSON ({error}): put placeholders inside strings, for "
            f"example {DEFAULT_TEMPLATE}"
        ) from None
    if not isinstance(template, dict):
        raise InputError(
            f"the request template is {json_kind(template)}, not a JSON object: write one, for "
            f"example {DEFAULT_TEMPLATE}"
        )
    what = f"the request template {json.dumps(_without_secrets(template), ensure_ascii=False)}"
    names = check_placeholders(_strings(template), what=what)
    if "question" not in names:
        raise InputError(f"{what} has no {{question}} in any value: the system would not see it")
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
    """The value at a dotted path of field names and zero-based list positions. `_ABSENT` if there is none."""
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
    """The value at the query's path: a text, rows, or None for nothing."""
    if path is None:
        name = next((name for name in USUAL_QUERY_NAMES if name in said), None)
        if name is None and "rows" not in said:
            raise UnknownForm(
                f"the answer has no field for the query: it has {_listed(said)}; {_NAME_THE_PATH}", code=_NO_QUERY
            )
        return _or_rows(None if name is None else said[name], said)
    query = _at(said, path)
    beside = _at(said, path.rpartition(".")[0]) if "." in path else said
    if query is _ABSENT and not (isinstance(beside, Mapping) and "rows" in beside):
        raise UnknownForm(
            f"the answer has nothing at {path!r}: its fields are {_listed(said)}; {_NAME_THE_PATH}", code=_NO_QUERY
        )
    return _or_rows(None if query is _ABSENT else query, beside)


def _or_rows(query: object, beside: object) -> object:
    """The query; if there is none, the surrounding object if it has rows."""
    if query is None or (isinstance(query, str) and holds_nothing(query)):
        return beside if isinstance(beside, Mapping) and beside.get("rows") is not None else query
    return query


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    """The value with ``change`` applied to each text in it."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(name): _each_text(item, change) for name, item in value.items()}
    return [_each_text(item, change) for item in value] if isinstance(value, list) else value


def _listed(said: Mapping[str, Any]) -> str:
    text = ", ".join(map(repr, list(said)[:10])) or "none"
    return text if len(text) <= _MOST_LISTED else f"{text[:_MOST_LISTED]}…"  # a hint follows


def _times(said: dict[str, Any], path: str) -> tuple[tuple[str, float], ...]:
    found = _at(said, path)
    if isinstance(found, dict):
        return timings(found, found)
    value = read_measure(found)
    return () if value is None else ((path.rpartition(".")[2], value),)


def _prose(said: Mapping[str, Any]) -> str:
    names = ("answer", "message", "error", "detail", "text")
    return next((text for name in names if (text := text_of(said.get(name)))), "")
