"""Compare two tables with named columns, row by row: what agrees, what differs, and by how much.

This is the comparison of ragas' DataCompyScore. It differs from `match` (`assay.comparison.compare`), where
column names and row order do not count. Here columns are paired by name in lower case, rows by position or by
key columns, and cells are compared as in datacompy 0.18, the release that ragas works with:

- numbers as 64-bit floats, where ``|reference - response| <= abs_tol + rel_tol * |response|``;
- a boolean against a number as 0 or 1;
- texts exactly, or without surrounding whitespace or case if that is asked for;
- absent cells equal absent cells;
- texts against numbers, booleans or absent cells as numbers if all of the paired cells read as
  numbers, and else as each is written: 2.5 and ``2.5`` agree whatever the other rows hold.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import compress, count, islice
from math import isfinite, isnan
from numbers import Real
from operator import ne
from typing import Any, TypeAlias

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
from assay.ragas.tables import Table, TableColumn

_Columns: TypeAlias = dict[str, TableColumn]
"""Columns by their name in lower case."""
_NUMERIC = frozenset({"number", "boolean"})
_WRITTEN = _NUMERIC | {"text", "empty"}


def compare(reference: Table, response: Table, options: TableOptions) -> TableComparison:
    """Pair the rows and columns of two tables and compare every shared column.

    Raises InputError where the tables cannot be compared: two names that are one in lower case, a
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
        rows = response_rows = range(min(reference.row_count, response.row_count))
    reference_only = _other_rows(reference, rows)
    response_only = _other_rows(response, response_rows)

    columns, different = [], set[int]()
    for name in (name for name in wanted if name in given):
        # As in pandas, an integer is written 3.0 beside a text if the other table has rows of its own.
        left = _in_rows(wanted[name], rows, as_floats=given[name].kind == "text" and bool(response_only))
        right = _in_rows(given[name], response_rows, as_floats=wanted[name].kind == "text" and bool(reference_only))
        tolerance = [by_column.get(name, by_column.get("default", 0.0)) for by_column in (abs_tol, rel_tol)]
        unequal = _unequal(left, right, tolerance, options)
        different.update(unequal)
        pairs = {index: (rows[index], response_rows[index]) for index in unequal}
        columns.append(_compared(name, left, right, pairs, options.sample_rows))
    if join_columns and set(join_columns) == set(wanted) == set(given):
        # Keys agree in every pair. Only where there is nothing but keys do unpaired rows count against them.
        columns = [replace(column, unequal=len(reference_only) + len(response_only)) for column in columns]
    return TableComparison(
        options=options,
        reference_row_count=reference.row_count,
        response_row_count=response.row_count,
        reference_columns=tuple(wanted),
        response_columns=tuple(given),
        paired_rows=len(rows),
        matching_rows=len(rows) - len(different),
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
                f"{whose} has the columns {other.name!r} and {column.name!r}, and columns are paired by their "
                "name in lower case: rename one of them"
            )
    return named


def _by_column(title: str, tolerance: Tolerance, names: set[str]) -> dict[str, float]:
    """A tolerance by the name of its column in lower case."""
    by_column = tolerance if isinstance(tolerance, Mapping) else {"default": tolerance}
    for name, value in by_column.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not value >= 0:
            raise UsageError(f"{title} is {value!r} for {name!r}: a tolerance is a number of at least 0")
        if name != "default" and name.lower() not in names:
            raise UsageError(f"{title} names the column {name!r}, and neither table has it: {sorted(names)}")
    return {name.lower(): value for name, value in by_column.items()}


def _check_join_columns(names: Iterable[str], wanted: _Columns, given: _Columns) -> None:
    for name in names:
        for whose, columns in (("reference", wanted), ("response", given)):
            if name not in columns:
                raise InputError(f"the {whose} has no key column {name!r}; it has {', '.join(map(repr, columns))}")
        left, right = wanted[name].kind, given[name].kind
        if left != right and not {left, right} <= _NUMERIC and not {left, right} & {"empty", "other"}:
            raise InputError(
                f"the key column {name!r} holds a {left} in the reference and a {right} in the response: "
                "no row can be paired"
            )


def _keys(columns: _Columns, names: Sequence[str], options: TableOptions) -> Sequence[Any]:
    """Each row's key: a cell, or a tuple if there are several key columns."""
    cells = [columns[name].cells for name in names]
    if options.ignore_spaces:
        cells = [_changed(column, str.strip) for column in cells]
    return cells[0] if len(cells) == 1 else list(zip(*cells, strict=True))


