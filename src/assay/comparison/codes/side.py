"""One coded result for the search for an order of columns, and which of its rows are equal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from assay.comparison.codes.coder import CodedColumn
from assay.comparison.codes.layout import Codes, Flags, Integers, distinct, mixed
from assay.comparison.hashed_cells import HashedCells, ManyHashed

Mapping = tuple[int, ...]
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class EncodedResult(Struct, frozen=True, kw_only=True):
    """One result: its columns, and the fixed position of each row; None if order does not matter."""

    columns: Sequence[CodedColumn]
    row_count: int
    places: Codes | None = None

    def chosen(self, mapping: Sequence[int]) -> list[Codes]:
        """These columns' codes, preceded by the positions if there are any."""
        placed = [] if self.places is None else [self.places]
        return placed + [self.columns[column].codes for column in mapping]

    def first_prefix(self) -> Codes:
        """The hashes of rows without columns."""
        return np.zeros(self.row_count, dtype=np.uint64) if self.places is None else mixed(self.places)

    def extended(self, prefix: Codes, column: int) -> Codes:
        """The hashes of rows with one more column."""
        return mixed(prefix * _FACTOR + self.columns[column].codes)

    def total(self, prefix: Codes) -> int:
        """A number for the bag of these rows."""
        return int(prefix.sum(dtype=np.uint64))

    def fingerprints(self, *, counted: bool = True) -> list[int]:  # noqa: ARG002 - counting is no more work here
        """A number for each column's bag of values."""
        return [column.total for column in self.columns]

    def distinct_count(self, column: int) -> int:
        """How many different values a column has."""
        return len(distinct(self.columns[column].codes))

    def twins(self) -> list[int]:
        """For each column, the first column that is identical to it."""
        found: list[int] = []
        for index, column in enumerate(self.columns):
            same = (other for other in range(index) if np.array_equal(self.columns[other].codes, column.codes))
            found.append(next(same, index))
        return found

    def hashed_cells(self, cells: int) -> HashedCells:  # noqa: ARG002 - here there is one form for few and many
        """The cells as numbers."""
        places = np.zeros(self.row_count, dtype=np.uint64) if self.places is None else self.places
        return ManyHashed(np.stack([mixed(column.codes) for column in self.columns], axis=1), mixed(places))

    def same_rows(self, other: EncodedResult, mapping: Mapping) -> bool:
        """Whether the rows are equal as bags (per position) under this mapping to the other's columns."""
        if self.row_count != other.row_count:
            return False
        one, two = self.chosen(range(len(self.columns))), other.chosen(mapping)
        hashes = row_hashes(one, self.row_count), row_hashes(two, other.row_count)
        if hashes[0].sum(dtype=np.uint64) != hashes[1].sum(dtype=np.uint64):
            return False
        if _paired_orders(one, two, *hashes) is not None:
            return True
        return counts_agree(*_numbered(one, two, *hashes))


def counts_agree(ours: Integers, theirs: Integers) -> bool:
    """Whether these row numbers occur equally often on both sides."""
    size = 1 + max(int(side.max(initial=-1)) for side in (ours, theirs))
    return bool((np.bincount(ours, minlength=size) == np.bincount(theirs, minlength=size)).all())


def row_hashes(columns: Sequence[Codes], count: int) -> Codes:
    """A hash for each row of these columns."""
    found = np.zeros(count, dtype=np.uint64)
    for column in columns:
        found *= _FACTOR
        found += column
        found = mixed(found)
    return found


def row_numbers(
    ours: Sequence[Codes], theirs: Sequence[Codes], our_count: int, their_count: int
) -> tuple[Integers, Integers]:
    """A number for each row of both sides, from 0 on: numbers are equal if and only if all codes are."""
    return _numbered(ours, theirs, row_hashes(ours, our_count), row_hashes(theirs, their_count))


def _numbered(
    ours: Sequence[Codes], theirs: Sequence[Codes], our_hashes: Codes, their_hashes: Codes
) -> tuple[Integers, Integers]:
    """The numbers of rows with these hashes.

    Equal bags are numbered by one side. Otherwise both sides are sorted together by their hashes, and neighbours with
    one hash are compared. If hashes collide, rows are sorted by all codes.
    """
    if (orders := _paired_orders(ours, theirs, our_hashes, their_hashes)) is not None:
        alike = _alike_rows(our_hashes, ours, orders[0])
        if alike is not None:
            numbers = _counted_up(alike, len(our_hashes))
            return _scattered(numbers, orders[0]), _scattered(numbers, orders[1])
    count = len(our_hashes)
    hashes = np.concatenate([our_hashes, their_hashes])
    both = [np.concatenate(pair) for pair in zip(ours, theirs, strict=True)]
    order = np.argsort(hashes)
    alike = _alike_rows(hashes, both, order)
    if alike is None:
        order = np.lexsort(both)
        alike = np.ones(max(len(order) - 1, 0), dtype=np.bool_)
        for codes in both:
            alike &= _alike(codes[order])
    numbers = _scattered(_counted_up(alike, len(order)), order)
    return numbers[:count], numbers[count:]


def _paired_orders(
    ours: Sequence[Codes], theirs: Sequence[Codes], our_hashes: Codes, their_hashes: Codes
) -> tuple[Integers, Integers] | None:
    """An order of each side's rows in which rows at the same index are equal."""
    if len(our_hashes) != len(their_hashes) or our_hashes.sum(dtype=np.uint64) != their_hashes.sum(dtype=np.uint64):
        return None  # different bags nearly always have different sums, and need no sorting
    order, their_order = np.argsort(our_hashes), np.argsort(their_hashes)
    pairs = zip((our_hashes, *ours), (their_hashes, *theirs), strict=True)
    if not all(np.array_equal(one[order], two[their_order]) for one, two in pairs):
        return None
    return order, their_order


def _alike_rows(hashes: Codes, columns: Sequence[Codes], order: Integers) -> Flags | None:
    """For each row in this order except the first, whether it equals the previous one; None if hashes collide."""
    alike = _alike(hashes[order])
    if not alike.any():
        return alike
    for codes in columns:
        if (alike & ~_alike(codes[order])).any():
            return None
    return alike


def _counted_up(alike: Flags, count: int) -> Integers:
    """A number from 0 on for each of the sorted rows, the same for equal rows."""
    numbers = np.zeros(count, dtype=np.int64)
    np.cumsum(~alike, out=numbers[1:])
    return numbers


def _scattered(numbers: Integers, order: Integers) -> Integers:
    found = np.empty_like(numbers)
    found[order] = numbers
    return found


def _alike(values: Codes) -> Flags:
    """For each value except the first, whether it is the previous one."""
    same: Flags = values[1:] == values[:-1]
    return same
