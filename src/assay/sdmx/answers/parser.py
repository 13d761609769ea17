"""Read a system's answer, in any known form, as a selection."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from assay.model.cases.selection import Selection
from assay.model.failure import Failure
from assay.sdmx.answers.draft import SelectionDraft
from assay.sdmx.answers.keys import SERIES_KEYS, read_series
from assay.sdmx.answers.messages import (
    answers_among,
    find_query,
    is_message,
    is_result,
    means_a_query,
    message_of,
    queries_of,
)
from assay.sdmx.answers.rest import is_data_url, read_url, url_notes
from assay.sdmx.answers.statgpt import DATASET_NAMES, read_query
from assay.sdmx.answers.targets import DATASET_KEYS, TOP_KEYS, selection_of
from assay.sdmx.errors import SelectionError, described, excerpt, located, suggestion
from assay.sdmx.structures.known import DatasetStructure, Structures

_EXPECTED = (
    'expected JSON with "indicator_selection", a StatGPT query ("urn" and "filters"), '
    'series keys ("dataset_id" and "series_keys") or an SDMX REST data URL'
)
_FENCE = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)
_URL_IN_TEXT = re.compile(r"https?://[^\s<>\"'`|]+", re.IGNORECASE)
_LINK = re.compile(r"(?:https?:/)?/\S+", re.IGNORECASE)
_KEY_IN_URL = re.compile(r"/data/[^/?]+[/?].")
"""A data URL with a key: in prose, a link to ``…/data/page`` may not be a query."""
_JSON_START = re.compile(r"[{\[]")
_KNOWN_KEYS = tuple(dict.fromkeys((*TOP_KEYS, *DATASET_KEYS, *SERIES_KEYS, *DATASET_NAMES, "filters")))
_QUERY_START = re.compile(rf'[{{\[\s]+"(?:{"|".join(_KNOWN_KEYS)})"\s*:')
_METHOD = re.compile(r"GET\s+", re.IGNORECASE)
_MOST_STARTS = 64
"""The number of brackets of a text that are tried as the start of JSON: each try may scan the whole rest."""


def read_answer(raw: str, structures: Structures | None) -> Selection | Failure:
    """The selection in an answer, in any of the known forms; a Failure if it cannot be read.

    The forms (`_FORMS`): the targets' own JSON (`targets`), StatGPT's query (`statgpt`), lists of series keys (`keys`),
    chat messages and results of tools that contain any of these (`messages`), and SDMX REST data URLs, one per line or
    a
    JSON list of them (`rest`). JSON can be in a code fence or within prose; several queries, even of different forms,
    are joined. ``structures`` give the order of dimensions for positional keys. Never raises.
    """
    try:
        # Half a surrogate pair is not valid text: no file, database or report can store it.
        selection = _read(raw.encode("utf-8", "replace").decode(), structures)
        msgspec.json.encode(selection)
    except SelectionError as error:
        failure = error.failure()
        message = failure.message.encode("utf-8", "backslashreplace").decode()
        return replace(failure, message=f"the answer {message}" if message.startswith("contains ") else message)
    except UnicodeEncodeError as error:
        found = error.object[error.start : error.start + 1]
        return SelectionError(f"the answer has {found!a}, half a character, in a name: {_EXPECTED}").failure()
    return selection


def datasets_named(raw: str, structures: Structures | None = None) -> tuple[str, ...]:
    """The datasets that an answer names. If reading it needs a missing structure, only that first dataset.

    Datasets that ``structures`` already has are read with it.
    """
    lookup = _Lookup(structures)
    read = read_answer(raw, lookup)
    named = [dataset.dataset for dataset in read.datasets] if isinstance(read, Selection) else lookup.missed
    return tuple(dict.fromkeys(named))


def answer_notes(raw: str) -> tuple[str, ...]:
    """Parts of a readable answer that had no effect, though they may matter: words, unknown parameters of URLs."""
    if not any(mark in raw for mark in ("{", "[", "/data/")) and raw.strip():
        return (f"the answer has only words, which select nothing: {excerpt(raw)}",)
    if "/data/" not in raw and not raw.startswith("data/"):
        return ()
    links = [*_urls(raw.strip()), *(match[0].rstrip(".,;:!)") for match in _URL_IN_TEXT.finditer(raw))]
    return tuple(note for link in dict.fromkeys(links) if is_data_url(link) for note in url_notes(link))


def silent_notes(raw: str | None, text: str | None) -> tuple[str, ...]:
    """The words of an answer that selects nothing, if it is a chat message."""
    if raw is None:
        return (f"the answer has only words, which select nothing: {excerpt(text)}",) if text else ()
    try:
        value = _parse(raw)
        content = message_of(value)[0] if isinstance(value, dict) and is_message(value) else None
    except (_NotJson, SelectionError):
        return ()
    if content is None:
        return ()
    said = f": {excerpt(content)}" if content.strip() else ""
    return (f"neither the message's attachments nor its text have a query{said}",)


def without_selection(raw: str | None, text: str | None) -> str | None:
    """What an answer without datasets has instead of a selection: prose, an error page, null; None for a selection.

    An empty selection, for example an empty list, is a selection.
    """
    if notes := silent_notes(raw, text):
        return notes[0]
    if raw is None:
        return None
    try:
        if isinstance(_parse(raw), dict | list):
            return None
    except (_NotJson, SelectionError):
        pass
    return f"the answer has only words, which select nothing: {excerpt(raw)}"


class _Lookup(Structures):
    """Structures that record which requested datasets are missing."""

    def __init__(self, structures: Structures | None) -> None:
        super().__init__(())
        self._known = structures
        self.missed: list[str] = []

    def dataset(self, reference: str) -> DatasetStructure | None:
        found = self._known.dataset(reference) if self._known is not None else None
        if found is None:
            self.missed.append(reference)
        return found


def _read(raw: str, structures: Structures | None) -> Selection:
    text = raw.strip().lstrip("\ufeff").lstrip()
    if not text:
        raise SelectionError(f"the answer is blank: {_EXPECTED}")
    if urls := _urls(text):
        return _joined([read_url(url, structures) for url in urls])
    try:
        value = _parse(text)
        if isinstance(value, dict | list):
            return _read_value(value, structures)
        # A number or a truth value is read as a word, and a quoted text without its quotes.
        return _read(value, structures) if isinstance(value, str) and text[0] == '"' and value.strip() else Selection()
    except _NotJson as error:
        if found := _embedded(text, structures):
            return _joined(found)
        if text[0] in "{[" or means_a_query(text):
            raise _broken(text, str(error)) from error
    if _LINK.fullmatch(text):
        raise SelectionError(f"the answer {excerpt(text)} cannot be read as a selection: {_EXPECTED}")
    return Selection()  # words alone select nothing


def _urls(text: str) -> list[str]:
    """The URLs of a text with one URL per line; empty if any line is something else."""
    lines = [_METHOD.sub("", line.strip().strip("`<>"), count=1) for line in text.splitlines()]
    lines = [line for line in lines if line]
    return lines if lines and all(is_data_url(line) for line in lines) else []


class _NotJson(Exception):
    """A text is not JSON; the message says where. Not raised outside this module."""


def _parse(text: str) -> object:
    """Parse JSON; numbers stay text, as written: a code 1.10 is not 1.1."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _NotJson(_place(error)) from error
    except RecursionError as error:
        raise _NotJson("it is nested too deep") from error


