"""Find the permutation of columns under which predicted rows occur among gold's: an answer cut out of ties.

Few predicted rows stand against many of gold's, and partial rows say little: any two columns of 0
and 1 hold all four pairs. So whole rows are matched, not columns. A predicted row that stands for a
certain gold row holds the same cells, and that divides the columns: those of the one that hold a
value are those of the other that hold it. A few rows chosen so tell all columns apart. At each step
every row is summed up by its cells per group of columns; where the predicted rows hold more of one
sum than gold's, the choice was wrong, and the row with the fewest partners is matched next. What
the sums accept is verified on the rows themselves. The search has a budget.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import mul
from typing import TYPE_CHECKING, Any, TypeAlias

from assay.comparison.budget import Budget
from assay.comparison.permutation import Allow, Mapping, Side, Verify, contained_rows, twins_among

if TYPE_CHECKING:
    from numpy import uint64
    from numpy.typing import NDArray

    Sums: TypeAlias = NDArray[uint64]

Group: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""Gold's columns and as many predicted ones, of which each stands for one of the former."""
_FEW = 4_000
"""So many cells are summed up without numpy, which need not be loaded for them."""
_SHORT = 100
"""Steps of a search after which loading it pays even so."""


def find_contained_mapping(
    gold: Side,
    predicted: Side,
    *,
    verify: Verify | None = None,
    allow: Allow | None = None,
    twins: Sequence[int] | None = None,
    budget: Budget | None = None,
) -> Mapping | None:
    """Map each of gold's columns to a predicted column so that the predicted rows occur among gold's, per place.

    Both sides have the same number of columns. Returns None where there is no such mapping; raises
    BudgetSpent where that could not be found out. The options are those of
    `assay.comparison.permutation.find_mapping`.
    """
    if len(gold.columns) != len(predicted.columns):
        return None
    accept = verify or (lambda mapping: contained_rows(gold, predicted, mapping))
    identity = tuple(range(len(gold.columns)))
    if accept(identity):
        return identity
    if len(identity) == 1:
        return None
    candidates = _candidates(gold, predicted, allow)
    if not all(candidates):
        return None
    if twins is None:
        twins = twins_among(predicted.columns)
    return _Search(gold, predicted, candidates=candidates, accept=accept, twins=twins, budget=budget or Budget()).run()


def _candidates(gold: Side, predicted: Side, allow: Allow | None) -> list[set[int]]:
    """For each of gold's columns the predicted ones whose values it holds, per place."""
    wanted = [set(zip(predicted.places, column, strict=True)) for column in predicted.columns]
    found: list[set[int]] = []
    for column, keys in enumerate(gold.columns):
        have = set(zip(gold.places, keys, strict=True))
        found.append(
            {option for option, need in enumerate(wanted) if need <= have and (allow is None or allow(column, option))}
        )
    return found


class _Few:
    """One side's rows as numbers: a hash of each cell, and of each row's place."""

    def __init__(self, side: Side) -> None:
        self.cells = list(zip(*(map(_spread, map(hash, column)) for column in side.columns), strict=True))
        self._places = [_spread(_spread(place)) for place in side.places]

    def sums(self, weights: Sequence[int]) -> list[int]:
        """Per row its cells, weighted by column, and its place, cut to 64 bits."""
        return [
            (place + sum(map(mul, row, weights))) & _BITS for row, place in zip(self.cells, self._places, strict=True)
        ]


class _Many:
    """As `_Few`, by arrays: many times as fast, but they take a tenth of a second to load."""

    def __init__(self, side: Side) -> None:
        import numpy as np

        def spread(numbers: Sums) -> Sums:
            mixed = (numbers + np.uint64(_SPREAD[0])) * np.uint64(_SPREAD[1])
            mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(_SPREAD[2])
            return mixed ^ (mixed >> np.uint64(32))

        def hashed(keys: Iterable[object]) -> Sums:
            return spread(np.fromiter(map(hash, keys), dtype=np.int64, count=side.row_count).view(np.uint64))

        self.array = np.stack([hashed(column) for column in side.columns], axis=1)
        self.cells: Sequence[Sequence[int]] = self.array  # type: ignore[assignment]  # rows of integers
        self._places = spread(hashed(side.places))

    def sums(self, weights: Sequence[int]) -> list[int]:
        """Per row its cells, weighted by column, and its place, cut to 64 bits."""
        import numpy as np

        found: list[int] = ((self.array * np.array(weights, dtype=np.uint64)).sum(axis=1) + self._places).tolist()
        return found


_BITS = 2**64 - 1
_SPREAD = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def _spread(number: int) -> int:
    """A hash spread over 64 bits, so that sums of different ones differ."""
    mixed = ((number + _SPREAD[0]) * _SPREAD[1]) & _BITS
    mixed = ((mixed ^ (mixed >> 29)) * _SPREAD[2]) & _BITS
    return mixed ^ (mixed >> 32)


