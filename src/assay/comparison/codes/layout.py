"""Which code a cell has: equal codes exactly where the cells' keys are equal, so that nothing is left to chance.

Most numbers are their own codes: whole numbers up to 2**61 whatever their type, then all floats with a fraction.
Every other key (text, dates, decimals, large numbers) is numbered as it is first met, by a dictionary.
"""

from __future__ import annotations

from decimal import Decimal
from math import isfinite
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.comparison.cells import Key
from assay.comparison.tolerance import as_float, is_number

Codes: TypeAlias = NDArray[np.uint64]
Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

WHOLE = 2**61
"""Whole numbers nearer to 0 than this are their own codes, moved up by as much."""
_FLOATS = 2**62
_FRACTIONS = 0x433 << 52
"""The bits of a float's magnitude are below these exactly where it is below 2**52, as are all with a fraction."""
NULL = _FLOATS + 2 * _FRACTIONS
NAN = NULL + 1
OTHERS = NULL + 2
_MAGNITUDE = 2**63 - 1
_SPREAD = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class Known(dict[Key, int]):
    """The codes of all keys met so far that are not coded by arrays; asking for a new one numbers it."""

    def __init__(self) -> None:
        super().__init__({None: NULL, ("nan",): NAN})
        self.keys_met: list[Key] = []
        """The keys with codes from `OTHERS` on, in the order of their codes."""

    def __missing__(self, key: Key) -> int:
        code = _number_code(key) if is_number(key) else None
        if code is None:
            code = OTHERS + len(self.keys_met)
            self.keys_met.append(key)
        self[key] = code
        return code

    def codes_of(self, keys: list[Key]) -> Codes:
        """One code for each key."""
        return np.fromiter(map(self.__getitem__, keys), dtype=np.uint64, count=len(keys))

    def floats(self) -> Floats:
        """For each key from `OTHERS` on the nearest finite float, NaN where it is no finite number."""
        found = [as_float(key) if is_number(key) and _is_finite(key) else np.nan for key in self.keys_met]
        most = np.finfo(np.float64).max
        return np.clip(np.array(found, dtype=np.float64), -most, most)


def _is_finite(number: int | float | Decimal) -> bool:
    return isinstance(number, int) or (number.is_finite() if isinstance(number, Decimal) else isfinite(number))


def _number_code(number: int | float | Decimal) -> int | None:
    """The code of a number by its value; None where it needs one of its own."""
    if not _is_finite(number):
        return None
    if -WHOLE < number < WHOLE and number == (whole := int(number)):
        return whole + WHOLE
    value = as_float(number)
    if value != number or not abs(value) < 2.0**52:
        return None
    bits = int(np.float64(value).view(np.uint64))
    return _FLOATS + (bits & _MAGNITUDE) + (_FRACTIONS if bits >> 63 else 0)


def integer_codes(numbers: Integers) -> Codes | None:
    """The codes of integers; None where one is too large for a code of its own."""
    if len(numbers) and not (int(numbers.min()) > -WHOLE and int(numbers.max()) < WHOLE):
        return None
    return (numbers + np.int64(WHOLE)).view(np.uint64)


def float_codes(numbers: Floats, known: Known) -> Codes:
    """The codes of floats, NaN and infinities among them."""
    with np.errstate(invalid="ignore"):
        near = np.abs(numbers) < 2.0**61
        whole = np.where(near, numbers, 0.0).astype(np.int64)
        is_whole = near & (whole == numbers)
    bits = numbers.view(np.uint64)
    magnitude = bits & np.uint64(_MAGNITUDE)
    codes = magnitude + np.uint64(_FLOATS) + (bits >> np.uint64(63)) * np.uint64(_FRACTIONS)
    codes[is_whole] = (whole[is_whole] + np.int64(WHOLE)).view(np.uint64)
    rest = np.flatnonzero(~is_whole & (magnitude >= np.uint64(_FRACTIONS)))
    if len(rest):
        nan = np.isnan(numbers[rest])
        codes[rest[nan]] = NAN
        large: list[Key] = numbers[rest[~nan]].tolist()
        codes[rest[~nan]] = known.codes_of(large)
    return codes


def numbers_of(codes: Codes, known: Known) -> Floats:
    """For each code the nearest finite float, NaN where it stands for no finite number."""
    values = (codes - np.uint64(WHOLE)).view(np.int64).astype(np.float64)
    floats = (codes >= np.uint64(_FLOATS)) & (codes < np.uint64(NULL))
    if floats.any():
        magnitude = codes[floats] - np.uint64(_FLOATS)
        negative = magnitude >= np.uint64(_FRACTIONS)
        magnitude[negative] -= np.uint64(_FRACTIONS)
        magnitude[negative] |= np.uint64(2**63)
        values[floats] = magnitude.view(np.float64)
    values[(codes == np.uint64(NULL)) | (codes == np.uint64(NAN))] = np.nan
    others = codes >= np.uint64(OTHERS)
    if others.any():
        values[others] = known.floats()[(codes[others] - np.uint64(OTHERS)).astype(np.int64)]
    return values


def mixed(codes: Codes) -> Codes:
    """The codes spread over 64 bits, so that sums of different ones differ."""
    found = (codes + _SPREAD[0]) * _SPREAD[1]
    found ^= found >> np.uint64(29)
    found *= _SPREAD[2]
    found ^= found >> np.uint64(32)
    return found


def distinct(codes: Codes) -> Codes:
    """The different codes, sorted: `numpy.unique` hashes them, which takes ten times as long where they are many."""
    found = np.sort(codes)
    if not len(found):
        return found
    first = np.ones(len(found), dtype=np.bool_)
    first[1:] = found[1:] != found[:-1]
    return found[first]


def total(codes: Codes) -> int:
    """A number that equal bags of codes share, and different ones hardly ever."""
    return int(mixed(codes).sum(dtype=np.uint64))