def _place(error: json.JSONDecodeError) -> str:
    return f"{error.msg} in line {error.lineno}, column {error.colno}"


def _broken(text: str, trouble: str) -> SelectionError:
    return SelectionError(f"the answer {excerpt(text)} is not JSON: {trouble}; {_EXPECTED}")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) != len(pairs):
        key = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise SelectionError(f'an object has the key "{key[:60]}" more than once')
    return values


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=str, parse_float=str, parse_constant=str, strict=False)


def _read_value(value: object, structures: Structures | None) -> Selection:
    if isinstance(value, dict):
        return _read_object(value, structures)
    if not isinstance(value, list):
        raise SelectionError(f"the answer contains {described(value)}: {_EXPECTED}")
    said = [one for one in value if isinstance(one, dict) and "role" in one and is_message(one)]
    answers = answers_among(said)
    if answers:  # a whole conversation: its last answer is the answer to the question
        return _read_object(said[answers[-1]], structures)
    found = []
    for place, one in enumerate(value):
        with located(place):
            if isinstance(one, dict):
                found.append(_read_object(one, structures))
            elif isinstance(one, str):
                found.append(_read_text(one, structures))
            else:
                raise SelectionError(f"contains {described(one)}: {_EXPECTED}")
    return _joined(found)


def _read_text(text: str, structures: Structures | None) -> Selection:
    """Read a string within JSON: URLs, or another query as JSON, as in attachments."""
    if urls := _urls(text):
        return _joined([read_url(url, structures) for url in urls])
    try:
        inner = _parse(text)
    except _NotJson:
        inner = None
    if not isinstance(inner, dict):
        raise SelectionError(f"contains {described(text)}: {_EXPECTED}")
    return _read_object(inner, structures)


