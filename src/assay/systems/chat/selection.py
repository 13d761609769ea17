"""Find the data query in an SDMX assistant's message: in its attachments, else in its words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from assay.model import Failure
from assay.ports import ChatMessage
from assay.systems.chat.reading import json_objects

Fetch = Callable[[str], bytes | None]
"""The file that an attachment's URL names; None where it is not to be fetched. Raises QuestionFailed."""

_FENCE = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_DATA_URL = re.compile(r"https?://[^\s<>\"'`)]+/data/[^\s<>\"'`)]+", re.IGNORECASE)
_MOST_STARTS = 200  # places in one text at which JSON is looked for


def selected(message: ChatMessage, fetch: Fetch) -> str | Failure | None:
    """The query as JSON text or an SDMX data URL, a JSON list where there are several; None where nothing was selected.

    Looked for, in this order, in attachments of type ``application/json``, in code fences of
    markdown attachments, and in the message's own words. A text that means to be a query and is no
    JSON is given as it stands: whoever reads it says what is wrong. A Failure says that the query
    may be in a file that another server has. Raises QuestionFailed for a file that cannot be fetched.
    """
    attachments = _attachments(message.custom_content)
    left: list[str] = []
    texts = [text for one in attachments if _is(one, "json") for text in _json_queries(one, fetch, left)]
    if not texts:
        markdown = (data for one in attachments if _is(one, "markdown") and isinstance(data := one.get("data"), str))
        texts = [text for data in markdown for text in _fenced_queries(data)]
    if not texts:
        texts = _fenced_queries(message.content) or list(_bare_queries(message.content)) or _urls(message.content)
    if texts:
        return texts[0] if len(texts) == 1 else "[" + ",\n".join(map(_as_json, texts)) + "]"
    if left:
        elsewhere = f"its query may be in the attachment {left[0].partition('?')[0]!r}, which another server has"
        return _unreadable(f"{elsewhere}: it was not fetched, as credentials are not to go there")
    return None


def _attachments(custom_content: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    found = (custom_content or {}).get("attachments")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _is(attachment: Mapping[str, Any], kind: str) -> bool:
    """Whether the attachment is JSON or markdown, which is what one without a type is."""
    said = attachment.get("type") or "text/markdown"
    mime = str(said).partition(";")[0].strip().lower()
    return mime == "application/json" if kind == "json" else mime in ("text/markdown", "text/x-markdown")


def _json_queries(attachment: Mapping[str, Any], fetch: Fetch, left: list[str]) -> list[str]:
    data, url = attachment.get("data"), attachment.get("url")
    if data is None and isinstance(url, str) and url.strip():
        fetched = fetch(url)
        if fetched is None:
            left.append(url)
            return []
        data = fetched.decode("utf-8-sig", "replace")
    if isinstance(data, str):
        return _queries_in(data)
    return [json.dumps(item, ensure_ascii=False) for item in _looking_like_queries(data)]


def _queries_in(text: str) -> list[str]:
    """The queries of a text that is JSON as a whole; the text itself where it only means to be one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return [text.strip()] if '"urn"' in text and '"filters"' in text else []
    found = _looking_like_queries(value)
    return [text.strip()] if found and found[0] is value else [json.dumps(one, ensure_ascii=False) for one in found]


def _looking_like_queries(value: Any) -> list[Any]:
    """The queries that a value is: one, or a list of them."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, dict) and "urn" in item and "filters" in item]


def _fenced_queries(text: str) -> list[str]:
    return [query for fenced in _FENCE.findall(text) for query in _queries_in(fenced) or _urls(fenced)]


def _bare_queries(text: str) -> Iterator[str]:
    """The queries that stand in the words themselves."""
    if '"urn"' not in text or '"filters"' not in text:
        return
    for start, end, value in json_objects(text, starts=_MOST_STARTS):
        if _looking_like_queries(value):
            yield text[start:end]


def _urls(text: str) -> list[str]:
    """The SDMX data URLs in a text, each once, without the punctuation of the sentence around them."""
    found: dict[str, None] = {}
    for line in text.splitlines():
        for match in _DATA_URL.finditer(line):
            url = match[0].rstrip(",;:!?")
            # A key may end in a dot, an empty position; one that ends a sentence is none.
            if url.endswith(".") and ("?" in url or line[: match.start()].strip()):
                url = url[:-1]
            found[url] = None
    return list(found)


def _as_json(text: str) -> str:
    return json.dumps(text) if text.startswith("http") else text


def _unreadable(message: str) -> Failure:
    return Failure(stage="read", kind="unreadable_answer", blame="system", message=message)
