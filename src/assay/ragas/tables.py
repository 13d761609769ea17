"""Tables with named columns, from CSV text, data frames, and rows with names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from math import isnan
from numbers import Real
from operator import ne
from typing import Any, Literal

from msgspec import Struct

from assay.errors import InputError, UsageError
from assay.metrics.pandas_cells import read_column
from assay.model import Result
from assay.ragas.csv_text import read_csv

ColumnKind = Literal["number", "boolean", "text", "instant", "empty", "other"]

_NONE = type(None)
_PLAIN = frozenset({str, int, bool, float, _NONE})


class TableColumn(Struct, frozen=True, kw_only=True):
    """One column. Absent cells are None; a column of nothing else is ``empty``.

    ``number``: integers, or floats if a cell is absent. ``instant``: datetimes, with or without a time zone.
    """

    name: str
    kind: ColumnKind
    cells: Sequence[Any]


class Table(Struct, frozen=True, kw_only=True):
    """Columns of equal length."""

    columns: tuple[TableColumn, ...]
    row_count: int


def as_table(source: Any) -> Table:
    """The table in CSV text, a pandas, polars or Arrow frame, a Result with column names, or rows as dicts.

    A mapping of column names to cells is also a table. Raises InputError for a text that is not CSV and
    for columns of different lengths, UsageError for anything else.
    """
    from assay.api.frames import frame_columns

    if isinstance(source, Table):
        return source
    if isinstance(source, str):
        names, texts = read_csv(source)
        return _table(names, [read_column(column) for column in texts])
    if (frame := frame_columns(source)) is not None:
        return _table(*frame)
    if isinstance(source, Result):
        if not source.columns and source.rows:
            raise UsageError(
                "this Result has no column names, and columns are paired by name: Result.of(rows, columns=…)"
            )
        return _table(source.columns, list(zip(*source.rows, strict=True)) or [()] * len(source.columns))
    if isinstance(source, Mapping):
        return _table(list(map(str, source)), [list(cells) for cells in source.values()])
    if isinstance(source, Iterable) and not isinstance(source, (bytes, bytearray)):
        return _records(list(source))
    raise UsageError(
        f"a table is CSV text, a pandas, polars or Arrow frame, or a list of dicts, and this is {type(source).__name__}"
    )


def _records(rows: list[Any]) -> Table:
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise UsageError(
                f"row {number} is a {type(row).__name__}: rows of a table are dicts, because columns are paired by name"
            )
    names = list(dict.fromkeys(name for row in rows for name in row))
    return _table(list(map(str, names)), [[row.get(name) for row in rows] for name in names])


def _table(names: Sequence[str], columns: Sequence[Sequence[Any]]) -> Table:
    lengths = {len(cells) for cells in columns}
    if len(lengths) > 1:
        raise InputError(f"the columns of one table have {sorted(lengths)} cells: they must be of one length")
    read = tuple(_column(name, cells) for name, cells in zip(names, columns, strict=True))
    return Table(columns=read, row_count=max(lengths, default=0))


def _column(name: str, cells: Sequence[Any]) -> TableColumn:
    types = set(map(type, cells))
    if not types <= _PLAIN or (float in types and any(map(ne, cells, cells))):  # NaN differs from itself
        cells = list(map(_plain, cells))
        types = set(map(type, cells))
    gaps = _NONE in types
    types.discard(_NONE)
    kind: ColumnKind = "other"
    if not types:
        kind = "empty"
    elif types == {bool}:
        kind = "boolean"
    elif bool not in types and _all(types, Real):
        kind = "number"
        if types != {float} and (gaps or len(types) > 1):
            cells = [None if cell is None else float(cell) for cell in cells]
    elif _all(types, str):
        kind = "text"
    elif _all(types, datetime):
        kind = "instant"
    return TableColumn(name=name, kind=kind, cells=cells)


def _all(types: Iterable[type], base: type) -> bool:
    return all(issubclass(each, base) for each in types)


def _plain(cell: Any) -> Any:
    """A cell as Python's own value: numpy's scalars and arrays, dates and decimals; None for what is absent."""
    if hasattr(cell, "tolist"):
        cell = cell.tolist()
    if type(cell).__name__ in {"NAType", "NaTType"} or (isinstance(cell, float) and isnan(cell)):
        return None
    if isinstance(cell, date) and not isinstance(cell, datetime):
        return datetime.combine(cell, time())
    return float(cell) if isinstance(cell, Decimal) else cell