def _read_message(value: dict[str, object], structures: Structures | None) -> Selection:
    """Read a logged chat message. Its files are not fetched."""
    found = find_query(*message_of(value), lambda _: None)
    if isinstance(found, Failure):
        raise SelectionError(found.message)
    return Selection() if found is None else _read(found, structures)


def _read_result(value: dict[str, object], structures: Structures | None) -> Selection:
    """Read the result of a tool's call. A query that was never executed still counts as the selection."""
    queries = queries_of(value)
    if isinstance(queries, str):
        return _read(queries, structures) if queries.strip() else Selection()
    found = []
    for place, query in enumerate(queries):
        with located("queries", place):
            if not isinstance(query, dict):
                raise SelectionError(f"contains {described(query)} instead of a query")
            found.append(read_query(query, structures))
    return _joined(found)


def _is_conversation(value: dict[str, object]) -> bool:
    return isinstance(value.get("messages"), list) and not is_message(value)


def _read_conversation(value: dict[str, object], structures: Structures | None) -> Selection:
    logged = value["messages"]
    if not any(isinstance(one, dict) and one.get("role") == "assistant" for one in logged):  # type: ignore[attr-defined]
        raise SelectionError("contains a conversation without an assistant's answer", path=("messages",))
    return _read_value(logged, structures)


def _read_plain(value: dict[str, object], structures: Structures | None) -> Selection:  # noqa: ARG001 - as the others
    return selection_of(value)


_Object = dict[str, object]
_FORMS: tuple[
    tuple[Callable[[_Object], bool] | tuple[str, ...], Callable[[_Object, Structures | None], Selection]], ...
]
_FORMS = (
    (is_result, _read_result),
    (_is_conversation, _read_conversation),
    (is_message, _read_message),
    (("filters", *DATASET_NAMES[:3]), read_query),
    (("series_keys",), read_series),
    ((*TOP_KEYS, *DATASET_KEYS), _read_plain),
)
"""How each form of an object is recognised, by a test or by one of some keys, and read. The first match counts."""


def _read_object(value: _Object, structures: Structures | None) -> Selection:
    for mark, read in _FORMS:
        if mark(value) if callable(mark) else any(key in value for key in mark):
            return read(value, structures)
    hints = [(key, suggestion(key, _KNOWN_KEYS)) for key in value]
    key, hint = next(((key, hint) for key, hint in hints if hint), (next(iter(value), None), ""))
    named = "an empty object" if key is None else f'an object with the key "{key[:60]}"{hint}'
    raise SelectionError(f"contains {named}: {_EXPECTED}")


def _joined(selections: list[Selection]) -> Selection:
    draft = SelectionDraft()
    for selection in selections:
        draft.add(selection)
    return draft.finish()


def _embedded(text: str, structures: Structures | None) -> list[Selection]:
    """The queries in code fences or within prose.

    Raises the error of the first unreadable query.
    """
    found: list[Selection] = []
    for match in _FENCE.finditer(text):
        piece = match[1].strip()
        found += [read_url(url, structures) for url in _urls(piece)] or _within(piece, structures)
    found = found or _within(text, structures)
    if not found:
        links = (match[0] for match in _URL_IN_TEXT.finditer(text))
        # A link may be followed by the end of a sentence or a closing bracket.
        ends = (link.rstrip(".,;:!)") if "?" in link else link.rstrip(",;:!)") for link in links)
        found = [_read_link(link, structures) for link in ends if _KEY_IN_URL.search(link) and is_data_url(link)]
    return found


def _read_link(link: str, structures: Structures | None) -> Selection:
    """Read a URL within prose: a full stop after it ends the sentence, unless it is part of the key."""
    try:
        return read_url(link, structures)
    except SelectionError:
        if not link.endswith("."):
            raise
        return read_url(link[:-1], structures)


def _within(text: str, structures: Structures | None) -> list[Selection]:
    found: list[Selection] = []
    position = 0
    for _ in range(_MOST_STARTS):
        start = _JSON_START.search(text, position)
        if start is None:
            break
        try:
            value, position = _DECODER.raw_decode(text, start.start())
        except json.JSONDecodeError as error:
            if _QUERY_START.match(text, start.start()):
                # Reading the complete parts of a truncated query would score a part instead of the whole.
                raise _broken(text, _place(error)) from error
            position = start.end()
            continue
        except RecursionError:
            position = start.end()
            continue
        # A footnote [1] is not meant as a query
        first = value[0] if isinstance(value, list) and value else value
        is_query = isinstance(first, dict) and not first.keys().isdisjoint(_KNOWN_KEYS)
        if is_query or (isinstance(first, str) and is_data_url(first)):
            found.append(_read_value(value, structures))
    return found
