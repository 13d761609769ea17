"""The result of comparing two tables, its scores, and its report as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from assay.ragas.tables.table import ColumnKind, TableOptions

Mode = Literal["rows", "columns"]
Measure = Literal["precision", "recall", "f1"]

_WIDEST = 40


class CellDifference(Struct, frozen=True, kw_only=True):
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
    """How many paired rows have different cells."""
    absent_on_one_side: int = 0
    largest_difference: float | None = None
    """The largest difference of paired numbers; None where there are none."""
    samples: tuple[CellDifference, ...] = ()


class UnpairedRow(Struct, frozen=True, kw_only=True):
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
    """How many paired rows agree in every shared column: all of them where no column is shared."""
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
        """Whether columns and rows are the same without a difference, also for two tables without rows."""
        return (
            set(self.reference_columns) == set(self.response_columns)
            and self.paired_rows == self.reference_row_count == self.response_row_count == self.matching_rows
        )

    def score(self, mode: Mode, measure: Measure) -> float:
        """Precision, recall or F1 of the matching rows or columns, from 0 to 1; 0.0 where the denominator is 0."""
        if mode == "rows":
            right, given, wanted = self.matching_rows, self.response_row_count, self.reference_row_count
        else:
            right = sum(column.unequal == 0 for column in self.columns)
            given, wanted = len(self.response_columns), len(self.reference_columns)
        precision = right / given if given else 0.0
        recall = right / wanted if wanted else 0.0
        if measure == "precision":
            return precision
        if measure == "recall":
            return recall
        return 2 * (precision * recall) / (precision + recall) if precision + recall else 0.0

    def cautions(self) -> list[str]:
        """Reasons why the scores say less than they seem to."""
        found = []
        if not self.columns and self.paired_rows:
            names = (_short(names) for names in (self.reference_columns, self.response_columns))
            found.append("no column is shared ({} and {}), so every paired row counts as equal".format(*names))
        if not self.reference_row_count or not self.response_row_count:
            sides = ("reference", self.reference_row_count), ("response", self.response_row_count)
            found.append(" and ".join(f"the {side} has no rows" for side, count in sides if not count))
        return found

    def report(self) -> str:
        """The differences as plain text, for a person to read."""
        return _draw(self)


def _draw(comparison: TableComparison) -> str:
    """The report's text: columns, rows, the columns that differ, samples, unpaired rows."""
    parts = [_summary(comparison), *_columns(comparison)]
    names = comparison.reference_columns, comparison.response_columns
    missing = comparison.reference_row_count - comparison.paired_rows
    extra = comparison.response_row_count - comparison.paired_rows
    parts += _unpaired("Rows that only the reference has", missing, names[0], comparison.reference_only_rows)
    parts += _unpaired("Rows that only the response has", extra, names[1], comparison.response_only_rows)
    return "\n\n".join(parts) + "\n"


def _summary(comparison: TableComparison) -> str:
    shared = [column.name for column in comparison.columns]
    rows = [
        ("reference", _size(comparison.reference_row_count, comparison.reference_columns)),
        ("response", _size(comparison.response_row_count, comparison.response_columns)),
        ("rows paired by", _pairing(comparison.options)),
        ("shared columns", _listed(shared) or "none: paired rows count as equal, which says nothing"),
        ("only in the reference", _listed(comparison.reference_only_columns) or "none"),
        ("only in the response", _listed(comparison.response_only_columns) or "none"),
        ("paired rows", f"{comparison.paired_rows:,}, of which {comparison.matching_rows:,} agree"),
        ("columns that agree", f"{sum(c.unequal == 0 for c in comparison.columns):,} of {len(shared):,} shared"),
    ]
    title = "The tables are equal" if comparison.matches else "The tables differ"
    return title + "\n" + "\n".join(f"  {name:<22}{value}" for name, value in rows)


def _size(rows: int, columns: Sequence[str]) -> str:
    return f"{rows:,} row{'s' * (rows != 1)}, {len(columns):,} column{'s' * (len(columns) != 1)}"


def _pairing(options: TableOptions) -> str:
    how = f"key {_listed(options.join_columns)}" if options.join_columns else "position"
    for title, tolerance in (("absolute tolerance", options.abs_tol), ("relative tolerance", options.rel_tol)):
        if isinstance(tolerance, Mapping):
            how += f"; {title} {', '.join(f'{name} {value:g}' for name, value in tolerance.items())}"
        elif tolerance:
            how += f"; {title} {tolerance:g}"
    return how + "; case ignored" * options.ignore_case + "; surrounding whitespace ignored" * options.ignore_spaces


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _columns(comparison: TableComparison) -> Iterable[str]:
    different = [column for column in comparison.columns if column.unequal]
    if not different:
        return
    header = ("column", "differs in", "absent on one side", "largest difference", "reference", "response")
    yield "Columns that differ\n" + _table(
        header,
        [
            (
                column.name,
                f"{column.unequal:,}",
                f"{column.absent_on_one_side:,}",
                "" if column.largest_difference is None else f"{column.largest_difference:g}",
                column.reference_kind,
                column.response_kind,
            )
            for column in different
        ],
    )
    for column in different:
        if column.samples:
            lines = [
                (
                    _place(sample.reference_row, sample.response_row),
                    _cell(sample.reference),
                    _cell(sample.response),
                )
                for sample in column.samples
            ]
            more = column.unequal - len(lines)
            rest = f"\n  and {more:,} more" if more else ""
            yield f"{column.name}\n" + _table(("row", "reference", "response"), lines) + rest


def _place(reference: int, response: int) -> str:
    return f"{reference:,}" if reference == response else f"{reference:,} / {response:,}"


def _unpaired(title: str, count: int, names: Sequence[str], rows: Sequence[UnpairedRow]) -> Iterable[str]:
    if count:
        lines = [(f"{row.row:,}", *map(_cell, row.cells)) for row in rows]
        more = f"\n  and {count - len(lines):,} more" if count > len(lines) else ""
        yield f"{title}: {count:,}\n" + _table(("row", *names), lines) + more


def _short(names: Sequence[str]) -> str:
    text = _listed(map(repr, names))
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _cell(cell: Any) -> str:
    if cell is None:
        return "(absent)"
    text = repr(cell) if isinstance(cell, str) else str(cell)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
