"""Tables from CSV text, pandas, polars and Arrow frames, and rows with names.

These libraries are not imported here: a caller with a frame has already loaded its library.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib.util import find_spec
from io import StringIO
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from assay.errors import InputError, UsageError
from assay.model import Result
from assay.ragas.tables.csv import read_csv_table
from assay.ragas.tables.fences import unfenced
from assay.ragas.tables.numbers import may_hold_huge_numbers
from assay.ragas.tables.table import Table, TableColumn

if TYPE_CHECKING:
    from assay.ragas.tables.table import Cells


_LARGE = 1_000_000
"""Characters of a CSV text from which importing pandas pays off."""


def as_table(source: Any) -> Table:
    """The table in CSV text, a pandas, polars or Arrow frame, a Result with column names, or rows as dicts.

    A mapping of column names to cells is also a table. Raises InputError for a text that is not CSV and
    for columns of different lengths, UsageError for anything else.
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, str):
        return _csv(source)
    library = type(source).__module__.partition(".")[0]
    if library == "pyarrow":
        names = list(map(str, source.schema.names))
        return _table(names, [_arrow(source.column(place)) for place in range(len(names))])
    if library == "polars":
        frame = source.collect() if hasattr(source, "collect") else source
        return _table(frame.columns, [_polars(column) for column in frame.get_columns()])
    if library == "pandas":
        return _table(list(map(str, source.columns)), [_pandas(source.iloc[:, i]) for i in range(source.shape[1])])
    if isinstance(source, Result):
        return _result(source)
    if isinstance(source, Mapping):
        return _table(list(map(str, source)), [list(cells) for cells in source.values()])
    if isinstance(source, Iterable) and not isinstance(source, (bytes, bytearray)):
        return _records(list(source))
    raise UsageError(
        f"a table is CSV text, a pandas, polars or Arrow frame, or a list of dicts, and this is {type(source).__name__}"
    )


def _csv(text: str) -> Table:
    """The table in a CSV text. A large one is read by pandas where it is installed: faster, by the same rules.

    Releases of pandas differ on integers beyond 64 bits and on floats that are too large, so such texts
    are always read here.
    """
    text = unfenced(text)
    if len(text) < _LARGE or find_spec("pandas") is None or may_hold_huge_numbers(text):
        return read_csv_table(text)
    import pandas

    try:
        frame = pandas.read_csv(StringIO(text), low_memory=False)
    except (pandas.errors.ParserError, pandas.errors.EmptyDataError):
        return read_csv_table(text)  # raises with what is wrong with the text
    if not isinstance(frame.index, pandas.RangeIndex):  # rows are wider than the header
        return read_csv_table(text)
    return as_table(frame)


class _Texts(Struct, frozen=True, eq=False):
    """Cells known to be texts, None where absent."""

    cells: Cells
    present: int

    def __len__(self) -> int:
        return len(self.cells)


def _result(source: Result) -> Table:
    if not source.columns and source.rows:
        raise UsageError("this Result has no column names, and columns are paired by name: Result.of(rows, columns=…)")
    cells = zip(*source.rows, strict=True) if source.rows else [() for _ in source.columns]
    return _table(list(source.columns), [list(column) for column in cells])


def _records(rows: list[Any]) -> Table:
    names: dict[str, None] = {}
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise UsageError(
                f"row {number} is a {type(row).__name__}: rows of a table are dicts, because columns are paired by name"
            )
        names.update(dict.fromkeys(map(str, row)))
    plain = [{str(name): cell for name, cell in row.items()} for row in rows]
    return _table(list(names), [[row.get(name) for row in plain] for name in names])


def _table(names: Sequence[str], columns: Sequence[Any]) -> Table:
    lengths = {len(cells) for cells in columns}
    if len(lengths) > 1:
        raise InputError(f"the columns of one table have {sorted(lengths)} cells: they must be of one length")
    read = tuple(_column(name, cells) for name, cells in zip(names, columns, strict=True))
    return Table(columns=read, row_count=lengths.pop() if lengths else 0)


