"""Convert BigQuery's values to cells. They are read from the service's own text, which is exact.

The client's own conversion loses the digits of numbers in JSON, and gives intervals a type without an order.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from assay.model import Cell
from assay.model.results.cells import document_of
from assay.model.results.times import interval

Reader = Callable[[Any], Cell]
"""Converts a value in the service's JSON to a cell."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INTERVAL = re.compile(
    r"(?P<sign>-)?(?P<years>\d+)-(?P<months>\d+) (?P<days>-?\d+) "
    r"(?P<negative>-)?(?P<hours>\d+):(?P<minutes>\d+):(?P<seconds>\d+)(?:\.(?P<fraction>\d{1,9}))?"
)


def reader_of(field: Any) -> Reader:
    """Returns the converter for the values of a column, by its field in the result's schema.

    NUMERIC and BIGNUMERIC are Decimal, and so are fractions in JSON. A TIMESTAMP is in UTC, a DATETIME has no time
    zone. An INTERVAL is a timedelta, or an `Interval`. An ARRAY is a list (the
    service sends an empty one for NULL), a STRUCT a dictionary, or a list if its fields have no distinct names, a RANGE
    a dictionary of ``start`` and ``end``. GEOGRAPHY is text.
    """
    read = _reader_of_one(field)
    if field.mode != "REPEATED":
        return read
    return lambda items: [read(item["v"]) for item in items or ()]


def _reader_of_one(field: Any) -> Reader:
    kind = field.field_type.upper()
    if kind in ("RECORD", "STRUCT"):
        return _reader_of_struct(field.fields)
    if kind == "RANGE":
        return _reader_of_range(field.range_element_type.element_type.upper())
    return _or_null(_SCALARS.get(kind, str))


def _or_null(read: Reader) -> Reader:
    return lambda text: None if text is None else read(text)


def _reader_of_struct(fields: Sequence[Any]) -> Reader:
    readers = [reader_of(field) for field in fields]
    names = [field.name for field in fields]
    named = all(names) and len(set(names)) == len(names)

    def read(struct: Any) -> Cell:
        cells = [reader(item["v"]) for reader, item in zip(readers, struct["f"], strict=True)]
        return dict(zip(names, cells, strict=True)) if named else cells

    return _or_null(read)


def _reader_of_range(kind: str) -> Reader:
    scalar = _SCALARS[kind]

    def read(text: str) -> Cell:
        start, _, end = text[1:-1].partition(", ")
        ends = [None if bound in ("UNBOUNDED", "NULL") else scalar(bound) for bound in (start, end)]
        return {"start": ends[0], "end": ends[1]}

    return _or_null(read)


def _moment(text: str) -> datetime:
    """A timestamp from its microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=int(text))


def _interval(text: str) -> Cell:
    match = _INTERVAL.fullmatch(text)
    if match is None:
        return text
    months = (int(match["years"]) * 12 + int(match["months"])) * (-1 if match["sign"] else 1)
    seconds = (int(match["hours"]) * 60 + int(match["minutes"])) * 60 + int(match["seconds"])
    length = seconds * 1_000_000_000 + int((match["fraction"] or "").ljust(9, "0"))
    return interval(months=months, days=int(match["days"]), nanoseconds=-length if match["negative"] else length)


_SCALARS: dict[str, Reader] = {
    "INTEGER": int,
    "INT64": int,
    "FLOAT": float,
    "FLOAT64": float,
    "NUMERIC": Decimal,
    "BIGNUMERIC": Decimal,
    "BOOLEAN": lambda text: text in (True, "true"),
    "BOOL": lambda text: text in (True, "true"),
    "BYTES": b64decode,
    "DATE": date.fromisoformat,
    "TIME": time.fromisoformat,
    "DATETIME": datetime.fromisoformat,
    "TIMESTAMP": _moment,
    "INTERVAL": _interval,
    "JSON": document_of,
}
"""By the type's name, both the older one of the service's schemas and that of SQL. Any other type is text."""
