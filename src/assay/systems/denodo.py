"""The Denodo AI SDK: it takes a question, and returns VQL and its timings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from threading import Lock
from typing import Any, Literal

from msgspec import Struct

from assay.errors import SystemUnusable
from assay.model import Case, Prediction
from assay.platform.surface import argument, on_command_line
from assay.sql.context import InvalidContext, read_context
from assay.sql.extraction import clean_query
from assay.systems.address import MASK, http_address, is_secret_name
from assay.systems.http.complaint import complaint_of
from assay.systems.http.exchange import Exchange
from assay.systems.http.extras import json_kind, parameter_value, shown_json, text_of, timings, token_usage
from assay.systems.http.refusals import Conventions, RequestRefused
from assay.systems.options import SystemOptions
from assay.systems.placeholders import history_text
from assay.systems.predictions import UnknownForm, answered

TIMINGS = ("sql_execution_time", "vector_store_search_time", "llm_time", "total_execution_time")
"""The API's own names for its times, in seconds."""
ANSWER = "answer"
"""The field for the text that a person reads, and the `Prediction.query_source` of a query found in it."""

_FOUND_VIEWS = "tables_used"
"""Despite its name, it has the views that the AI SDK's search found, from which the model writes the query."""

_NO_TABLE = 404
_NOT_UNDERSTOOD = 422
_OF_A_QUESTION = (401, 403, _NO_TABLE)
# An evaluation reads only the query: prose, plots and disclaimers would only cost LLM calls.
_QUIET = {"plot": False, "disclaimer": False, "verbose": False}
_LOWER_CASE = re.compile(r"[(\s]*select\b.*\bfrom\b", re.DOTALL)
"""How a query may begin that only Denodo can parse; a sentence begins with a capital letter."""
_SENTENCE = re.compile(r"Select\b(?!.*\b(?i:from)\b)|.*[.?:!]\Z", re.DOTALL)
"""How a person writes: "Select the clients", or with a punctuation mark at the end."""


def _address() -> str:
    option = " (--api-url, with assay run --system)" if on_command_line() else ""
    return f"the URL must end in /answerDataQuestion or /answerQuestion{option}"


