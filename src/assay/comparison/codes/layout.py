"""The code of each cell. Codes are equal if and only if the cells' keys are: there are no collisions.

Most numbers are their own codes: integers up to 2**61 of any type, then all floats with a fraction, then decimals that
are neither, then timestamps without time zone. Every other key (text, large numbers) is numbered when it first occurs,
by a dictionary.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Context, Decimal
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
"""Integers nearer to 0 than this are their own codes, shifted up by as much."""
_FLOATS = 2**62
_FRACTIONS = 0x433 << 52
"""The bits of a float's magnitude are below these if and only if it is below 2**52, as are all with a fraction."""
NULL = _FLOATS + 2 * _FRACTIONS
NAN = NULL + 1
DECIMALS = NULL + 2
_SIGN_AND_PLACES = 53
"""Below these bits of a decimal's code are its digits, above them its sign and the number of its decimal places."""
_MOST_DIGITS = 2**53
MOST_PLACES = 22
"""A float holds each power of ten up to this one, and so the nearest float to a decimal is one division away."""
MOMENTS = DECIMALS + 2**59
"""Microseconds since the year 1: fewer than 2**59."""
EPOCH = MOMENTS + 719_162 * 86_400_000_000
"""The code of 1970."""
OTHERS = MOMENTS + 2**59
_MOST_READ = 40
_MOST_FIVES = 27
_EXACTLY = Context(prec=60)
_MICROSECOND = timedelta(microseconds=1)
_YEAR_1 = datetime.fromisoformat("0001-01-01")
_MAGNITUDE = 2**63 - 1
_SPREAD = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class Known(dict[Key, int]):
    """The codes of all keys so far that are not coded by arrays; looking up a new key numbers it."""

    def __init__(self) -> None:
        super().__init__({None: NULL, ("nan",): NAN})
        self.keys_met: list[Key] = []
        """The keys with codes from `OTHERS` on, in the order of their codes."""

    def __missing__(self, key: Key) -> int:
        code = None
        if is_number(key):
            code = _number_code(key)
        elif isinstance(key, datetime):
            code = _moment_code(key)
        if code is None:
            code = OTHERS + len(self.keys_met)
            self.keys_met.append(key)
        self[key] = code
        return code

    def codes_of(self, keys: Sequence[Key]) -> Codes:
        """One code for each key."""
        return np.fromiter(map(self.__getitem__, keys), dtype=np.uint64, count=len(keys))

    def floats(self) -> Floats:
        """For each key from `OTHERS` on, the nearest finite float, NaN if it is not a finite number."""
        found = [as_float(key) if is_number(key) and _is_finite(key) else np.nan for key in self.keys_met]
        most = np.finfo(np.float64).max
        return np.clip(np.array(found, dtype=np.float64), -most, most)


def _is_finite(number: int | float | Decimal) -> bool:
    return isinstance(number, int) or (number.is_finite() if isinstance(number, Decimal) else isfinite(number))


def _number_code(number: int | float | Decimal) -> int | None:
    """The code of a number by its value; None if it needs a numbered code."""
    if not _is_finite(number):
        return None
    if -WHOLE < number < WHOLE and number == (whole := int(number)):
        return whole + WHOLE
    value = as_float(number)
    if value != number or not abs(value) < 2.0**52:
        return _decimal_code(number) if isinstance(number, Decimal) else None
    bits = int(np.float64(value).view(np.uint64))
    return _FLOATS + (bits & _MAGNITUDE) + (_FRACTIONS if bits >> 63 else 0)


def _decimal_code(number: Decimal) -> int | None:
    """The code of a decimal that is neither a float nor an integer; None if it has too many digits."""
    sign, digits, places = number.as_tuple()
    if not isinstance(places, int) or len(digits) > _MOST_READ:
        return None
    unscaled = int("".join(map(str, digits)))
    while unscaled % 10 == 0:
        unscaled, places = unscaled // 10, places + 1
    if not (0 < -places <= MOST_PLACES and unscaled < _MOST_DIGITS):
        return None
    return DECIMALS + (((-places) * 2 + sign) << _SIGN_AND_PLACES) + unscaled


def _moment_code(moment: datetime) -> int | None:
    """The code of a timestamp; None if it has a time zone or a precision below microseconds."""
    plain = datetime(  # noqa: DTZ001 - as the other one, which has no time zone
        moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second, moment.microsecond
    )
    if moment.tzinfo is not None or moment != plain:
        return None
    return MOMENTS + (plain - _YEAR_1) // _MICROSECOND


