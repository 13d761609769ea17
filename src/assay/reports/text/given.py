"""Results that were given in place of queries, as the text that reports show where a query would stand."""

from __future__ import annotations

from assay.model import Case, GivenResult
from assay.reports.text.plain import cell_text, one_line, plural

_ROWS = 20
_COLUMNS = 12
_CELL = 60
_LARGEST = 1_000_000
"""A longer result is not read again to show its first rows."""


def given_text(given: GivenResult) -> str:
    """Where a result comes from, how many rows it has, and the first of them; as comments of SQL, so that nobody takes
    them for a query."""
    return "\n".join(f"-- {line}" for line in _lines(given))


def golds_text(case: Case) -> tuple[str, ...]:
    """Every gold of a case as text: its queries, then its results."""
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
