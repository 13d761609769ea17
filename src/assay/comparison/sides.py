"""The two sides of a search: columns of keys, and whether their rows are equal under a mapping of columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import repeat
from typing import TypeAlias, TypeVar, overload

from msgspec import Struct

from assay.comparison.cells import Column, Key

_Row = TypeVar("_Row", bound=tuple[object, ...])
Mapping: TypeAlias = tuple[int, ...]
"""For each gold column, the predicted column that corresponds to it."""


class Side(Struct, frozen=True, kw_only=True, dict=True):
    """One result for the search: its columns of keys, and the fixed position of each row.

    ``places`` are the segment numbers of an ordered answer; all equal if order does not matter.
    """

    columns: Sequence[Column]
    places: Sequence[int]
    rows: Sequence[tuple[Key, ...]] | None = None
    """The rows, if they consist of exactly the columns' keys; saves building them again."""

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return len(self.places)

    def first_prefix(self) -> Sequence[int]:
        """The hashes of rows without columns: their positions."""
        return self.places

    def extended(self, prefix: Sequence[int], column: int) -> Sequence[int]:
        """The hashes of rows with one more column."""
        return list(map(hash, zip(prefix, self.columns[column], strict=True)))

    @cached_property
    def sets(self) -> list[int]:
        """A number for each column's set of values."""
        return [hash(frozenset(column)) for column in self.columns]

    def bags(self) -> list[int]:
        """A number for each column's bag of values."""
        return [hash(frozenset(Counter(column).items())) for column in self.columns]

    def distinct_count(self, column: int) -> int:
        """How many different values a column has."""
        return len(set(self.columns[column]))


class NoPlaces(Sequence[int]):
    """The positions of rows whose order does not matter: all 0."""

    __slots__ = ("_count",)

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[int]:
        return repeat(0, self._count)

    @overload
    def __getitem__(self, index: int) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...

    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        return ((0,) * self._count)[index]


def same_rows(gold: Side, predicted: Side, mapping: Mapping) -> bool:
    """Whether the rows are equal as bags (per position) under this mapping of gold columns to predicted ones."""
    if gold.row_count != predicted.row_count:
        return False
    mapped = [predicted.columns[column] for column in mapping]
    ours = gold.rows or list(_keyed(gold.places, gold.columns))
    return same_bag(ours, _keyed(predicted.places, mapped))


def same_bag(gold: Sequence[_Row], predicted: Iterable[_Row]) -> bool:
    """Whether as many rows are the same in any order, by Python's equality. Raises TypeError for a cell without a
    hash."""
    distinct = set(gold)
    if len(distinct) == len(gold):
        # Each gold row occurs once, and there are as many predicted rows: removing these must leave nothing.
        distinct.difference_update(predicted)
        return not distinct
    return dict.__eq__(Counter(gold), Counter(predicted))


def _keyed(places: Sequence[int], columns: Sequence[Column]) -> Iterable[tuple[Key, ...]]:
    """The rows, preceded by their positions if these differ."""
    if columns and isinstance(places, NoPlaces):
        return zip(*columns, strict=True)
    return zip(places, *columns, strict=True)


def contained_rows(gold: Side, predicted: Side, mapping: Mapping) -> bool:
    """Whether the predicted rows occur among the gold rows (per position), each at most as often, under this
    mapping."""
    ours = Counter(_keyed(gold.places, gold.columns))
    theirs = Counter(_keyed(predicted.places, [predicted.columns[column] for column in mapping]))
    return all(ours[row] >= count for row, count in theirs.items())


def twins_among(columns: Sequence[Column]) -> list[int]:
    """For each column, the first column that is identical to it."""
    first: dict[tuple[int, int], list[int]] = {}
    twins: list[int] = []
    for index, column in enumerate(columns):
        alike = first.setdefault((len(column), hash(tuple(column))), [])
        twin = next((other for other in alike if list(columns[other]) == list(column)), index)
        if twin == index:
            alike.append(index)
        twins.append(twin)
    return twins


def key_rows(columns: Sequence[Column]) -> list[tuple[Key, ...]]:
    """The rows of these columns of keys."""
    return list(zip(*columns, strict=True))
