"""Read DuckDB's values that its Python client changes in a form that keeps them.

The client returns 9999-12-31 for an infinite date, cuts nanoseconds, gives a month 30 days, and returns a map with
nested keys as a structure of two lists. Columns with such values are selected a second time: dates, times and intervals
as text, maps as lists of entries, and structures as tuples. A VARIANT does not tell the types of what it contains: one
with a date, a time or an interval cannot be read. `ExactColumn` has the expression for a type, and reads what it
returns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from assay.model import Cell, Row
from assay.model.results.cells import map_of
from assay.model.results.times import clock_of, interval_of, moment_of

if TYPE_CHECKING:
    from duckdb.sqltypes import DuckDBPyType


def _without_times(value: Cell) -> Cell:
    """The value of a VARIANT. Raises ValueError if the client may have changed something in it."""
    if _has_time(value):
        raise ValueError("a VARIANT contains a date, a time or an interval")
    return value


def _has_time(value: object) -> bool:
    if isinstance(value, dict):
        return any(_has_time(part) for entry in value.items() for part in entry)
    return any(map(_has_time, value)) if isinstance(value, list | tuple) else isinstance(value, _TIMES)


_TIMES = (date, time, timedelta)
_READERS: dict[str, Callable[[Any], Cell]] = {
    **dict.fromkeys(("date", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), moment_of),
    **dict.fromkeys(("timestamp with time zone", "timestamptz_ns"), moment_of),
    **dict.fromkeys(("time", "time_ns", "time with time zone"), clock_of),
    "interval": interval_of,
    "bignum": int,
    "variant": _without_times,
}
"""Reads the text of a value, by its type; of a VARIANT, the value."""
_USUALLY_KEPT = frozenset({"date", "timestamp", "timestamp_s", "timestamp_ms", "timestamp with time zone"}) | {
    "time",
    "time with time zone",
    "variant",
}
"""The client returns most values of these types as they are: a column is selected again only if it has others."""
_EXTREMES = frozenset({date.min, date.max, datetime.min, datetime.max})  # noqa: DTZ901 - as the client returns them
"""What the client returns for infinite values, too."""
_NESTED = frozenset({"list", "array", "struct", "tuple", "map", "union"})
_CHANGED = re.compile(r"\b(?:DATE|TIME|TIME_NS|TIMESTAMP\w*|INTERVAL|BIGNUM|MAP|VARIANT)\b")
"""What the name of a nested type with such a value contains; so may a field's name."""


class ExactColumn(Struct, frozen=True, kw_only=True):
    """A type whose values the client may change."""

    kind: DuckDBPyType

    @staticmethod
    def of(kind: DuckDBPyType) -> ExactColumn | None:
        """The column of this type; None if the client keeps all its values."""
        name = str(kind.id)
        if name in _READERS:
            return ExactColumn(kind=kind)
        if name not in _NESTED or not _CHANGED.search(str(kind)) or not _is_changed(kind):
            return None
        return ExactColumn(kind=kind)

    @property
    def usually_kept(self) -> bool:
        """Whether the client keeps all but extreme values, which `changes` finds."""
        return str(self.kind.id) in _USUALLY_KEPT

    def changes(self, cells: Sequence[Cell]) -> bool:
        """Whether the client may have changed one of these values of a type that it usually keeps."""
        if str(self.kind.id) == "variant":
            return any(map(_has_time, cells))
        types = set(map(type, cells))
        if str in types:
            return True
        return bool(types & {date, datetime}) and not _EXTREMES.isdisjoint(cells)

    def expression(self, name: str) -> str:
        """SQL for the column of that name, in a form that the client keeps."""
        return _expression(self.kind, name, 0)

    def reader(self) -> Callable[[Any], Cell]:
        """Makes a cell of a value that `expression` returned."""
        return _or_null(_reader(self.kind))


