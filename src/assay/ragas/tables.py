"""Tables with named columns, from CSV text, data frames, and rows with names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from io import BytesIO
from math import isnan
from numbers import Real
from operator import ne
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from assay.cases.records import shortened
from assay.errors import InputError, UsageError
from assay.metrics.pandas_cells import read_column
from assay.model import Result
from assay.ragas.comparison import ColumnKind
from assay.ragas.csv_text import read_csv, unfenced

Cells: TypeAlias = np.ndarray[Any, np.dtype[Any]]
"""An array of objects, of one type of numbers, or of pandas' texts."""
_KINDS: dict[str, ColumnKind] = {"bool": "boolean", "str": "text"}
_LARGE = 1_000_000
"""Size of a CSV text, in characters, from which importing pandas pays off."""
_SIGNS = bytes.maketrans(b'123456789E\n\r\t\v\f "', b"000000000e,,,,,,,")
_HUGE_NUMBERS = b"," + b"0" * 19, b"0e000", b".e000"
"""With each digit as 0: integers that may exceed 64 bits, and floats that may be too large or too small."""
_SQL = re.compile(
    r"(?:\s|--[^\n]*\n|/\*.*?\*/)*[\s(]*(?:select[^\S\n]+[^\s,]|select\s*\n(?=.*\bfrom\b)|with\s+(?:recursive\s+)?\S+\s+as\s*\("
    r"|(?:insert|replace)\s+into\s|update\s+\S+\s+set\s|delete\s+from\s|(?:create|drop|alter)\s+(?:table|view)\s)",
    re.IGNORECASE | re.DOTALL,
)
"""The beginning of a statement, which no header of a CSV text has."""
_NONE = type(None)
_PLAIN = frozenset({str, int, bool, float, _NONE})


class TableColumn(Struct, frozen=True, kw_only=True):
    """One column. Absent cells are None, or NaN in a typed array; a column with only such cells is ``empty``.

    ``number``: integers, or floats if a cell is absent. ``instant``: datetimes, with or without a time zone.
    """

    name: str
    kind: ColumnKind
    cells: Cells


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
        text = unfenced(source)
        if _SQL.match(text):
            raise InputError(
                f"the text looks like SQL, not CSV: {shortened(' '.join(text.split()))}. Give the query's result as "
                "CSV, or compare queries with LLMSQLEquivalence, or with assay.check on a database"
            )
        source = _read_by_pandas(text) if len(text) >= _LARGE else None
        if source is None:
            names, texts = read_csv(text)
            return _table(names, [read_column(column) for column in texts])
    if (frame := frame_columns(source, as_arrays=True)) is not None:
        return _table(*frame)
    if isinstance(source, Result):
        if not source.columns and source.rows:
            raise UsageError(
                "this Result has no column names, but columns are paired by name: use Result.of(rows, columns=…)"
            )
        return _table(source.columns, list(zip(*source.rows, strict=True)) or [()] * len(source.columns))
    if isinstance(source, Mapping):
        return _table(list(map(str, source)), [list(cells) for cells in source.values()])
    if isinstance(source, Iterable) and not isinstance(source, (bytes, bytearray)):
        return _records(list(source))
    raise UsageError(
        f"{type(source).__name__} is not a table: use CSV text, a pandas, polars or Arrow frame, or a list of dicts"
    )


def _read_by_pandas(text: str) -> Any:
    """The frame that pandas reads from a large CSV text, in less time and by the same rules.

    None if pandas is not installed, or the text is not CSV, or may hold a number that pandas releases read
    differently.
    """
    encoded = text.encode("utf-8", "surrogatepass")
    if max(map(encoded.translate(_SIGNS, b"+-").rfind, _HUGE_NUMBERS)) >= 0:
        return None
    try:
        import pandas

        frame = pandas.read_csv(BytesIO(encoded), low_memory=False)
    except (ImportError, ValueError):
        return None
    # If rows have more cells than the header, pandas takes the first of them for an index.
    return frame if isinstance(frame.index, pandas.RangeIndex) else None


def _records(rows: list[Any]) -> Table:
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise UsageError(f"row {number} is a {type(row).__name__}: use dicts, because columns are paired by name")
    names = list(dict.fromkeys(name for row in rows for name in row))
    return _table(list(map(str, names)), [[row.get(name) for row in rows] for name in names])


def _table(names: Sequence[str], columns: Sequence[Sequence[Any]]) -> Table:
    lengths = {len(cells) for cells in columns}
    if len(lengths) > 1:
        raise InputError(f"the columns of the table have different lengths: {sorted(lengths)}")
    read = tuple(_column(name, cells) for name, cells in zip(names, columns, strict=True))
    return Table(columns=read, row_count=max(lengths, default=0))


def _column(name: str, cells: Sequence[Any] | Cells) -> TableColumn:
    if not isinstance(cells, Sequence):
        if not is_absent(cells).all():
            return TableColumn(name=name, kind=_KINDS.get(cells.dtype.name, "number"), cells=cells)
        cells = [None] * len(cells)
    types = set(map(type, cells))
    if not types <= _PLAIN or (float in types and any(map(ne, cells, cells))):
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
    return TableColumn(name=name, kind=kind, cells=as_objects(cells))


def as_objects(cells: Sequence[Any]) -> Cells:
    """Python's own values as an array."""
    return np.fromiter(cells, dtype=object, count=len(cells))


def as_values(cells: Cells) -> list[Any]:
    """Python's own values of an array, None if absent."""
    values: list[Any] = cells.tolist()
    absent = is_absent(cells)
    return [None if gap else value for value, gap in zip(values, absent, strict=True)] if absent.any() else values


def is_absent(cells: Cells) -> Cells:
    """Which cells are absent: None, and NaN, which differs from itself."""
    absent: Cells = ne(cells, cells)
    return absent | (cells == None) if cells.dtype == object else absent  # noqa: E711 (cell by cell)


def _all(types: Iterable[type], base: type) -> bool:
    return all(issubclass(each, base) for each in types)


def _plain(cell: Any) -> Any:
    """A cell as Python's own value: numpy's scalars and arrays, dates and decimals; None if absent."""
    if hasattr(cell, "tolist"):
        cell = cell.tolist()
    if type(cell).__name__ in {"NAType", "NaTType"} or (isinstance(cell, float) and isnan(cell)):
        return None
    if isinstance(cell, date) and not isinstance(cell, datetime):
        return datetime.combine(cell, time())
    return float(cell) if isinstance(cell, Decimal) else cell
