"""The clusters of `assay.comparison.tolerance`, for columns of codes: numbers within tolerance get one code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from sys import float_info

import numpy as np

from assay.comparison.codes.coder import CodedColumn
from assay.comparison.codes.layout import WHOLE, Codes, Flags, Floats, Integers, Known, numbers_of
from assay.comparison.tolerance import chains_in_line, maybe_close_each
from assay.model import ComparisonOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """Columns in which each cluster of numbers has one code."""

    columns: list[CodedColumn]
    loose: list[Flags] | None
    """Per column, the cells whose clusters hold numbers that are not all equal to each other; None: there are none."""


def gathered(columns: Sequence[CodedColumn], known: Known, options: ComparisonOptions) -> Gathered | None:
    """The columns with their numbers gathered. None where no two different numbers are within tolerance."""
    numeric = [index for index, column in enumerate(columns) if _may_hold_numbers(column)]
    if not any(columns[index].any_floats for index in numeric):
        return None
    if not (options.relative_tolerance or options.absolute_tolerance):
        return None
    codes = np.concatenate([columns[index].codes for index in numeric])
    values = numbers_of(codes, known)
    floats = np.concatenate([columns[index].is_float() for index in numeric])
    floats &= ~np.isnan(values)
    members = _members(values, floats, options)
    if not len(members):
        return None
    line = values[members]
    del values
    order = np.argsort(line)
    members, line = members[order], line[order]
    del order
    starts, stops, narrow = chains_in_line(line, options)
    chain = np.repeat(np.arange(len(starts)), stops - starts)
    theirs = codes[members]
    common = theirs[starts][chain]
    if (common == theirs).all():
        return None
    tight = narrow & (_weights(chain, line, theirs, floats[members], len(starts)) <= 1)
    tight |= np.logical_and.reduceat(common == theirs, starts)
    codes[members] = common
    loose = None
    if not tight.all():
        flags = np.zeros(len(codes), dtype=np.bool_)
        flags[members] = ~tight[chain]
        loose = _split(flags, columns, numeric)
    parts = iter(np.split(codes, _borders(columns, numeric)))
    found = list(columns)
    for index in numeric:
        found[index] = replace(columns[index], codes=next(parts))
    return Gathered(columns=found, loose=loose)


def _may_hold_numbers(column: CodedColumn) -> bool:
    return any(not issubclass(kind, (str, bytes)) for kind in column.kinds)


def _members(values: Floats, floats: Flags, options: ComparisonOptions) -> Integers:
    """The places of all floats, and of all exact numbers that a float may be close to."""
    among = np.flatnonzero(floats)
    exact = np.flatnonzero(~floats & ~np.isnan(values))
    if not len(exact) or not len(among):
        return among
    line = np.unique(values[among])
    wanted = values[exact]
    places = np.searchsorted(line, wanted)
    below, above = line[np.maximum(places - 1, 0)], line[np.minimum(places, len(line) - 1)]
    near = maybe_close_each(below, wanted, options) | maybe_close_each(above, wanted, options)
    return np.concatenate([among, exact[near]])


def _weights(chain: Integers, line: Floats, codes: Codes, floats: Flags, count: int) -> Integers:
    """How many different exact numbers each chain holds; one too large or too small for a float counts twice."""
    exact = np.flatnonzero(~floats)
    if not len(exact):
        return np.zeros(count, dtype=np.int64)
    chains, theirs, values = chain[exact], codes[exact], line[exact]
    order = np.lexsort((theirs, chains))
    chains, theirs, values = chains[order], theirs[order], values[order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (chains[1:] != chains[:-1]) | (theirs[1:] != theirs[:-1])
    beyond = (np.abs(values) == float_info.max) | ((values == 0) != (theirs == np.uint64(WHOLE)))
    return np.bincount(chains[first], weights=1 + beyond[first], minlength=count).astype(np.int64)


def _borders(columns: Sequence[CodedColumn], numeric: Sequence[int]) -> Integers:
    return np.cumsum([len(columns[index].codes) for index in numeric])[:-1]


def _split(flags: Flags, columns: Sequence[CodedColumn], numeric: Sequence[int]) -> list[Flags]:
    parts = iter(np.split(flags, _borders(columns, numeric)))
    return [
        next(parts) if index in numeric else np.zeros(len(column.codes), dtype=np.bool_)
        for index, column in enumerate(columns)
    ]
