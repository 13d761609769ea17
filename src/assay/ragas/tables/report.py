"""The differences between two tables as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay.ragas.tables.compare import TableComparison, TableOptions, UnpairedRow

_WIDEST = 40


def draw(comparison: TableComparison) -> str:
    """One text of several parts: columns, rows, the columns that differ, samples, unpaired rows."""
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