class _Search:
    def __init__(
        self,
        gold: Side,
        predicted: Side,
        *,
        candidates: list[set[int]],
        accept: Verify,
        twins: Sequence[int],
        budget: Budget,
    ) -> None:
        self.width = len(candidates)
        self.cells = self.width * (gold.row_count + predicted.row_count)
        self.sides = gold, predicted
        self.steps = 0
        self.gold: _Few | _Many = _Few(gold) if self.cells <= _FEW else _Many(gold)
        self.predicted: _Few | _Many = _Few(predicted) if self.cells <= _FEW else _Many(predicted)
        self.candidates = candidates
        self.accept = accept
        self.twins = twins
        self.budget = budget
        self.group_weights = [_spread(group) | 1 for group in range(1, self.width + 1)]

    def run(self) -> Mapping | None:
        """Depth first, without recursion."""
        every = tuple(range(self.width))
        waiting: list[Iterator[list[Group]]] = [iter([[(every, every)]])]
        while waiting:
            groups = next(waiting[-1], None)
            if groups is None:
                waiting.pop()
                continue
            row = self._next_row(groups)
            if row is None:
                continue
            if row >= 0:
                waiting.append(self._divided(groups, row))
                continue
            for mapping in self._mappings(groups):
                if self.accept(mapping):
                    return mapping
        return None

    def _sums(self, groups: list[Group]) -> tuple[list[int], list[int]]:
        ours, theirs = [0] * self.width, [0] * self.width
        for weight, (gold, predicted) in zip(self.group_weights, groups, strict=False):
            for column in gold:
                ours[column] = weight
            for column in predicted:
                theirs[column] = weight
        return self.gold.sums(ours), self.predicted.sums(theirs)

    def _next_row(self, groups: list[Group]) -> int | None:
        """The predicted row to match next: -1 where none divides the groups further, None where they are wrong."""
        self.budget.spend(self.cells)
        self.steps += 1
        if self.steps == _SHORT and isinstance(self.gold, _Few):
            self.gold, self.predicted = map(_Many, self.sides)
        ours, theirs = self._sums(groups)
        partners, wanted = Counter(ours), Counter(theirs)
        if any(partners[key] < count for key, count in wanted.items()):
            return None
        rows = {key: row for row, key in enumerate(theirs)}
        for key in sorted(rows, key=partners.__getitem__):
            cells = self.predicted.cells[rows[key]]
            if any(len({cells[column] for column in columns}) > 1 for _, columns in groups):
                return rows[key]
        return -1

    def _divided(self, groups: list[Group], row: int) -> Iterator[list[Group]]:
        """The groups as each gold row divides them that this predicted row can stand for."""
        ours, theirs = self._sums(groups)
        cells = [int(cell) for cell in self.predicted.cells[row]]
        places = [place for place, key in enumerate(ours) if key == theirs[row]]
        for other in dict.fromkeys(tuple(map(int, self.gold.cells[place])) for place in places):
            divided = self._divide(groups, other, cells)
            if divided is not None:
                yield divided

    def _divide(self, groups: list[Group], gold: Sequence[int], predicted: Sequence[int]) -> list[Group] | None:
        divided: list[Group] = []
        for columns, options in groups:
            parts: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
            for column in columns:
                parts[gold[column]][0].append(column)
            for option in options:
                parts[predicted[option]][1].append(option)
            for ours, theirs in parts.values():
                among = set(theirs)
                if len(ours) != len(theirs) or any(self.candidates[column].isdisjoint(among) for column in ours):
                    return None
                divided.append((tuple(ours), tuple(theirs)))
        return divided

    def _mappings(self, groups: list[Group]) -> Iterator[Mapping]:
        """Every mapping within the groups; of columns that are the same throughout, in one order only."""
        order = [(column, options) for columns, options in groups for column in columns]
        chosen: list[int] = []
        waiting: list[Iterator[int]] = [self._options(*order[0], chosen)]
        while waiting:
            option = next(waiting[-1], None)
            if option is None:
                waiting.pop()
                if chosen:
                    chosen.pop()
                continue
            self.budget.spend(self.width)
            chosen.append(option)
            if len(chosen) < self.width:
                waiting.append(self._options(*order[len(chosen)], chosen))
                continue
            yield tuple(self._in_order(order, chosen))
            chosen.pop()

    def _options(self, column: int, options: tuple[int, ...], chosen: Sequence[int]) -> Iterator[int]:
        used, seen = set(chosen), set()
        for option in sorted(options, key=lambda option: (option != column, option)):
            if option not in used and option in self.candidates[column] and self.twins[option] not in seen:
                seen.add(self.twins[option])
                yield option

    def _in_order(self, order: list[Any], chosen: Sequence[int]) -> list[int]:
        mapping = [0] * self.width
        for (column, _), option in zip(order, chosen, strict=True):
            mapping[column] = option
        return mapping
