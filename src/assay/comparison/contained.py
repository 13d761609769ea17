"""Find the permutation of columns under which predicted rows occur among the gold rows: an answer cut out of ties.

A few predicted rows are compared with many gold rows, and partial rows say little: any two columns of 0 and 1 contain
all four pairs. So whole rows are matched, not columns. A predicted row and its gold row contain the same cells, which
divides the columns into groups: the predicted columns that contain a value correspond to the gold columns that contain
it. A few such rows identify all columns. At each step every row has a sum of its cells per group of columns; if more
predicted rows than gold rows have one sum, the choice was wrong. The row with the fewest partners is matched next. What
the sums accept is verified on the rows themselves. The search has a budget.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from assay.comparison.budget import Budget
from assay.comparison.hashed_cells import HashedCells, ManyHashed, hashed_cells, spread
from assay.comparison.permutation import Allow, Verify
from assay.comparison.sides import Mapping, Side, contained_rows, twins_among
from assay.comparison.sizes import NUMPY_STEPS

Group: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""Gold columns and as many predicted columns, matched to each other in an unknown order."""


def find_contained_mapping(
    gold: Side,
    predicted: Side,
    *,
    verify: Verify | None = None,
    allow: Allow | None = None,
    twins: Sequence[int] | None = None,
    budget: Budget | None = None,
) -> Mapping | None:
    """Map each gold column to a predicted column so that the predicted rows occur among the gold rows, per position.

    Both sides have the same number of columns. Returns None if there is no such mapping; raises BudgetSpent if this
    could not be determined. The options are those of `assay.comparison.permutation.find_mapping`.
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
    """For each gold column, the predicted columns whose values it holds, per position."""
    wanted = [set(zip(predicted.places, column, strict=True)) for column in predicted.columns]
    found: list[set[int]] = []
    for column, keys in enumerate(gold.columns):
        have = set(zip(gold.places, keys, strict=True))
        found.append(
            {option for option, need in enumerate(wanted) if need <= have and (allow is None or allow(column, option))}
        )
    return found


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
        self.gold: HashedCells = hashed_cells(gold, self.cells)
        self.predicted: HashedCells = hashed_cells(predicted, self.cells)
        self.candidates = candidates
        self.accept = accept
        self.twins = twins
        self.budget = budget
        self.group_weights = [spread(group) | 1 for group in range(1, self.width + 1)]

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
        """The predicted row to match next: -1 if none divides the groups further, None if they are wrong."""
        self.budget.spend(self.cells)
        self.steps += 1
        if self.steps == NUMPY_STEPS and not isinstance(self.gold, ManyHashed):
            self.gold, self.predicted = map(ManyHashed.of, self.sides)
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
        """The groups as divided by each gold row that this predicted row can match."""
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
        """Every mapping within the groups; identical columns are tried in one order only."""
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
