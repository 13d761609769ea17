"""Find the data query in an assistant's output: a chat message with attachments, or a tool's result.

Live and logged chats are read in the same way. A message of DIAL has its query in an attachment; a tool's result
(Model Context Protocol) in ``structuredContent``, which is written for the model that calls, or under ``_meta``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from assay.model import Failure
from assay.sdmx.answers.statgpt import DATASET_NAMES
from assay.sdmx.errors import SelectionError, described, excerpt
from assay.sql.extraction.embedded_json import iter_json_objects

Fetch = Callable[[str], bytes | None]
"""The file at an attachment's URL; None if it must not be fetched."""

_FENCE = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_DATA_URL = re.compile(r"https?://[^\s<>\"'`)]+/data/[^\s<>\"'`)]+", re.IGNORECASE)
_MEANT = re.compile(
    r"""[{,]\s*["'](?:urn|dataset_?urn|filters|queries|indicator_selection|series_keys)["']\s*:""", re.I
)
_MOST_STARTS = 200  # positions in one text at which JSON is looked for
_APP = "/mcp-app"
_RESULT_KEYS = ("structuredContent", "structured_content", "queries")
_ASKING_BACK = ("missingDimensions", "candidateDatasets")
"""Keys of a result without queries, in which the assistant asks which items are meant."""
_MESSAGE_KEYS = ("custom_content", "customContent", "choices")


def means_a_query(text: str) -> bool:
    """Whether a text has a piece that looks like a query, even if it is not valid JSON."""
    return _MEANT.search(text) is not None


def find_query(content: str, custom_content: Mapping[str, Any] | None, fetch: Fetch) -> str | Failure | None:
    """The query as JSON text or an SDMX data URL, a JSON list if there are several; None if nothing was selected.

    Searched, in this order, in attachments of type ``application/json``, in code fences of markdown attachments, and
    in the message's own words. A text that looks like a query but is not JSON is returned unchanged: reading it later
    reports the error. A Failure means that an attachment cannot be read, or is a file on another server. Exceptions of
    ``fetch`` are passed on.
    """
    attachments = _attachments(custom_content)
    left: list[str] = []
    broken: list[str] = []
    texts = [text for one in attachments if _is(one, "json") for text in _json_queries(one, fetch, left, broken)]
    if not texts:
        markdown = (data for one in attachments if _is(one, "markdown") and isinstance(data := one.get("data"), str))
        texts = [text for data in markdown for text in _fenced_queries(data) or _queries_in(data)]
    if not texts:
        texts = _fenced_queries(content) or list(_bare_queries(content)) or _urls(content)
    if texts:
        listed = (json.dumps(text) if text.startswith("http") else text for text in texts)
        return texts[0] if len(texts) == 1 else "[" + ",\n".join(listed) + "]"
    if broken:
        return _unreadable(broken[0])
    if left:
        elsewhere = f"the query may be in the attachment {left[0].partition('?')[0]!r} on another server"
        return _unreadable(f"{elsewhere}: it was not fetched, as credentials must not be sent there")
    return content if means_a_query(content) else None


