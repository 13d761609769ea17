"""Find the verdict in a judge's answer: the object at its end, never one that the judge quotes.

A judge reasons before it decides, and may repeat what a query tells it to say: a text literal or an alias can
contain a whole verdict. So only an object at the end counts, and only if it was not in the queries.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_OPENS = re.compile(r"^[ \t]*(?:```\w*[ \t]*)?(?=\{)", re.MULTILINE)
"""An object on lines of its own, in a code fence or not. One in the middle of a sentence is part of the sentence."""
_SHOWN = 80


def read_verdict(text: str, material: Sequence[str] = ()) -> dict[str, Any] | str:
    """The JSON object that ends an answer and has ``equivalent`` or ``correct``, otherwise why there is none.

    ``material`` is text by others that the judge was shown: an object from there is an echo, not a verdict.
    """
    text = text.strip()
    if not text:
        return "the judge's answer is empty"
    found = _last_object(text)
    if isinstance(found, str):
        return found
    value, written = found
    if decision(value) is None:
        return f"the judge's answer has no verdict: it ends {_line(text)[-_SHOWN:]!r}"
    shown = [_plain(one) for one in material]
    if any(_plain(form) in one for form in (written, json.dumps(value)) for one in shown):
        return "the judge's answer only repeats a verdict from the queries: it has no verdict of its own"
    return value


def decision(answer: Mapping[str, Any]) -> bool | None:
    """The decision in an answer; None without one, or with two."""
    said = [yes_no(answer[name]) for name in ("equivalent", "correct") if name in answer]
    return said[0] if len(said) == 1 else None


def yes_no(value: object) -> bool | None:
    """A verdict, also from the text that servers without structured output make of it."""
    if isinstance(value, str):
        return {"true": True, "yes": True, "false": False, "no": False}.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def _last_object(text: str) -> tuple[dict[str, Any], str] | str:
    """The object that ends the text, and its source text."""
    decoder = json.JSONDecoder(object_pairs_hook=_unambiguous)
    body = text.removesuffix("```").rstrip()
    place = 0
    while (found := _OPENS.search(body, place)) is not None:
        start = found.end()
        try:
            value, place = decoder.raw_decode(body, start)
        except (ValueError, RecursionError):
            return f"the judge's answer has an object that cannot be read: {_line(text[start:])[:_SHOWN]!r}"
        if place == len(body):
            return value, body[start:]
    if place:
        return f"the judge's answer does not end with its verdict: it ends {_line(text)[-_SHOWN:]!r}"
    return f"the judge's answer has no verdict: it begins {_line(text)[:_SHOWN]!r}"


def _unambiguous(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which each name occurs once: a repeated name may come from a quotation that was not closed."""
    pairs = list(pairs)
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a name occurs twice")
    return value


def _plain(text: str) -> str:
    """A text in one case without blanks, quotes and escapes: the same however it is quoted."""
    return "".join(one for one in text.casefold() if one.isalnum() or one in "{}:")


def _line(text: str) -> str:
    return " ".join(text.split())
