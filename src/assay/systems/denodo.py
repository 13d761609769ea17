"""The Denodo AI SDK: it takes a question, and answers with VQL and its timings."""

from __future__ import annotations

import json
from typing import Any

from assay.model import Case, Prediction
from assay.systems.address import MASK, http_address, is_secret_name
from assay.systems.http.exchange import Conventions, Exchange, RequestRefused
from assay.systems.http.extras import parameter_value, table_names, text_of, timings, token_usage
from assay.systems.options import SystemOptions
from assay.systems.placeholders import history_text
from assay.systems.predictions import answered

TIMINGS = ("sql_execution_time", "vector_store_search_time", "llm_time", "total_execution_time")
"""The API's own names for its times, in seconds."""

_NO_TABLE = 404
_OF_A_QUESTION = (401, 403, _NO_TABLE)
# An evaluation reads only the query: prose, plots and disclaimers would only cost LLM calls.
_QUIET = {"plot": False, "disclaimer": False, "verbose": False}


class DenodoSystem:
    """``denodo:http://host:8008/answerDataQuestion``, or ``/answerQuestion`` (asked with ``mode=data``).

    The case's context is sent as ``custom_instructions``; ``options.parameters`` add or replace body fields. Of the
    answer it keeps the query, its explanation, the tables, tokens and times. A newer server may ask back instead of
    giving a query, or say that no table fits (404 in its own form): both count as its answer.
    """

    name = "denodo"

    def __init__(self, exchange: Exchange, fields: dict[str, Any]) -> None:
        self._exchange = exchange
        self._fields = fields

    @classmethod
    def open(cls, url: str, options: SystemOptions) -> DenodoSystem:
        """Raises InputError for an invalid address. Nothing is sent yet."""
        address = http_address(url, cls.name)
        fields: dict[str, Any] = dict(_QUIET)
        if address.path.rstrip("/").endswith("/answerQuestion"):
            fields["mode"] = "data"
        fields.update((name, parameter_value(value)) for name, value in options.parameters)
        return cls(Exchange(address, options, Conventions(of_question=_is_of_question)), fields)

    def describe(self) -> str:
        """The address and the fixed body fields, without secrets."""
        fields = (f"{name}={MASK if is_secret_name(name) else value}" for name, value in self._fields.items())
        return " ".join([f"{self.name}:{self._exchange.address.shown}", *fields])

    def answer(self, case: Case) -> Prediction:
        """Ask one question. Raises SystemUnusable for refused credentials, a wrong path, or an unreachable server."""
        body: dict[str, Any] = {"question": case.question}
        told = [case.context] if case.context and case.context.strip() else []
        if case.history:
            told.append(f"Earlier in this conversation:\n{history_text(case)}")
        if told:
            body["custom_instructions"] = "\n\n".join(told)
        body |= self._fields
        return self._exchange.ask(
            case, body, lambda said: _read(case, said), refused=lambda refusal: _read_refusal(case, refusal)
        )

    def close(self) -> None:
        """Close the connections."""
        self._exchange.close()


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

    Whatever their text, these are about the question. For any other form the general rule decides.
    """
    return True if status in _OF_A_QUESTION and _error_of(content) is not None else None


def _read_refusal(case: Case, refusal: RequestRefused) -> Prediction | None:
    """Read "no table fits" as an answer: asking again would give the same."""
    error = _error_of(refusal.content) if refusal.status == _NO_TABLE else None
    return None if error is None else answered(case, None, said=error or "no table fits the question")


def _read(case: Case, said: dict[str, Any]) -> Prediction:
    return answered(
        case,
        text_of(said.get("sql_query")),
        said=text_of(said.get("answer")) or "",
        timings_s=timings(said, TIMINGS),
        tokens=token_usage(said.get("tokens")),
        explanation=text_of(said.get("query_explanation")),
        tables_used=table_names(said.get("tables_used")),
    )
