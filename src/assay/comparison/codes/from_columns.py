"""Code the cells of a columnar result: the same codes as for the same cells in rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.comparison.cells import key_of
from assay.comparison.codes.layout import (
    NULL,
    WHOLE,
    Codes,
    Known,
    decimal_codes,
    float_codes,
    integer_codes,
    mixed,
    moment_codes,
)
from assay.model.results.columns import (
    BooleanCells,
    ColumnCells,
    DateCells,
    DecimalCells,
    FloatCells,
    IntegerCells,
    TextCells,
    TimestampCells,
)
from assay.platform.memmap import MemmapWriter

_PORTION = 65_536
_DAY_US = 86_400_000_000
_LONG_TEXT = 64
_SAMPLE = 2_048
_SLOT_BITS = 16
_ROUNDS = 3


def codes_of(column: ColumnCells, known: Known, *, boolean_is_integer: bool, spills: bool) -> Codes:
    """The codes of one column, in memory or in a file."""
    codes: Codes = np.empty(0 if spills else len(column), dtype=np.uint64)
    file = MemmapWriter(np.uint64) if spills else None
    for start in range(0, len(column), _PORTION):
        stop = min(start + _PORTION, len(column))
        found = _portion(column, start, stop, known, boolean_is_integer)
        if column.nulls is not None:
            found[column.nulls[start:stop]] = NULL
        if file is None:
            codes[start:stop] = found
        else:
            file.append(found)
    return codes if file is None else file.array()


def has_negative_zero(column: ColumnCells) -> bool:
    """Whether a cell is -0.0."""
    if not isinstance(column, FloatCells):
        return False
    zeros = column.values[column.values == 0]
    return bool(len(zeros) and np.signbit(zeros).any())


def _portion(
    column: ColumnCells,
    start: int,
    stop: int,
    known: Known,
    boolean_is_integer: bool,  # noqa: FBT001 - private
) -> Codes:
    values = column.values[start:stop]
    match column:
        case BooleanCells() if boolean_is_integer:
            return values.astype(np.uint64) + np.uint64(WHOLE)
        case BooleanCells():
            two = [known[key_of(value, boolean_is_integer=False)] for value in (False, True)]
            return np.array(two, dtype=np.uint64)[values.astype(np.intp)]
        case FloatCells():
            return float_codes(values, known)
        case DecimalCells():
            return decimal_codes(values, column.scale, known)
        case DateCells():
            return moment_codes(values.astype(np.int64) * _DAY_US)
        case TimestampCells():
            return moment_codes(values)
        case IntegerCells():
            return _integers(values, known)
        case TextCells():
            return _texts(column, start, stop, known)
    return known.codes_of(column.cells(start, stop))


def _integers(values: NDArray[Any], known: Known) -> Codes:
    codes = integer_codes(values.astype(np.int64)) if not len(values) or int(values.max()) < WHOLE else None
    return known.codes_of(values.tolist()) if codes is None else codes


def _texts(column: TextCells, start: int, stop: int, known: Known) -> Codes:
    """The codes of texts. If many are the same, one of each is looked up in the dictionary."""
    cells = column.cells
    codes = np.empty(stop - start, dtype=np.uint64)
    left = np.arange(stop - start)
    sample = cells(start, min(stop, start + _SAMPLE))
    words = _words(column, start, stop) if len(set(sample)) <= len(sample) // 2 else None
    for round_ in range(_ROUNDS):
        if words is None or not len(left):
            break
        mine = words[left]
        hashes = mixed(mine[:, 0])
        for word in mine.T[1:]:
            hashes = mixed(hashes + word)
        slots = (hashes >> np.uint64(round_ * _SLOT_BITS)) & np.uint64(2**_SLOT_BITS - 1)
        owners = np.empty(2**_SLOT_BITS, dtype=np.intp)
        owners[slots] = np.arange(len(left))
        owner = owners[slots]
        same = (mine == mine[owner]).all(axis=1)
        first = np.flatnonzero(owner == np.arange(len(left)))
        found = [cells(start + place, start + place + 1)[0] for place in left[first].tolist()]
        mine_codes = np.empty(len(left), dtype=np.uint64)
        mine_codes[first] = known.codes_of(found)
        codes[left[same]] = mine_codes[owner[same]]
        left = left[~same]
    if len(left) == stop - start:
        return known.codes_of(cells(start, stop))
    codes[left] = known.codes_of([cells(start + place, start + place + 1)[0] for place in left.tolist()])
    return codes


def _words(column: TextCells, start: int, stop: int) -> NDArray[np.uint64] | None:
    """Each text as 64-bit words that include its length, equal if and only if the texts are; None for long texts."""
    ends = column.values[start:stop]
    begins = np.concatenate([column.values[start - 1 : start] if start else np.zeros(1, dtype=np.int64), ends[:-1]])
    lengths = ends - begins
    longest = int(lengths.max(initial=0))
    if longest > _LONG_TEXT:
        return None
    width = max(8, -(-longest // 8) * 8)
    first, last = int(begins[0]), int(ends[-1])
    content = np.frombuffer(column.between(first, last).ljust(last - first + width, b"\0"), dtype=np.uint8)
    place = np.arange(width)
    letters = content[(begins - first)[:, None] + place]
    letters[place >= lengths[:, None]] = 0
    return np.concatenate([letters.view(np.uint64), lengths[:, None].astype(np.uint64)], axis=1)