def decimal_codes(unscaled: Integers, scale: int, known: Known) -> Codes:
    """The codes of decimals with this number of decimal places."""
    codes = np.empty(len(unscaled), dtype=np.uint64)
    left = np.arange(len(unscaled))
    numbers = unscaled
    for places in range(scale, -1, -1):
        # Trailing zeros do not count: decimals that have them are read with one place less.
        shorter = numbers % 10 == 0 if places else np.zeros(len(numbers), dtype=np.bool_)
        here = ~shorter
        codes[left[here]] = _codes_of_decimals(numbers[here], places, known)
        left, numbers = left[shorter], numbers[shorter] // 10
        if not len(left):
            break
    return codes


def _codes_of_decimals(numbers: Integers, places: int, known: Known) -> Codes:
    """The codes of decimals that do not end with a zero, except integers."""
    if not places:
        whole = integer_codes(numbers)
        return known.codes_of(numbers.tolist()) if whole is None else whole
    few = (np.abs(numbers) < _MOST_DIGITS) & (numbers != np.iinfo(np.int64).min)
    if places > MOST_PLACES or not few.all():
        few &= places <= MOST_PLACES
    codes = np.empty(len(numbers), dtype=np.uint64)
    odd, among = np.divmod(numbers, 5**places) if places <= _MOST_FIVES else (numbers, np.ones_like(numbers))
    exact = (among == 0) & few
    codes[exact] = float_codes(odd[exact].astype(np.float64) / 2.0**places, known)
    plain = few & ~exact
    head = (2 * places + (numbers[plain] < 0)) << _SIGN_AND_PLACES
    codes[plain] = (head + np.abs(numbers[plain])).view(np.uint64) + np.uint64(DECIMALS)
    rest = ~few
    if rest.any():
        codes[rest] = known.codes_of([Decimal(number).scaleb(-places, _EXACTLY) for number in numbers[rest].tolist()])
    return codes


def moment_codes(microseconds: Integers) -> Codes:
    """The codes of timestamps, given as microseconds since 1970."""
    return microseconds.view(np.uint64) + np.uint64(EPOCH)


def integer_codes(numbers: Integers) -> Codes | None:
    """The codes of integers; None if one is too large to be its own code."""
    if len(numbers) and not (int(numbers.min()) > -WHOLE and int(numbers.max()) < WHOLE):
        return None
    return (numbers + np.int64(WHOLE)).view(np.uint64)


def float_codes(numbers: Floats, known: Known) -> Codes:
    """The codes of floats, including NaN and infinities."""
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
    """For each code the nearest finite float, NaN if it does not stand for a finite number."""
    values = (codes - np.uint64(WHOLE)).view(np.int64).astype(np.float64)
    floats = (codes >= np.uint64(_FLOATS)) & (codes < np.uint64(NULL))
    if floats.any():
        magnitude = codes[floats] - np.uint64(_FLOATS)
        negative = magnitude >= np.uint64(_FRACTIONS)
        magnitude[negative] -= np.uint64(_FRACTIONS)
        magnitude[negative] |= np.uint64(2**63)
        values[floats] = magnitude.view(np.float64)
    decimals = (codes >= np.uint64(DECIMALS)) & (codes < np.uint64(MOMENTS))
    if decimals.any():
        parts = (codes[decimals] - np.uint64(DECIMALS)).view(np.int64)
        found = (parts & (_MOST_DIGITS - 1)) / 10.0 ** (parts >> (_SIGN_AND_PLACES + 1))
        values[decimals] = np.where((parts >> _SIGN_AND_PLACES) & 1, -found, found)
    values[(codes == np.uint64(NULL)) | (codes == np.uint64(NAN))] = np.nan
    values[(codes >= np.uint64(MOMENTS)) & (codes < np.uint64(OTHERS))] = np.nan
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
    """The different codes, sorted: `numpy.unique` hashes them, which takes ten times as long if they are many."""
    found = np.sort(codes)
    if not len(found):
        return found
    first = np.ones(len(found), dtype=np.bool_)
    first[1:] = found[1:] != found[:-1]
    return found[first]


def total(codes: Codes) -> int:
    """A number that is equal for equal bags of codes, and hardly ever for different ones."""
    return int(mixed(codes).sum(dtype=np.uint64))
