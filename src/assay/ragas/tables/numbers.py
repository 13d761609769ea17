"""Numbers in CSV as pandas reads them, bit for bit, since a cell may be compared by how its number is written.

The reader of pandas tries 64-bit integers, then floats, and makes a column text where neither fits. It has two
peculiarities: a float is made of at most 17 digits, leading zeros counted, by one multiplication or division,
so ``0.30000000000000004`` is 0.3; and a float that is too large is not a number, so its column is text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from assay.ragas.tables.table import Cells

_INTEGER = re.compile(r"[ \t\n\v\f\r]*[+-]?[0-9]+[ \t\n\v\f\r]*")
_FLOAT = re.compile(
    r"[ \t\n\v\f\r]*(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?:[eE](?P<exponent>[+-]?[0-9]{1,17}))?[ \t\n\v\f\r]*"
)
_SEPARATORS = "\x1c\x1d\x1e\x1f"
"""Characters that Python strips around a number and pandas does not."""
_DIGITS = 17
_EXACT_DIGITS = 15
"""Up to this many digits fit into a float exactly."""
_LARGEST_EXPONENT = 308
_EXACT_LENGTH = 16
"""A text without an exponent of at most this length is the float that Python reads."""
_SHORTEST_OVERFLOW = 19


def read_numbers(
    values: Sequence[str], absent: Collection[str], *, gaps: bool, plain: bool
) -> Cells | Literal["text", "raw text"]:
    """The cells as numbers, absent ones left out, or the kind of the column that they make instead.

    ``raw text`` is a column whose absent cells keep their text: pandas has no type for a number of 64
    bits beside a negative or an absent one. ``gaps``: some cell is absent. ``plain``: no cell holds what
    Python reads as a number and pandas does not.
    """
    import numpy

    present = [value for value in values if value not in absent] if gaps else values
    if not present:
        return numpy.empty(0)
    if not plain and not is_plain("".join(present)):
        return "text"
    if max(map(len, present)) >= _SHORTEST_OVERFLOW and (large := _large_integers(values, absent, gaps=gaps)):
        if large != "integers":
            return large
        return numpy.array(list(map(int, present)), dtype=numpy.uint64)
    try:
        integers = numpy.array(list(map(int, present)), dtype=numpy.int64)
    except ValueError:
        floats = _floats(present)
        return "text" if floats is None else floats
    if not gaps:
        return integers
    # In a column with absent cells pandas takes the smallest integer for one more absent cell.
    return numpy.where(integers == -(2**63), numpy.nan, integers.astype(numpy.float64))


def is_plain(text: str) -> bool:
    """Whether a text lacks what Python reads in a number and CSV does not: ``1_000``, digits of other scripts."""
    return text.isascii() and "_" not in text and not any(sign in text for sign in _SEPARATORS)


def may_hold_huge_numbers(text: str) -> bool:
    """Whether a text may contain an integer beyond 64 bits or a float beyond the largest."""
    import numpy

    signs = numpy.frombuffer(f",{text}{',' * _SHORTEST_OVERFLOW}".encode("utf-8", "surrogatepass"), dtype=numpy.uint8)
    digits = signs - numpy.uint8(ord("0")) < 10  # characters before 0 wrap around
    three = digits[:-2] & digits[1:-1] & digits[2:]
    run, length = three, 3
    while length < _SHORTEST_OVERFLOW:
        step = min(length, _SHORTEST_OVERFLOW - length)
        run = run[:-step] & run[step:]
        length += step
    for place in numpy.flatnonzero(run).tolist():
        if not digits[place - 1] and signs[place - 1] != ord("."):
            return True
    exponent = (signs | 0x20) == ord("e")
    if (exponent[: len(three) - 1] & three[1:]).any():
        return True
    signed = (signs == ord("+")) | (signs == ord("-"))
    return bool((exponent[: len(three) - 2] & signed[1 : len(three) - 1] & three[2:]).any())


def _large_integers(
    values: Sequence[str], absent: Collection[str], *, gaps: bool
) -> Literal["integers", "text", "raw text"] | None:
    """The kind of a column with integers beyond signed 64 bits; None where pandas meets none of them in time."""
    for value in values:
        if gaps and value in absent:
            continue
        if not _INTEGER.fullmatch(value):
            return None
        if not -(2**63) <= int(value) < 2**63:
            break
    else:
        return None
    unsigned = negative = nothing = False
    for value in values:
        if gaps and value in absent:
            nothing = True
        elif value.lstrip(" \t\n\v\f\r").startswith("-"):
            negative = True
        elif not _INTEGER.fullmatch(value):
            return None
        elif int(value) >= 2**64:
            return "text"
        else:
            unsigned = unsigned or int(value) >= 2**63
    if unsigned and (negative or nothing):
        return "raw text"
    return "text" if negative else "integers"


def _floats(present: Sequence[str]) -> Cells | None:
    import numpy

    try:
        floats = numpy.fromiter(map(float, present), dtype=numpy.float64, count=len(present))
    except ValueError:
        return None
    if numpy.isnan(floats).any():
        return None
    for place in numpy.flatnonzero(numpy.isinf(floats)).tolist():
        word = present[place]
        if word != word.strip() or "i" not in word.lower():
            return None
    for place, word in enumerate(present):
        if len(word) > _EXACT_LENGTH or "e" in word or "E" in word:
            if (number := _approximately(word)) is None:
                return None
            floats[place] = number
    return floats


def _approximately(word: str) -> float | None:
    """The float made of at most 17 digits; None where it is too large for a float."""
    read = _FLOAT.fullmatch(word)
    if read is None:
        return float(word) if "i" in word.lower() else None  # infinity
    whole, part = read["whole"], read["part"] or ""
    fraction = part[: max(_DIGITS - len(whole), 0)]
    digits = (whole + fraction)[:_DIGITS]
    number = float(int(digits[:_EXACT_DIGITS]))
    for digit in digits[_EXACT_DIGITS:]:
        number = number * 10.0 + int(digit)
    exponent = max(len(whole) - _DIGITS, 0) - len(fraction) + int(read["exponent"] or 0)
    number = _shifted(-number if read["sign"] == "-" else number, exponent)
    return None if math.isinf(number) else number


def _shifted(number: float, exponent: int) -> float:
    if exponent > _LARGEST_EXPONENT:
        return math.inf
    if exponent > 0:
        return number * float(f"1e{exponent}")
    if exponent >= -_LARGEST_EXPONENT:
        return number / float(f"1e{-exponent}")
    if exponent < -2 * _LARGEST_EXPONENT:
        return 0.0
    return number / float(f"1e{-_LARGEST_EXPONENT - exponent}") / 1e308