def _attachments(custom_content: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    found = (custom_content or {}).get("attachments")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _is(attachment: Mapping[str, Any], kind: str) -> bool:
    """Whether the attachment is JSON or markdown; one without a type is markdown."""
    said = attachment.get("type") or "text/markdown"
    mime = str(said).partition(";")[0].strip().lower()
    return mime == "application/json" if kind == "json" else mime in ("text/markdown", "text/x-markdown")


def _json_queries(attachment: Mapping[str, Any], fetch: Fetch, left: list[str], broken: list[str]) -> list[str]:
    data, url = attachment.get("data"), attachment.get("url")
    if data is None and isinstance(url, str) and url.strip():
        fetched = fetch(url)
        if fetched is None:
            left.append(url)
            return []
        data = fetched.decode("utf-8-sig", "replace")
    if data is None:
        broken.append(f"{_called(attachment)} is declared as JSON but has neither data nor a URL")
        return []
    if not isinstance(data, str):
        return [json.dumps(item, ensure_ascii=False) for item in _looking_like_queries(data)]
    try:
        value = json.loads(data)
        if isinstance(value, str):  # encoded as JSON twice
            json.loads(data := value)
    except (ValueError, RecursionError) as error:
        if '"filters"' not in data:
            broken.append(f"{_called(attachment)} is declared as JSON but is not ({error}): {excerpt(data)}")
            return []
    return _queries_in(data)


def _called(attachment: Mapping[str, Any]) -> str:
    title = attachment.get("title")
    return f"the attachment {excerpt(title, most=40)}" if isinstance(title, str) and title else "an attachment"


def _queries_in(text: str) -> list[str]:
    """The queries of a text that is JSON as a whole; the text itself if it is an invalid query."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return [text.strip()] if '"filters"' in text and any(f'"{name}"' in text for name in DATASET_NAMES) else []
    found = _looking_like_queries(value)
    return [text.strip()] if found and found[0] is value else [json.dumps(one, ensure_ascii=False) for one in found]


def _looking_like_queries(value: Any) -> list[Any]:
    """The queries in a value: a single query, a tool's result with some, or a list of them."""
    items = value if isinstance(value, list) else [value]
    return [
        item
        for item in items
        if isinstance(item, dict)
        and (_holds_queries(item) or ("filters" in item and any(name in item for name in DATASET_NAMES)))
    ]


def _fenced_queries(text: str) -> list[str]:
    return [query for fenced in _FENCE.findall(text) for query in _queries_in(fenced) or _urls(fenced)]


def _bare_queries(text: str) -> Iterator[str]:
    """The queries within the words themselves."""
    if '"filters"' not in text:
        return
    for start, end, value in iter_json_objects(text, starts=_MOST_STARTS):
        if _looking_like_queries(value):
            yield text[start:end]


def _urls(text: str) -> list[str]:
    """The distinct SDMX data URLs in a text, without the sentence's punctuation."""
    found: dict[str, None] = {}
    for line in text.splitlines():
        for match in _DATA_URL.finditer(line):
            url = match[0].rstrip(",;:!?")
            # A key may end in a dot, for an empty position; the dot at the end of a sentence does not count.
            if url.endswith(".") and ("?" in url or line[: match.start()].strip()):
                url = url[:-1]
            found[url] = None
    return list(found)


def _unreadable(message: str) -> Failure:
    return Failure(stage="read", kind="unreadable_answer", blame="system", message=message)


# Messages and results in logs


def is_message(value: Mapping[str, Any]) -> bool:
    """Whether a value is a chat message, or the whole response of a chat service."""
    return any(key in value for key in _MESSAGE_KEYS) or ("role" in value and "content" in value)


def answers_among(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """The indexes of a conversation's answers, one per question of the user that was answered.

    After a question an assistant may write several messages: it calls tools, or announces its next step. The last one
    with attachments is the answer, otherwise the last one. Without messages of a user, each message is an answer; with
    them, a greeting is not an answer.
    """
    found: dict[int, int] = {}
    asked = 0
    for place, message in enumerate(messages):
        if message.get("role") == "user":
            asked += 1
        if message.get("role") != "assistant":
            continue
        before = found.get(asked)
        if before is None or _has_attachments(message) or not _has_attachments(messages[before]):
            found[asked] = place
    if asked:
        return [place for question, place in found.items() if question]
    return [at for at, one in enumerate(messages) if one.get("role") == "assistant"]


def answer_by_question(messages: Sequence[Mapping[str, Any]]) -> list[int | None]:
    """The index of each question's answer; None: it has none. Without messages of a user, that of each answer."""
    answers = answers_among(messages)
    asked = [place for place, message in enumerate(messages) if message.get("role") == "user"]
    if not asked or not any(message.get("role") == "assistant" for message in messages):
        return [*answers]
    ends = [*asked[1:], len(messages)]
    return [
        next((place for place in answers if start < place < end), None) for start, end in zip(asked, ends, strict=True)
    ]


def _either(value: Mapping[str, Any], name: str, other: str) -> Any:
    """The value under either spelling of a name, since libraries differ."""
    held = value.get(name)
    return value.get(other) if held is None else held


def _has_attachments(message: Mapping[str, Any]) -> bool:
    custom = _either(message, "custom_content", "customContent")
    return isinstance(custom, dict) and bool(_attachments(custom))


def message_of(value: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None]:
    """The words of a message and DIAL's additions. Raises SelectionError if there is no message."""
    choices = value.get("choices")
    if choices is not None:
        first = choices[0] if isinstance(choices, list) and choices else None
        message = first.get("message") if isinstance(first, dict) else None
        if not isinstance(message, dict):
            raise SelectionError(
                f"contains {described(choices)} instead of a list of choices with a message", path=("choices",)
            )
        value = message
    content = value.get("content")
    if isinstance(content, list):  # in parts
        content = "\n".join(_texts(content))
    custom = _either(value, "custom_content", "customContent")
    if not isinstance(content, str | None):
        raise SelectionError(f"contains {described(content)} instead of text", path=("content",))
    if not isinstance(custom, dict | None):
        raise SelectionError(
            f"contains {described(custom)} instead of an object with attachments", path=("custom_content",)
        )
    return content or "", custom


def is_result(value: Mapping[str, Any]) -> bool:
    """Whether a value is the result of a tool's call, its structured content alone, or the response around it."""
    if _holds_queries(value) or any(key in value for key in _ASKING_BACK):
        return True
    if isinstance(value.get("content"), list) and "role" not in value:
        return True
    return "jsonrpc" in value and ("result" in value or "error" in value)


def _holds_queries(value: Mapping[str, Any]) -> bool:
    return any(key in value for key in _RESULT_KEYS) or _app(value) is not None


def queries_of(value: Mapping[str, Any]) -> list[Any] | str:
    """The queries of a tool's result, empty if it selected nothing; its words if it has nothing else.

    Raises SelectionError if the call failed.
    """
    if "jsonrpc" in value and "queries" not in value:
        inner = value.get("result")
        if not isinstance(inner, dict):
            error = value.get("error")
            told = error.get("message") if isinstance(error, dict) else None
            reason = excerpt(told, most=200) if isinstance(told, str) else "it gives no reason"
            raise SelectionError(f"the tool call failed: {reason}")
        return queries_of(inner)
    content = value.get("content")
    if _either(value, "isError", "is_error") is True:
        raise SelectionError(f"the tool returned an error: {excerpt(' '.join(_texts(content)), most=200)}")
    structured = _either(value, "structuredContent", "structured_content")
    if isinstance(structured, dict) and isinstance(structured.get("queries"), list):
        return _listed(structured)
    app = _app(value)
    if app is not None and isinstance(app.get("queries"), list):
        return _listed(app)
    if "queries" in value:
        return _listed(value)
    if isinstance(structured, dict) or any(key in value for key in _ASKING_BACK):
        return []  # a status without queries: the assistant asks back or found nothing
    return "\n".join(_texts(content))


def _listed(holder: Mapping[str, Any]) -> list[Any]:
    queries = holder.get("queries")
    if not isinstance(queries, list | None):
        raise SelectionError(f"contains {described(queries)} instead of a list of queries", path=("queries",))
    return queries or []


def _app(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    meta = _either(value, "_meta", "meta")
    if not isinstance(meta, dict):
        return None
    return next((held for key, held in meta.items() if str(key).endswith(_APP) and isinstance(held, dict)), None)


def _texts(content: object) -> list[str]:
    parts = content if isinstance(content, list) else []
    return [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
