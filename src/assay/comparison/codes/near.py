"""The clusters of `assay.comparison.tolerance`, for columns of codes: numbers within tolerance get one code."""

from __future__ import annotations

from collections.abc import Sequence
from sys import float_info
from types import NoneType

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from assay.comparison.codes.coder import CodedColumn
from assay.comparison.codes.layout import WHOLE, Codes, Flags, Floats, Integers, Known, distinct, numbers_of
from assay.comparison.tolerance import chains_in_line, maybe_close_each
from assay.model import ComparisonOptions


class Gathered(Struct, frozen=True, kw_only=True):
    """Columns in which each cluster of numbers has one code."""

    columns: list[CodedColumn]
    loose: list[Flags] | None
    """Per column, the cells whose clusters contain numbers that are not all equal to each other; None if there are
    none."""


def gathered(columns: Sequence[CodedColumn], known: Known, options: ComparisonOptions) -> Gathered | None:
    """The columns with their numbers merged. None if no two different numbers are within tolerance."""
    if not any(column.any_floats for column in columns):
        return None
    if not (options.relative_tolerance or options.absolute_tolerance):
        return None
    places = _Places([_floats_of(column) for column in columns])
    line_codes, line = _numbers(places.distinct, known)
    if not len(line):
        return None
    exact = [_near_exact(column, line, known, options) for column in columns]
    every_exact = distinct(np.concatenate(exact))
    codes = line_codes
    if len(every_exact):
        codes, line = _numbers(distinct(np.concatenate([line_codes, every_exact])), known)
    starts, stops, narrow = chains_in_line(line, options)
    chain = np.repeat(np.arange(len(starts)), stops - starts)
    common = codes[starts][chain]
    changed = common != codes
    if not changed.any():
        return None
    tight = narrow & (_weights(codes, line, every_exact, starts) <= 1) if len(every_exact) else narrow
    tight |= stops - starts == 1
    table = _Table(codes[changed], common[changed])
    floats = places.changed(table.applied(places.distinct))
    found = [
        _with_changed(column, their_floats, table, exact=len(near) > 0)
        for column, their_floats, near in zip(columns, floats, exact, strict=True)
    ]
    if tight.all():
        return Gathered(columns=found, loose=None)
    loose = np.sort(codes[~tight[chain]])
    return Gathered(columns=found, loose=[_places_among(column.codes, loose)[1] for column in columns])


def _with_changed(column: CodedColumn, floats: Codes, table: _Table, *, exact: bool) -> CodedColumn:
    """The column with these codes for its floats, and with those of its exact numbers that the table changes."""
    if column.floats is True:
        return replace(column, codes=floats)
    if not (len(floats) or exact):
        return column
    codes = table.applied(column.codes) if exact else column.codes.copy()
    if not isinstance(column.floats, bool):
        codes[column.floats] = floats
    return replace(column, codes=codes)


class _Places:
    """Which codes occur in these arrays, and where."""

    def __init__(self, arrays: Sequence[Codes]) -> None:
        self._ends = np.cumsum([len(codes) for codes in arrays])
        codes = np.concatenate(arrays)
        self._order = np.argsort(codes)
        ordered = codes[self._order]
        first = np.ones(len(codes), dtype=np.bool_)
        first[1:] = ordered[1:] != ordered[:-1]
        self.distinct: Codes = ordered[first]
        """Each code once, sorted."""
        self._first = first

    def changed(self, others: Codes) -> list[Codes]:
        """The arrays with each code of `distinct` replaced by another one."""
        codes = np.empty(len(self._order), dtype=np.uint64)
        codes[self._order] = others[np.cumsum(self._first) - 1]
        return np.split(codes, self._ends[:-1])


def _floats_of(column: CodedColumn) -> Codes:
    if isinstance(column.floats, bool):
        return column.codes if column.floats else column.codes[:0]
    return column.codes[column.floats]


def _numbers(codes: Codes, known: Known) -> tuple[Codes, Floats]:
    """The finite numbers among these different codes, from the least to the largest, and their values."""
    values = numbers_of(codes, known)
    there = ~np.isnan(values)
    found, values = codes[there], values[there]
    order = np.argsort(values, kind="stable")
    return found[order], values[order]


def _near_exact(column: CodedColumn, line: Floats, known: Known, options: ComparisonOptions) -> Codes:
    """The exact numbers of a column that a float may be close to."""
    none: Codes = column.codes[:0]
    if all(issubclass(kind, (float, str, bytes, NoneType)) for kind in column.kinds):
        return none
    exact, values = _numbers(distinct(column.codes[~column.is_float()]), known)
    if not len(exact):
        return none
    places = np.searchsorted(line, values)
    below, above = line[np.maximum(places - 1, 0)], line[np.minimum(places, len(line) - 1)]
    return exact[maybe_close_each(below, values, options) | maybe_close_each(above, values, options)]


def _weights(codes: Codes, line: Floats, exact: Codes, starts: Integers) -> Integers:
    """How many different exact numbers each chain holds; one too large or too small for a float counts twice."""
    there = _places_among(codes, exact)[1]
    beyond = (np.abs(line) == float_info.max) | ((line == 0) != (codes == np.uint64(WHOLE)))
    return np.add.reduceat(there * (1 + beyond.astype(np.int64)), starts)


class _Table:
    """Other codes for some codes."""

    def __init__(self, codes: Codes, others: Codes) -> None:
        order = np.argsort(codes)
        self._codes, self._others = codes[order], others[order]

    def applied(self, codes: Codes) -> Codes:
        """These codes with those of the table replaced."""
        places, there = _places_among(codes, self._codes)
        return np.where(there, self._others[places], codes)


def _places_among(codes: Codes, those: Codes) -> tuple[Integers, Flags]:
    """For each code its index among these sorted ones, and whether it is there."""
    if not len(those):
        return np.zeros(len(codes), dtype=np.int64), np.zeros(len(codes), dtype=np.bool_)
    places = np.minimum(np.searchsorted(those, codes), len(those) - 1)
    there: Flags = those[places] == codes
    return places, there
