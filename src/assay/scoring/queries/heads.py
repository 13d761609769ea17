"""The first rows of a result, which the evidence keeps where a reader will want to see them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from marshal import dumps

from assay.model import Execution, Row

_HEAD_CHARACTERS = 100_000
"""The approximate limit for a longer head: a thousand rows may hold a gigabyte."""
_FEW_CELLS = 1_000


def without_rows(execution: Execution, *, head: int, cut: bool) -> Execution:
    """The execution with the first rows of its result only. ``cut``: with no more characters than a head may have."""
    result = execution.result
    if result is None or not head:
        return execution.without_rows()
    rows = result.rows[:head]
    return execution.without_rows(head=tuple(_within_characters(rows)) if cut and not is_short(rows) else rows)


def is_short(rows: Sequence[Row]) -> bool:
    """Whether the rows surely have fewer characters than a head may have: a check many times as fast as counting."""
    if not rows or len(rows) * len(rows[0]) > _FEW_CELLS:
        return False
    try:
        return len(dumps(rows)) < _HEAD_CHARACTERS  # type: ignore[arg-type]
    except ValueError:  # dates, decimals and the like
        return False


def _within_characters(rows: Sequence[Row]) -> Iterator[Row]:
    left = _HEAD_CHARACTERS
    for row in rows:
        cells = tuple([cell[:_HEAD_CHARACTERS] if isinstance(cell, str | bytes) else cell for cell in row])
        left -= sum([len(cell) if isinstance(cell, str | bytes) else 8 for cell in cells])
        if left < 0 and row is not rows[0]:
            return
        yield cells
