"""Results from sequences of rows, Arrow tables, and pandas and polars data frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from assay.errors import UsageError
from assay.model import Result


def as_result(rows: Any) -> Result:
    """A Result from a sequence of rows, an Arrow table, or a pandas or polars data frame.

    In a pandas frame NaN, NaT and NA all mean absent, so all become NULL. Raises
    UsageError for anything else, and for rows of different lengths.
    """
    if isinstance(rows, Result):
        return rows
    library = type(rows).__module__.partition(".")[0]
    if library == "pyarrow":
        return _zipped(list(rows.schema.names), [rows.column(place).to_pylist() for place in range(rows.num_columns)])
    if library == "polars":
        frame = rows.collect() if hasattr(rows, "collect") else rows
        return Result.of(frame.rows(), columns=frame.columns)
    if library == "pandas":
        return _zipped([str(name) for name in rows.columns], [_pandas(rows.iloc[:, i]) for i in range(rows.shape[1])])
    if isinstance(rows, (str, bytes, dict)) or not isinstance(rows, Iterable):
        raise UsageError(
            f"a result is a sequence of rows, an Arrow table or a data frame, and this is {type(rows).__name__}"
        )
    return _plain(list(rows))


def _plain(rows: list[Any]) -> Result:
    for number, row in enumerate(rows):
        if isinstance(row, (str, bytes)) or not isinstance(row, Sequence):
            raise UsageError(f"row {number} is {row!r}: each row must be a tuple or list of cells, such as ({row!r},)")
        if len(row) != len(rows[0]):
            raise UsageError(
                f"row {number} has {len(row)} cells where row 0 has {len(rows[0])}: rows must be of one length"
            )
    return Result.of(rows)


def _zipped(names: Sequence[str], columns: Sequence[Sequence[Any]]) -> Result:
    return Result.of(zip(*columns, strict=True), columns=names)


def _pandas(column: Any) -> list[Any]:
    present = column.notna().tolist()
    cells = [cell.to_pydatetime() if hasattr(cell, "to_pydatetime") else cell for cell in column.tolist()]
    return [cell if there else None for cell, there in zip(cells, present, strict=True)]