class DenodoSystem:
    """``denodo:http://host:8008/answerDataQuestion``, or ``/answerQuestion`` (asked with ``mode=data``).

    The case's context is sent as ``custom_instructions``; ``options.parameters`` add or replace body fields, which are
    sent in the form that the server's own errors ask for: newer releases want lists, older ones text. From the
    answer it takes the query, its explanation, the views that it was written from, tokens and times. A newer server may
    ask back instead of returning a query, or report that no table fits (404 in its own form): both count as its answer.
    It empties ``sql_query`` for a query without an upper-case FROM: if ``answer`` is one query, it is then taken from
    there.
    """

    name = "denodo"

    def __init__(self, exchange: Exchange, fields: dict[str, Any], texts: Mapping[str, str] | None = None) -> None:
        self._exchange = exchange
        self._fields = _Fields(fields, texts or {})

    @classmethod
    def open(cls, url: str, options: SystemOptions) -> DenodoSystem:
        """Raises InputError for an invalid address. Nothing is sent yet."""
        address = http_address(url, cls.name)
        fields: dict[str, Any] = dict(_QUIET)
        if address.path.rstrip("/").endswith("/answerQuestion"):
            fields["mode"] = "data"
        fields.update((name, parameter_value(value)) for name, value in options.parameters)
        conventions = Conventions(
            of_question=_is_of_question,
            not_found=f"this path does not take questions; {_address()}",
            address_option="--api-url, with assay run --system" if on_command_line() else "url",
            fields=f"check the fields of the request ({argument('--param')})",
            fields_missing=f"{_address()}; {argument('--param')} adds a field",
        )
        return cls(Exchange(address, options, conventions), fields, dict(options.parameters))

    def describe(self) -> str:
        """The address and the fixed body fields, without secrets."""
        given = self._fields.given.items()
        fields = (f"{name}={MASK if is_secret_name(name) else value}" for name, value in given)
        return " ".join([f"{self.name}:{self._exchange.address.shown}", *fields])

    def answer(self, case: Case) -> Prediction:
        """Ask one question. Raises SystemUnusable for refused credentials, a wrong path, or an unreachable server."""
        body: dict[str, Any] = {"question": case.question}
        told = [case.context] if case.context and case.context.strip() else []
        if case.history:
            told.append(f"Earlier in this conversation:\n{history_text(case)}")
        if told:
            body["custom_instructions"] = "\n\n".join(told)
        body |= self._fields.to_send()
        return self._exchange.ask(
            case,
            body,
            lambda said: self._read(case, said),
            refused=lambda refusal: _read_refusal(case, refusal),
            adapted=self._adapted,
        )

    def close(self) -> None:
        """Close the connections."""
        self._exchange.close()

    def _adapted(self, body: dict[str, Any], refusal: RequestRefused) -> dict[str, Any] | None:
        """The body in the form that a 422 asks for; None if the cause is the question alone.

        Raises SystemUnusable if every question would be refused so, and only the user can change it.
        """
        faults = field_faults(refusal.content) if refusal.status == _NOT_UNDERSTOOD else ()
        other = self._fields.adapted(body, faults)
        if other is not None or self._exchange.has_answered:
            return other
        fixed = [fault for fault in faults if fault.wants == "field" or self._fields.has(fault.name)]
        if not fixed:
            return None
        why = "; ".join(f"{fault.name}: {fault.message}" for fault in fixed)
        advice = "; ".join(dict.fromkeys(map(self._fields.advice, fixed)))
        raise SystemUnusable(
            self._exchange.scrub(
                f"{self._exchange.address.shown} does not accept the request ({refusal.status}: {why}): {advice}"
            )
        )

    def _read(self, case: Case, said: dict[str, Any]) -> Prediction:
        if "sql_query" not in said:
            self._raise_for_other_answer(said)
        given = said["sql_query"]
        if given is not None and not isinstance(given, str):
            what = f"'sql_query' in the response is {json_kind(given)}, not a text: {shown_json(given)}"
            raise UnknownForm(what, code="sql_query without a query")
        query = text_of(given)
        words = text_of(said.get(ANSWER)) or ""
        moved = clean_query(query) is None and is_one_query(words)
        return answered(
            case,
            words if moved else query,
            said=words,
            query_source=ANSWER if moved else None,
            timings_s=timings(said, TIMINGS),
            tokens=token_usage(said.get("tokens")),
            explanation=text_of(said.get("query_explanation")),
            context_tables=_found_views(said.get(_FOUND_VIEWS)),
        )

    def _raise_for_other_answer(self, said: Mapping[str, Any]) -> None:
        """Raise for a response that does not answer a question: SystemUnusable if no question was answered yet."""
        names = ", ".join(repr(str(name)[:40]) for name in list(said)[:10]) or "none"
        reason = complaint_of(json.dumps(said).encode())
        quoted = f", and the message {reason}" if reason else ""
        what = f"the response has no 'sql_query': its fields are {names}{quoted}"
        if self._exchange.has_answered:
            raise UnknownForm(what, code="no sql_query")
        raise SystemUnusable(self._exchange.scrub(f"{self._exchange.address.shown}: {what}; {_address()}"))


def _found_views(said: Any) -> tuple[str, ...] | None:
    """The views that the search found for a question; None if the server does not report them."""
    try:
        return read_context(said).tables
    except InvalidContext:
        return None


class _Fields:
    """The fields of every request, in the forms that the server is known to accept. Used by several threads."""

    def __init__(self, given: Mapping[str, Any], texts: Mapping[str, str]) -> None:
        self.given = dict(given)
        """As they were given: the system's description does not depend on the server."""
        self._texts = texts
        """The values of parameters as they were written."""
        self._sent = dict(given)
        self._lock = Lock()

    def has(self, name: str) -> bool:
        """Whether every request has this field."""
        return name in self.given

    def to_send(self) -> dict[str, Any]:
        """The fields of the next request."""
        with self._lock:
            return dict(self._sent)

    def adapted(self, body: Mapping[str, Any], faults: tuple[FieldFault, ...]) -> dict[str, Any] | None:
        """The refused body in the form that the server asks for; None if it has no such form."""
        changed = dict(body)
        for fault in faults:
            if fault.name not in self.given or fault.name not in body:
                continue
            if fault.wants == "no field" and fault.name not in self._texts:
                changed.pop(fault.name, None)
            elif fault.wants in ("list", "text"):
                changed[fault.name] = self._in_form(fault, body[fault.name])
        if changed == body:
            return None
        with self._lock:
            self._sent = {name: changed[name] for name in self._sent if name in changed}
        return changed

    def _in_form(self, fault: FieldFault, value: Any) -> Any:
        if isinstance(value, list):
            texts = [item if isinstance(item, str) else json.dumps(item) for item in value]
            return texts if fault.within else ",".join(texts) if fault.wants == "text" else value
        text = value if isinstance(value, str) else self._texts.get(fault.name, json.dumps(value))
        if fault.wants == "text":
            return text
        return [part for item in text.split(",") if (part := item.strip())]

    def advice(self, fault: FieldFault) -> str:
        """What to do about a fault that only the user can fix."""
        if fault.wants == "field":
            return f"{_address()}, or give the field with --param {fault.name}=VALUE"
        if fault.wants == "no field":
            return f"omit --param {fault.name}"
        value = MASK if is_secret_name(fault.name) else self._texts.get(fault.name, json.dumps(self.given[fault.name]))
        return f"change the value of --param {fault.name}={value}"


