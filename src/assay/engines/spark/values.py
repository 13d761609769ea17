"""Convert Spark's values to cells. They arrive in Arrow batches, which are read by position, since names may repeat.

DECIMAL is Decimal. TIMESTAMP is a datetime in UTC, which is the session's zone, TIMESTAMP_NTZ one without a zone, an
INTERVAL of days a timedelta; those outside of Python's years 1 to 9999 a `Moment`. VARIANT is decoded, with
fractions as Decimal. STRUCT and MAP are dicts, with frozen keys; if names or keys repeat, all entries. Intervals of
months arrive as texts, since the engine makes the server cast them (`portable`), and are read by `interval_reader`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from assay.engines.reading import Column, reading
from assay.model import Cell, Row
from assay.model.results.cells import map_of
from assay.model.results.times import Moment, interval

if TYPE_CHECKING:
    import pyarrow as pa

_VARIANT = ("value", "metadata")
_OF_MONTHS = re.compile(r"INTERVAL '(-)?(\d+)(?:-(\d+))?' (YEAR|MONTH)(?: TO MONTH)?")
_PARTS = re.compile(r"(?:-?\d+ (?:year|month|day|hour|minute)s ?)*(?:-?\d+(?:\.\d+)? seconds)?")
_PART = re.compile(r"(-?)(\d+)(?:\.(\d+))? (\w+)s")
_MONTHS, _DAYS = {"year": 12, "month": 1}, {"day": 1}
_NANOSECONDS = {"hour": 3_600_000_000_000, "minute": 60_000_000_000, "second": 1_000_000_000}
_NANOSECONDS_OF_A_DAY = 86_400_000_000_000


def rows_of(table: pa.Table | pa.RecordBatch) -> list[Row]:
    """The rows of an Arrow table."""
    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        with reading(partial(_named, field)):
            columns.append(cells_of(column))
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _named(field: pa.Field) -> list[Column]:
    return [(field.name, str(field.type))]


def cells_of(column: Any) -> list[Cell]:
    """The cells of an Arrow array, or of a chunked one."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        return [cell for chunk in column.chunks for cell in cells_of(chunk)]
    kind = column.type
    if pa.types.is_map(kind):
        entries = _sliced(column, list(zip(cells_of(column.keys), cells_of(column.items), strict=True)))
        return [None if cell is None else map_of(cell) for cell in entries]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _sliced(column, cells_of(column.values))
    if pa.types.is_struct(kind):
        return _structs(column)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_duration(kind):
        return _moments(column)
    cells: list[Cell] = column.to_pylist()
    return cells


def _sliced(column: Any, values: list[Any]) -> list[Any]:
    """The values of each list: offsets count from the start of the values, even in a slice."""
    offsets = column.offsets.to_pylist()
    return [
        values[offsets[index] : offsets[index + 1]] if valid else None
        for index, valid in enumerate(column.is_valid().to_pylist())
    ]


def _structs(column: Any) -> list[Cell]:
    kind = column.type
    names = [kind.field(index).name for index in range(kind.num_fields)]
    fields = [cells_of(field) for field in column.flatten()]
    valid = column.is_valid().to_pylist()
    rows = list(zip(*fields, strict=True)) if fields else [()] * len(column)
    if _is_variant(kind):
        return [_variant(*row) if there else None for row, there in zip(rows, valid, strict=True)]
    return [map_of(zip(names, row, strict=True)) if there else None for row, there in zip(rows, valid, strict=True)]


def _is_variant(kind: Any) -> bool:
    """Whether a struct is a VARIANT: two binaries of these names, neither of them ever NULL."""
    if tuple(kind.field(index).name for index in range(kind.num_fields)) != _VARIANT:
        return False
    return all(str(kind.field(index).type) == "binary" and not kind.field(index).nullable for index in (0, 1))


def _variant(value: bytes, metadata: bytes) -> Cell:
    from pyspark.sql.types import VariantVal

    return VariantVal(value, metadata).toPython()


