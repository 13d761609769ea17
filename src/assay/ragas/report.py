"""The differences of two tables as plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.ragas.comparison import TableComparison, TableOptions

_WIDEST = 40


def comparison_report(comparison: TableComparison) -> str:
    """A summary, the columns that differ with samples, and the rows that only one side has."""
    different = [column for column in comparison.columns if column.unequal]
    shared = [column.name for column in comparison.columns]
    sides = (
        ("reference", comparison.reference_columns, comparison.reference_row_count, comparison.reference_only_rows),
        ("response", comparison.response_columns, comparison.response_row_count, comparison.response_only_rows),
    )
    facts = {side: f"{_count(rows, 'row')}, {_count(len(names), 'column')}" for side, names, rows, _ in sides}
    facts |= {
        "rows paired by": _pairing(comparison.options),
        "shared columns": ", ".join(shared) or "none: paired rows count as equal, which says nothing",
        "only in the reference": ", ".join(comparison.reference_only_columns) or "none",
        "only in the response": ", ".join(comparison.response_only_columns) or "none",
        "paired rows": f"{comparison.paired_rows:,}, of which {comparison.matching_rows:,} agree",
        "columns that agree": f"{len(shared) - len(different):,} of {len(shared):,} shared",
    }
    title = "The tables are equal" if comparison.matches else "The tables differ"
    blocks = ["\n".join([title, *(f"  {name:<22}{fact}" for name, fact in facts.items())])]
    if different:
        rows: list[Sequence[str]] = [
            ("column", "differs in", "absent on one side", "largest difference", "reference", "response")
        ]
        for column in different:
            largest = "" if column.largest_difference is None else f"{column.largest_difference:g}"
            counts = f"{column.unequal:,}", f"{column.absent_on_one_side:,}"
            rows.append((column.name, *counts, largest, column.reference_kind, column.response_kind))
        blocks.append(_block("Columns that differ", rows))
    for column in different:
        rows = [("row", "reference", "response")]
        for sample in column.samples:
            numbers = dict.fromkeys((f"{sample.reference_row:,}", f"{sample.response_row:,}"))
            rows.append((" / ".join(numbers), _cell(sample.reference), _cell(sample.response)))
        blocks += [_block(column.name, rows, column.unequal)] if column.samples else []
    for side, names, row_count, unpaired in sides:
        if count := row_count - comparison.paired_rows:
            rows = [("row", *names), *((f"{row.row:,}", *map(_cell, row.cells)) for row in unpaired)]
            blocks.append(_block(f"Rows that only the {side} has: {count:,}", rows, count))
    return "\n\n".join(blocks) + "\n"


def cut(text: str) -> str:
    """The text, at most 40 characters wide."""
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _pairing(options: TableOptions) -> str:
    parts = [f"key {', '.join(options.join_columns)}" if options.join_columns else "position"]
    for title, tolerance in (("absolute", options.abs_tol), ("relative", options.rel_tol)):
        if tolerance:
            by_column = tolerance if isinstance(tolerance, Mapping) else {"": tolerance}
            values = ", ".join(f"{name} {value:g}".lstrip() for name, value in by_column.items())
            parts.append(f"{title} tolerance {values}")
    parts += ["case ignored"] * options.ignore_case + ["surrounding whitespace ignored"] * options.ignore_spaces
    return "; ".join(parts)


def _cell(cell: Any) -> str:
    return "(absent)" if cell is None else cut(repr(cell) if isinstance(cell, str) else str(cell))


def _block(title: str, rows: list[Sequence[str]], count: int = 0) -> str:
    """A title over aligned columns; the first row is their header. ``count``: how many rows there are in all."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [rows[0], ["-" * width for width in widths], *rows[1:]]
    texts = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    more = count - len(rows) + 1
    return "\n  ".join([title, *texts, *([f"and {more:,} more"] if more > 0 else [])])
