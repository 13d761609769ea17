"""The cells of a ClickHouse result as plain Python values.

| type | cell |
|---|---|
| Int8 … UInt256, Bool, Decimal, UUID, Date, Date32 | int, bool, Decimal, UUID, date, as the driver has them |
| Float32 | its exact value, as ClickHouse compares it with a Float64: 0.10000000149011612 and not 0.1 |
| String, FixedString (without the padding) | str; bytes if it is not UTF-8 |
| DateTime, DateTime64 | with the column's time zone; without one, the clock of the server's time zone |
| DateTime64, Time64 with digits beyond the microsecond | text, in UTC if the column has a time zone |
| Time, Interval of days or less; of months | timedelta; timedelta of 30 days a month, as for PostgreSQL |
| Interval of nanoseconds | timedelta; text if it has digits beyond the microsecond |
| Enum, IPv4, IPv6 | str |
| Array, Tuple, named Tuple, JSON | list, tuple, dict, dict |
| Map | dict; all entries if keys repeat; within a Dynamic a list of pairs |
| Variant, Dynamic | the value |

The driver is asked for strings as bytes: it would return one that is not UTF-8 as hexadecimal digits. It cuts
DateTime64 and Time64 to microseconds, so that columns with more digits are asked for as numbers (`has_nanoseconds`).
Within a Dynamic or JSON they stay cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from urllib.parse import unquote

from assay.model import Cell
from assay.model.results.cells import map_of

QUERY_FORMATS = {"String": "bytes", "FixedString": "bytes", "Map": "pairs", "Variant": "typed"}
"""How the driver shall return values: its dictionaries lose entries, and values of a Variant may look alike."""
TICKS = {"DateTime64": "int", "Time64": "int"}
"""How the driver shall return the times of a column with digits beyond the microsecond."""
_NANOSECONDS = re.compile(r"(?:DateTime64|Time64)\([789]\b")
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - in UTC, as the driver has it
_DAYS_OF_MONTH = 30
_INTERVALS = {
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
_AS_THEY_ARE = re.compile(
    r"U?Int\d+|Bool|Boolean|Decimal\d*|UUID|Date|Date32|B?Float(?:16|32|64)|Time|Time64|Enum\d*|Nothing"
)
_Read = Callable[[Any], Cell]
_ZONELESS = re.compile(r"DateTime(?:64\(\d\))?(?![\w(])")


def has_zoneless_times(kind: str) -> bool:
    """Whether a type has times without a time zone in its name."""
    return _ZONELESS.search(kind) is not None


def has_nanoseconds(kind: str) -> bool:
    """Whether a type has times with digits beyond the microsecond, which the driver can return as numbers."""
    return _NANOSECONDS.search(kind) is not None and "Dynamic" not in kind and "JSON" not in kind


def converter(
    kind: str, zone: tzinfo, own_zone: tzinfo | None, *, in_ticks: bool = False
) -> Callable[[Sequence[Any]], Sequence[Cell]] | None:
    """What makes cells of a column of this type; None: the driver's values are cells.

    ``zone`` is the server's. ``own_zone`` is the column's if the driver does not know it. ``in_ticks``: the column
    was asked for with `TICKS`.
    """
    from clickhouse_connect.datatypes.registry import get_from_name

    column_type = get_from_name(kind)
    if column_type.base_type == "String":
        return _texts
    read = _Readers(zone, own_zone, in_ticks=in_ticks).of(column_type)
    return None if read is None else lambda column: [None if value is None else read(value) for value in column]


class _Readers:
    """Returns, for a type of the driver's, the converter of its values that are not NULL.

    The driver is asked for maps as pairs and for the type of each value of a Variant. Only within a Dynamic are values
    converted by their Python type.
    """

    def __init__(self, zone: tzinfo, own_zone: tzinfo | None, *, in_ticks: bool) -> None:
        self._zone = zone
        self._own_zone = own_zone
        self._in_ticks = in_ticks
        self._known: dict[str, _Read | None] = {}

    def of(self, kind: Any) -> _Read | None:
        """The function; None if the value is the cell."""
        if kind.name not in self._known:
            self._known[kind.name] = self._made(kind)
        return self._known[kind.name]

    def _made(self, kind: Any) -> _Read | None:
        name: str = kind.base_type
        if self._in_ticks and name == "DateTime64":
            return lambda ticks: self._moment(ticks, kind.scale, kind.tzinfo)
        if self._in_ticks and name == "Time64":
            return lambda ticks: _time(ticks, kind.scale)
        if _AS_THEY_ARE.fullmatch(name):
            return None
        if name == "IntervalNanosecond":
            return lambda number: _time(number, 9)
        if name.startswith("Interval"):
            unit = _INTERVALS[name.removeprefix("Interval")]
            return lambda number: number * unit
        match name:
            case "FixedString":
                return lambda value: _text(value.rstrip(b"\0"))
            case "SimpleAggregateFunction":
                return self.of(kind.element_type)
            case "Array":
                item = _or_null(self.of(kind.element_type))
                return lambda values: list(map(item, values))
            case "Tuple":
                return _tuple(kind.element_names, [_or_null(self.of(member)) for member in kind.element_types])
            case "Nested":
                row = _tuple(kind.element_names, [_or_null(self.of(member)) for member in kind.element_types])
                return lambda rows: list(map(row, rows))
            case "Map":
                key, value = _or_null(self.of(kind.key_type)), _or_null(self.of(kind.value_type))
                return lambda entries: map_of([(key(name), value(cell)) for name, cell in entries])
            case "JSON":
                readers = zip(kind.typed_paths, map(self.of, kind.typed_types), strict=True)
                return self._document({tuple(map(unquote, path.split("."))): _or_null(read) for path, read in readers})
        return self._untyped

    def _document(self, readers: Mapping[tuple[str, ...], _Read]) -> _Read:
        """Reads an object of a JSON column, some of whose paths have types."""

        def within(value: Any, path: tuple[str, ...], read: set[tuple[str, ...]]) -> Cell:
            if path in readers:
                read.add(path)
                return readers[path](value)
            if isinstance(value, dict):
                return {name: within(item, (*path, name), read) for name, item in value.items()}
            return self._untyped(value)

        def document(value: Any) -> Cell:
            read: set[tuple[str, ...]] = set()
            cell = within(value, (), read)
            if len(read) < len(
                readers
            ):  # each value has all of them, but the driver overwrites them with a value of a path above
                raise ValueError("a path of the JSON has a value and is the beginning of another one")
            return cell

        return document

    def _untyped(self, value: Any) -> Cell:
        """The cell of a value by its Python type. A map within a Dynamic is a list of pairs."""
        if (name := getattr(value, "type_name", None)) is not None:  # a value of a Variant
            from clickhouse_connect.datatypes.registry import get_from_name

            return _or_null(self.of(get_from_name(name)))(value.value)
        match value:
            case bytes():
                return _text(value)
            case IPv4Address() | IPv6Address():
                return str(value)
            case datetime() if value.tzinfo is None:
                return self._in_zone(value)
            case list():
                return [self._untyped(item) for item in value]
            case tuple():
                return tuple(self._untyped(item) for item in value)
            case dict():
                return map_of([(self._untyped(key), self._untyped(item)) for key, item in value.items()])
        cell: Cell = value
        return cell

    def _moment(self, ticks: int, scale: int, zone: tzinfo | None) -> Cell:
        """A time from its number; a text if it has digits beyond the microsecond."""
        microseconds, rest = divmod(ticks * 10 ** (9 - scale), 1000)
        moment = _EPOCH + timedelta(microseconds=microseconds)
        if zone is not None and not rest:
            return moment.replace(tzinfo=UTC).astimezone(zone)
        shown = moment.replace(tzinfo=UTC) if zone is not None or self._own_zone else self._in_zone(moment)
        if rest:
            return f"{shown:%Y-%m-%d %H:%M:%S.%f}{rest:03}{'' if shown.tzinfo is None else '+00:00'}"
        return self._in_zone(moment)

    def _in_zone(self, value: datetime) -> datetime:
        """A time in UTC as the clock of the server shows it, or with the column's own zone."""
        aware = value.replace(tzinfo=UTC)
        if self._own_zone is None:
            return aware.astimezone(self._zone).replace(tzinfo=None)
        return aware.astimezone(self._own_zone)


def _time(ticks: int, scale: int) -> Cell:
    """A time of day or longer from its number; a text if it has digits beyond the microsecond."""
    microseconds, rest = divmod(abs(ticks) * 10 ** (9 - scale), 1000)
    if not rest:
        return timedelta(microseconds=microseconds if ticks >= 0 else -microseconds)
    seconds, fraction = divmod(microseconds, 1_000_000)
    sign = "-" if ticks < 0 else ""
    return f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}{rest:03}"


def _or_null(read: _Read | None) -> _Read:
    if read is None:
        return lambda value: value
    return lambda value: None if value is None else read(value)


def _tuple(names: Sequence[str], readers: Sequence[_Read]) -> _Read:
    if not names:
        return lambda values: tuple([read(value) for read, value in zip(readers, values, strict=True)])
    named = list(zip(names, readers, strict=True))
    return lambda values: {name: read(values[name]) for name, read in named}


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
