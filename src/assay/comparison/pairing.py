"""Pair rows one to one by the rule of tolerance, if clusters alone cannot decide.

Rows can only pair inside the group of rows whose clusters are equal. In each group both sides are sorted; if the rows
then agree in order, that *is* a pairing, which is nearly always the case. If not, a single column whose sorted numbers
disagree refutes the group: numbers that can be paired at all can be paired in sorted order. The remaining groups are
matched by augmenting paths, under a budget.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from sys import float_info
from typing import TypeAlias

from msgspec import Struct

from assay.comparison.budget import Budget
from assay.comparison.cells import Column, Key
from assay.comparison.sides import Mapping, Side
from assay.comparison.tolerance import Clusters, as_float, is_nested, is_number, numbers_equal
from assay.model import ComparisonOptions

Keys: TypeAlias = tuple[Key, ...]
_WIDER = 2.0**-40
"""How much wider than the tolerance the first check is, as a share; the exact rule then decides."""


class Pairing(Struct, frozen=True):
    """Two results whose rows are to be paired: each predicted row with a gold row, per position."""

    gold: Side
    predicted: Side
    clusters: Clusters
    options: ComparisonOptions
    budget: Budget

    def complete(self, mapping: Mapping) -> bool:
        """Whether every predicted row finds a gold row of its own under this mapping of the gold columns."""
        return all(
            len(theirs) <= len(ours) and self._pairs_up(ours, theirs, columns)
            for ours, theirs, columns in self._groups(range(len(self.gold.columns)), mapping)
            if theirs
        )

    def partners(self, columns: Sequence[int], mapping: Sequence[int]) -> list[int | None]:
        """For each gold row, the index of the predicted row paired with it, with as many pairs as possible."""
        found: list[int | None] = [None] * self.gold.row_count
        for ours, theirs, loose in self._groups(columns, mapping):
            pairs = self._matching(ours, theirs, loose) if loose else list(zip(ours, theirs, strict=False))
            for place, partner in pairs:
                found[place] = partner
        return found

    def _groups(self, columns: Sequence[int], mapping: Sequence[int]) -> list[_Group]:
        """The rows with equal clusters, per position, and the columns that the clusters leave undecided."""
        self.budget.spend(len(columns) * (self.gold.row_count + self.predicted.row_count))
        pairs = [
            _ColumnPair(self.gold.columns[column], self.predicted.columns[option])
            for column, option in zip(columns, mapping, strict=True)
        ]
        ours = [pair.gold if pair.exact else self.clusters.apply([pair.gold])[0] for pair in pairs]
        theirs = [pair.predicted if pair.exact else self.clusters.apply([pair.predicted])[0] for pair in pairs]
        groups: dict[Keys, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for place, key in enumerate(zip(self.gold.places, *ours, strict=True)):
            groups[key][0].append(place)
        for place, key in enumerate(zip(self.predicted.places, *theirs, strict=True)):
            groups[key][1].append(place)
        found: list[_Group] = []
        for key, (gold, predicted) in groups.items():
            loose = [pair for pair, cell in zip(pairs, key[1:], strict=True) if not pair.exact and self._is_loose(cell)]
            found.append((gold, predicted, loose))
        return found

    def _is_loose(self, key: Key) -> bool:
        if is_nested(key):
            kind, members = key
            return any(self._is_loose(member[1] if kind == "map" else member) for member in members)
        return key in self.clusters.loose

    def _pairs_up(self, gold: list[int], predicted: list[int], columns: Sequence[_ColumnPair]) -> bool:
        if not columns:
            return True
        if len(gold) == len(predicted):
            self.budget.spend(len(gold) * len(columns))
            ours = sorted(gold, key=lambda place: [_sortable(pair.gold[place]) for pair in columns])
            theirs = sorted(predicted, key=lambda place: [_sortable(pair.predicted[place]) for pair in columns])
            if all(self._equal(one, two, columns) for one, two in zip(ours, theirs, strict=True)):
                return True
            if len(gold) == 1 or any(self._refutes(pair, gold, predicted) for pair in columns):
                return False
        return len(self._matching(gold, predicted, columns, whole=True)) == len(predicted)

    def _equal(self, gold: int, predicted: int, columns: Sequence[_ColumnPair]) -> bool:
        return all(numbers_equal(pair.gold[gold], pair.predicted[predicted], self.options) for pair in columns)

    def _refutes(self, pair: _ColumnPair, gold: Sequence[int], predicted: Sequence[int]) -> bool:
        """Whether this column alone shows that there is no pairing.

        Numbers count as close slightly beyond the rule, as if a float took part in every pair. Such windows increase
        with the number, so sorted order is a pairing whenever there is one.
        """
        ours, theirs = [pair.gold[place] for place in gold], [pair.predicted[place] for place in predicted]
        if not is_number(ours[0]):  # lists or structs, and then all cells of the group are
            return False
        ours.sort(key=_sortable)
        theirs.sort(key=_sortable)
        windows = map(self._window, ours)
        return not all(low <= as_float(key) <= high for (low, high), key in zip(windows, theirs, strict=True))  # type: ignore[arg-type]

    def _window(self, key: Key) -> tuple[float, float]:
        """The range of floats that may be equal to this number: slightly wider than the rule."""
        number = max(-float_info.max, min(float_info.max, as_float(key)))  # type: ignore[arg-type]  # callers checked it
        tolerance, beside = self.options.relative_tolerance, self.options.absolute_tolerance * (1 + _WIDER)
        low, high = sorted((number * (1 - tolerance), number / (1 - tolerance)))
        if low <= beside and high >= -beside:
            low, high = min(low, -beside), max(high, beside)
        return low - abs(low) * _WIDER - 1e-290, high + abs(high) * _WIDER + 1e-290

    def _matching(
        self, gold: list[int], predicted: list[int], columns: Sequence[_ColumnPair], *, whole: bool = False
    ) -> list[tuple[int, int]]:
        """As many pairs as possible. With ``whole`` it stops at the first predicted row without a partner."""
        matching = _Matching(self._candidates(gold, predicted, columns), self.budget)
        for row in range(len(predicted)):
            if not matching.augment(row) and whole:
                break
        return [(gold[partner], predicted[row]) for row, partner in matching.partner.items()]

    def _candidates(
        self, gold: list[int], predicted: list[int], columns: Sequence[_ColumnPair]
    ) -> Callable[[int], list[int]]:
        """The gold rows, by index in the group, that a predicted row is equal to."""
        pair = columns[0]
        numeric = all(is_number(pair.gold[place]) for place in gold)
        order = list(range(len(gold)))
        if numeric:
            order.sort(key=lambda index: as_float(pair.gold[gold[index]]))  # type: ignore[arg-type]
        sorted_keys = [as_float(pair.gold[gold[index]]) for index in order] if numeric else []  # type: ignore[arg-type]
        known: dict[int, list[int]] = {}

        def candidates(row: int) -> list[int]:
            if row not in known:
                key = pair.predicted[predicted[row]]
                within = order
                if numeric and is_number(key):
                    low, high = self._window(key)
                    within = order[bisect_left(sorted_keys, low) : bisect_right(sorted_keys, high)]
                self.budget.spend((len(within) + 1) * len(columns))
                known[row] = [index for index in within if self._equal(gold[index], predicted[row], columns)]
            return known[row]

        return candidates


class _ColumnPair:
    """A gold column and the predicted one that corresponds to it."""

    __slots__ = ("exact", "gold", "predicted")

    def __init__(self, gold: Column, predicted: Column) -> None:
        self.gold = gold
        self.predicted = predicted
        self.exact = not (may_hold_floats(gold) or may_hold_floats(predicted))
        """No float takes part: only identical keys are equal."""


_Group: TypeAlias = tuple[list[int], list[int], list[_ColumnPair]]


def may_hold_floats(column: Column) -> bool:
    """Whether this column contains a float, or a list or struct that may contain one."""
    return any(issubclass(kind, (float, tuple)) for kind in set(map(type, column)))


def _sortable(key: Key) -> tuple[object, ...]:
    """The sort key of a cell: numbers by size, lists by their members; maps in any order."""
    if is_number(key):
        return (0, key)
    if is_nested(key):
        kind, members = key
        ordered = sorted(members, key=lambda member: repr(member[0])) if kind == "map" else members
        return (1, *(_sortable(member[1] if kind == "map" else member) for member in ordered))
    return (2,)


class _Matching:
    """Pairs rows with candidates by augmenting paths (Kuhn's algorithm), without recursion."""

    def __init__(self, candidates: Callable[[int], list[int]], budget: Budget) -> None:
        self.candidates = candidates
        self.budget = budget
        self.partner: dict[int, int] = {}
        self._owner: dict[int, int] = {}

    def augment(self, start: int) -> bool:
        """Find a partner for one more row, moving earlier ones if needed."""
        came_from: dict[int, int] = {}
        queue = [start]
        while queue:
            row = queue.pop()
            candidates = self.candidates(row)
            self.budget.spend(len(candidates) + 1)
            for candidate in candidates:
                if candidate in came_from:
                    continue
                came_from[candidate] = row
                owner = self._owner.get(candidate)
                if owner is None:
                    self._take(candidate, came_from)
                    return True
                queue.append(owner)
        return False

    def _take(self, candidate: int | None, came_from: dict[int, int]) -> None:
        while candidate is not None:
            row = came_from[candidate]
            previous = self.partner.get(row)
            self.partner[row] = candidate
            self._owner[candidate] = row
            candidate = previous
