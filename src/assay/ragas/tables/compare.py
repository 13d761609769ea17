"""Compare two tables with named columns, row by row: what agrees, what differs, and by how much.

This is the comparison of ragas' DataCompyScore. It differs from `match` (`assay.comparison.compare`), where
column names and row order do not count. Here columns are paired by name in lower case, rows by position or by
key columns, and cells are compared as in datacompy 0.18, the release that ragas works with:

- numbers as 64-bit floats, where ``|reference - response| <= abs_tol + rel_tol * |response|``;
- a boolean against a number as 0 or 1;
- texts exactly, or without surrounding whitespace or case where that is asked for;
- absent cells equal absent cells;
- texts against numbers, booleans or absent cells as numbers where all of the paired cells read as
  numbers, and else as each is written: 2.5 and ``2.5`` agree whatever the other rows hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from assay.errors import InputError, UsageError
from assay.ragas.tables.cells import absent, equal_cells, largest_difference, shown
from assay.ragas.tables.result import CellDifference, ColumnComparison, TableComparison, UnpairedRow
from assay.ragas.tables.table import Table, TableColumn, TableOptions, Tolerance

if TYPE_CHECKING:
    from assay.ragas.tables.table import Cells


def compare_tables(reference: Table, response: Table, options: TableOptions | None = None) -> TableComparison:
    """Pair the rows and columns of two tables and compare every shared column.

    Raises InputError where the tables cannot be compared: two names that are one in lower case, a
    missing key column, keys of different types. Raises UsageError for a negative tolerance, and for a
    tolerance of a column that neither table has.
    """
    options = options or TableOptions()
    wanted, given = _by_name(reference, "the reference"), _by_name(response, "the response")
    _check_tolerances(options, {*wanted, *given})
    keys = tuple(name.lower() for name in options.join_columns)
    pairs = _Pairs.of(wanted, given, keys, options, sizes=(reference.row_count, response.row_count))
    only_keys = bool(keys) and set(keys) == set(wanted) == set(given)
    unpaired = len(pairs.reference_only) + len(pairs.response_only)
    matching, columns = None, []
    for name in (name for name in wanted if name in given):
        left, right = wanted[name], given[name]
        if name in keys:
            # A key agrees in every pair. Only where there is nothing but keys do unpaired rows count against it.
            compared = ColumnComparison(
                name=name, reference_kind=left.kind, response_kind=right.kind, unequal=unpaired if only_keys else 0
            )
        else:
            equal, compared = _compare_column(left, right, pairs, options)
            matching = equal if matching is None else matching & equal
        columns.append(compared)
    return TableComparison(
        options=options,
        reference_row_count=reference.row_count,
        response_row_count=response.row_count,
        reference_columns=tuple(wanted),
        response_columns=tuple(given),
        paired_rows=pairs.count,
        matching_rows=pairs.count if matching is None else int(matching.sum()),
        columns=tuple(columns),
        reference_only_rows=_unpaired(reference, pairs.reference_only, options),
        response_only_rows=_unpaired(response, pairs.response_only, options),
    )


def _by_name(table: Table, whose: str) -> dict[str, TableColumn]:
    named: dict[str, TableColumn] = {}
    for column in table.columns:
        name = column.name.lower()
        if name in named:
            raise InputError(
                f"{whose} has the columns {named[name].name!r} and {column.name!r}, and columns are paired by their "
                "name in lower case: rename one of them"
            )
        named[name] = column
    return named


def _check_tolerances(options: TableOptions, names: set[str]) -> None:
    for title, tolerance in (("abs_tol", options.abs_tol), ("rel_tol", options.rel_tol)):
        by_column = tolerance if isinstance(tolerance, Mapping) else {"default": tolerance}
        for name, value in by_column.items():
            if isinstance(value, bool) or not isinstance(value, Real) or not value >= 0:
                raise UsageError(f"{title} is {value!r} for {name!r}: a tolerance is a number of at least 0")
            if name != "default" and name.lower() not in names:
                raise UsageError(f"{title} names the column {name!r}, and neither table has it: {sorted(names)}")


def _tolerance(tolerance: Tolerance, name: str) -> float:
    if not isinstance(tolerance, Mapping):
        return tolerance
    by_name = {key.lower(): value for key, value in tolerance.items()}
    return by_name.get(name, by_name.get("default", 0.0))


class _Pairs(Struct, frozen=True, eq=False):
    """The paired rows of both sides: row numbers from 0, or a slice where rows are paired by position."""

    reference: Cells | slice
    response: Cells | slice
    count: int
    reference_only: Sequence[int]
    response_only: Sequence[int]

    @classmethod
    def of(
        cls,
        wanted: dict[str, TableColumn],
        given: dict[str, TableColumn],
        keys: tuple[str, ...],
        options: TableOptions,
        *,
        sizes: tuple[int, int],
    ) -> _Pairs:
        if not keys:
            count = min(sizes)
            both = slice(count)
            return cls(both, both, count, range(count, sizes[0]), range(count, sizes[1]))
        import numpy

        _check_keys(wanted, given, keys)
        if len(keys) == 1 and (found := _found(wanted[keys[0]].cells, given[keys[0]].cells)) is not None:
            return cls._of_found(found, sizes[1])
        ours, theirs = _keys(wanted, keys, options), _keys(given, keys, options)
        if len(set(ours)) < len(ours) or len(set(theirs)) < len(theirs):
            ours, theirs = _counted(ours), _counted(theirs)
        place = {key: row for row, key in enumerate(theirs)}
        found = numpy.array([place.get(key, -1) for key in ours], dtype=numpy.int64)
        return cls._of_found(found, sizes[1])

    @classmethod
    def _of_found(cls, found: Cells, response_rows: int) -> _Pairs:
        """From the response's row of each row of the reference, -1 where there is none."""
        import numpy

        (left,) = numpy.nonzero(found >= 0)
        right = found[left]
        # Where every row of the reference is paired, its columns stay as they are.
        reference = slice(len(found)) if len(left) == len(found) else left
        unused = numpy.ones(response_rows, dtype=bool)
        unused[right] = False
        only = numpy.flatnonzero(found < 0).tolist(), numpy.flatnonzero(unused).tolist()
        return cls(reference, right, len(left), *only)

    def row(self, place: int) -> tuple[int, int]:
        """The row numbers, from 0, of one pair."""
        ours, theirs = self.reference, self.response
        return (
            place if isinstance(ours, slice) else int(ours[place]),
            place if isinstance(theirs, slice) else int(theirs[place]),
        )


