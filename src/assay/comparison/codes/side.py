"""One coded result for the search for an order of columns, and which of its rows are equal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from assay.comparison.codes.coder import CodedColumn
from assay.comparison.codes.layout import Codes, Flags, Integers, distinct, mixed, total
from assay.comparison.hashed_cells import HashedCells, ManyHashed

Mapping = tuple[int, ...]
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class EncodedResult(Struct, frozen=True, kw_only=True):
    """One result: its columns, and the fixed place of each row; None where order does not count."""

    columns: Sequence[CodedColumn]
    row_count: int
    places: Codes | None = None

    def chosen(self, mapping: Sequence[int]) -> list[Codes]:
        """These columns' codes, with the places in front where there are any."""
        placed = [] if self.places is None else [self.places]
        return placed + [self.columns[column].codes for column in mapping]

    def first_prefix(self) -> Codes:
        """The hashes of rows of no column."""
        return np.zeros(self.row_count, dtype=np.uint64) if self.places is None else mixed(self.places)

    def extended(self, prefix: Codes, column: int) -> Codes:
        """The hashes of rows of one column more."""
        return mixed(prefix * _FACTOR + self.columns[column].codes)

    def total(self, prefix: Codes) -> int:
        """A number for the bag of these rows."""
        return int(prefix.sum(dtype=np.uint64))

    def fingerprints(self, *, counted: bool = True) -> list[int]:  # noqa: ARG002 - counting is no more work here
        """A number for each column's bag of values."""
        return [total(column.codes) for column in self.columns]

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
        """Whether the rows are equal as bags (per place) under this mapping to the other's columns."""
        if self.row_count != other.row_count:
            return False
        one, two = self.chosen(range(len(self.columns))), other.chosen(mapping)
        if row_total(one, self.row_count) != row_total(two, other.row_count):
            return False
        ours, theirs = row_numbers(one, two, self.row_count, other.row_count)
        return counts_agree(ours, theirs)


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


def row_total(columns: Sequence[Codes], count: int) -> int:
    """A number that is the same for equal bags of rows."""
    return int(row_hashes(columns, count).sum(dtype=np.uint64))


def row_numbers(
    ours: Sequence[Codes], theirs: Sequence[Codes], our_count: int, their_count: int
) -> tuple[Integers, Integers]:
    """A number for each row of both sides, from 0 on: equal numbers exactly where all codes are equal.

    Rows are sorted by a hash; neighbours of one hash are compared. Where hashes collide, rows are sorted by all codes.
    """
    hashes = np.concatenate([row_hashes(ours, our_count), row_hashes(theirs, their_count)])
    order = np.argsort(hashes)
    alike = _alike(hashes[order])
    del hashes
    differ = np.zeros(len(alike), dtype=np.bool_)
    for one, two in zip(ours, theirs, strict=True):
        differ |= ~_alike(np.concatenate([one, two])[order])
    if (alike & differ).any():
        order = np.lexsort([np.concatenate([one, two]) for one, two in zip(ours, theirs, strict=True)])
        alike = np.ones(max(our_count + their_count - 1, 0), dtype=np.bool_)
        for one, two in zip(ours, theirs, strict=True):
            alike &= _alike(np.concatenate([one, two])[order])
    numbers = np.empty(our_count + their_count, dtype=np.int64)
    if len(numbers):
        numbers[order[0]] = 0
        numbers[order[1:]] = np.cumsum(~alike)
    return numbers[:our_count], numbers[our_count:]


def _alike(values: Codes) -> Flags:
    """For each value but the first whether it is the one before."""
    same: Flags = values[1:] == values[:-1]
    return same
