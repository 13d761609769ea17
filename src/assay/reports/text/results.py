"""Results as text: those given in place of queries, and the first rows of what a query returned."""

from __future__ import annotations

from assay.model import Case, Execution, GivenResult
from assay.reports.text.plain import cell_text, grid_lines, left_out, one_line, plural

_ROWS = 20
_COLUMNS = 12
_CELL = 60
_COLUMNS = 12
_WIDTH = 32
"""The most characters of a drawn cell or name; marks for hidden characters may be much longer than the text."""
_LARGEST = 1_000_000
"""A longer result is not read again to show its first rows."""


def given_text(given: GivenResult) -> str:
    """The origin of a result, how many rows it has, and the first of them; as comments of SQL, so that they are not
    taken for a query."""
    return "\n".join(f"-- {line}" for line in _lines(given))


def golds_text(case: Case) -> tuple[str, ...]:
    """The gold queries of a case as text, then its gold results."""
    return (*case.golds, *map(given_text, case.results))


def _lines(given: GivenResult) -> list[str]:
    where = "result" if given.source == "rows" else f"result from {one_line(given.source)}"
    if given.failure is not None:
        return [f"{where}: it cannot be used"]
    found = [f"{where}: {plural(given.row_count, 'row')}"]
    if given.columns:
        found.append(" | ".join(one_line(name, limit=_CELL) for name in given.columns[:_COLUMNS]))
    if len(given.content) <= _LARGEST:
        rows = given.result().rows[:_ROWS]
        found += [" | ".join(cell_text(cell, limit=_CELL).whole for cell in row[:_COLUMNS]) for row in rows]
        if given.row_count > len(rows):
            found.append(f"… and {plural(given.row_count - len(rows), 'more row')}")
    return found


def head_table(execution: Execution) -> str | None:
    """The kept first rows under the result's column names, cells as in all reports; None if no row is kept.

    At most 12 columns of 32 characters are drawn; what is left out is counted. Numbers are aligned to the right.
    """
    if not execution.head:
        return None
    width = max(map(len, execution.head))
    shown = min(width, _COLUMNS)
    rows = [[cell_text(cell, limit=_CELL) for cell in row[:shown]] for row in execution.head]
    names = [_narrow(one_line(name)) for name in execution.columns[:shown]]
    names += [""] * (shown - len(names))
    texts = [[_narrow(cell.whole) for cell in row] for row in rows]
    right = [
        place
        for place, column in enumerate(zip(*rows, strict=True))
        if all(cell.kind in ("number", "null") for cell in column)
    ]
    lines = grid_lines([names, *texts], right=right, rule="-+-")
    return "\n".join((*lines, *left_out((execution.row_count or 0) - len(execution.head), width - shown)))


def _narrow(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
