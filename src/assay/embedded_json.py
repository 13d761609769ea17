"""JSON objects within words, as chat models and assistants write them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_DECODER = json.JSONDecoder()


def json_objects(text: str, *, starts: int) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The JSON objects in a text, each with its start and end; at most ``starts`` places are tried."""
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
