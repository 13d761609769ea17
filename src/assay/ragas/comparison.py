"""The result of comparing two tables, its scores, and its report as plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

ColumnKind = Literal["number", "boolean", "text", "instant", "empty", "other"]
Mode = Literal["rows", "columns"]
Measure = Literal["precision", "recall", "f1"]
Tolerance: TypeAlias = float | Mapping[str, float]

_WIDEST = 40


class TableOptions(Struct, frozen=True, kw_only=True):
    """What counts as a difference between two tables. The defaults are those of ragas."""

    join_columns: tuple[str, ...] = ()
    """The key that pairs rows; without one, rows are paired by position. Equal keys pair in their order."""
    abs_tol: Tolerance = 0.0
    """For all columns, or by column name, with ``default`` for all other columns."""
    rel_tol: Tolerance = 0.0
    """As ``abs_tol``, but multiplied by the response's number."""
    ignore_case: bool = False
    """Does not apply to keys."""
    ignore_spaces: bool = False
    """Ignores whitespace around a text, also in keys."""
    sample_rows: int = 10
    """The number of differences stored per column, and of unpaired rows per side."""


class CellDifference(Struct, frozen=True):
    """One pair of cells that differ. Rows count from 1, without the header."""

    reference_row: int
    response_row: int
    reference: Any
    response: Any


class ColumnComparison(Struct, frozen=True, kw_only=True):
    """A column that both tables have."""

    name: str
    reference_kind: ColumnKind
    response_kind: ColumnKind
    unequal: int
    """The number of paired rows with different cells."""
    absent_on_one_side: int = 0
    largest_difference: float | None = None
    """The largest difference of two numbers; None if no numbers differ."""
    samples: tuple[CellDifference, ...] = ()


class UnpairedRow(Struct, frozen=True):
    """A row that only one table has. ``row`` counts from 1, without the header."""

    row: int
    cells: tuple[Any, ...]


class TableComparison(Struct, frozen=True, kw_only=True):
    """How a response's table relates to the reference's. Counts are exact; samples are bounded by the options."""

    options: TableOptions
    reference_row_count: int
    response_row_count: int
    reference_columns: tuple[str, ...]
    response_columns: tuple[str, ...]
    paired_rows: int
    matching_rows: int
    """The number of paired rows that agree in every shared column: all of them if no column is shared."""
    columns: tuple[ColumnComparison, ...]
    """The shared columns, in the reference's order."""
    reference_only_rows: tuple[UnpairedRow, ...] = ()
    response_only_rows: tuple[UnpairedRow, ...] = ()

    @property
    def reference_only_columns(self) -> tuple[str, ...]:
        """Columns that the response lacks."""
        return tuple(name for name in self.reference_columns if name not in self.response_columns)

    @property
    def response_only_columns(self) -> tuple[str, ...]:
        """Columns that the reference lacks."""
        return tuple(name for name in self.response_columns if name not in self.reference_columns)

    @property
    def matches(self) -> bool:
        """Whether columns and rows are equal without a difference, also for two tables without rows."""
        return (
            set(self.reference_columns) == set(self.response_columns)
            and self.paired_rows == self.reference_row_count == self.response_row_count == self.matching_rows
        )

    def score(self, mode: Mode, measure: Measure) -> float:
        """Precision, recall or F1 of the matching rows or columns, from 0 to 1; 0.0 if the denominator is 0."""
        matching, totals = self.matching_rows, (self.response_row_count, self.reference_row_count)
        if mode == "columns":
            matching = sum(column.unequal == 0 for column in self.columns)
            totals = len(self.response_columns), len(self.reference_columns)
        precision, recall = (matching / total if total else 0.0 for total in totals)
        if measure == "f1":
            return 2 * (precision * recall) / (precision + recall) if precision + recall else 0.0
        return precision if measure == "precision" else recall

    def cautions(self) -> list[str]:
        """Reasons why the scores are weaker evidence than they seem."""
        found = []
        if not self.columns and self.paired_rows:
            names = [_cut(", ".join(map(repr, side))) for side in (self.reference_columns, self.response_columns)]
            found.append(f"no column is shared ({' and '.join(names)}), so every paired row counts as equal")
        sizes = {"reference": self.reference_row_count, "response": self.response_row_count}
        if not all(sizes.values()):
            found.append(" and ".join(f"the {side} has no rows" for side, count in sizes.items() if not count))
        return found

    def report(self) -> str:
        """The differences as plain text for a reader."""
        return _report(self)


def _report(comparison: TableComparison) -> str:
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
        "shared columns": ", ".join(shared) or "none: paired rows count as equal, which is not evidence",
        "only in the reference": ", ".join(comparison.reference_only_columns) or "none",
        "only in the response": ", ".join(comparison.response_only_columns) or "none",
        "paired rows": f"{comparison.paired_rows:,} ({comparison.matching_rows:,} agree)",
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


def _cut(text: str) -> str:
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
    return "(absent)" if cell is None else _cut(repr(cell) if isinstance(cell, str) else str(cell))


def _block(title: str, rows: list[Sequence[str]], count: int = 0) -> str:
    """A title over aligned columns; the first row is their header. ``count``: the total number of rows."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [rows[0], ["-" * width for width in widths], *rows[1:]]
    texts = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    more = count - len(rows) + 1
    return "\n  ".join([title, *texts, *([f"and {more:,} more"] if more > 0 else [])])