def is_one_query(text: str) -> bool:
    """Whether a text is one VQL query and nothing else, perhaps in a code fence."""
    text = text.strip()
    marks = text.count("```")
    if marks and not (marks == 2 and text.startswith("```") and text.endswith("```")):
        return False
    query = clean_query(text)
    if query is None or _SENTENCE.match(query):
        return False
    from assay.sql.statement import statement_kind  # these load sqlglot, which other answers do not need
    from assay.sql.vql_statement import read_vql

    kind = statement_kind(query, "denodo")
    is_query = kind == "query" or (kind == "unreadable" and _LOWER_CASE.match(query) is not None)
    return is_query and read_vql(query).does == "query"


def _error_of(content: bytes) -> str | None:
    """The AI SDK's own error message, ``{"detail": {"error": ...}}``; None for a body in another form."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return None
    detail = body.get("detail") if isinstance(body, dict) else None
    error = detail.get("error") if isinstance(detail, dict) else None
    return error if isinstance(error, str) else None


def _is_of_question(status: int, content: bytes) -> bool | None:
    """A 404 of the AI SDK's own form says that no table fits; a 401 or 403 may be passed through from Denodo.

    These are about the question, whatever their text. For any other form the general rule decides.
    """
    return True if status in _OF_A_QUESTION and _error_of(content) is not None else None


def _read_refusal(case: Case, refusal: RequestRefused) -> Prediction | None:
    """Read "no table fits" as an answer: asking again would give the same."""
    error = _error_of(refusal.content) if refusal.status == _NO_TABLE else None
    return None if error is None else answered(case, None, said=error or "no table fits the question")


_LISTS = frozenset({"list_type", "type_error.list", "tuple_type", "set_type", "iterable_type"})
_TEXTS = frozenset({"string_type", "type_error.str"})
_MISSING = frozenset({"missing", "value_error.missing"})
_NOT_TAKEN = frozenset({"extra_forbidden", "value_error.extra", "unexpected_keyword_argument"})
_BODY = "body"


class FieldFault(Struct, frozen=True, kw_only=True):
    """The fault of one field."""

    name: str
    within: bool
    """Whether an item of the field's list is wrong."""
    wants: Literal["list", "text", "field", "no field", "other"]
    """``field``: it is required and absent; ``no field``: the server does not accept it; ``other``: see the message."""
    message: str


def field_faults(content: bytes) -> tuple[FieldFault, ...]:
    """The faults in a response's body; none if it has another form."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return ()
    details = body.get("detail") if isinstance(body, dict) else None
    found = map(_fault, details if isinstance(details, list) else ())
    return tuple(fault for fault in found if fault is not None)


def _fault(detail: Any) -> FieldFault | None:
    location = detail.get("loc") if isinstance(detail, dict) else None
    if not isinstance(location, list) or len(location) < 2 or location[0] != _BODY:
        return None
    _, name, *deeper = location
    kind, message = str(detail.get("type", "")), str(detail.get("msg", ""))
    if not isinstance(name, str):
        return None
    wants: Literal["list", "text", "field", "no field", "other"] = "other"
    if kind in _LISTS:
        wants = "list"
    elif kind in _TEXTS:
        wants = "text"
    elif kind in _MISSING:
        wants = "field" if not deeper else "other"
    elif kind in _NOT_TAKEN:
        wants = "no field"
    return FieldFault(name=name, within=any(isinstance(step, int) for step in deeper), wants=wants, message=message)