def _column(name: str, cells: Any) -> TableColumn:
    """A column from an array of a plain type, or from a list of Python's own values."""
    import numpy

    if isinstance(cells, _Texts):
        return TableColumn(name=name, kind="text" if cells.present else "empty", cells=cells.cells)
    kind = getattr(getattr(cells, "dtype", None), "kind", "")
    if kind in "iuf" and kind:
        return TableColumn(name=name, kind="number", cells=cells)
    if kind == "b":
        return TableColumn(name=name, kind="boolean", cells=cells.astype(numpy.float64))
    if kind == "M":
        return TableColumn(name=name, kind="instant", cells=cells)
    values = cells.tolist() if hasattr(cells, "tolist") else cells
    types = set(map(type, values))
    if types <= {str, type(None)}:
        return TableColumn(name=name, kind="text" if str in types else "empty", cells=_objects(values))
    return _inferred(name, [None if _absent(cell) else cell for cell in values])


def _absent(cell: Any) -> bool:
    # NaN, NaT and pandas' NA: the first two differ from themselves, the last compares as NA.
    return (
        cell is None or type(cell).__name__ in {"NAType", "NaTType"} or (isinstance(cell, float) and math.isnan(cell))
    )


def _inferred(name: str, cells: list[Any]) -> TableColumn:
    import numpy

    types = {type(cell) for cell in cells} - {type(None)}
    if types and all(issubclass(each, (bool, numpy.bool)) for each in types):
        return TableColumn(name=name, kind="boolean", cells=_floats(cells))
    if types and not types & {bool, numpy.bool} and all(_numeric(each) for each in types):
        return TableColumn(name=name, kind="number", cells=_numbers(cells))
    if types and all(issubclass(each, date) for each in types):
        zoned = {isinstance(cell, datetime) and cell.tzinfo is not None for cell in cells if cell is not None}
        if len(zoned) == 1:
            moments = numpy.array([_moment(cell) for cell in cells], dtype="datetime64[us]")
            return TableColumn(name=name, kind="zoned instant" if zoned.pop() else "instant", cells=moments)
    if not types:
        return TableColumn(name=name, kind="empty", cells=_objects(cells))
    text = all(issubclass(each, str) for each in types)
    return TableColumn(name=name, kind="text" if text else "other", cells=_objects(cells))


def _objects(cells: list[Any]) -> Cells:
    import numpy

    objects = numpy.empty(len(cells), dtype=object)
    if any(issubclass(kind, (Sequence, numpy.ndarray)) and kind is not str for kind in set(map(type, cells))):
        for place, cell in enumerate(cells):  # numpy would unpack cells that are sequences
            objects[place] = cell
    else:
        objects[:] = cells
    return objects


def _numeric(kind: type) -> bool:
    import numpy

    return issubclass(kind, (int, float, Decimal, numpy.integer, numpy.floating))


def _numbers(cells: list[Any]) -> Cells:
    import numpy

    if all(isinstance(cell, int) and -(2**63) <= cell < 2**63 for cell in cells):
        return numpy.array(cells, dtype=numpy.int64)
    return _floats(cells)


def _floats(cells: list[Any]) -> Cells:
    import numpy

    return numpy.array([numpy.nan if cell is None else float(cell) for cell in cells], dtype=numpy.float64)


def _moment(cell: Any) -> Any:
    if isinstance(cell, datetime):
        # pandas' Timestamp holds nanoseconds, which Python's datetime cannot.
        moment = cell.to_pydatetime(warn=False) if hasattr(cell, "to_pydatetime") else cell
        return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo is not None else moment
    return cell


def _pandas(column: Any) -> Any:
    kind = getattr(column.dtype, "kind", "")
    if type(column.dtype).__module__.partition(".")[0] == "numpy":
        return column.to_numpy() if kind in "biufM" else column.tolist()
    if hasattr(column.array, "__arrow_array__") and column.dtype.name in {"str", "string"}:
        return _arrow(column.array.__arrow_array__())
    # Extension types (nullable numbers, categories, strings, time zones) are read by value; NA is absent.
    cells = column.to_numpy(dtype=object, copy=True)
    cells[column.isna().to_numpy(dtype=bool)] = None
    return cells


def _polars(column: Any) -> Any:
    if column.dtype.is_numeric():
        array = column.to_numpy() if "128" not in str(column.dtype) and not column.dtype.is_decimal() else None
        return column.to_list() if array is None else array
    return column.to_list()


def _arrow(column: Any) -> Any:
    from pyarrow import types

    if types.is_integer(column.type) or types.is_floating(column.type):
        return column.to_numpy(zero_copy_only=False)
    if types.is_string(column.type) or types.is_large_string(column.type):
        return _Texts(column.to_numpy(zero_copy_only=False), len(column) - column.null_count)
    return column.to_pylist()
