"""The first rows of a result as a small table of plain text, for formats without tables.

name       | sum(amount)
-----------+------------
Ada        |      120.50
'NULL'     |          31
… 12 more rows
"""

from __future__ import annotations

from collections.abc import Iterable

from assay.model import Execution
from assay.reports.text.plain import cell_text, grid_lines, one_line, plural

_COLUMNS = 12
_WIDTH = 32
"""The most characters of a drawn cell or name; marks for hidden characters may be much longer than the text."""
_CELL_LENGTH = 60


def head_table(execution: Execution) -> str | None:
    """The kept first rows under the result's column names, cells as in all reports; None where no row is kept.

    At most 12 columns of 32 characters are drawn; what is left out is counted. Numbers are aligned to the right.
    """
    if not execution.head:
        return None
    width = max(map(len, execution.head))
    shown = min(width, _COLUMNS)
    rows = [[cell_text(cell, limit=_CELL_LENGTH) for cell in row[:shown]] for row in execution.head]
    names = [_narrow(one_line(name)) for name in execution.columns[:shown]]
    names += [""] * (shown - len(names))
    texts = [[_narrow(cell.whole) for cell in row] for row in rows]
    right = [
        place
        for place, column in enumerate(zip(*rows, strict=True))
        if all(cell.kind in ("number", "null") for cell in column)
    ]
    lines = grid_lines([names, *texts], right=right, rule="-+-")
    return "\n".join((*lines, *_left_out(execution, width - shown)))


def _left_out(execution: Execution, columns: int) -> Iterable[str]:
    rows = (execution.row_count or 0) - len(execution.head)
    parts = [plural(count, f"more {noun}") for count, noun in ((rows, "row"), (columns, "column")) if count > 0]
    if parts:
        yield f"… {' and '.join(parts)}"


def _narrow(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
