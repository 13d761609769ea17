"""CSV text as a table, by the rules of pandas' ``read_csv`` for types, absent cells and headers.

It follows the documented behaviour, is tested against pandas, and does not need pandas installed. Two things
differ on purpose: a column has one type over all its rows (pandas guesses again every few thousand rows of a
large text), and rows wider than the header are an error (pandas makes their first cells an index).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING

from assay.errors import InputError
from assay.ragas.tables.numbers import is_plain, read_numbers
from assay.ragas.tables.table import Table, TableColumn

if TYPE_CHECKING:
    from assay.ragas.tables.table import Cells

_ABSENT = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"}
    | {"N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"}
)
_EMPTY = frozenset({""})
_ABSENT_WORDS = ("#", "NA", "N/A", "NULL", "NaN", "None", "n/a", "nan", "null")
"""If a text contains none of these words, only empty cells are absent."""
_COMMA, _LINE_END = b",\n"
_TRUTH = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}
_END = "\x00 end of the text"
_LARGEST_FIELD = 2**31 - 1
_FIELD_LIMIT = Lock()


def read_csv_table(text: str) -> Table:
    """The table that a CSV text holds: its first line names the columns.

    Cells that are empty, or say NaN, NULL, None, N/A and the like, are absent. A row that is shorter
    than the header lacks its last cells. Raises InputError where the text is not CSV: it is empty, has a
    quote that is never closed, or a row with more cells than the header has names.
    """
    text = text.removeprefix("\ufeff")
    plain = is_plain(text)
    words = any(word in text for word in _ABSENT_WORDS)
    if (regular := _regular(text)) is not None:
        header, cells = regular
        row_count = len(cells[0])
    else:
        rows = _rows(text)
        if not rows:
            raise InputError("the text is empty: CSV begins with a line that names the columns")
        header, body = rows[0], _body(rows)
        row_count = len(body)
        cells = list(zip(*body, strict=True)) if body else [()] * len(header)
    columns = [
        _column(name, values, _ABSENT if words else _EMPTY, plain=plain)
        for name, values in zip(_names(header), cells, strict=True)
    ]
    return Table(columns=tuple(columns), row_count=row_count)


def _regular(text: str) -> tuple[list[str], list[Sequence[str]]] | None:
    """The header and the columns of a text without quotes whose lines have equally many cells; None for any other.

    Most texts are like this, and splitting them at once takes a fraction of the time of reading cell by cell.
    """
    import numpy

    if "\r" in text:
        text = text.replace("\r\n", "\n")
    text = text if text.endswith("\n") else text + "\n"
    header, _, body = text.partition("\n")
    names = header.split(",")
    if '"' in text or "\r" in text or len(names) < 2 or not body:
        return None
    signs = numpy.frombuffer(body.encode("utf-8", "surrogatepass"), dtype=numpy.uint8)
    marks = signs[(signs == _COMMA) | (signs == _LINE_END)] == _LINE_END
    if len(marks) % len(names):
        return None
    ends = marks.reshape(-1, len(names))
    if not ends[:, -1].all() or ends[:, :-1].any():
        return None
    cells = body.replace("\n", ",").split(",")
    cells.pop()
    return names, [cells[place :: len(names)] for place in range(len(names))]


def _rows(text: str) -> list[list[str]]:
    # Lines keep their ends: a line break inside quotes is part of the cell.
    lines = io.StringIO(text if text.endswith(("\n", "\r")) else text + "\n", newline="")
    # The limit holds for the whole process, and several threads may ask for scores.
    with _FIELD_LIMIT:
        previous = csv.field_size_limit(_LARGEST_FIELD)
        try:
            # The last line is added here: where it is not read as a line of its own, a quote was left open.
            rows = list(csv.reader(chain(lines, (_END,))))
        except csv.Error as error:
            raise InputError(f"the text is no CSV: {error}") from error
        finally:
            csv.field_size_limit(previous)
    if rows.pop() != [_END]:
        raise InputError('the text is no CSV: a quote (") is opened and never closed')
    return [row for row in rows if row and (len(row) > 1 or not row[0] or not _blank(row[0]))]


def _blank(line: str) -> bool:
    return not line.strip(" \t")


def _body(rows: list[list[str]]) -> list[list[str]]:
    width = len(rows.pop(0))
    if any(len(row) != width for row in rows):
        for number, row in enumerate(rows, start=1):
            if len(row) > width:
                raise InputError(
                    f"the text is no CSV: row {number} has {len(row)} cells and the header {width} names; "
                    'a cell that holds a comma stands in quotes (")'
                )
            row.extend([""] * (width - len(row)))
    return rows


def _names(header: list[str]) -> list[str]:
    """The header's names, made unique as in pandas: ``a, a`` becomes ``a, a.1``, an empty name ``Unnamed: 2``."""
    names = [name or f"Unnamed: {place}" for place, name in enumerate(header)]
    taken, repeats, different = set(names), dict.fromkeys(names, 0), []
    seen: set[str] = set()
    for name in names:
        chosen = name
        if name in seen:
            while chosen in taken:
                repeats[name] += 1
                chosen = f"{name}.{repeats[name]}"
            taken.add(chosen)
        seen.add(chosen)
        different.append(chosen)
    return different


def _column(name: str, values: Sequence[str], absent: frozenset[str], *, plain: bool) -> TableColumn:
    import numpy

    if not values:
        return TableColumn(name=name, kind="empty", cells=numpy.empty(0, dtype=object))
    gaps = "" in values or (len(absent) > 1 and not absent.isdisjoint(values))
    read = read_numbers(values, absent, gaps=gaps, plain=plain)
    if not isinstance(read, str):
        return TableColumn(name=name, kind="number", cells=_spread(values, read, absent) if gaps else read)
    present = [value for value in values if value not in absent] if gaps else values
    if present[0] in _TRUTH and set(present) <= _TRUTH.keys():
        truths = numpy.array([_TRUTH[value] for value in present], dtype=numpy.float64)
        return TableColumn(name=name, kind="boolean", cells=_spread(values, truths, absent) if gaps else truths)
    texts = numpy.empty(len(values), dtype=object)
    texts[:] = [None if value in absent else value for value in values] if gaps and read == "text" else list(values)
    return TableColumn(name=name, kind="text", cells=texts)


def _spread(values: Sequence[str], present: Cells, absent: frozenset[str]) -> Cells:
    import numpy

    cells = numpy.full(len(values), numpy.nan)
    cells[[value not in absent for value in values]] = present
    return cells