def _moments(column: Any) -> list[Cell]:
    import pyarrow as pa

    in_utc = pa.types.is_timestamp(column.type) and column.type.tz is not None
    try:
        cells = column.to_pylist()
    except (OverflowError, ValueError):
        cells = [_moment(cell) for cell in column]
    if in_utc:
        return [cell.astimezone(UTC) if isinstance(cell, datetime) else cell for cell in cells]
    return list(cells)


def _moment(scalar: Any) -> Cell:
    """The timestamp; a `Moment` if Python has no such year."""
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        count = scalar.value
    if str(scalar.type) == "date32[day]":
        return Moment(nanoseconds=count * _NANOSECONDS_OF_A_DAY)
    return Moment(nanoseconds=count * 1000, zoned=scalar.type.tz is not None)


def portable(data_type: Any) -> Any:
    """A type of pyspark's with texts in place of intervals that Arrow cannot transfer; itself if it has none."""
    from pyspark.sql import types

    if isinstance(data_type, types.YearMonthIntervalType | types.CalendarIntervalType):
        return types.StringType()
    if isinstance(data_type, types.ArrayType):
        element = portable(data_type.elementType)
        return data_type if element is data_type.elementType else types.ArrayType(element, data_type.containsNull)
    if isinstance(data_type, types.MapType):
        key, value = portable(data_type.keyType), portable(data_type.valueType)
        if key is data_type.keyType and value is data_type.valueType:
            return data_type
        return types.MapType(key, value, data_type.valueContainsNull)
    if isinstance(data_type, types.StructType):
        fields = [types.StructField(field.name, portable(field.dataType), field.nullable) for field in data_type]
        if all(new.dataType is old.dataType for new, old in zip(fields, data_type, strict=True)):
            return data_type
        return types.StructType(fields)
    return data_type


def interval_reader(data_type: Any) -> Callable[[Any], Cell] | None:
    """Reads the texts of intervals in a value of this type that was cast by `portable`; None if it has none."""
    from pyspark.sql import types

    if isinstance(data_type, types.YearMonthIntervalType | types.CalendarIntervalType):
        return _or_null(_interval)
    if portable(data_type) is data_type:
        return None
    if isinstance(data_type, types.ArrayType):
        read = interval_reader(data_type.elementType) or _same
        return _or_null(lambda items: list(map(read, items)))
    if isinstance(data_type, types.MapType):
        key, value = (interval_reader(part) or _same for part in (data_type.keyType, data_type.valueType))
        return _or_null(lambda cell: map_of([(key(name), value(item)) for name, item in _entries(cell)]))
    readers = [interval_reader(field.dataType) or _same for field in data_type]
    return _or_null(
        lambda cell: map_of([(name, read(item)) for read, (name, item) in zip(readers, _entries(cell), strict=True)])
    )


def _or_null(read: Callable[[Any], Cell]) -> Callable[[Any], Cell]:
    return lambda cell: None if cell is None else read(cell)


def _same(cell: Cell) -> Cell:
    return cell


def _entries(cell: Any) -> Any:
    return cell.items() if isinstance(cell, dict) else cell


def _interval(text: str) -> Cell:
    """An interval as Spark writes it: ``INTERVAL '1-2' YEAR TO MONTH``, ``1 years 2 months -3 days 4.5 seconds``."""
    if match := _OF_MONTHS.fullmatch(text):
        sign, first, rest, unit = match.groups()
        months = int(first) * _MONTHS[unit.lower()] + int(rest or 0)
        return interval(months=-months if sign else months)
    if not _PARTS.fullmatch(text):
        return text
    totals = [0, 0, 0]
    for sign, whole, fraction, unit in _PART.findall(text):
        for index, units in enumerate((_MONTHS, _DAYS, _NANOSECONDS)):
            count = int(whole) * units.get(unit, 0)
            count += int(fraction.ljust(9, "0")) if unit == "second" and unit in units and fraction else 0
            totals[index] += -count if sign else count
    return interval(months=totals[0], days=totals[1], nanoseconds=totals[2])
