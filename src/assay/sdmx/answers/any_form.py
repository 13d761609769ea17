"""Read what a system answered, in whichever form it came, into a selection."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import msgspec

from assay.model.failure import Failure
from assay.model.selection import Selection
from assay.sdmx.answers.draft import SelectionDraft
from assay.sdmx.answers.messages import (
    answers_among,
    find_query,
    is_message,
    is_result,
    means_a_query,
    message_of,
    queries_of,
)
from assay.sdmx.answers.plain import DATASET_KEYS, TOP_KEYS, read_fast, selection_of
from assay.sdmx.answers.rest import is_data_url, read_url, url_notes
from assay.sdmx.answers.series import SERIES_KEYS, read_series
from assay.sdmx.answers.statgpt import DATASET_NAMES, read_query
from assay.sdmx.structures.known import DatasetStructure, Structures
from assay.sdmx.trouble import SelectionError, described, excerpt, suggestion

_EXPECTED = (
    'expected JSON with "indicator_selection", a StatGPT query ("urn" and "filters"), '
    'series keys ("dataset_id" and "series_keys") or an SDMX REST data URL'
)
_FENCE = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)
_URL_IN_TEXT = re.compile(r"https?://[^\s<>\"'`|]+", re.IGNORECASE)
_LINK = re.compile(r"(?:https?:/)?/\S+", re.IGNORECASE)
_KEY_IN_URL = re.compile(r"/data/[^/?]+[/?].")
"""In prose, a link to ``…/data/page`` need not be a query."""
_JSON_START = re.compile(r"[{\[]")
_KNOWN_KEYS = tuple(dict.fromkeys((*TOP_KEYS, *DATASET_KEYS, *SERIES_KEYS, *DATASET_NAMES, "filters")))
_QUERY_START = re.compile(rf'[{{\[\s]+"(?:{"|".join(_KNOWN_KEYS)})"\s*:')
_METHOD = re.compile(r"GET\s+", re.IGNORECASE)
_MOST_STARTS = 64
"""How many brackets of a text are tried as the beginning of JSON: each may cost a look at all of the rest."""


def read_answer(raw: str, structures: Structures | None) -> Selection | Failure:
    """The selection that an answer says, in any of the known forms; a Failure where it cannot be read.

    The forms: the targets' own JSON (`assay.sdmx.answers.plain`), StatGPT's query (`statgpt`), SDMX REST data URLs,
    one a line or a JSON list of them (`rest`), and lists of series keys (`series`). JSON can stand in a code
    fence or within prose; several queries, also of several forms, are joined. ``structures`` give the order
    of dimensions that positional keys are read by. Never raises.
    """
    fast = read_fast(raw)
    if fast is not None:
        return fast
    try:
        # Half a surrogate pair is no text: no file, database or report takes it.
        selection = _read(raw.encode("utf-8", "replace").decode(), structures)
        msgspec.json.encode(selection)
    except SelectionError as error:
        failure = error.failure()
        message = failure.message.encode("utf-8", "backslashreplace").decode()
        return replace(failure, message=f"the answer {message}" if message.startswith("holds ") else message)
    except UnicodeEncodeError as error:
        found = error.object[error.start : error.start + 1]
        return SelectionError(f"the answer has {found!a} in a name, half a character: {_EXPECTED}").failure()
    return selection


def datasets_named(raw: str, structures: Structures | None = None) -> tuple[str, ...]:
    """The datasets that an answer names, also where it can only be read with their structures: the first such one then.

    What ``structures`` know already is read by them.
    """
    lookup = _Lookup(structures)
    read = read_answer(raw, lookup)
    named = [dataset.dataset for dataset in read.datasets] if isinstance(read, Selection) else lookup.missed
    return tuple(dict.fromkeys(named))


def answer_notes(raw: str) -> tuple[str, ...]:
    """What of an answer that was read had no effect though it may be meant: words, unknown parameters of URLs."""
    if not any(mark in raw for mark in ("{", "[", "/data/")) and raw.strip():
        return (f"the answer is in words alone, which select nothing: {excerpt(raw)}",)
    if "/data/" not in raw and not raw.startswith("data/"):
        return ()
    links = [*_urls(raw.strip()), *(match[0].rstrip(".,;:!)") for match in _URL_IN_TEXT.finditer(raw))]
    return tuple(note for link in dict.fromkeys(links) if is_data_url(link) for note in url_notes(link))


def silent_notes(raw: str | None, text: str | None) -> tuple[str, ...]:
    """What an answer that selects nothing is, where it is a chat's message: its words."""
    if raw is None:
        return (f"the answer is in words alone, which select nothing: {excerpt(text)}",) if text else ()
    try:
        value = _parse(raw)
        content = message_of(value)[0] if isinstance(value, dict) and is_message(value) else None
    except (_NotJson, SelectionError):
        return ()
    if content is None:
        return ()
    said = f": {excerpt(content)}" if content.strip() else ""
    return (f"neither the message's attachments nor its words have a query{said}",)


