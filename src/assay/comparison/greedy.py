"""Guess which predicted column corresponds to which gold column, if no mapping makes the rows equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

from assay.comparison.cells import Column

_GREEDY_WORK = 20_000_000
"""Limit for the cells that are read to guess which columns correspond; the rest are paired by position."""


class Bag(Protocol):
    """The values of one column, and how often each occurs."""

    @property
    def distinct(self) -> int:
        """How many different values there are."""
        ...

    def fingerprint(self) -> int:
        """A number that equal bags share."""
        ...

    def equals(self, other: Any) -> bool:
        """Whether both contain the same values equally often."""
        ...

    def common(self, other: Any) -> int:
        """How many values both have in common, each as often as in both."""
        ...


class KeyBag:
    """The bag of a column of keys."""

    __slots__ = ("counts",)

    def __init__(self, column: Column) -> None:
        self.counts = Counter(column)

    @property
    def distinct(self) -> int:
        """How many different values there are."""
        return len(self.counts)

    def fingerprint(self) -> int:
        """A number that equal bags share."""
        return hash(frozenset(self.counts.items()))

    def equals(self, other: KeyBag) -> bool:
        """Whether both contain the same values equally often."""
        return dict.__eq__(self.counts, other.counts)

    def common(self, other: KeyBag) -> int:
        """How many values both have in common, each as often as in both."""
        theirs = other.counts
        return sum(min(count, theirs[key]) for key, count in self.counts.items() if key in theirs)


def greedy_mapping(gold: Sequence[Column], predicted: Sequence[Column]) -> tuple[int | None, ...]:
    """The best guess at which predicted column corresponds to which gold column, if no mapping makes the rows equal.

    Pairs are chosen by the share of values in common; the same position wins ties. A column that shares no value with a
    free column is paired by position if that is free, else with None.
    """
    most = max((len(column) for column in (*gold, *predicted)), default=0)
    return greedy_by_bags([KeyBag(column) for column in gold], [KeyBag(column) for column in predicted], most)


def greedy_by_bags(gold: Sequence[Bag], predicted: Sequence[Bag], rows: int) -> tuple[int | None, ...]:
    """Like `greedy_mapping`; ``rows`` is the row count of the longer side."""
    mapping = _same_bags(gold, predicted)
    used = {option for option in mapping if option is not None}
    left = [column for column, option in enumerate(mapping) if option is None]
    free = [option for option in range(len(predicted)) if option not in used]
    if len(free) * sum(gold[column].distinct for column in left) > _GREEDY_WORK:
        return tuple(column if option is None and column in free else option for column, option in enumerate(mapping))
    scored: list[tuple[float, bool, int, int]] = []
    for column in left:
        for option in free:
            common = gold[column].common(predicted[option])
            scored.append((common / max(rows, 1), column == option, -column, -option))
    for share, same_place, column, option in sorted(scored, reverse=True):
        if mapping[-column] is None and -option not in used and (share > 0 or same_place):
            mapping[-column] = -option
            used.add(-option)
    return tuple(mapping)


def _same_bags(gold: Sequence[Bag], predicted: Sequence[Bag]) -> list[int | None]:
    """For each gold column, a predicted column with exactly the same values, preferably at the same position."""
    places: dict[int, list[int]] = {}
    for option, theirs in enumerate(predicted):
        if theirs.distinct:
            places.setdefault(theirs.fingerprint(), []).append(option)
    alike = [[o for o in places.get(ours.fingerprint(), ()) if ours.equals(predicted[o])] for ours in gold]
    mapping: list[int | None] = [column if column in options else None for column, options in enumerate(alike)]
    used = set(mapping)
    for column, options in enumerate(alike):
        if mapping[column] is None:
            mapping[column] = next((option for option in options if option not in used), None)
            used.add(mapping[column])
    return mapping
