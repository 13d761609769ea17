"""JSON as systems and models write it: between words, and with numbers of any length."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_MOST_DIGITS = 4000
"""Python does not parse decimal integers of more than 4300 digits."""


def read_json(text: str | bytes) -> Any:
    """Parse JSON; an integer that is too long for Python becomes a float, usually an infinite one.

    Raises ValueError and RecursionError.
    """
    return json.loads(text, parse_int=_whole_number)


def _whole_number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


def is_json(text: str) -> bool:
    """Whether a text is one JSON object or list."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        read_json(text)
    except (ValueError, RecursionError):
        return False
    return True


_DECODER = json.JSONDecoder(parse_int=_whole_number)


def iter_json_objects(text: str, *, starts: int) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The JSON objects in a text, each with its start and end; at most ``starts`` positions are tried."""
    place = 0
    for _ in range(starts):
        start = text.find("{", place)
        if start < 0:
            return
        try:
            value, place = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            place = start + 1
            continue
        if isinstance(value, dict):
            yield start, place, value
