"""Read Parquet files through DuckDB."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cases.records import Record, Table
from assay.cases.text.decoding import empty, unreadable
from assay.errors import CaseFileError
from assay.platform.duckdb_progress import without_progress_bar

if TYPE_CHECKING:
    import duckdb


_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "memory_limit": "2GiB",
    "temp_directory": "",
    "preserve_insertion_order": True,
}
_MOST_ROWS = 1_000_000
_MOST_CHARACTERS = 512 << 20
_MOST_COLUMNS = 4096


def parquet_table(path: Path) -> Table:
    """The records of a Parquet file, in its order. Raises CaseFileError."""
    names, rows = parquet_rows(path)
    records = tuple(
        Record(place=f"row {number}", values=dict(zip(names, row, strict=True)))
        for number, row in enumerate(rows, start=1)
    )
    return Table(path=path, records=records, columns=names)


def parquet_rows(path: Path) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """The columns of a Parquet file, and its rows in their order. Raises CaseFileError."""
    import duckdb

    try:
        with path.open("rb") as file:
            if not file.read(1):
                raise empty(path)
    except OSError as error:
        raise unreadable(path, error) from error
    # DuckDB reads a path as a pattern: a folder called "runs[1]" must be escaped.
    literal = re.sub(r"([\[*?])", r"[\1]", str(path))
    with duckdb.connect(":memory:", config=_CONFIG) as connection:
        try:
            without_progress_bar(connection)
            _check_extent(path, connection, literal)
            cursor = connection.execute("SELECT * FROM read_parquet(?)", [literal])
            names = tuple(str(column[0]) for column in cursor.description or ())
            rows = cursor.fetchall()
        except duckdb.Error as error:
            reason = str(error).split("\n", 1)[0]
            raise CaseFileError(f"is not a readable Parquet file: {reason}", path=str(path)) from error
    return names, rows


def _check_extent(path: Path, connection: duckdb.DuckDBPyConnection, literal: str) -> None:
    """Raise if a file is larger than any question set: a kilobyte may hold billions of rows or characters.

    Nothing is unpacked for that: the file's metadata gives the number of rows, and the lengths of texts are summed
    without copying a text that many rows share.
    """
    found = connection.execute("SELECT sum(num_rows) FROM parquet_file_metadata(?)", [literal]).fetchone()
    count = found[0] if found else 0
    if count and count > _MOST_ROWS:
        raise _too_large(path, f"has {int(count):,} rows, and at most {_MOST_ROWS:,} are read")
    described = connection.execute("SELECT * FROM read_parquet(?) LIMIT 0", [literal]).description or ()
    if len(described) > _MOST_COLUMNS:
        raise _too_large(path, f"has {len(described):,} columns, and at most {_MOST_COLUMNS:,} are read")
    lengths = [
        f"coalesce(sum({length}), 0)" for name, kind, *_ in described if (length := _length(str(name), str(kind)))
    ]
    if lengths:
        query = f"SELECT {' + '.join(lengths)} FROM read_parquet(?)"
        found = connection.execute(query, [literal]).fetchone()
        if found and found[0] > _MOST_CHARACTERS:
            size = int(found[0]) >> 20
            raise _too_large(path, f"has {size:,} MiB of text once unpacked; the limit is {_MOST_CHARACTERS >> 20}")


def _length(name: str, kind: str) -> str | None:
    """An expression for the length of a column's cell; None if a cell has only a few bytes."""
    column = '"' + name.replace('"', '""') + '"'
    if kind in ("VARCHAR", "JSON"):
        return f"strlen({column})"
    if kind == "BLOB":
        return f"octet_length({column})"
    nested = any(text in kind for text in ("VARCHAR", "JSON", "BLOB", "["))
    return f"strlen({column}::VARCHAR)" if nested else None


def _too_large(path: Path, what: str) -> CaseFileError:
    return CaseFileError(f"{what}: omit what is not needed", path=str(path))
