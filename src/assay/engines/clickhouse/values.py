"""The cells of a ClickHouse result as plain Python values.

| type | cell |
|---|---|
| Int8 … UInt256, Bool, Decimal, UUID, Date, Date32 | int, bool, Decimal, UUID, date, as the driver has them |
| Float32 | the float that ClickHouse would print: 0.1 and not 0.10000000149011612 |
| String, FixedString (without the padding) | str; bytes where it is not UTF-8 |
| DateTime, DateTime64 | with the column's time zone; without one, the clock of the server's time zone |
| Time, Interval of days or less; of months | timedelta; timedelta of 30 days a month, as for PostgreSQL |
| Enum, IPv4, IPv6 | str |
| Array, Tuple, named Tuple, Map, JSON | list, tuple, dict, dict, dict |

The driver is asked for strings as bytes: it would return one that is not UTF-8 as hexadecimal digits. It cuts
DateTime64 to microseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone, tzinfo
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from assay.model import Cell

QUERY_FORMATS = {"String": "bytes", "FixedString": "bytes"}
"""How the driver shall return strings."""
_DAYS_OF_MONTH = 30
_INTERVALS = {
    "Nanosecond": timedelta(microseconds=0.001),
    "Microsecond": timedelta(microseconds=1),
    "Millisecond": timedelta(milliseconds=1),
    "Second": timedelta(seconds=1),
    "Minute": timedelta(minutes=1),
    "Hour": timedelta(hours=1),
    "Day": timedelta(days=1),
    "Week": timedelta(weeks=1),
    "Month": timedelta(days=_DAYS_OF_MONTH),
    "Quarter": timedelta(days=3 * _DAYS_OF_MONTH),
    "Year": timedelta(days=12 * _DAYS_OF_MONTH),
}
_WRAPPED = re.compile(r"(?:Nullable|LowCardinality)\((.*)\)")
_AS_THEY_ARE = re.compile(r"U?Int\d+|Bool|Decimal.*|UUID|Date|Date32|Float64|BFloat16|Time|Time64.*|Enum\d+.*|Nothing")
_ZONELESS = re.compile(r"DateTime(?:64\(\d\))?(?![\w(])")


def has_zoneless_times(kind: str) -> bool:
    """Whether a type has times without a time zone in its name."""
    return _ZONELESS.search(kind) is not None


def converter(kind: str, zone: tzinfo, own_zone: tzinfo | None) -> Callable[[Sequence[Any]], Sequence[Cell]] | None:
    """What makes cells of a column of this type; None: the driver's values are cells.

    ``zone`` is the server's. ``own_zone`` is the column's where the driver does not know it.
    """
    while wrapped := _WRAPPED.fullmatch(kind):
        kind = wrapped[1]
    if _AS_THEY_ARE.fullmatch(kind):
        return None
    if kind == "String":
        return _texts
    if kind == "Float32":
        return _shortest
    if kind.startswith("Interval"):
        unit = _INTERVALS[kind.removeprefix("Interval")]
        return lambda column: [None if number is None else number * unit for number in column]
    pad = kind.startswith("FixedString")
    narrow = "Float32" in kind and "Float64" not in kind  # in a container

    def cell(value: Any) -> Cell:
        match value:
            case bytes():
                return _text(value.rstrip(b"\0") if pad else value)
            case IPv4Address() | IPv6Address():
                return str(value)
            case datetime() if value.tzinfo is None:
                return _in_zone(value, zone, own_zone)
            case datetime():
                return _with_offset(value)
            case float() if narrow:
                return _narrowed(value)
            case list():
                return [cell(item) for item in value]
            case tuple():
                return tuple(cell(item) for item in value)
            case dict():
                return {cell(key): cell(item) for key, item in value.items()}
        return value

    return lambda column: [cell(value) for value in column]


def _in_zone(value: datetime, zone: tzinfo, own_zone: tzinfo | None) -> datetime:
    """A time in UTC as the clock of the server shows it, or with the column's own zone."""
    from datetime import UTC

    aware = value.replace(tzinfo=UTC)
    if own_zone is None:
        return aware.astimezone(zone).replace(tzinfo=None)
    return _with_offset(aware.astimezone(own_zone))


def _with_offset(moment: datetime) -> datetime:
    """The same moment with its offset in place of its zone.

    With a zone, Python compares the hour that the end of summer time repeats by its digits alone.
    """
    return moment.replace(tzinfo=timezone(moment.utcoffset() or timedelta(0)), fold=0)


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _texts(column: Sequence[bytes | None]) -> Sequence[Cell]:
    try:
        return [value if value is None else value.decode() for value in column]
    except UnicodeDecodeError:
        return [value if value is None else _text(value) for value in column]


def _shortest(column: Sequence[float | None]) -> Sequence[Cell]:
    return [None if value is None else _narrowed(value) for value in column]


def _narrowed(value: float) -> float:
    """The number of the fewest digits that is this Float32."""
    import numpy

    return float(str(numpy.float32(value)))
