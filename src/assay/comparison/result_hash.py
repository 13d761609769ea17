"""A hash that equal results share, so that a decision about one answer can be reused for others."""

from __future__ import annotations

import json
from decimal import Decimal
from hashlib import blake2b

import msgspec

from assay.model import Cell, Result
from assay.model.results.cell_json import cell_to_json

_BYTES = 12
_EXACT, _DIGITS = 2.0**53, 40
"""Below these a float holds every integer, and a decimal is written as one."""
_MOST_CELLS = 100_000
"""A larger result is not hashed: that would take longer than comparing it."""


def result_hash(result: Result, *, ordered: bool, any_columns: bool = True) -> str | None:
    """A hash that results share whose cells are equal, regardless of column names and types of numbers.

    The order of rows matters if ``ordered``. With ``any_columns``, the order of columns does not matter. Two results
    that are equal within a tolerance may have different hashes. None: the result is too large.
    """
    if len(result.rows) * result.column_count > _MOST_CELLS:
        return None
    columns = [list(map(_text, column)) for column in zip(*result.rows, strict=True)]
    if any_columns:
        # Columns with the same cells keep their order: such results may get different hashes.
        columns.sort(key=sorted)
    rows = list(zip(*columns, strict=True))
    value = [result.column_count, rows if ordered else sorted(rows)]
    try:
        text = msgspec.json.encode(value)
    except UnicodeEncodeError:
        text = json.dumps(value).encode()
    return blake2b(text, digest_size=_BYTES).hexdigest()


def _text(cell: Cell) -> str:
    """A text that only equal cells have."""
    if isinstance(cell, str):
        return f'"{cell}'
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _EXACT:
        cell = int(cell)
    elif isinstance(cell, Decimal):
        whole = cell.is_finite() and cell.adjusted() < _DIGITS and cell == cell.to_integral_value()
        cell = int(cell) if whole else float(cell)
    if isinstance(cell, float):
        return repr(cell)
    if isinstance(cell, int) and not isinstance(cell, bool):
        return str(cell) if abs(cell) < _EXACT else hex(cell)  # Python does not print integers of thousands of digits
    return json.dumps(cell_to_json(cell), ensure_ascii=False, default=str)
