"""Read CSV and TSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from assay.cases.records import Record, Table, header_of, without_end
from assay.cases.text import read_text
from assay.errors import CaseFileError

_LARGEST_FIELD = 1 << 30
"""Characters in one field: the csv module's own limit of 131,072 is below what a long prompt takes."""


def delimited_table(path: Path) -> Table:
    """The records of a CSV or TSV file: the first row that is not blank names the columns.

    ``.tsv`` is separated by tabs; ``.csv`` by commas, or by semicolons or tabs where the header has
    no comma. A row must have as many fields as the header: one more or less would shift what
    stands after it. A line with nothing on it is no row, except in a file of one column, where it is a
    blank value. Raises CaseFileError with the line on which the row begins.
    """
    text = read_text(path)
    previous = csv.field_size_limit(_LARGEST_FIELD)
    try:
        rows = _rows(path, text, _delimiter(path, text))
        header = next((row for _, row in rows if any(row)), [])
        columns, repeated = header_of(header)
        records: list[Record] = []
        for line, row in rows:
            blank = not any(cell and not cell.isspace() for cell in row)
            if blank and (row or len(columns) == 1):
                records.append(Record(place=f"line {line}", values={}, blank=True))
            if blank:
                continue
            if len(row) != len(columns):
                raise _uneven(path, line, row, columns)
            values = {name: cell for name, cell in zip(columns, row, strict=True) if name}
            records.append(Record(place=f"line {line}", values=values))
    finally:
        csv.field_size_limit(previous)
    return Table(
        path=path,
        records=without_end(records),
        columns=tuple(dict.fromkeys(name for name in columns if name)),
        repeated=repeated,
        golds_in_text=True,
        blank_is_absent=True,
    )


def _delimiter(path: Path, text: str) -> str:
    if path.suffix.lower() == ".tsv":
        return "\t"
    header = re.sub(r'"[^"]*"', "", text.lstrip("\r\n").split("\n", 1)[0])
    return next((mark for mark in (",", ";", "\t") if mark in header), ",")


def _rows(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Every row with the line on which it begins; a line with nothing on it is a row without fields."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for row in reader:
            yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        hint = (
            "a quote that opens here is never closed"
            if "unexpected end" in str(error)
            else f"the row that begins here cannot be read: {error}; a quote within quotes is written twice"
        )
        raise CaseFileError(hint, path=str(path), place=f"line {line}") from error


def _uneven(path: Path, line: int, row: list[str], columns: tuple[str, ...]) -> CaseFileError:
    if len(row) > len(columns):
        what = f"has {len(row)} fields where the header has {len(columns)}; the first one too many is "
        what += repr(row[len(columns)][:60])
    else:
        what = (
            f"has {len(row)} fields where the header has {len(columns)}: there is none for " + f'"{columns[len(row)]}"'
        )
    return CaseFileError(
        f"the row {what}. Put a text that holds the separator or a line break in double quotes",
        path=str(path),
        place=f"line {line}",
    )
