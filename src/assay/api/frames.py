"""Results from sequences of rows, Arrow tables, and pandas and polars data frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from assay.errors import UsageError
from assay.model import Result

_ARRAYS = frozenset({"bool", "float64", "int64", "str", "uint64"})


def as_result(rows: Any) -> Result:
    """A Result from a sequence of rows, an Arrow table, or a pandas or polars data frame.

    In a pandas frame NaN, NaT and NA all mean absent, so all become NULL. Raises
    UsageError for anything else, and for rows of different lengths.
    """
    if isinstance(rows, Result):
        return rows
    if (frame := frame_columns(rows)) is not None:
        names, columns = frame
        return Result.of(zip(*columns, strict=True), columns=names)
    if isinstance(rows, (str, bytes, dict)) or not isinstance(rows, Iterable):
        raise UsageError(
            f"a result is a sequence of rows, an Arrow table or a data frame, and this is {type(rows).__name__}"
        )
    return _plain(list(rows))


def frame_columns(frame: Any, *, as_arrays: bool = False) -> tuple[list[str], list[Any]] | None:
    """The names and cells of an Arrow table, or a pandas or polars data frame; None if it is none of these.

    ``as_arrays``: pandas' columns of one plain type are its arrays, NaN where a cell is absent. These libraries are
    not imported here: a caller with a frame has already loaded its library.
    """
    library = type(frame).__module__.partition(".")[0]
    if library == "pyarrow":
        return frame.schema.names, [frame.column(place).to_pylist() for place in range(frame.num_columns)]
    if library == "polars":
        frame = frame.collect() if hasattr(frame, "collect") else frame
        return frame.columns, [column.to_list() for column in frame.get_columns()]
    if library == "pandas":
        columns = [frame.iloc[:, place] for place in range(frame.shape[1])]
        return list(map(str, frame.columns)), [
            column.values if as_arrays and column.dtype.name in _ARRAYS else _pandas(column) for column in columns
        ]
    return None


def _plain(rows: list[Any]) -> Result:
    for number, row in enumerate(rows):
        if isinstance(row, (str, bytes)) or not isinstance(row, Sequence):
            raise UsageError(f"row {number} is {row!r}: each row must be a tuple or list of cells, such as ({row!r},)")
        if len(row) != len(rows[0]):
            raise UsageError(
                f"row {number} has {len(row)} cells where row 0 has {len(rows[0])}: rows must be of one length"
            )
    return Result.of(rows)


def _pandas(column: Any) -> list[Any]:
    if column.dtype.kind in "mM":
        column = column.astype(object)  # else NaT stays
    cells: list[Any] = column.to_numpy(dtype=object, na_value=None).tolist()
    if any(hasattr(kind, "to_pydatetime") for kind in set(map(type, cells))):
        cells = [cell.to_pydatetime() if hasattr(cell, "to_pydatetime") else cell for cell in cells]
    return cells
