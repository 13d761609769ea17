"""What metrics count over two large results, by codes: exactly the numbers of counting cell by cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from types import NoneType
from uuid import UUID

import numpy as np

from assay.comparison.codes.coder import CodedColumn
from assay.comparison.codes.layout import NAN, Codes, Flags, Floats, Integers, distinct, mixed
from assay.comparison.codes.near import gathered
from assay.comparison.codes.shared import CodedColumns, coded_columns
from assay.comparison.codes.side import counts_agree, row_numbers
from assay.model import ComparisonOptions, Row

_PORTION = 32_768
"""Rows that are processed together: few enough for a processor's cache."""
_HASHED_BY_VALUE = frozenset({int, float, bool, str, bytes, NoneType, Decimal, datetime, time, timedelta, UUID})
_ONE_SPELLING = frozenset({int, float, str, bytes})
"""Types whose equal values have one textual form, and whose different values have different ones."""


class Measures:
    """Two results of at least one row each as codes."""

    def __init__(self, columns: CodedColumns, counts: tuple[int, int]) -> None:
        self._columns = columns
        self._counts = counts

    @cached_property
    def is_python_equality(self) -> bool:
        """Whether Python's ``==`` treats the same cells as equal as the rules of the verdict do, including NaN."""
        kinds = self._columns.kinds
        dates_alone = date not in kinds or datetime not in kinds
        if not (kinds <= _HASHED_BY_VALUE | {date} and dates_alone):
            return False
        return not any((one.codes == np.uint64(NAN)).any() for one in (*self._columns.gold, *self._columns.predicted))

    @cached_property
    def is_typed_alike(self) -> bool:
        """Whether each column has one type, the same on both sides, so that equal cells also have the same textual
        form."""
        ours, theirs = self._columns.gold, self._columns.predicted
        return len(ours) == len(theirs) and all(map(_typed_alike, ours, theirs))

    @cached_property
    def same_bag(self) -> bool:
        """Whether the rows are equal as bags, with columns in order."""
        return self._numbers is not None and self._counts[0] == self._counts[1] and counts_agree(*self._numbers)

    @cached_property
    def same_set(self) -> bool:
        """Whether the rows are equal as sets, with columns in order."""
        if self._numbers is None:
            return False
        found = [np.zeros(1 + int(max(map(np.max, self._numbers))), dtype=np.bool_) for _ in range(2)]
        for seen, numbers in zip(found, self._numbers, strict=True):
            seen[numbers] = True
        return np.array_equal(found[0], found[1])

    @property
    def same_list(self) -> bool:
        """Whether the rows are equal one by one."""
        return self._numbers is not None and np.array_equal(*self._numbers)

    def may_be_same_within_rows(self, *, ordered: bool) -> bool:
        """Whether rows may be equal as sets, or as lists, if the order of cells within them does not matter.

        False only if they are not.
        """
        ours, theirs = (_sums(side) for side in (self._columns.gold, self._columns.predicted))
        return np.array_equal(ours, theirs) if ordered else np.array_equal(distinct(ours), distinct(theirs))

    def soft_counts(self, *, in_place: bool) -> tuple[float, float, float]:
        """The counts of BIRD's soft F1: found, only predicted and missed cells, as shares of the gold row."""
        ours, theirs = self._firsts()
        width = len(self._columns.gold)
        wide = len(self._columns.predicted)
        counts = [0.0, 0.0, 0.0]
        for one, two in self._portions(ours, theirs):
            if in_place:
                found = np.sum([a == b for a, b in zip(one, two, strict=False)], axis=0)
                missed = width - found
            else:
                found = np.sum([_any_equal(cell, one) for cell in two], axis=0)
                missed = np.sum([~_any_equal(cell, two) for cell in one], axis=0)
            same = _all_equal(one, two) if width == wide else np.zeros(len(found), dtype=np.bool_)
            parts = np.where(same, 1.0, found / width), (wide - found) / width, missed / width
            for index, part in enumerate(parts):
                if index:
                    part[same] = 0.0
                counts[index] = _added(counts[index], part)
        counts[2] += max(len(ours) - len(theirs), 0)
        counts[1] += max(len(theirs) - len(ours), 0)
        return counts[0], counts[1], counts[2]

    def row_shares(self) -> float:
        """The sum over row indexes of the share of the gold row, as a set, found in the predicted row."""
        every = np.arange(min(self._counts))
        shares: list[float] = []
        for one, two in self._portions(every, every, near=True):
            size, common = np.zeros(len(one[0]), dtype=np.int64), np.zeros(len(one[0]), dtype=np.int64)
            for place, cell in enumerate(one):
                first = ~_any_equal(cell, one[:place]) if place else np.ones(len(cell), dtype=np.bool_)
                size += first
                common += first & _any_equal(cell, two)
            same = _all_equal(one, two) if len(one) == len(two) else np.zeros(len(size), dtype=np.bool_)
            shares += np.where(same, 1.0, common / size).tolist()
        return sum(shares)

    def overlap(self) -> tuple[int, int]:
        """How many cells the two bags of cells have in common, and how many are in their union."""
        if self.same_bag:
            cells = self._counts[0] * len(self._columns.gold)
            return cells, cells
        ours, theirs = (_bag(columns) for columns in self._gathered)
        _, one, two = np.intersect1d(ours[0], theirs[0], assume_unique=True, return_indices=True)
        common = int(np.minimum(ours[1][one], theirs[1][two]).sum())
        return common, int(ours[1].sum() + theirs[1].sum()) - common

    def has_alike(self, column: int) -> bool:
        """Whether some predicted column contains the same values of the same type equally often as this gold column."""
        ours, theirs = self._columns.gold[column], self._columns.predicted
        if self._counts[0] != self._counts[1]:
            return False
        if self.is_typed_alike and self.same_bag:
            return True
        options = [other for other in theirs if _typed_alike(ours, other)]
        options = [other for other in options if other.total == ours.total]
        return any(np.array_equal(np.sort(ours.codes), np.sort(other.codes)) for other in options)

    @cached_property
    def _numbers(self) -> tuple[Integers, Integers] | None:
        """A number per row; None if the numbers of columns differ."""
        return self._columns.row_numbers(*self._counts)

    def _firsts(self) -> tuple[Integers, Integers]:
        """The index of the first occurrence of each side's rows."""
        if self._numbers is not None:
            return _first_places(self._numbers[0]), _first_places(self._numbers[1])
        found = []
        for side, count in zip((self._columns.gold, self._columns.predicted), self._counts, strict=True):
            codes = [column.codes for column in side]
            found.append(_first_places(row_numbers(codes, [one[:0] for one in codes], count, 0)[0]))
        return found[0], found[1]

    @cached_property
    def _gathered(self) -> tuple[list[CodedColumn], list[CodedColumn]]:
        """Both sides' columns, with one code for all numbers of a cluster."""
        ours, theirs = self._columns.gold, self._columns.predicted
        both = gathered([*ours, *theirs], self._columns.known, ComparisonOptions())
        return (ours, theirs) if both is None else (both.columns[: len(ours)], both.columns[len(ours) :])

    def _portions(
        self, ours: Integers, theirs: Integers, *, near: bool = False
    ) -> Iterator[tuple[list[Codes], list[Codes]]]:
        """The cells of these rows, paired by position, in batches of rows."""
        sides = self._gathered if near else (self._columns.gold, self._columns.predicted)
        for start in range(0, min(len(ours), len(theirs)), _PORTION):
            stop = min(start + _PORTION, len(ours), len(theirs))
            yield (
                [column.codes[ours[start:stop]] for column in sides[0]],
                [column.codes[theirs[start:stop]] for column in sides[1]],
            )


