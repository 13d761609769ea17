"""Files that the batch interfaces of model providers return: one response, or one error, per request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from msgspec.structs import replace

from assay.cases.records import Record, Table
from assay.cases.tools.frame import ToolFormat
from assay.model import FieldNames
from assay.sql.extraction import completion_of

_SUCCESS = range(200, 300)


class BatchFormat(ToolFormat):
    """Responses under the id that the user gave to each request: ``custom_id``, or ``key`` with Gemini.

    ==================  ======================================================  ================================
    OpenAI, Mistral     ``{"custom_id", "response": {"status_code", "body"}}``  ``{"custom_id", "error": {…}}``
    Anthropic           ``{"custom_id", "result": {"type", "message"}}``        ``"type": "errored"``, ``expired``
    Gemini              ``{"key", "response": {"candidates": […]}}``            ``{"key", "error": {…}}``
    ==================  ======================================================  ================================

    A request that failed is a case without a query, with the provider's error. Several choices in one response are
    several answers to its question.
    """

    name = "batch"
    marks = tuple(frozenset({id_, part}) for id_ in ("custom_id", "key") for part in ("response", "result", "error"))
    names: ClassVar[Mapping[str, tuple[str, ...]]] = {"id": ("custom_id",), "prediction": ("completion",)}

    def fits(self, first: Mapping[str, object]) -> bool:
        """Whether the response or the error is an object, as in no plain table."""
        return any(isinstance(first.get(part), Mapping) for part in ("response", "result", "error"))

    def table(self, path: Path, fields: FieldNames) -> Table:
        """The answers, one record each. Raises CaseFileError."""
        table = super().table(path, fields)
        answers = [list(_answers(record)) for record in table.records]
        is_numbered = any(len(several) > 1 for several in answers)
        return Table.of(
            table.path,
            [
                replace(answer, values={**answer.values, "sample": number}) if is_numbered else answer
                for several in answers
                for number, answer in enumerate(several)
            ],
        )


def _answers(record: Record) -> Iterator[Record]:
    values = record.values
    response, error = _response(values)
    about: dict[str, object] = {"custom_id": values.get("custom_id", values.get("key")), **_usage(response)}
    if error is not None:
        yield Record(place=record.place, values={**about, "completion": None, "error": error})
        return
    for answer in _choices(response):
        yield Record(place=record.place, values={**about, "completion": completion_of(answer)})


def _response(values: Mapping[str, object]) -> tuple[Mapping[str, object], str | None]:
    """The model's response, and the error if there is none."""
    response = values.get("response", values.get("result"))
    if not isinstance(response, Mapping):
        return {}, _message(values.get("error")) or "the request has no response"
    body = response.get("body", response.get("message", response))
    body = body if isinstance(body, Mapping) else {}
    status, kind = response.get("status_code", 200), response.get("type", "succeeded")
    if status in _SUCCESS and kind in ("succeeded", "message"):
        return body, None
    said = _message(body.get("error")) or _message(response.get("error"))
    return body, said or (f"the request is {kind}" if status in _SUCCESS else f"the provider answered {status}")


def _message(error: object) -> str | None:
    """The message within an error, which providers nest differently."""
    if not isinstance(error, Mapping):
        return str(error) if error else None
    return _message(error.get("error")) or _message(error.get("message")) or _message(error.get("code"))


def _choices(response: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """The response once for each of the answers that it contains."""
    for name in ("choices", "candidates"):
        choices = response.get(name)
        if isinstance(choices, list) and len(choices) > 1:
            yield from ({**response, name: [choice]} for choice in choices)
            return
    yield response


def _usage(response: Mapping[str, object]) -> dict[str, object]:
    usage = response.get("usage", response.get("usageMetadata"))
    if not isinstance(usage, Mapping):
        return {}
    names = {
        "input_tokens": ("input_tokens", "prompt_tokens", "promptTokenCount"),
        "output_tokens": ("output_tokens", "completion_tokens", "candidatesTokenCount"),
    }
    counts = {field: next((usage[name] for name in own if name in usage), None) for field, own in names.items()}
    return {field: count for field, count in counts.items() if isinstance(count, int)}
