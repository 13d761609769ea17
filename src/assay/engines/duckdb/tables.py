"""Tables in memory, written to a DuckDB file, so that workers can open them as any other database."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Number
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb

from assay.engines import outcomes
from assay.errors import UsageError
from assay.model import quoted
from assay.platform.duckdb_progress import without_progress_bar

_VIEW = "assay_table"
_CELLS: Mapping[str, tuple[type, ...]] = {
    "texts": (str,),
    "bytes": (bytes, bytearray),
    "booleans": (bool,),
    "numbers": (Number, Decimal),
    "dates": (date,),
    "times": (time,),
    "durations": (timedelta,),
    "UUIDs": (UUID,),
    "lists": (list, tuple),
    "mappings": (dict,),
}
"""What a pandas column of Python objects may contain. DuckDB would make a text of anything else, and of a mixture."""


class _ArrowStream:
    """A table by Arrow's interface for other libraries, which DuckDB reads without pyarrow."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as a capsule: https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html."""
        return self._table.__arrow_c_stream__(requested_schema)


def write_tables(path: Path, tables: Mapping[str, Any]) -> str:
    """Write data frames of pandas or polars, or Arrow tables, to a new file, and give a digest of their content.

    Equal tables have equal digests; the bytes of two files with equal tables may differ. Raises UsageError, naming the
    table, for cells that have no type in DuckDB.
    """
    digest = hashlib.blake2b(digest_size=8)
    with duckdb.connect(str(path), config={"python_enable_replacements": False}) as connection:
        without_progress_bar(connection)
        for name, table in sorted(tables.items()):
            try:
                _write(connection, name, table)
            except (UsageError, duckdb.Error, ValueError, TypeError, NotImplementedError) as error:
                reason = str(error) if isinstance(error, UsageError) else outcomes.first_line(error)
                raise UsageError(f"the table {name!r} cannot be a table of DuckDB: {reason}") from None
            columns = connection.execute(f"DESCRIBE {quoted(name)}").fetchall()
            rows = connection.execute(
                f"SELECT count(*), sum(hash(row, rowid)), bit_xor(hash(rowid, row)) FROM {quoted(name)} AS row"
            ).fetchall()
            digest.update(repr((name, columns, rows)).encode())
    return digest.hexdigest()


def _write(connection: duckdb.DuckDBPyConnection, name: str, table: Any) -> None:
    is_pandas = type(table).__module__.partition(".")[0] == "pandas"
    if is_pandas:
        for column, kind in table.dtypes.items():
            if kind.kind == "O":
                _check_objects(str(column), table[column])
        connection.execute(f"SET pandas_analyze_sample = {max(1, len(table))}").fetchall()
    elif (column := _column_of_objects(table)) is not None:
        raise UsageError(f"the column {column!r} has cells of the type Object")
    connection.register(_VIEW, table if is_pandas else _ArrowStream(table))
    try:
        connection.execute(f"CREATE TABLE {quoted(name)} AS FROM {_VIEW}").fetchall()
    finally:
        connection.unregister(_VIEW)


def _column_of_objects(table: Any) -> str | None:
    """A column of polars that contains Python objects, also inside: exporting it would end the process."""
    schema = table.schema
    columns = schema.items() if hasattr(schema, "items") else ()
    return next((name for name, kind in columns if "Object" in str(kind)), None)


def _check_objects(name: str, column: Any) -> None:
    """Raise UsageError for cells of a kind that no type of DuckDB holds, and for cells of several kinds."""
    cells = {type(cell): cell for cell in column[column.notna()]}
    kinds: dict[str, type] = {}
    for kind in cells:
        named = next((title for title, types in _CELLS.items() if issubclass(kind, types)), None)
        if named is None and kind.__module__ != "numpy":
            raise UsageError(f"the column {name!r} has a cell of the type {kind.__name__}")
        kinds.setdefault(named or kind.__name__, kind)
    if len(kinds) > 1:
        raise UsageError(f"the column {name!r} has {' and '.join(sorted(kinds))}: give its cells one type")
