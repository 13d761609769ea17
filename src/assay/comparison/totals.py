"""Whether a row contains totals: a cell says so, and each of its numbers follows from the other rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from math import isfinite
from typing import TypeGuard

from assay.comparison.cells import Column, Key
from assay.comparison.tolerance import Number, is_number, numbers_equal
from assay.model import ComparisonOptions

_MOST_DIGITS = 400
_MOST_ROWS = 8
"""Limit for the rows with a label of totals that are checked."""
_BETWEEN = re.compile(r"[\W_]+")
_SAID = re.compile(
    "(?:all|any|overall|(?:grand|sub|overall|all)?totals?|totalall|(?:sum)?total|(?:total)?sums?"
    "|gesamt|insgesamt|(?:gesamt|zwischen)?summe|totale|totaal|ensemble|somme|suma)"
)
_SIGNS = frozenset(("", "*", "-", "–", "—"))
_LARGEST = re.compile(r"(?:^|[\W_])(?:max|maximum|highest|largest|greatest)(?:$|[\W_])", re.IGNORECASE)
_SMALLEST = re.compile(r"(?:^|[\W_])(?:min|minimum|lowest|smallest|least)(?:$|[\W_])", re.IGNORECASE)


def rows_of_totals(columns: Sequence[Column], names: Sequence[str], options: ComparisonOptions) -> Iterator[int]:
    """The indexes of the rows that are totals of all the others. ``names`` of columns may be missing."""
    heads = names if len(names) == len(columns) else [""] * len(columns)
    for row in islice(_labelled(columns), _MOST_ROWS):
        added = False
        for head, column in zip(heads, columns, strict=True):
            if _is_label(column[row]):
                continue
            follows = _follows(column[row], [*column[:row], *column[row + 1 :]], head, options)
            if follows is None:
                break
            added = added or follows
        else:
            if added:
                yield row


def _labelled(columns: Sequence[Column]) -> Iterator[int]:
    """The rows with a label that no other row has in that column."""
    seen: set[int] = set()
    for column in columns:
        counts = Counter(filter(_is_label, column))
        for row, cell in enumerate(column) if counts else ():
            if counts.get(cell) == 1 and row not in seen:
                seen.add(row)
                yield row


def _is_label(cell: Key) -> bool:
    """Whether a whole cell says that its row contains totals: NULL, as ROLLUP writes it, a word for it, or no name."""
    if not isinstance(cell, str):
        return cell is None
    return cell.strip() in _SIGNS or _SAID.fullmatch(_BETWEEN.sub("", cell).casefold()) is not None


def _follows(cell: Key, others: Sequence[Key], head: str, options: ComparisonOptions) -> bool | None:
    """Whether a cell is the sum of the others, not 0; None if it is neither that nor another aggregate of them."""
    present = [key for key in others if key is not None]
    numbers = [key for key in present if _is_plain(key)]
    if not _is_plain(cell) or not numbers or len(numbers) < len(present):
        return None
    value, terms = Fraction(cell), list(map(Fraction, numbers))
    inexact = any(isinstance(number, float) for number in (cell, *numbers))
    total = sum(terms, Fraction())
    if value == total or (inexact and _near(value, total, options)):
        return value != 0
    if _near(value, total / len(terms), options):  # an average is rounded, whatever its type
        return False
    extremes = [extreme(terms) for said, extreme in ((_LARGEST, max), (_SMALLEST, min)) if said.search(head)]
    return False if value in extremes else None


def _near(one: Fraction, two: Fraction, options: ComparisonOptions) -> bool:
    try:
        return numbers_equal(float(one), float(two), options)
    except OverflowError:
        return False


def _is_plain(key: Key) -> TypeGuard[Number]:
    """Whether a key is a number of a size that can be summed at once."""
    if isinstance(key, Decimal):
        return key.is_finite() and max(abs(key.adjusted()), len(key.as_tuple().digits)) < _MOST_DIGITS
    return is_number(key) and (isinstance(key, int) or isfinite(key))
