"""Compare two tables with named columns, row by row: what agrees, what differs, and by how much.

This is the comparison of ragas' DataCompyScore. It differs from `match` (`assay.comparison.compare`), which
ignores column names and row order. Here columns are paired by name in lower case, rows by position or by
key columns, and cells are compared as in datacompy 0.18, the release that ragas works with:

- numbers as 64-bit floats, equal if ``|reference - response| <= abs_tol + rel_tol * |response|``;
- a boolean and a number as 0 or 1;
- texts exactly, or without surrounding whitespace or case if the options say so;
- absent cells equal absent cells;
- texts and numbers, booleans or absent cells as numbers if all of the paired cells read as
  numbers, otherwise as each is written: 2.5 and ``2.5`` agree whatever the other rows hold.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import count, repeat
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from msgspec.structs import replace

from assay.errors import InputError, UsageError
from assay.ragas.comparison import (
    CellDifference,
    ColumnComparison,
    TableComparison,
    TableOptions,
    Tolerance,
    UnpairedRow,
)
from assay.ragas.tables import Cells, Table, TableColumn, as_objects, as_values, is_absent

_Columns: TypeAlias = dict[str, TableColumn]
"""Columns by their name in lower case."""
_NUMERIC = frozenset({"number", "boolean"})
_WRITTEN = _NUMERIC | {"text", "empty"}


def compare(reference: Table, response: Table, options: TableOptions) -> TableComparison:
    """Pair the rows and columns of two tables and compare every shared column.

    Raises InputError if the tables cannot be compared: two names that are equal in lower case, a
    missing key column, keys of different types. Raises UsageError for a negative tolerance, and for a
    tolerance of a column that neither table has.
    """
    wanted, given = _by_name(reference, "the reference"), _by_name(response, "the response")
    abs_tol = _by_column("abs_tol", options.abs_tol, {*wanted, *given})
    rel_tol = _by_column("rel_tol", options.rel_tol, {*wanted, *given})
    join_columns = [name.lower() for name in options.join_columns]
    _check_join_columns(join_columns, wanted, given)

    if join_columns:
        rows, response_rows = _paired(*(_keys(columns, join_columns, options) for columns in (wanted, given)))
    else:
        rows = response_rows = np.arange(min(reference.row_count, response.row_count))
    selected = (rows, response_rows) if join_columns else [slice(len(rows))] * 2
    reference_only = np.delete(np.arange(reference.row_count), rows)
    response_only = np.delete(np.arange(response.row_count), response_rows)

    columns, different = [], np.zeros(len(rows), dtype=bool)
    for name in (name for name in wanted if name in given):
        # As in pandas, an integer paired with a text is written 3.0 if the other table has rows of its own.
        left = _in_rows(wanted[name], selected[0], as_floats=given[name].kind == "text" and len(response_only) > 0)
        right = _in_rows(given[name], selected[1], as_floats=wanted[name].kind == "text" and len(reference_only) > 0)
        tolerance = [by_column.get(name, by_column.get("default", 0.0)) for by_column in (abs_tol, rel_tol)]
        unequal = _unequal(left, right, tolerance, options)
        different[unequal] = True
        sampled = unequal[: options.sample_rows]
        columns.append(_compared(left, right, unequal, [rows[sampled].tolist(), response_rows[sampled].tolist()]))
    if join_columns and set(join_columns) == set(wanted) == set(given):
        # Keys agree in every pair. Unpaired rows count against them only if there are no other columns.
        columns = [replace(column, unequal=len(reference_only) + len(response_only)) for column in columns]
    return TableComparison(
        options=options,
        reference_row_count=reference.row_count,
        response_row_count=response.row_count,
        reference_columns=tuple(wanted),
        response_columns=tuple(given),
        paired_rows=len(rows),
        matching_rows=len(rows) - int(different.sum()),
        columns=tuple(columns),
        reference_only_rows=_unpaired(reference, reference_only[: options.sample_rows]),
        response_only_rows=_unpaired(response, response_only[: options.sample_rows]),
    )


def _by_name(table: Table, whose: str) -> _Columns:
    named: _Columns = {}
    for column in table.columns:
        other = named.setdefault(column.name.lower(), column)
        if other is not column:
            raise InputError(
                f"{whose} has the columns {other.name!r} and {column.name!r}, but columns are paired "
                "by their name in lower case: rename one of them"
            )
    return named


def _by_column(title: str, tolerance: Tolerance, names: set[str]) -> dict[str, float]:
    """A tolerance by the name of its column in lower case."""
    by_column = tolerance if isinstance(tolerance, Mapping) else {"default": tolerance}
    for name, value in by_column.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not value >= 0:
            raise UsageError(f"{title} is {value!r} for {name!r}: use a number of at least 0")
        if name != "default" and name.lower() not in names:
            raise UsageError(f"{title} names the column {name!r}, which neither table has: {sorted(names)}")
    return {name.lower(): value for name, value in by_column.items()}


def _check_join_columns(names: Iterable[str], wanted: _Columns, given: _Columns) -> None:
    for name in names:
        for whose, columns in (("reference", wanted), ("response", given)):
            if name not in columns:
                raise InputError(f"the {whose} has no key column {name!r}; it has {', '.join(map(repr, columns))}")
        left, right = wanted[name].kind, given[name].kind
        if left != right and not {left, right} <= _NUMERIC and not {left, right} & {"empty", "other"}:
            raise InputError(
                f"the key column {name!r} has values of type {left} in the reference and {right} in "
                "the response: no row can be paired"
            )


def _keys(columns: _Columns, names: Sequence[str], options: TableOptions) -> Sequence[Any]:
    """Each row's key: a cell, or a tuple if there are several key columns."""
    cells = [columns[name].cells for name in names]
    if options.ignore_spaces:
        cells = [_changed(column, str.strip) for column in cells]
    keys = list(map(as_values, cells))
    return keys[0] if len(keys) == 1 else list(zip(*keys, strict=True))