def _paired(reference: Sequence[Any], response: Sequence[Any]) -> tuple[Sequence[int], Sequence[int]]:
    """The rows of both sides that have equal keys, in the reference's order."""
    if len(set(reference)) < len(reference) or len(set(response)) < len(response):
        reference, response = _numbered(reference), _numbered(response)
    rows = {key: row for row, key in enumerate(response)}
    paired = [row for row, key in enumerate(reference) if key in rows]
    return paired, [rows[reference[row]] for row in paired]


def _numbered(keys: Iterable[Any]) -> list[Any]:
    """Each key with how often it occurred before."""
    seen = defaultdict[Any, Iterator[int]](count)
    return [(key, next(seen[key])) for key in keys]


def _other_rows(table: Table, rows: Sequence[int]) -> Sequence[int]:
    if isinstance(rows, range):
        return range(len(rows), table.row_count)
    return sorted(set(range(table.row_count)).difference(rows))


def _changed(cells: Iterable[Any], change: Callable[[str], str]) -> list[Any]:
    return [change(cell) if isinstance(cell, str) else cell for cell in cells]


def _in_rows(column: TableColumn, rows: Sequence[int], *, as_floats: bool) -> TableColumn:
    cells = column.cells[: len(rows)] if isinstance(rows, range) else list(map(column.cells.__getitem__, rows))
    if as_floats and column.kind == "number":
        cells = [None if cell is None else float(cell) for cell in cells]
    return replace(column, cells=cells)


def _unequal(left: TableColumn, right: TableColumn, tolerance: Sequence[float], options: TableOptions) -> list[int]:
    """The indexes of the pairs of cells that differ."""
    kinds = {left.kind, right.kind}
    sides = [left.cells, right.cells]
    for asked, change in ((options.ignore_spaces, str.strip), (options.ignore_case, str.upper)):
        sides = [_changed(cells, change) for cells in sides] if asked else sides
    if sides[0] == sides[1]:
        return []
    numeric = kinds <= _NUMERIC
    if kinds == {"text", "instant"}:
        sides = [_changed(cells, _instant) for cells in sides]
    elif "text" in kinds and kinds <= _WRITTEN and (len(kinds) > 1 or None in sides[0] or None in sides[1]):
        try:
            sides = [list(map(_number, cells)) for cells in sides]
            numeric = True
        except ValueError:
            if kinds & _NUMERIC:
                sides = [["nan" if cell is None else str(cell) for cell in cells] for cells in sides]
    unequal = compress(count(), map(ne, *sides))
    if numeric:
        return [index for index in unequal if not _close(sides[0][index], sides[1][index], *tolerance)]
    return list(unequal)


def _instant(text: str) -> Any:
    """The time that an ISO date or time says. Any other text stays a text, which equals no time."""
    with suppress(ValueError):
        return datetime.fromisoformat(text.strip())
    return text


def _number(cell: Any) -> float | None:
    number = None if cell is None else float(cell)
    return None if number is None or isnan(number) else number


def _close(reference: float | None, response: float | None, abs_tol: float, rel_tol: float) -> bool:
    if reference is None or response is None:
        return False
    left, right = float(reference), float(response)
    return left == right or (isfinite(right) and abs(left - right) <= abs_tol + rel_tol * abs(right))


def _compared(
    name: str, left: TableColumn, right: TableColumn, unequal: Mapping[int, tuple[int, int]], sample_rows: int
) -> ColumnComparison:
    """What is told of a column, from the indexes of its unequal pairs and the rows that each pairs."""
    cells = [(left.cells[index], right.cells[index]) for index in unequal]
    numbers = [pair for pair in cells if None not in pair] if {left.kind, right.kind} <= _NUMERIC else []
    samples = islice(zip(unequal.values(), cells, strict=True), sample_rows)
    return ColumnComparison(
        name=name,
        reference_kind=left.kind,
        response_kind=right.kind,
        unequal=len(unequal),
        absent_on_one_side=sum((cell is None) != (other is None) for cell, other in cells),
        largest_difference=max(filter(isfinite, (abs(float(a) - float(b)) for a, b in numbers)), default=None),
        samples=tuple(CellDifference(rows[0] + 1, rows[1] + 1, *pair) for rows, pair in samples),
    )


def _unpaired(table: Table, rows: Iterable[int]) -> tuple[UnpairedRow, ...]:
    return tuple(UnpairedRow(row + 1, tuple(column.cells[row] for column in table.columns)) for row in rows)