def selected(query: str, columns: Sequence[ExactColumn | None]) -> str:
    """A query for the rows of ``query`` with these columns in a form that the client keeps."""
    names = [f"c{index}" for index in range(len(columns))]
    expressions = [
        name if column is None else column.expression(name) for name, column in zip(names, columns, strict=True)
    ]
    text = query.rstrip().removesuffix(";")
    return f"SELECT {', '.join(expressions)} FROM (\n{text}\n) AS result({', '.join(names)})"


def read_rows(rows: Sequence[Row], columns: Sequence[ExactColumn | None]) -> list[Row]:
    """The rows of `selected` as cells. Raises ValueError for a text that is not a value of its type."""
    readers = [None if column is None else column.reader() for column in columns]
    return [
        tuple([cell if read is None else read(cell) for read, cell in zip(readers, row, strict=True)]) for row in rows
    ]


def _is_changed(kind: DuckDBPyType) -> bool:
    name = str(kind.id)
    if name not in _NESTED:
        return name in _READERS
    members = _members(kind)
    # A dictionary has no room for keys that are nested, and for 1 and true of a union.
    return any(map(_is_changed, members)) or (name == "map" and str(members[0].id) in _NESTED | {"variant"})


def _members(kind: DuckDBPyType) -> list[DuckDBPyType]:
    members: list[Any] = [member for name, member in kind.children if not (kind.id == "array" and name == "size")]
    return members[1:] if kind.id == "union" else members  # the first is the tag


def _expression(kind: DuckDBPyType, value: str, depth: int) -> str:
    if not _is_changed(kind) or str(kind.id) == "variant":
        return value
    if str(kind.id) in _READERS:
        return f"CAST({value} AS VARCHAR)"
    members, item = _members(kind), f"x{depth}"
    match str(kind.id):
        case "list" | "array":
            return f"list_transform({value}, lambda {item}: {_expression(members[0], item, depth + 1)})"
        case "map":
            pair = _fields(members, item, depth + 1)
            return f"list_transform(map_entries({value}), lambda {item}: {pair})"
        case "union":
            names = [name for name, _ in kind.children][1:]
            parts = [
                _expression(member, f"union_extract({value}, {_quoted(name)})", depth)
                for name, member in zip(names, members, strict=True)
            ]
            shown = f"row(CAST(union_tag({value}) AS VARCHAR), {', '.join(parts)})"
        case _:
            shown = _fields(members, value, depth)
    return f"CASE WHEN {value} IS NULL THEN NULL ELSE {shown} END"


def _fields(members: Sequence[DuckDBPyType], value: str, depth: int) -> str:
    parts = [
        _expression(member, f"struct_extract_at({value}, {index})", depth) for index, member in enumerate(members, 1)
    ]
    return f"row({', '.join(parts)})"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _reader(kind: DuckDBPyType) -> Callable[[Any], Cell]:
    """Makes a cell of a value that is not NULL."""
    if not _is_changed(kind):
        return lambda value: value
    if read := _READERS.get(str(kind.id)):
        return partial(_read, read)
    members = [_or_null(_reader(member)) for member in _members(kind)]
    names = [name for name, _ in kind.children]
    match str(kind.id):
        case "list" | "array":
            return lambda items: list(map(members[0], items))
        case "map":
            return lambda entries: map_of([(members[0](key), members[1](item)) for key, item in entries])
        case "union":
            indexes = {name: index for index, name in enumerate(names[1:])}
            return lambda parts: members[indexes[parts[0]]](parts[1 + indexes[parts[0]]])
        case "tuple":
            return lambda fields: tuple([read(field) for read, field in zip(members, fields, strict=True)])
    return lambda fields: map_of(
        [(name, read(field)) for name, read, field in zip(names, members, fields, strict=True)]
    )


def _read(read: Callable[[Any], Cell], text: Any) -> Cell:
    if (cell := read(text)) is None:
        raise ValueError(f"{text!r} is not a value of its type")
    return cell


def _or_null(read: Callable[[Any], Cell]) -> Callable[[Any], Cell]:
    return lambda value: None if value is None else read(value)
