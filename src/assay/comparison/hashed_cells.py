"""Sums of cell hashes over rows and columns: they identify rows and columns regardless of order.

Sums of equal bags are equal, so different sums prove a difference; a collision costs time, never a verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import mul
from typing import TYPE_CHECKING, Protocol, TypeAlias

from assay.comparison.sides import Side
from assay.comparison.sizes import NUMPY_CELLS

if TYPE_CHECKING:
    from numpy import uint64
    from numpy.typing import NDArray

    Sums: TypeAlias = NDArray[uint64]

_BITS = 2**64 - 1
_SPREAD = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


class HashedCells(Protocol):
    """One side's cells as numbers."""

    @property
    def cells(self) -> Sequence[Sequence[int]]:
        """The rows, with a hash per cell."""
        ...

    def sums(self, weights: Sequence[int]) -> list[int]:
        """Per row its cells, weighted by column, and its position, truncated to 64 bits."""
        ...

    def column_sums(self, weights: Sequence[int]) -> list[int]:
        """Per column its cells, weighted by row, truncated to 64 bits."""
        ...


def hashed_cells(side: Side, cells: int) -> HashedCells:
    """This side of a search that reads ``cells`` cells at a time."""
    return FewHashed(side) if cells < NUMPY_CELLS else ManyHashed.of(side)


class FewHashed:
    """One side's rows as numbers: a hash of each cell, and of each row's position."""

    def __init__(self, side: Side) -> None:
        columns = [list(map(spread, map(hash, column))) for column in side.columns]
        self._columns = columns
        self.cells: Sequence[Sequence[int]] = list(zip(*columns, strict=True))
        self._places = [spread(spread(place)) for place in side.places]

    def sums(self, weights: Sequence[int]) -> list[int]:
        """Per row its cells, weighted by column, and its position, truncated to 64 bits."""
        return [
            (place + sum(map(mul, row, weights))) & _BITS for row, place in zip(self.cells, self._places, strict=True)
        ]

    def column_sums(self, weights: Sequence[int]) -> list[int]:
        """Per column its cells, weighted by row, truncated to 64 bits."""
        return [sum(map(mul, column, weights)) & _BITS for column in self._columns]


class ManyHashed:
    """Like `FewHashed`, by arrays: many times as fast, but numpy takes a tenth of a second to load."""

    def __init__(self, array: Sums, places: Sums) -> None:
        """A hash per cell, rows by columns, and one for the position of each row."""
        self.array = array
        self.cells: Sequence[Sequence[int]] = array  # type: ignore[assignment]  # rows of integers
        self._places = places

    @classmethod
    def of(cls, side: Side) -> ManyHashed:
        """The hashes of a side of keys."""
        import numpy as np

        def mixed(numbers: Sums) -> Sums:
            first = (numbers + np.uint64(_SPREAD[0])) * np.uint64(_SPREAD[1])
            first = (first ^ (first >> np.uint64(29))) * np.uint64(_SPREAD[2])
            return first ^ (first >> np.uint64(32))

        def hashed(keys: Iterable[object]) -> Sums:
            return mixed(np.fromiter(map(hash, keys), dtype=np.int64, count=len(side.places)).view(np.uint64))

        return cls(np.stack([hashed(column) for column in side.columns], axis=1), mixed(hashed(side.places)))

    def sums(self, weights: Sequence[int]) -> list[int]:
        """Per row its cells, weighted by column, and its position, truncated to 64 bits."""
        import numpy as np

        found: list[int] = ((self.array * np.array(weights, dtype=np.uint64)).sum(axis=1) + self._places).tolist()
        return found

    def column_sums(self, weights: Sequence[int]) -> list[int]:
        """Per column its cells, weighted by row, truncated to 64 bits."""
        import numpy as np

        found: list[int] = np.array(weights, dtype=np.uint64).dot(self.array).tolist()
        return found


def spread(number: int) -> int:
    """A hash spread over 64 bits, so that sums of different ones differ."""
    mixed = ((number + _SPREAD[0]) * _SPREAD[1]) & _BITS
    mixed = ((mixed ^ (mixed >> 29)) * _SPREAD[2]) & _BITS
    return mixed ^ (mixed >> 32)
