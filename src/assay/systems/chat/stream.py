"""Answers that arrive in pieces: join server-sent events into the whole answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from assay.sql.extraction.embedded_json import read_json
from assay.systems.http.complaint import complaint_of
from assay.systems.http.exchange import parse_json
from assay.systems.predictions import QuestionFailed, first_line
from assay.systems.retrying import TryAgain

_CODE = "broken stream"
"""The code of failures."""
_DONE = "[DONE]"
_BEGINNINGS = (b"data:", b"event:", b":")  # the start of a stream without a stream's content type; JSON never begins so
_HIGHEST_INDEX = 10_000  # a higher index would make Assay fill a list up to it


def parse_answer(content: bytes, content_type: str) -> Any:
    """The answer's JSON, joined from its pieces if it was streamed.

    Raises TryAgain for a truncated stream, and for a transient error instead of the answer; QuestionFailed
    for any other error, and for an unreadable answer.
    """
    if _is_stream(content, content_type):
        try:
            return _whole(_events(content))
        except RecursionError:
            raise QuestionFailed("the JSON in the stream is nested too deeply", code=_CODE) from None
    answer = parse_json(content, content_type)
    if isinstance(answer, dict) and answer.get("error") and not answer.get("choices"):
        raise _error(answer)
    return answer


def _is_stream(content: bytes, content_type: str) -> bool:
    return content_type.strip().lower().startswith("text/event-stream") or content.lstrip().startswith(_BEGINNINGS)


def _events(content: bytes) -> Iterator[dict[str, Any]]:
    """The data of the events up to ``[DONE]``; a stream without that mark is incomplete."""
    text = content.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    for event in text.split("\n\n"):
        data = "\n".join(line[5:].removeprefix(" ") for line in event.split("\n") if line.startswith("data:")).strip()
        if not data:
            continue  # a comment, with which servers keep a connection alive
        if data == _DONE:
            return
        try:
            chunk = read_json(data)
        except (ValueError, RecursionError):
            raise TryAgain(f'the stream is truncated, or not JSON: "{first_line(data)}"', code=_CODE) from None
        if not isinstance(chunk, dict):
            raise QuestionFailed(f'the JSON in the stream is not an object: "{first_line(data)}"', code=_CODE)
        if chunk.get("error"):
            raise _error(chunk)
        yield chunk
    raise TryAgain("the stream is truncated: it ended without [DONE]", code=_CODE)


class _Text:
    """A growing text: its pieces are joined only once, at the end."""

    __slots__ = ("pieces",)

    def __init__(self) -> None:
        self.pieces: list[str] = []


def _whole(chunks: Iterator[dict[str, Any]]) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    message: dict[str, Any] = {}
    finish_reason = None
    begun = False
    for chunk in chunks:
        for name in ("model", "usage"):
            if chunk.get(name):
                answer[name] = chunk[name]
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if not isinstance(choice, dict) or choice.get("index", 0) != 0:
                continue
            begun = True
            finish_reason = choice.get("finish_reason") or finish_reason
            delta = choice.get("delta") or choice.get("message")
            if isinstance(delta, dict):
                _merged(message, delta)
    message = _joined(message)
    message["role"] = "assistant"  # some servers repeat it with each piece
    custom = message.get("custom_content")
    if isinstance(custom, dict):
        for name in ("attachments", "stages"):
            if name in custom:
                custom[name] = _without_index(custom[name])
    answer["choices"] = [{"index": 0, "message": message, "finish_reason": finish_reason}] if begun else []
    return answer


def _merged(whole: Any, piece: Any) -> Any:
    """``whole`` with one more piece, joined as DIAL joins pieces.

    Texts are joined, objects merged by name, list items by their ``index``; any other value replaces the earlier one.
    """
    if piece is None:
        return whole
    if isinstance(piece, str):
        text = whole if isinstance(whole, _Text) else _Text()
        text.pieces.append(piece)
        return text
    if isinstance(piece, dict):
        joined = whole if isinstance(whole, dict) else {}
        for name, value in piece.items():
            joined[name] = value if name == "index" else _merged(joined.get(name), value)
        return joined
    if isinstance(piece, list):
        items = whole if isinstance(whole, list) else []
        for item in piece:
            index = item.get("index") if isinstance(item, dict) else None
            if not isinstance(index, int) or not 0 <= index <= _HIGHEST_INDEX:
                items.append(_merged(None, item))
                continue
            items.extend({"index": place} for place in range(len(items), index + 1))
            items[index] = _merged(items[index], item)
        return items
    return piece


def _joined(value: Any) -> Any:
    if isinstance(value, _Text):
        return "".join(value.pieces)
    if isinstance(value, list):
        return [_joined(item) for item in value]
    if isinstance(value, dict):
        return {name: _joined(item) for name, item in value.items()}
    return value


def _without_index(value: Any) -> Any:
    """Remove ``index``, which belongs to the stream and not to its content."""
    if isinstance(value, list):
        return [_without_index(item) for item in value]
    if isinstance(value, dict):
        return {name: _without_index(item) for name, item in value.items() if name != "index"}
    return value


def _error(answer: dict[str, Any]) -> QuestionFailed | TryAgain:
    """The exception for an error instead of the answer: after a status of success, most such errors are transient."""
    error = answer["error"]
    message = f"the server returned an error: {complaint_of(json.dumps(answer).encode())}"
    code, kind = (str(error.get(name, "")) for name in ("code", "type")) if isinstance(error, dict) else ("", "")
    stays = code.isdigit() and 400 <= int(code) < 500 and code not in ("408", "409", "429")
    if stays or kind == "invalid_request_error" or code in ("content_filter", "insufficient_quota"):
        return QuestionFailed(message, code=_CODE)
    return TryAgain(message, code=_CODE)