def _check_keys(wanted: dict[str, TableColumn], given: dict[str, TableColumn], keys: tuple[str, ...]) -> None:
    for name in keys:
        for whose, columns in (("reference", wanted), ("response", given)):
            if name not in columns:
                raise InputError(f"the {whose} has no key column {name!r}; it has {', '.join(map(repr, columns))}")
        left, right = wanted[name].kind, given[name].kind
        numeric = {"number", "boolean"}
        if left != right and not {left, right} <= numeric and not {left, right} & {"empty", "other"}:
            raise InputError(
                f"the key column {name!r} holds a {left} in the reference and a {right} in the response: "
                "no row can be paired"
            )


def _keys(columns: dict[str, TableColumn], keys: tuple[str, ...], options: TableOptions) -> list[Any]:
    """Each row's key: a cell, or a tuple where there are several key columns."""
    parts = []
    for name in keys:
        cells = columns[name].cells.tolist()
        if columns[name].kind == "text":
            cells = [cell and cell.strip() for cell in cells] if options.ignore_spaces else cells
        elif columns[name].cells.dtype.kind == "M":
            cells = columns[name].cells.astype("datetime64[us]").tolist()
        elif columns[name].cells.dtype.kind == "f":
            # NaN is not equal to itself: as a key it is None.
            cells = [None if math.isnan(cell) else cell for cell in cells]
        parts.append(cells)
    return parts[0] if len(parts) == 1 else list(zip(*parts, strict=True))


def _found(ours: Cells, theirs: Cells) -> Cells | None:
    """The place in ``theirs`` of each key of ``ours``, or -1; None where keys are not plain integers, or repeat."""
    import numpy

    if ours.dtype.kind != "i" or theirs.dtype.kind != "i" or not len(ours) or not len(theirs):
        return None
    order = numpy.argsort(theirs, kind="stable")
    ordered = theirs[order]
    if (ordered[1:] == ordered[:-1]).any():
        return None
    places = numpy.minimum(numpy.searchsorted(ordered, ours), len(ordered) - 1)
    found: Cells = numpy.where(ordered[places] == ours, order[places], -1)
    # A key that repeats in ``ours`` finds the same place again.
    return None if (numpy.bincount(found[found >= 0]) > 1).any() else found


def _counted(keys: list[Any]) -> list[Any]:
    """Each key with how often it occurred before."""
    seen: dict[Any, int] = {}
    counted = []
    for key in keys:
        before = seen.get(key, 0)
        seen[key] = before + 1
        counted.append((key, before))
    return counted


def _compare_column(
    left: TableColumn, right: TableColumn, pairs: _Pairs, options: TableOptions
) -> tuple[Cells, ColumnComparison]:
    import numpy

    ours = _beside_gaps(left.cells[pairs.reference], gaps=bool(pairs.response_only))
    theirs = _beside_gaps(right.cells[pairs.response], gaps=bool(pairs.reference_only))
    name = left.name.lower()
    equal = equal_cells(
        ours,
        theirs,
        kinds=(left.kind, right.kind),
        abs_tol=_tolerance(options.abs_tol, name),
        rel_tol=_tolerance(options.rel_tol, name),
        ignore_case=options.ignore_case,
        ignore_spaces=options.ignore_spaces,
    )
    different = numpy.flatnonzero(~equal)
    if not len(different):
        compared = ColumnComparison(name=name, reference_kind=left.kind, response_kind=right.kind, unequal=0)
        return equal, compared
    samples = []
    for place in different[: options.sample_rows].tolist():
        reference_row, response_row = pairs.row(place)
        cells = shown(ours[place], left.kind), shown(theirs[place], right.kind)
        samples.append(
            CellDifference(
                reference_row=reference_row + 1,
                response_row=response_row + 1,
                reference=cells[0],
                response=cells[1],
            )
        )
    return equal, ColumnComparison(
        name=name,
        reference_kind=left.kind,
        response_kind=right.kind,
        unequal=len(different),
        absent_on_one_side=int((absent(ours, left.kind) ^ absent(theirs, right.kind)).sum()),
        largest_difference=largest_difference(ours, theirs, (left.kind, right.kind)),
        samples=tuple(samples),
    )


def _beside_gaps(cells: Cells, *, gaps: bool) -> Cells:
    """Integers become floats where their table lacks a row of the other one: 3 is then written ``3.0``."""
    import numpy

    return cells.astype(numpy.float64) if gaps and cells.dtype.kind in "iu" else cells


def _unpaired(table: Table, rows: Sequence[int], options: TableOptions) -> tuple[UnpairedRow, ...]:
    return tuple(
        UnpairedRow(row=row + 1, cells=tuple(shown(column.cells[row], column.kind) for column in table.columns))
        for row in rows[: options.sample_rows]
    )
