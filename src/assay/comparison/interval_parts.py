"""Results in which intervals are equal only if their parts are: one month differs from 30 days."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from msgspec.structs import replace

from assay.comparison.cells import cell_types
from assay.model import Cell, Result
from assay.model.results.cells import MapEntries, map_of
from assay.model.results.times import Interval, parts_of

_WITHIN = (list, tuple, Mapping)


def may_have_intervals(result: Result) -> bool:
    """Whether a cell is an interval that has another form of the same length, or contains other cells."""
    return any(kind is Interval or issubclass(kind, _WITHIN) for kind in cell_types(result.rows))


def interval_parts(result: Result) -> Result:
    """The result with the parts of each interval in its place."""
    return replace(result, rows=tuple([tuple(map(_parts, row)) for row in result.rows]))


def _parts(cell: Cell) -> Cell:
    match cell:
        case timedelta() | Interval():
            return ("interval", *parts_of(cell))
        case MapEntries():
            return MapEntries((_parts(name), _parts(value)) for name, value in cell)
        case Mapping():
            return map_of([(_parts(name), _parts(value)) for name, value in cell.items()])
        case list() | tuple():
            return list(map(_parts, cell))
    return cell
