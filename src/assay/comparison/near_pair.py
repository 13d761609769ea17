"""The two results that are searched for near misses, and whether they are the same after one change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from assay.comparison.budget import Budget
from assay.comparison.cells import Column, Key
from assay.comparison.greedy import greedy_mapping
from assay.comparison.sides import Mapping, NoPlaces, Side
from assay.comparison.tolerant_mapping import find_agreement
from assay.model import ComparisonOptions

WORK = 2_000_000
"""Limit for the cells that one search for one kind of near miss reads."""


class Pair(Struct, frozen=True):
    """The gold and the predicted columns of keys, with the positions of the gold rows if their order matters."""

    gold: Side
    predicted: Side
    options: ComparisonOptions
    ordered: bool
    budget: Budget

    @property
    def row_counts(self) -> tuple[int, int]:
        """The numbers of gold and predicted rows."""
        return self.gold.row_count, self.predicted.row_count

    @property
    def same_shape(self) -> bool:
        """Whether both have the same number of columns and the same number of rows, above 0."""
        ours, theirs = self.row_counts
        return len(self.gold.columns) == len(self.predicted.columns) and ours == theirs > 0

    def all_keys(self) -> Iterator[Key]:
        """Every cell of both sides."""
        return chain.from_iterable((*self.gold.columns, *self.predicted.columns))

    def mappings(self) -> Iterator[Mapping]:
        """Likely mappings of columns: by position, then by common values."""
        width = len(self.gold.columns)
        identity = tuple(range(width))
        yield identity
        greedy = greedy_mapping(self.gold.columns, self.predicted.columns)
        complete = tuple(column for column in greedy if column is not None)
        if len(complete) == width and complete != identity and self.options.columns == "any":
            yield complete

    def agree(
        self, gold: Sequence[Column], predicted: Sequence[Column], options: ComparisonOptions | None = None
    ) -> Mapping | None:
        """A mapping under which these columns, each as long as the gold columns, are the same rows in the gold query
        order."""
        ours, theirs = (Side(columns=each, places=self.gold.places) for each in (gold, predicted))
        return find_agreement(ours, theirs, options or self.options, self.budget.part(WORK))

    def agree_in_place(self, gold: Sequence[Column], predicted: Sequence[Column]) -> bool:
        """Like `agree`, with the columns in their present order."""
        return self.agree(gold, predicted, replace(self.options, columns="strict")) is not None

    def agree_as_bags(
        self, gold: Sequence[Column], predicted: Sequence[Column], counts: tuple[int, int], *, contained: bool = False
    ) -> Mapping | None:
        """Like `agree`, for ``counts`` rows on each side in any order. With ``contained`` there may be more gold
        rows."""
        ours, theirs = (
            Side(columns=each, places=NoPlaces(count)) for each, count in zip((gold, predicted), counts, strict=True)
        )
        return find_agreement(ours, theirs, self.options, self.budget.part(WORK), contained=contained)