class _Lookup(Structures):
    """Structures that note what they are asked for and do not have."""

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
    urls = _urls(text)
    if urls:
        return _joined(read_url(url, structures) for url in urls)
    try:
        value = _parse(text)
        if isinstance(value, dict | list):
            return _read_value(value, structures)
        # A number or a truth value is a word; a text in quotes is what is between them.
        return _read(value, structures) if isinstance(value, str) and text[0] == '"' and value.strip() else Selection()
    except _NotJson as error:
        found = _embedded(text, structures)
        if found is not None:
            return found
        if text[0] in "{[" or means_a_query(text):
            raise _broken(text, str(error)) from error
    if _LINK.fullmatch(text):
        raise SelectionError(f"the answer {excerpt(text)} cannot be read as a selection: {_EXPECTED}")
    return Selection()  # words alone select nothing


def _urls(text: str) -> list[str]:
    """The URLs of a text that is nothing else, one a line; none where a line is something else."""
    lines = [_METHOD.sub("", line.strip().strip("`<>"), count=1) for line in text.splitlines()]
    lines = [line for line in lines if line]
    return lines if lines and all(is_data_url(line) for line in lines) else []


class _NotJson(Exception):
    """A text is no JSON. Stays in this module; the message says where."""


def _parse(text: str) -> object:
    """Numbers stay the text that they were written as: a code 1.10 is not 1.1."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _NotJson(_place(error)) from error
    except RecursionError as error:
        raise _NotJson("it is nested too deep") from error


def _place(error: json.JSONDecodeError) -> str:
    return f"{error.msg} in line {error.lineno}, column {error.colno}"


def _broken(text: str, trouble: str) -> SelectionError:
    return SelectionError(f"the answer {excerpt(text)} is no JSON: {trouble}; {_EXPECTED}")


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
        raise SelectionError(f"the answer holds {described(value)}: {_EXPECTED}")
    said = [one for one in value if isinstance(one, dict) and "role" in one and is_message(one)]
    answers = answers_among(said)
    if answers:  # a whole conversation: its last answer is the one to the question
        return _read_object(said[answers[-1]], structures)
    draft = SelectionDraft()
    for place, one in enumerate(value):
        try:
            if isinstance(one, dict):
                draft.add(_read_object(one, structures))
            elif isinstance(one, str):
                draft.add(_read_text(one, structures))
            else:
                raise SelectionError(f"holds {described(one)}: {_EXPECTED}")
        except SelectionError as error:
            raise error.below(place) from error
    return draft.finish()


def _read_text(text: str, structures: Structures | None) -> Selection:
    """A string within JSON: URLs, or one query more as JSON, of which attachments consist."""
    urls = _urls(text)
    if urls:
        return _joined(read_url(url, structures) for url in urls)
    try:
        inner = _parse(text)
    except _NotJson:
        inner = None
    if not isinstance(inner, dict):
        raise SelectionError(f"holds {described(text)}: {_EXPECTED}")
    return _read_object(inner, structures)


def _read_message(value: dict[str, object], structures: Structures | None) -> Selection:
    """A message of a chat as it was logged. Its files are where they were: none is fetched."""
    content, custom = message_of(value)
    found = find_query(content, custom, lambda _: None)
    if isinstance(found, Failure):
        raise SelectionError(found.message)
    return Selection() if found is None else _read(found, structures)


def _read_result(value: dict[str, object], structures: Structures | None) -> Selection:
    """The result of a tool's call. A query that was never executed is still what was selected."""
    queries = queries_of(value)
    if isinstance(queries, str):
        return _read(queries, structures) if queries.strip() else Selection()
    draft = SelectionDraft()
    for place, query in enumerate(queries):
        try:
            if not isinstance(query, dict):
                raise SelectionError(f"holds {described(query)}: a query is expected")
            draft.add(read_query(query, structures))
        except SelectionError as error:
            raise error.below("queries", place) from error
    return draft.finish()


