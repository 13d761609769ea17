"""Read CSV and TSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from assay.cases.fields import Field, sheet_option
from assay.cases.records import Record, Table, header_of, without_end
from assay.cases.tables.header import SEARCHED_ROWS, check_header_row, header_row_of, other_header
from assay.cases.text.decoding import read_text
from assay.errors import CaseFileError, plural
from assay.model import FieldNames

_LARGEST_FIELD = 1 << 30
"""Characters in one field: the csv module's own limit of 131,072 is too small for a long prompt."""

_MOST_COLUMNS = 16_384
_MOST_ROWS = 1_000_000
_READ_AGAIN = 64 << 20
"""Up to this many characters, a file that breaks the quoting rule is also read in other ways."""

_END = "\x00end"

_Rows: TypeAlias = list[tuple[int, list[str]]]
"""Rows, each with the number of the line on which it begins."""
_Read: TypeAlias = tuple[int, tuple[str, ...], frozenset[str], list[Record]]


def delimited_table(path: Path, fields: FieldNames, wanted: Sequence[Field]) -> Table:
    """The records of a CSV or TSV file. Its header is the first row with the ``wanted`` fields, usually the first.

    ``.tsv`` is separated by tabs; ``.csv`` by commas, or by semicolons or tabs if the header has no comma. A row
    must have as many fields as the header: one more or less would shift those after it. An empty line is not a row,
    except in a file of one column, in which it is a blank value. Raises CaseFileError with the line on which the row
    begins.
    """
    text = read_text(path, fields.encoding)
    previous = csv.field_size_limit(_LARGEST_FIELD)

    def start(rows: _Rows) -> int:
        return _header_index(path, rows, fields, wanted)

    try:
        header, columns, repeated, records = _records(path, text, delimiter_of(path, text), start)
    finally:
        csv.field_size_limit(previous)
    return Table(
        path=path,
        records=without_end(records),
        columns=tuple(dict.fromkeys(name for name in columns if name)),
        repeated=repeated,
        golds_in_text=True,
        blank_is_absent=True,
        header_hint=other_header(header, wanted),
    )


def _header_index(path: Path, rows: _Rows, fields: FieldNames, wanted: Sequence[Field]) -> int:
    """The index of the header. Raises CaseFileError if the user named a row that is blank or is not there."""
    row = fields.header_row
    if row is None:
        return header_row_of([cells for _, cells in rows[:SEARCHED_ROWS]], fields, wanted, path=str(path))
    check_header_row([cells for _, cells in rows[:SEARCHED_ROWS]], row, fields, wanted, path=str(path))
    if row >= len(rows) or not any(cell.strip() for cell in rows[row][1]):
        option = sheet_option("header-row", wanted, row)
        raise CaseFileError(
            f"row {row + 1} is blank, but {option} (counted from 0) names it as the header: name another row, or "
            "omit the option",
            path=str(path),
        )
    return row


def delimited_rows(
    path: Path, *, encoding: str | None = None, delimiter: str | None = None, strict: bool = True
) -> _Rows:
    """The rows of a CSV or TSV file as they stand there, each with the number of its line, the header's first.

    An empty line is a row without cells. ``strict``: a quote within a field is an error. Raises CaseFileError.
    """
    text = read_text(path, encoding)
    previous = csv.field_size_limit(_LARGEST_FIELD)
    try:
        return _rows(path, text, delimiter or delimiter_of(path, text), strict=strict)
    finally:
        csv.field_size_limit(previous)


class _TooMuch(CaseFileError):
    """The file is larger than any table of questions: another reading of its quotes would not help."""


def _records(path: Path, text: str, delimiter: str, start: Callable[[_Rows], int]) -> _Read:
    """The header's index, the columns, the repeated ones among them, and the records.

    Published question sets hold single quotes within quoted fields. A file that breaks the quoting rule is read once
    with these quotes as text, and once as other readers do (the field goes on to the next separator). The first reading
    in which every row has the right number of fields is used.
    """
    try:
        rows = _rows(path, text, delimiter)
    except CaseFileError as error:
        if len(text) > _READ_AGAIN or isinstance(error, _TooMuch):
            raise
        for again, strict in ((_with_inner_quotes_doubled(text, delimiter), True), (text, False)):
            with suppress(CaseFileError):
                return _even(path, _rows(path, again, delimiter, strict=strict), start)
        raise
    return _even(path, rows, start)


