"""Read Parquet files through DuckDB."""

from __future__ import annotations

import re
from pathlib import Path

from assay.cases.records import Record, Table
from assay.cases.text.decoding import empty, unreadable
from assay.errors import CaseFileError


def parquet_table(path: Path) -> Table:
    """The records of a Parquet file, in its order. Raises CaseFileError."""
    import duckdb

    try:
        with path.open("rb") as file:
            if not file.read(1):
                raise empty(path)
    except OSError as error:
        raise unreadable(path, error) from error
    # DuckDB takes a path for a pattern: a folder called "runs[1]" must stand for itself.
    literal = re.sub(r"([\[*?])", r"[\1]", str(path))
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        try:
            cursor = connection.execute("SELECT * FROM read_parquet(?)", [literal])
            names = tuple(str(column[0]) for column in cursor.description or ())
            rows = cursor.fetchall()
        except duckdb.Error as error:
            reason = str(error).split("\n", 1)[0]
            raise CaseFileError(f"is no Parquet file that can be read: {reason}", path=str(path)) from error
    records = tuple(
        Record(place=f"row {number}", values=dict(zip(names, row, strict=True)))
        for number, row in enumerate(rows, start=1)
    )
    return Table(path=path, records=records, columns=names)
