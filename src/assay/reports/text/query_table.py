"""The result of a query over runs: aligned for a terminal, as CSV, or as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any

from assay.model.results.cell_json import cell_to_json
from assay.model.results.cells import MapEntries
from assay.reports.text.plain import cell_text, grid_lines, one_line

MOST_ROWS = 200
"""Rows that a terminal shows."""
_COUNTED = 1_000_000
"""Further rows that are counted."""
_CELL, _NAME = 60, 40


def aligned_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The first rows under their columns; numbers stand to the right. Nothing in it steers a terminal."""
    rows = iter(rows)
    shown = [tuple(row) for row in islice(rows, MOST_ROWS)]
    left = sum(1 for _ in islice(rows, _COUNTED + 1))
    texts = [[one_line(name, limit=_NAME) for name in columns]]
    texts += [[_text(cell) for cell in row] for row in shown]
    right = [
        place
        for place in range(len(columns))
        if any(_is_number(row[place]) for row in shown)
        and all(row[place] is None or _is_number(row[place]) for row in shown)
    ]
    lines = grid_lines(texts, right=right, gap="  ", rule="  ")
    if not shown:
        lines.append("(no rows)")
    if left:
        count = f"{left:,}" if left <= _COUNTED else f"more than {_COUNTED:,}"
        lines.append(f"… and {count} more rows: --csv and --json have all of them")
    return "\n".join(lines) + "\n"


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """CSV with a head; NULL is an empty field, a list is JSON."""
    yield _csv_line(columns)
    for row in rows:
        yield _csv_line([_field(cell) for cell in row])


def json_pieces(columns: Sequence[str], types: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """One document: ``format`` (``assay-sql``), ``version``, ``columns`` with name and type, ``rows`` of cells."""
    head = {
        "format": "assay-sql",
        "version": 1,
        "columns": [{"name": name, "type": kind} for name, kind in zip(columns, types, strict=True)],
    }
    yield json.dumps(head)[:-1] + ', "rows": ['
    for number, row in enumerate(rows):
        yield (",\n" if number else "\n") + json.dumps([_plain(cell) for cell in row])
    yield "\n]}\n"


def _is_number(cell: object) -> bool:
    return isinstance(cell, (int, float, Decimal)) and not isinstance(cell, bool)


def _text(cell: Any) -> str:
    if isinstance(cell, (list, tuple, dict)):
        return one_line(json.dumps(_plain(cell), ensure_ascii=False), limit=_CELL)
    if isinstance(cell, str):  # without the quotes that tell cells of results apart: a name is a name
        return one_line(cell, limit=_CELL)
    return cell_text(cell, limit=_CELL).whole


def _field(cell: Any) -> object:
    if isinstance(cell, (list, tuple, dict)):
        return json.dumps(_plain(cell), ensure_ascii=False)
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return cell.hex() if isinstance(cell, (bytes, bytearray)) else cell


def _csv_line(fields: Sequence[object]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(fields)
    return line.getvalue()


def _plain(cell: Any) -> object:
    if isinstance(cell, MapEntries):
        return repr(cell)
    if isinstance(cell, (list, tuple)):
        return [_plain(one) for one in cell]
    if isinstance(cell, dict):
        return {str(name): _plain(one) for name, one in cell.items()}
    known = (type(None), bool, int, float, str, bytes, Decimal, date, time, datetime, timedelta)
    return cell_to_json(cell) if isinstance(cell, known) else str(cell)