def _even(path: Path, rows: _Rows, start: Callable[[_Rows], int]) -> _Read:
    """The records of rows. All must have the header's number of fields."""
    header = start(rows)
    columns, repeated = header_of(rows[header][1] if rows else [])
    records: list[Record] = []
    for line, row in rows[header + 1 :]:
        blank = not any(cell and not cell.isspace() for cell in row)
        if blank and (row or len(columns) == 1):
            records.append(Record(place=f"line {line}", values={}, blank=True))
        if blank:
            continue
        if len(row) != len(columns):
            raise _uneven(path, line, row, columns)
        values = {name: cell for name, cell in zip(columns, row, strict=True) if name}
        records.append(Record(place=f"line {line}", values=values))
    return header, columns, repeated, records


def delimiter_of(path: Path, text: str) -> str:
    """What separates the fields of a row."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    header = re.sub(r'"[^"]*"', "", text.lstrip("\r\n").split("\n", 1)[0])
    return next((mark for mark in (",", ";", "\t") if mark in header), ",")


def _rows(path: Path, text: str, delimiter: str, *, strict: bool = True) -> _Rows:
    """Every row with the line on which it begins; an empty line is a row without fields."""
    # An added row at the end shows whether a quote is still open there, which a lenient reader does not report.
    source = chain(io.StringIO(text, newline=""), ["\n", _END])
    reader = csv.reader(source, delimiter=delimiter, strict=strict)
    rows: _Rows = []
    line = 1
    reason = "a double quote opens in the row that begins here and is never closed"
    try:
        for row in reader:
            if len(row) > _MOST_COLUMNS or len(rows) > _MOST_ROWS:
                most = f"{_MOST_COLUMNS:,} columns" if len(row) > _MOST_COLUMNS else f"{_MOST_ROWS:,} rows"
                raise _TooMuch(f"has more than {most}, too many for a table of questions", path=str(path))
            rows.append((line, row))
            line = reader.line_num + 1
    except csv.Error as error:
        if "unexpected end" not in str(error):
            reason = f"the row that begins here cannot be read: {error}"
    if rows and rows[-1][1] == [_END]:
        return rows[:-2]  # nor the line end before it, which is an empty row of its own
    raise CaseFileError(
        f"{reason}. Write a double quote within a quoted text twice", path=str(path), place=f"line {line}"
    )


def _with_inner_quotes_doubled(text: str, delimiter: str) -> str:
    """The text with each quote doubled that stands within a quoted field and cannot be its end, since
    neither a separator nor a line end follows. The text as it is if a quoted field has no end at all.

    A quote before a separator does end its field: then the row has fields too many, which is an error.
    """
    ends = re.escape(delimiter) + r"\r\n"
    quoted = re.compile(rf'"((?>[^"]++|""|"(?!["{ends}]|\Z))*+)"')
    bare = re.compile(rf'[^"{ends}][^{ends}]*+|[{ends}]')
    parts = []
    at = 0
    while at < len(text):
        match = quoted.match(text, at)
        if match:
            parts.append('"' + re.sub('""?', '""', match[1]) + '"')
        else:
            match = bare.match(text, at)
            if not match:
                return text
            parts.append(match[0])
        at = match.end()
    return "".join(parts)


def _uneven(path: Path, line: int, row: list[str], columns: tuple[str, ...]) -> CaseFileError:
    if len(row) > len(columns):
        what = f"has {plural(len(row), 'field')}, but the header has {len(columns)}; the first one too many is "
        what += repr(row[len(columns)][:60])
    else:
        what = (
            f"has {plural(len(row), 'field')}, but the header has {len(columns)}: "
            f'the field of "{columns[len(row)]}" is missing'
        )
    return CaseFileError(
        f"the row {what}. Put a text that contains the separator or a line break in double quotes",
        path=str(path),
        place=f"line {line}",
    )
