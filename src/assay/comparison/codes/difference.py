"""What large results that differ have in common, by their codes: which columns and which rows correspond."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from assay.comparison.codes.coder import CodedColumn
from assay.comparison.codes.layout import Codes, Integers, mixed
from assay.comparison.codes.near import gathered
from assay.comparison.codes.shared import coded_columns
from assay.comparison.codes.side import row_numbers
from assay.comparison.greedy import greedy_by_bags
from assay.model import ComparisonOptions, Result


class CodedBag:
    """The bag of a column of codes."""

    __slots__ = ("_codes", "_counts")

    def __init__(self, codes: Codes) -> None:
        self._codes, self._counts = np.unique(codes, return_counts=True)

    @property
    def distinct(self) -> int:
        """How many different values there are."""
        return len(self._codes)

    def fingerprint(self) -> int:
        """A number that equal bags share."""
        return int((mixed(self._codes) * self._counts.astype(np.uint64)).sum(dtype=np.uint64))

    def equals(self, other: CodedBag) -> bool:
        """Whether both contain the same values equally often."""
        return np.array_equal(self._codes, other._codes) and np.array_equal(self._counts, other._counts)

    def common(self, other: CodedBag) -> int:
        """How many values both have in common, each as often as in both."""
        _, ours, theirs = np.intersect1d(self._codes, other._codes, assume_unique=True, return_indices=True)
        return int(np.minimum(self._counts[ours], other._counts[theirs]).sum())


class CodedDifference(Struct, frozen=True, kw_only=True):
    """Two results that differ, as codes, with numbers within tolerance merged if they are few enough for that."""

    gold: list[CodedColumn]
    predicted: list[CodedColumn]
    counts: tuple[int, int]

    def mapping(self) -> tuple[int | None, ...]:
        """The best guess at which columns correspond, as in `greedy_mapping`."""
        bags = [[CodedBag(column.codes) for column in side] for side in (self.gold, self.predicted)]
        return greedy_by_bags(bags[0], bags[1], max(self.counts))

    def partners(self, pairs: Sequence[tuple[int, int]]) -> list[int | None]:
        """For each gold row, the index of the first equal predicted row that no earlier gold row took."""
        ours, theirs = row_numbers(
            [self.gold[column].codes for column, _ in pairs],
            [self.predicted[option].codes for _, option in pairs],
            *self.counts,
        )
        size = 1 + max(int(side.max(initial=-1)) for side in (ours, theirs))
        order, order_there = np.argsort(ours, kind="stable"), np.argsort(theirs, kind="stable")
        have = np.bincount(theirs, minlength=size)
        nth = np.arange(len(ours)) - _starts(np.bincount(ours, minlength=size))[ours[order]]
        taken = nth < have[ours[order]]
        found: Integers = np.full(len(ours), -1, dtype=np.int64)
        found[order[taken]] = order_there[(_starts(have)[ours[order]] + nth)[taken]]
        return [None if place < 0 else place for place in found.tolist()]


def _starts(counts: Integers) -> Integers:
    return np.cumsum(counts) - counts


def coded_difference(
    gold: Result, predicted: Result, options: ComparisonOptions, *, near: bool
) -> CodedDifference | None:
    """Two results that differ. None if cells contain other cells, or if clusters of numbers do not determine the pairs.

    ``near``: with numbers within tolerance merged.
    """
    widths = gold.column_count, predicted.column_count
    found = coded_columns(gold.rows, predicted.rows, widths, boolean_is_integer=options.boolean_is_integer)
    if found.nested:
        return None
    ours, theirs = found.gold, found.predicted
    both = gathered([*ours, *theirs], found.known, options) if near else None
    if both is not None:
        if both.loose is not None:
            return None
        ours, theirs = both.columns[: widths[0]], both.columns[widths[0] :]
    return CodedDifference(gold=ours, predicted=theirs, counts=(len(gold.rows), len(predicted.rows)))
