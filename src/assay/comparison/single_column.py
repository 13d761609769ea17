"""Two results of one column each, the usual answers to simple questions: no column mapping is needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from assay.comparison.answer import Answer
from assay.comparison.cells import Column, to_columns
from assay.comparison.tolerance import cluster_numbers
from assay.model import ComparisonOptions, Result

MOST_ROWS = 1_000
"""With more rows than this on both sides together, the methods for large results are faster."""


class LoneColumns(Struct, frozen=True):
    """The keys of both columns, without different numbers that are within tolerance of each other."""

    gold: Column
    predicted: Column

    @property
    def equal(self) -> bool:
        """Whether they contain the same values equally often."""
        if len(self.gold) != len(self.predicted):
            return False
        return Counter(self.gold) == Counter(self.predicted)

    def partners(self) -> list[int | None]:
        """For each gold row, the index of an equal predicted row; each is used once."""
        return partners(self.gold, self.predicted)


def lone_columns(answer: Answer, predicted: Result, options: ComparisonOptions) -> LoneColumns | None:
    """The columns of a bag and a prediction; None if they need a full comparison."""
    rows, theirs = answer.result.rows, predicted.rows
    if answer.result.column_count != 1 or predicted.column_count != 1 or len(rows) + len(theirs) > MOST_ROWS:
        return None
    if answer.ordered or len(answer.segments) != 1 or answer.segments[0].take != len(answer.segments[0].rows):
        return None
    (mine,), _ = to_columns(rows, 1, boolean_is_integer=options.boolean_is_integer)
    (other,), _ = to_columns(theirs, 1, boolean_is_integer=options.boolean_is_integer)
    if cluster_numbers((mine, other), options) is not None:
        return None
    return LoneColumns(mine, other)


def partners(wanted: Sequence[object], rows: Sequence[object]) -> list[int | None]:
    """For each wanted row, the index of an equal row that no earlier wanted row took."""
    open_places: dict[object, list[int]] = {}
    for place in range(len(rows) - 1, -1, -1):
        open_places.setdefault(rows[place], []).append(place)
    return [places.pop() if (places := open_places.get(row)) else None for row in wanted]
