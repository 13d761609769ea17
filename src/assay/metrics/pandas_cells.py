"""Read the cells of CSV as pandas 2 does when it is told no types.

For metrics whose own scripts read files by it, without pandas: releases of pandas differ on what is too large.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, time
from functools import lru_cache
from itertools import takewhile
from math import isfinite, isnan

from msgspec.structs import replace

from assay.model import Cell, Result

_ABSENT = frozenset(
    (
        *("", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "-NaN", "-nan"),
        *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "1.#IND", "1.#QNAN"),
    )
)
_TRUTH = {word: word.lower() == "true" for word in ("True", "TRUE", "true", "False", "FALSE", "false")}
_SIGNS = re.compile(r"[\s\d.+\-einftyEINFTY]*", re.ASCII)
"""What numbers are written with. Python also reads ``1_000`` and digits of other scripts."""
_INTEGER = re.compile(r"\s*[-+]?\d+\s*", re.ASCII)
_INFINITY = re.compile(r"[-+]?inf(?:inity)?", re.IGNORECASE)
_FLOAT = re.compile(r"\s*([-+]?)(\d*)(?:\.(\d*))?(?:[eE]([-+]?\d{1,17}))?\s*", re.ASCII)
_UNUSUAL = re.compile(r"[eEiI]")
_EXACT_LENGTH = 16
"""A shorter number without an exponent is the float that Python reads."""
_DIGITS = 17
_EXACT_DIGITS = 15
"""Number of digits that fit into a float exactly."""
_LARGEST_EXPONENT = 308
_UNSIGNED = 2**63
"""A larger integer needs all of 64 bits, so that its column has another type."""
_MIDNIGHT = time()


def read_column(texts: Sequence[str]) -> list[Cell]:
    """One column's cells: integers, floats, booleans or texts, the first that fits all of them; None if absent.

    A number of words such as NULL and NaN are absent. Integers next to an absent cell are floats. As in pandas, a float
    has at most 17 digits, and a number that is too large for its type makes the column text.
    """
    read: Sequence[Cell] | None = _numbers(texts, gaps=False)
    gaps = read is None and not _ABSENT.isdisjoint(texts)
    present = [text for text in texts if text not in _ABSENT] if gaps else texts
    if gaps:
        read = _numbers(present, gaps=True)
    if read is None and all(map(_TRUTH.__contains__, present)):
        read = [_TRUTH[text] for text in present]
    if read is None and all(map(_INTEGER.fullmatch, present)):
        with suppress(ValueError):  # Python reads at most 4,300 digits
            if 2**63 <= max(map(int, present)) < 2**64:
                # pandas has no type for this integer next to a negative one or an absent cell, which keeps its text.
                return list(texts)
    following = iter(present if read is None else read)
    return [None if text in _ABSENT else next(following) for text in texts] if gaps else list(following)


def _numbers(present: Sequence[str], *, gaps: bool) -> Sequence[float | None] | None:
    """The numbers in a column, or None if it is not a column of numbers."""
    with suppress(ValueError):
        integers = list(map(int, present))
        low, high = min(integers, default=0), max(integers, default=0)
        if low < -(2**63) or high >= (2**63 if gaps or low < 0 else 2**64) or not _SIGNS.fullmatch("\n".join(present)):
            return None
        # Next to absent cells, pandas takes the smallest integer for one more absent cell.
        return [None if integer == -(2**63) else float(integer) for integer in integers] if gaps else integers
    with suppress(ValueError):
        floats = list(map(float, present))
        joined = "\n".join(present)
        # An integer beyond 64 bits makes the column text if pandas meets it while it still expects integers.
        before = max(map(int, takewhile(_INTEGER.fullmatch, present)), default=0)
        if not _SIGNS.fullmatch(joined) or before >= 2**64:
            return None
        if max(map(len, present)) > _EXACT_LENGTH or _UNUSUAL.search(joined):
            return list(map(_unusual_float, present))
        return floats
    return None


def _unusual_float(word: str) -> float:
    """The float that pandas makes of the first 17 digits by one multiplication or division, leading zeros counted.

    ``0.30000000000000004`` is 0.3. Raises ValueError if the word is not a number or too large for a float.
    """
    match = _FLOAT.fullmatch(word)
    if match is None:
        if _INFINITY.fullmatch(word):
            return float(word)
        raise ValueError(word)
    sign, whole, fraction, power = match.groups("")
    digits = (whole + fraction)[:_DIGITS]
    number = float(digits[:_EXACT_DIGITS])
    for digit in digits[_EXACT_DIGITS:]:
        number = number * 10.0 + int(digit)
    exponent = len(whole) - len(digits) + int(power or 0)
    if exponent >= 0:
        number *= _power_of_ten(exponent)
    elif exponent >= -_LARGEST_EXPONENT:
        number /= _power_of_ten(-exponent)
    else:
        number = number / _power_of_ten(-_LARGEST_EXPONENT - exponent) / _power_of_ten(_LARGEST_EXPONENT)
    if not isfinite(number):
        raise ValueError(word)
    return -number if sign == "-" else number


@lru_cache(maxsize=_LARGEST_EXPONENT)
def _power_of_ten(exponent: int) -> float:
    return float(f"1e{exponent}")


def written_by_pandas(result: Result) -> Result:
    """The result of a query as the texts that pandas writes to CSV (`DataFrame.to_csv`)."""
    columns = [_written_column(column) for column in zip(*result.rows, strict=True)]
    return replace(result, rows=tuple(zip(*columns, strict=True)))


def _written_column(column: Sequence[Cell]) -> list[str]:
    """The cells as texts. Timestamps without a zone are all as fine as the finest: at midnight they are dates."""
    moments = [cell for cell in column if isinstance(cell, datetime) and cell.tzinfo is None]
    if not moments or len(moments) + sum(cell is None for cell in column) < len(column):
        return list(map(_written, column))
    if all(moment.time() == _MIDNIGHT for moment in moments):
        return [cell.date().isoformat() if isinstance(cell, datetime) else "" for cell in column]
    parts = [moment.microsecond for moment in moments]
    finest = "seconds" if not any(parts) else "microseconds" if any(part % 1000 for part in parts) else "milliseconds"
    return [cell.isoformat(" ", finest) if isinstance(cell, datetime) else "" for cell in column]


def _written(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and isnan(cell)):
        return ""
    return cell if isinstance(cell, str) else str(cell)


def pandas_result(result: Result, wanted: Sequence[int] = ()) -> Result:
    """A result of texts as pandas reads it, of the ``wanted`` columns, if any are named.

    The one cell of a row that is None is a blank line. Raises IndexError for a missing column.
    """
    rows = [row for row in result.rows if len(row) != 1 or not _is_blank_line(row[0])]
    if wanted:
        result = replace(result, columns=tuple([result.columns[column] for column in wanted if result.columns]))
        rows = [tuple([row[column] for column in wanted]) for row in rows]
    columns = [
        read_column(["" if cell is None else str(cell) for cell in column]) for column in zip(*rows, strict=True)
    ]
    kinds = [set(map(type, column)) for column in columns]
    floats = [each <= {float, type(None)} for each in kinds]
    unsigned = [
        each == {int} and any(isinstance(cell, int) and cell >= _UNSIGNED for cell in column)
        for each, column in zip(kinds, columns, strict=True)
    ]
    mixed = any(floats) or (any(unsigned) and not all(unsigned))
    if mixed and all(is_float or each == {int} for is_float, each in zip(floats, kinds, strict=True)):
        # One array of numbers has one type, and 64 bits with a sign and without have only float in common.
        columns = [[float(cell) if isinstance(cell, int) else cell for cell in column] for column in columns]
    return replace(result, rows=tuple(zip(*columns, strict=True)))


def _is_blank_line(cell: Cell) -> bool:
    return cell is None or (isinstance(cell, str) and cell != "" and not cell.strip(" \t"))
