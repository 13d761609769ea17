"""Convert Snowflake's values to cells: exact, and of plain types.

NUMBER is int or Decimal. TIMESTAMP_NTZ is a datetime without a zone, TIMESTAMP_LTZ one in UTC, which is the session's
zone, TIMESTAMP_TZ one with its own offset; nanoseconds are truncated to microseconds, as by the connector. VARIANT,
OBJECT, ARRAY and MAP are decoded from their JSON, with fractions as Decimal. GEOGRAPHY and GEOMETRY are texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from assay.model import Cell
from assay.model.results.cells import document_of

_VARIANT, _LTZ, _OBJECT, _ARRAY, _BINARY, _MAP = 5, 6, 9, 10, 11, 17
"""The connector's codes of types (its module ``constants``, FIELD_TYPES)."""
_UNDEFINED = re.compile(r'("(?:[^"\\]|\\.)*")|\bundefined\b')
"""A text in quotes, or the representation of a NULL inside an array."""


def readers(type_codes: Sequence[int]) -> list[tuple[int, Callable[[Any], Cell]]]:
    """If the connector's value is not yet the cell: the index of each such column, and its converter."""
    return [(place, reader) for place, code in enumerate(type_codes) if (reader := _READERS.get(code)) is not None]


def type_name(code: int) -> str:
    """The name of a type, for messages."""
    from snowflake.connector.constants import FIELD_TYPES

    return FIELD_TYPES[code].name if 0 <= code < len(FIELD_TYPES) else str(code)


def _document(text: str) -> Cell:
    """The value of a JSON text, exactly."""
    if not isinstance(text, str):
        return text
    if "undefined" in text:
        text = _UNDEFINED.sub(lambda found: found[1] or "null", text)
    return document_of(text)


def _in_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC) if moment.tzinfo is not None else moment


_READERS: dict[int, Callable[[Any], Cell]] = {
    _VARIANT: _document,
    _OBJECT: _document,
    _ARRAY: _document,
    _MAP: _document,
    _BINARY: bytes,
    _LTZ: _in_utc,
}
