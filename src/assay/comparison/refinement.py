"""Find a permutation of symmetric columns by their context, not by trying orders (colour refinement).

Rows and columns are coloured in turn: a row's colour comes from its cells and the colours of their columns, a column's
from its cells and the colours of their rows. A permutation that makes the rows equal keeps colours, so if the two
results have different colours there is no permutation; nearly every wrong answer shows that at once. If several columns
share a colour, one gold column is matched with each predicted column of that colour in turn, and the colours are
computed again: one or two choices distinguish all columns.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from assay.comparison.budget import Budget
from assay.comparison.hashed_cells import HashedCells, ManyHashed, hashed_cells, spread
from assay.comparison.sides import Mapping, Side
from assay.comparison.sizes import NUMPY_ROUNDS

Colours: TypeAlias = tuple[list[int], list[int]]
"""The colours of the gold and the predicted columns."""


class Refinement:
    """The search for a permutation of columns between two results of one shape."""

    def __init__(
        self,
        gold: Side,
        predicted: Side,
        *,
        candidates: Sequence[Sequence[int]],
        accept: Callable[[Mapping], bool],
        twins: Sequence[int],
        budget: Budget,
    ) -> None:
        self.width: int = len(candidates)
        self.cells: int = 2 * self.width * (gold.row_count + 1)
        self.sides: tuple[Side, Side] = gold, predicted
        self.gold: HashedCells = hashed_cells(gold, self.cells)
        self.predicted: HashedCells = hashed_cells(predicted, self.cells)
        self.candidates: list[set[int]] = list(map(set, candidates))
        self.accept = accept
        self.twins = twins
        self.budget = budget
        self.rounds = 0

    def run(self) -> Mapping | None:
        """Depth first, without recursion."""
        waiting: list[Iterator[Colours]] = [iter([([1] * self.width, [1] * self.width)])]
        while waiting:
            start = next(waiting[-1], None)
            if start is None:
                waiting.pop()
                continue
            colours = self._refined(start)
            if colours is None:
                continue
            classes = self._classes(colours)
            shared = [(ours, theirs) for ours, theirs in classes if len(ours) > 1]
            if shared:
                ours, theirs = min(shared, key=lambda each: len(each[0]))
                waiting.append(self._chosen(colours, ours[0], theirs))
                continue
            mapping = self._mapping(classes)
            if mapping is not None and self.accept(mapping):
                return mapping
        return None

    def _refined(self, colours: Colours) -> Colours | None:
        """These colours, refined until no more columns can be distinguished. None if the two sides differ."""
        distinct = 0
        while True:
            self.budget.spend(2 * self.cells)
            self.rounds += 1
            if self.rounds == NUMPY_ROUNDS and not isinstance(self.gold, ManyHashed):
                self.gold, self.predicted = map(ManyHashed.of, self.sides)
            hashed = self.gold, self.predicted
            rows = [side.sums(each) for side, each in zip(hashed, colours, strict=True)]
            if Counter(rows[0]) != Counter(rows[1]):
                return None
            # The old colour is part of the new one, so that distinct columns stay distinct.
            found = [
                [spread(column + before) | 1 for column, before in zip(side.column_sums(row), each, strict=True)]
                for side, row, each in zip(hashed, rows, colours, strict=True)
            ]
            if Counter(found[0]) != Counter(found[1]):
                return None
            colours = found[0], found[1]
            now = len(set(found[0]))
            if now in (distinct, self.width):
                return colours
            distinct = now

    def _classes(self, colours: Colours) -> list[tuple[list[int], list[int]]]:
        """The gold and the predicted columns of each colour."""
        classes: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for side, each in enumerate(colours):
            for column, colour in enumerate(each):
                classes[colour][side].append(column)
        return list(classes.values())

    def _chosen(self, colours: Colours, column: int, options: Sequence[int]) -> Iterator[Colours]:
        """The colours with this gold column matched with each option in turn; identical options are tried once."""
        seen: set[int] = set()
        own = spread(colours[0][column] + 1) | 1
        for option in sorted(options, key=lambda option: (option != column, option)):
            if self.twins[option] in seen or option not in self.candidates[column]:
                continue
            seen.add(self.twins[option])
            ours, theirs = list(colours[0]), list(colours[1])
            ours[column] = theirs[option] = own
            yield ours, theirs

    def _mapping(self, classes: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Mapping | None:
        mapping = [0] * self.width
        for (column,), (option,) in classes:
            if option not in self.candidates[column]:
                return None
            mapping[column] = option
        return tuple(mapping)
