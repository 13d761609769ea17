"""CSV text as a table, by the rules that pandas' ``read_csv`` has for types, absent cells and headers.

Written against its documented behaviour and tested against pandas itself, which is not needed here. It
differs on purpose in two things: a column has one type over all its rows (pandas guesses again every few
thousand rows of a large text), and floats are read exactly.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING

from assay.comparison.tables import Table, TableColumn
from assay.errors import InputError

if TYPE_CHECKING:
    from assay.comparison.tables import Cells

_ABSENT = frozenset(
    ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA")
    + ("NULL", "NaN", "None", "n/a", "nan", "null")
)
_TRUTH = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}
_END = "\x00 end of the text"
_LARGEST_FIELD = 2**31 - 1
_FIELD_LIMIT = Lock()


def read_csv_table(text: str) -> Table:
    """The table that a CSV text holds: its first line names the columns.

    Cells that are empty, or say NaN, NULL, None, N/A and the like, are absent. A row that is shorter
    than the header lacks its last cells. Raises InputError where the text is no CSV: nothing in it, a
    quote that is never closed, a row with more cells than the header has names.
    """
    rows = _rows(text)
    if not rows:
        raise InputError("the text is empty: CSV begins with a line that names the columns")
    names = _names(rows[0])
    body = _body(rows, len(names))
    cells: Iterable[Sequence[str]] = zip(*body, strict=True) if body else [()] * len(names)
    columns = tuple(_column(name, values) for name, values in zip(names, cells, strict=True))
    return Table(columns=columns, row_count=len(body))


def _rows(text: str) -> list[list[str]]:
    # Lines keep their ends: a line break inside quotes is part of the cell.
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    # The limit is one for the whole process, and scores may be asked for from several threads.
    with _FIELD_LIMIT:
        previous = csv.field_size_limit(_LARGEST_FIELD)
        try:
            # The last line is ours: where it is not read as a line, a quote was open.
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


def _body(rows: list[list[str]], width: int) -> list[list[str]]:
    del rows[0]
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
    """The header's names, made different as pandas does: ``a, a`` is ``a, a.1``; no name is ``Unnamed: 2``."""
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


def _column(name: str, values: Sequence[str]) -> TableColumn:
    import numpy

    distinct = set(values)
    gaps = not distinct.isdisjoint(_ABSENT)
    present = [value for value in values if value not in _ABSENT] if gaps else values
    if not values:
        return TableColumn(name=name, kind="empty", cells=numpy.empty(0, dtype=object))
    if (numbers := _numbers(present, gaps=gaps)) is not None:
        if not gaps:
            return TableColumn(name=name, kind="number", cells=numbers)
        return TableColumn(name=name, kind="number", cells=_spread(values, numbers))
    if distinct - _ABSENT <= _TRUTH.keys():
        truths = numpy.array([_TRUTH[value] for value in present], dtype=numpy.float64)
        return TableColumn(name=name, kind="boolean", cells=_spread(values, truths) if gaps else truths)
    texts = numpy.empty(len(values), dtype=object)
    texts[:] = [None if value in _ABSENT else value for value in values] if gaps else values
    return TableColumn(name=name, kind="text", cells=texts)


def _spread(values: Sequence[str], present: Cells) -> Cells:
    import numpy

    cells = numpy.full(len(values), numpy.nan)
    cells[[value not in _ABSENT for value in values]] = present
    return cells


def _numbers(present: Sequence[str], *, gaps: bool) -> Cells | None:
    """The texts as numbers, or None where one of them is none."""
    import numpy

    try:
        integers = list(map(int, present))
    except ValueError:
        return _floats(present)
    if not _plain(present):
        return None
    if not integers:
        return numpy.empty(0)
    low, high = min(integers), max(integers)
    if low >= -(2**63) and high < 2**63:
        return numpy.array(integers, dtype=numpy.int64)
    if low >= -(2**63) and high < 2**64:
        # pandas has no type for a negative number, or an absent one, beside one that needs 64 bits: it keeps the text.
        return None if low < 0 or gaps else numpy.array(integers, dtype=numpy.uint64)
    return numpy.array(integers, dtype=object).astype(numpy.float64)


def _floats(present: Sequence[str]) -> Cells | None:
    import numpy

    try:
        floats = numpy.array(list(map(float, present)), dtype=numpy.float64)
    except ValueError:
        return None
    if not _plain(present) or numpy.isnan(floats).any():
        return None
    for place in numpy.flatnonzero(numpy.isinf(floats)).tolist():
        word = present[place]
        if word != word.strip() and "i" in word.lower():
            return None
    return floats


def _plain(present: Sequence[str]) -> bool:
    """Python reads ``1_000`` and digits of every script as numbers; CSV does not."""
    joined = "".join(present)
    return joined.isascii() and "_" not in joined