def measures(gold: Sequence[Row], predicted: Sequence[Row]) -> Measures | None:
    """The two results as codes; None if cells contain other cells, or if there are no cells."""
    if not gold or not predicted or not gold[0] or not predicted[0]:
        return None
    columns = coded_columns(gold, predicted, (len(gold[0]), len(predicted[0])), boolean_is_integer=True)
    return None if columns.nested else columns.once("measures", lambda: Measures(columns, (len(gold), len(predicted))))


def _typed_alike(one: CodedColumn, two: CodedColumn) -> bool:
    kinds = (one.kinds - {NoneType}) | (two.kinds - {NoneType})
    return len(kinds) <= 1 and kinds <= _ONE_SPELLING and not (one.has_negative_zero or two.has_negative_zero)


def _any_equal(cell: Codes, others: Sequence[Codes]) -> Flags:
    found: Flags = cell == others[0]
    for other in others[1:]:
        found |= cell == other
    return found


def _all_equal(one: Sequence[Codes], two: Sequence[Codes]) -> Flags:
    found: Flags = one[0] == two[0]
    for first, second in zip(one[1:], two[1:], strict=True):
        found &= first == second
    return found


def _added(start: float, numbers: Floats) -> float:
    """The sum of the numbers in loop order: `numpy.sum` adds in another order."""
    return float(np.add.accumulate(np.concatenate([[start], numbers]))[-1])


def _first_places(numbers: Integers) -> Integers:
    first = np.full(1 + int(numbers.max()), len(numbers), dtype=np.int64)
    first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)
    return np.sort(first[first < len(numbers)])


def _sums(columns: Sequence[CodedColumn]) -> Codes:
    """A number per row that does not depend on the order of its cells."""
    found = mixed(columns[0].codes)
    for column in columns[1:]:
        found += mixed(column.codes)
    return found


def _bag(columns: Sequence[CodedColumn]) -> tuple[Codes, Integers]:
    return np.unique(np.concatenate([column.codes for column in columns]), return_counts=True)