def _paired(reference: Sequence[Any], response: Sequence[Any]) -> tuple[Cells, Cells]:
    """The rows of both sides that have equal keys, in the reference's order."""
    rows = {key: row for row, key in enumerate(response)}
    found = np.fromiter(map(rows.get, reference, repeat(-1)), dtype=np.intp, count=len(reference))
    paired = np.flatnonzero(found >= 0)
    if len(rows) < len(response) or np.bincount(found[paired]).max(initial=0) > 1:
        return _paired(_numbered(reference), _numbered(response))
    return paired, found[paired]


def _numbered(keys: Iterable[Any]) -> list[Any]:
    """Each key with the number of its earlier occurrences."""
    seen = defaultdict[Any, Iterator[int]](count)
    return [(key, next(seen[key])) for key in keys]


def _changed(cells: Cells, change: Callable[[str], Any]) -> Cells:
    return as_objects([change(cell) if isinstance(cell, str) else cell for cell in as_values(cells)])


def _in_rows(column: TableColumn, rows: Cells | slice, *, as_floats: bool) -> TableColumn:
    cells = column.cells[rows]
    return replace(column, cells=cells.astype(float) if as_floats and column.kind == "number" else cells)


def _unequal(left: TableColumn, right: TableColumn, tolerance: Sequence[float], options: TableOptions) -> Cells:
    """The indexes of the pairs of cells that differ."""
    kinds = {left.kind, right.kind}
    sides = [left.cells, right.cells]
    for asked, change in ((options.ignore_spaces, str.strip), (options.ignore_case, str.upper)):
        sides = [_changed(cells, change) for cells in sides] if asked else sides
    numeric = kinds <= _NUMERIC
    if not numeric and (len(kinds) > 1 or type(sides[0]) is not type(sides[1])):
        sides = [as_objects(as_values(cells)) for cells in sides]
    unequal = _different(*sides)
    if not len(unequal):
        return unequal
    if kinds == {"text", "instant"}:
        return _different(*(_changed(cells, _instant) for cells in sides))
    if "text" in kinds and kinds <= _WRITTEN:
        try:
            numbers = [np.array(list(map(_number, cells)), dtype=float) for cells in sides]
            if numeric := len(kinds) > 1 or any(None in as_values(cells) for cells in sides):
                sides = numbers
        except ValueError:
            if kinds & _NUMERIC:
                texts = [["nan" if cell is None else str(cell) for cell in cells] for cells in sides]
                return _different(*map(as_objects, texts))
    if numeric:
        with np.errstate(all="ignore"):
            abs_tol, rel_tol = tolerance
            wanted, given = (cells.astype(float) for cells in sides)
            return np.flatnonzero(~np.isclose(wanted, given, rtol=rel_tol, atol=abs_tol, equal_nan=True))
    return unequal


def _different(left: Cells, right: Cells) -> Cells:
    different = left != right
    if different.any():
        different &= ~(is_absent(left) & is_absent(right))
    return np.flatnonzero(different)


def _instant(text: str) -> Any:
    """The time in an ISO date or time. Any other text stays a text, which equals no time."""
    with suppress(ValueError):
        return datetime.fromisoformat(text.strip())
    return text


def _number(cell: Any) -> float | None:
    return None if cell is None else float(cell)


def _compared(left: TableColumn, right: TableColumn, unequal: Cells, rows: Sequence[list[int]]) -> ColumnComparison:
    """The differences in a column, from the indexes of its unequal pairs and the rows of the first of them."""
    sides = [left.cells[unequal], right.cells[unequal]]
    absent = list(map(is_absent, sides))
    distances = np.empty(0)
    if {left.kind, right.kind} <= _NUMERIC:
        with np.errstate(all="ignore"):
            distances = abs(sides[0].astype(float) - sides[1].astype(float))
    values = (as_values(cells[: len(rows[0])]) for cells in sides)
    return ColumnComparison(
        name=left.name.lower(),
        reference_kind=left.kind,
        response_kind=right.kind,
        unequal=len(unequal),
        absent_on_one_side=int((absent[0] != absent[1]).sum()),
        largest_difference=max(distances[np.isfinite(distances)].tolist(), default=None),
        samples=tuple(
            CellDifference(row + 1, other_row + 1, *cells)
            for row, other_row, *cells in zip(*rows, *values, strict=True)
        ),
    )


def _unpaired(table: Table, rows: Cells) -> tuple[UnpairedRow, ...]:
    cells = zip(*(as_values(column.cells[rows]) for column in table.columns), strict=True)
    return tuple(UnpairedRow(row + 1, values) for row, values in zip(rows.tolist(), cells, strict=True))
