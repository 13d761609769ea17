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
    """Per column, the cells whose clusters hold numbers that are not all equal to each other; None: there are none."""


def gathered(columns: Sequence[CodedColumn], known: Known, options: ComparisonOptions) -> Gathered | None:
    """The columns with their numbers gathered. None where no two different numbers are within tolerance."""
    if not any(column.any_floats for column in columns):
        return None
    if not (options.relative_tolerance or options.absolute_tolerance):
        return None
    floats, line = _numbers([_floats_of(column) for column in columns], known)
    if not len(line):
        return None
    exact = [_near_exact(column, line, known, options) for column in columns]
    every_exact = distinct(np.concatenate(exact))
    codes, line = _numbers([floats, every_exact], known)
    starts, stops, narrow = chains_in_line(line, options)
    chain = np.repeat(np.arange(len(starts)), stops - starts)
    common = codes[starts][chain]
    changed = common != codes
    if not changed.any():
        return None
    tight = (narrow & (_weights(codes, line, every_exact, starts) <= 1)) | (stops - starts == 1)
    among = [column.any_floats or len(near) > 0 for column, near in zip(columns, exact, strict=True)]
    table = _Table(codes[changed], common[changed])
    found = [
        replace(column, codes=table.applied(column.codes)) if there else column
        for column, there in zip(columns, among, strict=True)
    ]
    if tight.all():
        return Gathered(columns=found, loose=None)
    loose = np.sort(codes[~tight[chain]])
    return Gathered(columns=found, loose=[_places_among(column.codes, loose)[1] for column in columns])


def _floats_of(column: CodedColumn) -> Codes:
    if isinstance(column.floats, bool):
        return column.codes if column.floats else column.codes[:0]
    return column.codes[column.floats]


def _numbers(codes: Sequence[Codes], known: Known) -> tuple[Codes, Floats]:
    """The different finite numbers among these codes, from the least to the largest, and their values."""
    found = distinct(np.concatenate(codes))
    values = numbers_of(found, known)
    there = ~np.isnan(values)
    found, values = found[there], values[there]
    order = np.argsort(values, kind="stable")
    return found[order], values[order]


def _near_exact(column: CodedColumn, line: Floats, known: Known, options: ComparisonOptions) -> Codes:
    """The exact numbers of a column that a float may be close to."""
    none: Codes = column.codes[:0]
    if all(issubclass(kind, (float, str, bytes, NoneType)) for kind in column.kinds):
        return none
    exact, values = _numbers([column.codes[~column.is_float()]], known)
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
    """For each code its place among these sorted ones, and whether it is there."""
    if not len(those):
        return np.zeros(len(codes), dtype=np.int64), np.zeros(len(codes), dtype=np.bool_)
    places = np.minimum(np.searchsorted(those, codes), len(those) - 1)
    there: Flags = those[places] == codes
    return places, there
