"""Make cells of drivers' values, so that cells that Python calls equal are the same value, and none is lost.

- A moment has its offset in place of its zone. Python compares two moments of one zone by their digits, so that the
  hour that the end of summer time repeats would be one hour, and a moment of that hour never equals that of another
  zone.
- A time of day with an offset is a `Clock`, since Python calls two of them equal if their moments are.
- A map whose keys repeat is `MapEntries`, since a dictionary has room for only one of them. Keys that have no hash
  are frozen.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from itertools import chain
from operator import is_
from types import NoneType
from typing import Any, TypeVar
from uuid import UUID

from assay.model.results.times import Clock, Interval, Moment, zoned_clock

_SETTLED = frozenset(
    {NoneType, bool, int, float, str, bytes, Decimal, date, timedelta, UUID} | {Moment, Clock, Interval}
)
"""The types whose values are cells as they are."""
_Rows = TypeVar("_Rows", bound=Sequence[Any])


class FrozenMap(dict[Any, Any]):
    """A structure or a map as a key. It is never changed."""

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]  # a dictionary has none
        return hash(frozenset(self.items()))


class MapEntries(tuple[tuple[Any, Any], ...]):
    """The entries of a map in which keys repeat, in their order."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{key!r}: {value!r}" for key, value in self) + "}"


def map_of(entries: Iterable[tuple[Any, Any]]) -> dict[Any, Any] | MapEntries:
    """The map of these entries: a dictionary if keys differ, otherwise all entries."""
    entries = list(entries)
    keys = [key for key, _ in entries]
    if not set(map(type, keys)) <= _SETTLED:
        keys = [frozen(settled(key)) for key in keys]
        entries = list(zip(keys, [value for _, value in entries], strict=True))
    try:
        found = dict(entries)
    except TypeError:  # a key of an unexpected class without a hash
        return MapEntries(entries)
    return found if len(found) == len(entries) else MapEntries(entries)


def cell_of_json(text: str | bytes) -> Any:
    """The value of a JSON text, with fractions as Decimal and all entries of its objects. Raises as `json.loads`."""
    return json.loads(text, parse_float=Decimal, object_pairs_hook=map_of)


def document_of(text: str | bytes) -> Any:
    """As `cell_of_json`; the text itself if its numbers are too long, or its values nested too deeply."""
    try:
        value = cell_of_json(text)
    except (ValueError, RecursionError):
        return text
    opened = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    return text if opened > _MOST_NESTED and _is_deep(value) else value


def _is_deep(value: Any) -> bool:
    """Whether lists and objects are nested so deeply that comparing them, or writing them as JSON, would fail."""
    level = [value]
    for _ in range(_MOST_NESTED):
        level = [part for item in level for part in _parts(item)]
    return bool(level)


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, MapEntries):
        return [part for _, part in value]
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


_MOST_NESTED = 100


class SettledRows(tuple[tuple[Any, ...], ...]):
    """Rows of an engine that knows that each value is a cell as it is, so that they are not all checked."""

    __slots__ = ()


def settled_rows(rows: _Rows) -> _Rows | tuple[tuple[Any, ...], ...]:
    """The rows with moments that have their offset in place of their zone; most rows stay as they are."""
    try:
        kinds = set(map(type, chain.from_iterable(rows)))
    except TypeError:  # a plug-in's rows that are not rows: who reads them says so
        return rows
    if kinds <= _SETTLED:
        return rows
    return tuple([_each_settled(row, tuple) for row in rows])


def settled(cell: Any) -> Any:
    """The cell with an offset in place of its zone, also of the moments that are within it."""
    if type(cell) in _SETTLED:
        return cell
    match cell:
        case datetime():
            if cell.tzinfo is None or type(cell.tzinfo) is timezone:
                return cell
            offset = cell.utcoffset()
            return cell if offset is None else cell.replace(tzinfo=timezone(offset), fold=0)
        case time():
            return zoned_clock(cell)
        case dict():
            entries = [(settled(key), settled(value)) for key, value in cell.items()]
            if all(map(is_, chain.from_iterable(entries), chain.from_iterable(cell.items()))):
                return cell
            found = map_of(entries)
            return FrozenMap(found) if isinstance(cell, FrozenMap) and isinstance(found, dict) else found
        case MapEntries():
            return _each_settled(cell, MapEntries)
        case tuple():
            return _each_settled(cell, tuple)
        case list():
            return _each_settled(cell, list)
        case set() | frozenset():
            return _each_settled(cell, type(cell))
    return cell


def _each_settled(cells: Any, make: Callable[[Iterable[Any]], Any]) -> Any:
    if set(map(type, cells)) <= _SETTLED:
        return cells
    found = list(map(settled, cells))
    return cells if all(map(is_, found, cells)) else make(found)


def frozen_rows(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The rows with cells that have a hash; most have, and these rows stay as they are."""
    return list(map(_frozen_row, rows))


def _frozen_row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    try:
        hash(row)
    except TypeError:
        return tuple(map(frozen, row))
    return row


def frozen(cell: Any) -> Any:
    """The cell, or one that is equal to it as a cell and has a hash."""
    match cell:
        case MapEntries():
            return MapEntries((frozen(key), frozen(value)) for key, value in cell)
        case list() | tuple():
            return tuple(map(frozen, cell))
        case dict():
            return FrozenMap({frozen(key): frozen(value) for key, value in cell.items()})
        case set():
            return frozenset(cell)
        case _:
            return cell
