"""Results from sequences of rows, Arrow tables, and pandas and polars data frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from assay.errors import UsageError
from assay.model import Result

_FRAMES = frozenset(
    {
        ("pandas", "DataFrame"),
        ("polars", "DataFrame"),
        ("polars", "LazyFrame"),
        ("pyarrow", "Table"),
        ("pyarrow", "RecordBatch"),
    }
)
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

    ``as_arrays``: pandas' columns of one plain type are its arrays; an absent cell is NaN. These libraries are
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


def is_frame(value: Any) -> bool:
    """Whether this is an Arrow table, or a pandas or polars data frame."""
    return (type(value).__module__.partition(".")[0], type(value).__name__) in _FRAMES


def frame_records(frame: Any) -> list[dict[str, Any]] | None:
    """The rows of an Arrow table, or a pandas or polars data frame, by column; None for anything else.

    A named index of pandas is a column, too. Raises UsageError if two columns have one name.
    """
    library, kind = type(frame).__module__.partition(".")[0], type(frame).__name__
    if not is_frame(frame):
        return None
    if library == "pandas":
        named = [name for name in frame.index.names if name is not None and name not in frame.columns]
        frame = frame.reset_index(level=named) if named else frame
    if kind == "RecordBatch":
        names, columns = frame.schema.names, [column.to_pylist() for column in frame.columns]
    else:
        names, columns = frame_columns(frame) or ([], [])
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"the {kind} has two columns called {twice!r}: rename one of them")
    return [dict(zip(names, map(_cell, row), strict=True)) for row in zip(*columns, strict=True)]


class FrameIndex(Struct, frozen=True, kw_only=True):
    """The index of a pandas frame or column."""

    name: str | None
    """None for several levels: their names are columns of a frame, and nothing names the level of a series."""
    labels: list[Any]


def frame_index(values: Any) -> FrameIndex | None:
    """The index of a pandas frame or column, with tuples as the labels of several levels; None for anything else."""
    library, kind = type(values).__module__.partition(".")[0], type(values).__name__
    if library != "pandas" or kind not in ("DataFrame", "Series"):
        return None
    name = values.index.name if values.index.nlevels == 1 else None
    return FrameIndex(name=None if name is None else str(name), labels=_pandas(values.index.to_series()))


def column_cells(column: Any) -> list[Any] | None:
    """The cells of a single column of Arrow, pandas or polars; None for anything else."""
    library, kind = type(column).__module__.partition(".")[0], type(column).__name__
    if library == "pandas" and kind == "Series":
        return _pandas(column)
    if library == "polars" and kind == "Series":
        return list(column.to_list())
    if library == "pyarrow" and hasattr(column, "to_pylist") and not hasattr(column, "schema"):
        return list(column.to_pylist())
    return None


def _cell(value: Any) -> Any:
    """A cell; an array of numpy, as pandas reads lists from Parquet, as a list."""
    return value.tolist() if type(value).__module__ == "numpy" and hasattr(value, "tolist") else value


def _plain(rows: list[Any]) -> Result:
    for number, row in enumerate(rows):
        if isinstance(row, (str, bytes)) or not isinstance(row, Sequence):
            raise UsageError(
                f"row {number} is {row!r}: each row must be a tuple or list of cells, for example ({row!r},)"
            )
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