def _read_object(value: dict[str, object], structures: Structures | None) -> Selection:
    if is_result(value):
        return _read_result(value, structures)
    logged = value.get("messages")
    if isinstance(logged, list) and not is_message(value):
        if not any(isinstance(one, dict) and one.get("role") == "assistant" for one in logged):
            raise SelectionError("holds a conversation in which no assistant answers", path=("messages",))
        return _read_value(logged, structures)
    if is_message(value):
        return _read_message(value, structures)
    if "filters" in value or any(name in value for name in DATASET_NAMES[:3]):
        return read_query(value, structures)
    if "series_keys" in value:
        return read_series(value, structures)
    if any(key in value for key in (*TOP_KEYS, *DATASET_KEYS)):
        return selection_of(value)
    hints = [(key, suggestion(key, _KNOWN_KEYS)) for key in value]
    key, hint = next(((key, hint) for key, hint in hints if hint), (next(iter(value), None), ""))
    named = "an empty object" if key is None else f'an object with the key "{key[:60]}"{hint}'
    raise SelectionError(f"holds {named}: {_EXPECTED}")


def _joined(selections: Iterator[Selection]) -> Selection:
    draft = SelectionDraft()
    for selection in selections:
        draft.add(selection)
    return draft.finish()


def _embedded(text: str, structures: Structures | None) -> Selection | None:
    """What the queries say that stand in code fences or within prose; None where there are none.

    Raises the trouble of the first one that is a query's and cannot be read.
    """
    pieces = [match[1].strip() for match in _FENCE.finditer(text)]
    found: list[Selection] = []
    for piece in pieces:
        found += [read_url(url, structures) for url in _urls(piece)] or _within(piece, structures)
    found = found or _within(text, structures)
    if not found:
        links = (match[0] for match in _URL_IN_TEXT.finditer(text))
        # A sentence may end, or a bracket close, behind a link.
        ends = (link.rstrip(".,;:!)") if "?" in link else link.rstrip(",;:!)") for link in links)
        found = [_read_link(link, structures) for link in ends if _KEY_IN_URL.search(link) and is_data_url(link)]
    return _joined(iter(found)) if found else None


def _read_link(link: str, structures: Structures | None) -> Selection:
    """A URL within prose: a full stop behind it ends the sentence where it is no part of the key."""
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
                # Reading what is whole within a query that is cut off would judge a part for all of it.
                raise _broken(text, _place(error)) from error
            position = start.end()
            continue
        except RecursionError:
            position = start.end()
            continue
        if _is_query(value):
            found.append(_read_value(value, structures))
    return found


def _is_query(value: object) -> bool:
    """Whether a piece of JSON in prose means to be a query: a footnote ``[1]`` does not."""
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, str):
        return is_data_url(first)
    return isinstance(first, dict) and any(key in first for key in _KNOWN_KEYS)
