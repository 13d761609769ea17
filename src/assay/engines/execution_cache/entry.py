"""An Execution as bytes and back, every value with its type, and no code in it.

Whole results only: a failure is cheap to have again, or depends on the machine. Values that came back otherwise than
they went in would make a wrong verdict, so what has no exact form here is not kept at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from itertools import chain
from types import NoneType
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from assay.model import Execution, Result, Row
from assay.model.results.columns import ColumnRows

_MOST_COLUMN_BYTES = 512 * 1024 * 1024
_PLAIN = frozenset({NoneType, bool, int, float, str, bytes})
_Ext = msgspec.msgpack.Ext
_INTEGER, _TEXT = 1, 2
_MICROSECOND = timedelta(microseconds=1)


class NoExactFormError(ValueError):
    """A value has no form that brings it back exactly."""


class _Written(msgspec.Struct, array_like=True, frozen=True):
    """What an entry holds. A row is a tuple once it is read."""

    columns: tuple[Any, ...]
    rows: tuple[tuple[Any, ...], ...]
    undecodable_text: bool
    took_s: float | None


def encode_execution(execution: Execution) -> bytes | None:
    """The execution as bytes; None where it is not one to keep: a failure, or a value without an exact form."""
    result = execution.result
    if not execution.succeeded or result is None or execution.columns != result.columns:
        return None
    if isinstance(result.rows, ColumnRows) and result.rows.nbytes > _MOST_COLUMN_BYTES:
        return None  # as rows, it may not fit into memory
    try:
        rows = tuple(result.rows)
        if not set(map(type, chain.from_iterable(rows))) <= _PLAIN:
            return _checked_tagged(execution, result)
        try:
            return _packed(execution, result.columns, rows)
        except (UnicodeEncodeError, OverflowError):  # text that is not valid Unicode, an integer beyond 64 bits
            return _checked_tagged(execution, result)
    except (NoExactFormError, RecursionError, MemoryError, ValueError, OverflowError):
        return None


def decode_execution(query: str, content: bytes) -> Execution | None:
    """The execution of an entry, with the time that it took then; None where the bytes hold none."""
    try:
        written: _Written = msgspec.msgpack.decode(content, type=_Written, ext_hook=_untagged)
        width = len(written.rows[0]) if written.rows else 0
        if any(len(row) != width for row in written.rows) or not all(type(one) is str for one in written.columns):
            return None
        return Execution(
            query=query,
            status="rows" if written.rows else "empty",
            result=Result(columns=written.columns, rows=written.rows),
            row_count=len(written.rows),
            columns=written.columns,
            undecodable_text=written.undecodable_text,
            earlier_time_s=written.took_s if written.took_s is not None else 0.0,
        )
    except (msgspec.MsgspecError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError, MemoryError):
        return None


def _packed(execution: Execution, columns: tuple[Any, ...], rows: tuple[Row, ...]) -> bytes:
    return msgspec.msgpack.encode(
        _Written(columns=columns, rows=rows, undecodable_text=execution.undecodable_text, took_s=execution.took_s)
    )


def _checked_tagged(execution: Execution, result: Result) -> bytes | None:
    """The form with tags, read back before it is believed: drivers have values of classes that nobody foresaw."""
    columns = tuple(map(_tagged, result.columns))
    content = _packed(execution, columns, tuple([tuple(map(_tagged, row)) for row in result.rows]))
    back = decode_execution(execution.query, content)
    same = back is not None and back.result is not None and back.result.fingerprint() == result.fingerprint()
    return content if same else None


def _tagged(cell: Any) -> Any:
    """A value that msgpack brings back as it is. Raises NoExactFormError where there is none."""
    kind = type(cell)
    if kind in (NoneType, bool, float, bytes):
        return cell
    if kind is str:
        return cell if _is_well_formed(cell) else _Ext(_TEXT, cell.encode("utf-8", "surrogatepass"))
    if kind is int:
        return cell if -(2**63) <= cell < 2**63 else _Ext(_INTEGER, b"%x" % cell)
    if kind in _TAGS:
        tag, parts, _ = _TAGS[kind]
        return _Ext(tag, msgspec.msgpack.encode(parts(cell)))
    raise NoExactFormError(f"a value of the type {kind.__name__}")


def _is_well_formed(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _untagged(code: int, data: memoryview) -> object:
    """The value of a tag. Raises ValueError for a tag that nobody writes."""
    if code == _INTEGER:
        return int(bytes(data), 16)
    if code == _TEXT:
        return bytes(data).decode("utf-8", "surrogatepass")
    read = _READERS.get(code)
    if read is None:
        raise ValueError(f"no value has the tag {code}")
    return read(*msgspec.msgpack.decode(data, type=list[Any], ext_hook=_untagged))


def _zone(zone: tzinfo | None) -> list[Any] | None:
    """How a time's zone is written. Raises NoExactFormError for a class of zones that nobody foresaw."""
    if zone is None:
        return None
    if type(zone) is timezone:
        offset = zone.utcoffset(None)
        if zone is not UTC and zone != timezone(offset):
            raise NoExactFormError("a zone with an offset that is no zone's")
        if repr(zone) != repr(timezone(offset)):
            raise NoExactFormError("a zone with a name of its own")
        return ["offset", offset // _MICROSECOND]
    if type(zone) is ZoneInfo and zone.key is not None:
        return ["zoneinfo", zone.key]
    name = getattr(zone, "zone", None)  # of pytz, which DuckDB uses
    if isinstance(name, str) and type(zone).__module__.partition(".")[0] == "pytz":
        return ["pytz", name, repr(zone)]
    raise NoExactFormError(f"a zone of the type {type(zone).__name__}")


def _zone_of(written: list[Any] | None) -> tzinfo | None:
    match written:
        case None:
            return None
        case ["offset", int() as offset]:
            return timezone(offset * _MICROSECOND)
        case ["zoneinfo", str() as name]:
            return ZoneInfo(name)
        case ["pytz", str() as name, str() as shown]:
            import pytz  # type: ignore[import-untyped]

            zone = pytz.timezone(name)
            # A zone of pytz is many, one for each offset that it ever had.
            for one in (zone, *getattr(zone, "_tzinfos", {}).values()):
                if repr(one) == shown:
                    found: tzinfo = one
                    return found
    raise ValueError(f"{written!r} is no zone")


_TAGS: Mapping[type, tuple[int, Callable[[Any], list[Any]], Callable[..., object]]] = {
    Decimal: (3, lambda cell: [str(cell)], Decimal),
    date: (4, lambda cell: [cell.toordinal()], date.fromordinal),
    time: (
        5,
        lambda cell: [cell.replace(tzinfo=None).isoformat(), cell.fold, _zone(cell.tzinfo)],
        lambda text, fold, zone: time.fromisoformat(text).replace(fold=fold, tzinfo=_zone_of(zone)),
    ),
    datetime: (
        6,
        lambda cell: [cell.replace(tzinfo=None).isoformat(), cell.fold, _zone(cell.tzinfo)],
        lambda text, fold, zone: datetime.fromisoformat(text).replace(fold=fold, tzinfo=_zone_of(zone)),
    ),
    timedelta: (7, lambda cell: [cell.days, cell.seconds, cell.microseconds], timedelta),
    UUID: (8, lambda cell: [cell.bytes], lambda data: UUID(bytes=data)),
    list: (9, lambda cell: [list(map(_tagged, cell))], list),
    tuple: (10, lambda cell: [list(map(_tagged, cell))], tuple),
    dict: (11, lambda cell: [[[_tagged(name), _tagged(value)] for name, value in cell.items()]], dict),
}
"""Of each type its tag, the parts that are written, and what makes a value of the parts."""
_READERS = {tag: read for tag, _, read in _TAGS.values()}
