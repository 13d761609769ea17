"""Find the one permutation of columns under which two results are the same rows, without trying all of them.

Gold's columns are assigned one after the other. A predicted column is a candidate for a gold
column only if both hold the same values equally often; and a partial assignment is kept only if
the partial rows agree as bags, which is checked with a sum of row hashes, extended by a column at
a time. Wrong choices therefore die within a column or two, and the work is about (columns x
candidates x rows). What the hashes accept is verified on the rows themselves, so a collision can
cost time, never a verdict. Where many columns hold the same values, this search finds no direction:
then colours tell the columns apart (`assay.comparison.refinement`). The search has a budget; where
columns are so symmetric that the budget is spent, the answer is "undecided", never a guess.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TypeAlias, overload

from assay.comparison.budget import Budget, BudgetSpent
from assay.comparison.cells import Column, Key
from assay.comparison.refinement import Mapping, Refinement

_PATIENCE = 8
"""How often the column-by-column search may look at all cells of a side."""
_STEP = 50
"""The fixed cost of a step of that search, added to its cells, so that few rows do not allow many steps."""
_GREEDY_WORK = 20_000_000
"""At most this many cells are looked at to guess which columns belong together; the rest are paired by position."""
Verify: TypeAlias = Callable[[Mapping], bool]
Allow: TypeAlias = Callable[[int, int], bool]
"""Whether gold's column may be mapped to that predicted column at all."""

__all__ = [
    "Allow",
    "BudgetSpent",
    "Mapping",
    "NoPlaces",
    "Side",
    "Verify",
    "contained_rows",
    "find_mapping",
    "greedy_mapping",
    "key_rows",
    "same_rows",
    "twins_among",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One result for the search: its columns of keys, and the fixed place of each row.

    ``places`` are the segment numbers of an ordered answer; all equal where order does not count.
    """

    columns: Sequence[Column]
    places: Sequence[int]
    rows: Sequence[tuple[Key, ...]] | None = None
    """The rows, where they consist of exactly the columns' keys; saves building them again."""

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return len(self.places)


def same_rows(gold: Side, predicted: Side, mapping: Mapping) -> bool:
    """Whether the rows are equal as bags (per place) under this mapping of gold's columns to predicted ones."""
    if gold.row_count != predicted.row_count:
        return False
    mapped = [predicted.columns[column] for column in mapping]
    distinct = set(gold.rows or _keyed(gold.places, gold.columns))
    if len(distinct) == gold.row_count:
        # No duplicates in gold and as many predicted rows: if removing those leaves nothing,
        # each of gold's rows was there once.
        distinct.difference_update(_keyed(predicted.places, mapped))
        return not distinct
    return dict.__eq__(Counter(_keyed(gold.places, gold.columns)), Counter(_keyed(predicted.places, mapped)))


def _keyed(places: Sequence[int], columns: Sequence[Column]) -> Iterable[tuple[Key, ...]]:
    """The rows, with their places in front where places differ."""
    if columns and isinstance(places, NoPlaces):
        return zip(*columns, strict=True)
    return zip(places, *columns, strict=True)


class NoPlaces(Sequence[int]):
    """The places of rows whose order does not count: all in place 0."""

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


def contained_rows(gold: Side, predicted: Side, mapping: Mapping) -> bool:
    """Whether the predicted rows occur among gold's (per place), each at most as often, under this mapping."""
    ours = Counter(_keyed(gold.places, gold.columns))
    theirs = Counter(_keyed(predicted.places, [predicted.columns[column] for column in mapping]))
    return all(ours[row] >= count for row, count in theirs.items())


def find_mapping(
    gold: Side,
    predicted: Side,
    *,
    verify: Verify | None = None,
    allow: Allow | None = None,
    twins: Sequence[int] | None = None,
    budget: Budget | None = None,
) -> Mapping | None:
    """Map each of gold's columns to a predicted column of its own so that the rows are equal as bags, per place.

    The predicted side may have more columns than gold. Returns None where there is no such
    mapping; raises BudgetSpent where that could not be found out. ``verify`` has the last word
    over a complete mapping (default: compare the rows). Where it distinguishes more than these keys
    do, ``twins`` says which predicted columns it takes for equal (see `twins_among`).
    """
    if gold.row_count != predicted.row_count or len(gold.columns) > len(predicted.columns):
        return None
    candidates = _candidates(gold.columns, predicted.columns)
    if candidates is not None and allow is not None:
        candidates = [[option for option in found if allow(column, option)] for column, found in enumerate(candidates)]
    if candidates is None or not all(candidates):
        return None
    accept = verify or (lambda mapping: same_rows(gold, predicted, mapping))
    if all(len(options) == 1 for options in candidates):
        only = tuple(options[0] for options in candidates)
        return only if len(set(only)) == len(only) and accept(only) else None
    if twins is None:
        twins = twins_among(predicted.columns)
    return _search(gold, predicted, candidates=candidates, accept=accept, twins=twins, budget=budget or Budget())


def _search(
    gold: Side, predicted: Side, *, candidates: list[list[int]], accept: Verify, twins: Sequence[int], budget: Budget
) -> Mapping | None:
    """Search column by column, which nearly always ends soon; where it does not, by the colours of columns."""
    patience = budget
    if len(gold.columns) == len(predicted.columns):
        patience = budget.part(min(budget.work, _PATIENCE * len(gold.columns) * (gold.row_count + _STEP)))
    before = patience.work
    try:
        return _Search(gold, predicted, candidates=candidates, accept=accept, twins=twins, budget=patience).run()
    except BudgetSpent as spent:
        if patience is budget or patience.work >= 0 or spent.out_of_time:
            raise
    budget.spend(before)
    return Refinement(gold, predicted, candidates=candidates, accept=accept, twins=twins, budget=budget).run()


def _candidates(gold: Sequence[Column], predicted: Sequence[Column]) -> list[list[int]] | None:
    found: list[list[int]] = []
    ours, theirs = [hash(frozenset(column)) for column in gold], [hash(frozenset(column)) for column in predicted]
    if any(theirs.count(fingerprint) > 1 for fingerprint in ours):
        # Columns with the same values: tell them apart by how often these occur.
        ours = [hash((values, sum(map(hash, column)))) for values, column in zip(ours, gold, strict=True)]
        theirs = [hash((values, sum(map(hash, column)))) for values, column in zip(theirs, predicted, strict=True)]
    for index, fingerprint in enumerate(ours):
        options = [option for option, other in enumerate(theirs) if other == fingerprint]
        if not options:
            return None
        # The same position first: most answers keep gold's order.
        found.append(sorted(options, key=lambda option: (option != index, option)))
    return found


class _Search:
    def __init__(
        self,
        gold: Side,
        predicted: Side,
        *,
        candidates: list[list[int]],
        accept: Verify,
        twins: Sequence[int],
        budget: Budget,
    ) -> None:
        self.gold = gold
        self.predicted = predicted
        self.candidates = candidates
        self.accept = accept
        self.budget = budget
        # The most telling columns first, so that wrong choices show early.
        self.order = sorted(
            range(len(gold.columns)), key=lambda column: (len(candidates[column]), -len(set(gold.columns[column])))
        )
        self.gold_hashes: list[int] = []
        self._gold_prefix: Sequence[int] = gold.places
        self.twins = twins

    def run(self) -> Mapping | None:
        """Depth first, without recursion: columns may be many."""
        chosen: list[int] = []
        prefixes: list[Sequence[int]] = [self.predicted.places]
        waiting = [self._options(0, chosen)]
        while waiting:
            if not waiting[-1]:
                waiting.pop()
                if chosen:
                    chosen.pop()
                    prefixes.pop()
                continue
            option = waiting[-1].pop(0)
            depth = len(chosen)
            prefix = self._extend(prefixes[-1], self.predicted.columns[option])
            if sum(prefix) != self._gold_hash(depth):
                continue
            if depth + 1 < len(self.order):
                chosen.append(option)
                prefixes.append(prefix)
                waiting.append(self._options(depth + 1, chosen))
                continue
            mapping = self._mapping([*chosen, option])
            if self.accept(mapping):
                return mapping
        return None

    def _options(self, depth: int, chosen: list[int]) -> list[int]:
        """The free candidates of the next column; of identical columns only the first."""
        used = set(chosen)
        seen: set[int] = set()
        options: list[int] = []
        for option in self.candidates[self.order[depth]]:
            if option in used or self.twins[option] in seen:
                continue
            seen.add(self.twins[option])
            options.append(option)
        return options

    def _extend(self, prefix: Sequence[int], column: Column) -> Sequence[int]:
        self.budget.spend(len(column) + _STEP)
        return list(map(hash, zip(prefix, column, strict=True)))

    def _gold_hash(self, depth: int) -> int:
        while len(self.gold_hashes) <= depth:
            column = self.gold.columns[self.order[len(self.gold_hashes)]]
            self._gold_prefix = self._extend(self._gold_prefix, column)
            self.gold_hashes.append(sum(self._gold_prefix))
        return self.gold_hashes[depth]

    def _mapping(self, chosen: list[int]) -> Mapping:
        mapping = [0] * len(chosen)
        for column, option in zip(self.order, chosen, strict=True):
            mapping[column] = option
        return tuple(mapping)


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


def greedy_mapping(gold: Sequence[Column], predicted: Sequence[Column]) -> tuple[int | None, ...]:
    """The best guess at which predicted column stands for which of gold's, where no mapping makes rows equal.

    Pairs are taken by the share of values in common; the same position wins ties. A column that shares
    no value with a free column is paired by position where that is free, else with None.
    """
    bags = [Counter(column) for column in gold], [Counter(column) for column in predicted]
    mapping = _same_bags(*bags)
    used = {option for option in mapping if option is not None}
    left = [column for column, option in enumerate(mapping) if option is None]
    free = [option for option in range(len(predicted)) if option not in used]
    if len(free) * sum(len(bags[0][column]) for column in left) > _GREEDY_WORK:
        return tuple(column if option is None and column in free else option for column, option in enumerate(mapping))
    scored: list[tuple[float, bool, int, int]] = []
    for column in left:
        ours = bags[0][column]
        for option in free:
            theirs = bags[1][option]
            common = sum(min(count, theirs[key]) for key, count in ours.items() if key in theirs)
            total = max(len(gold[column]), len(predicted[option]), 1)
            scored.append((common / total, column == option, -column, -option))
    for share, same_place, column, option in sorted(scored, reverse=True):
        if mapping[-column] is None and -option not in used and (share > 0 or same_place):
            mapping[-column] = -option
            used.add(-option)
    return tuple(mapping)


def _same_bags(gold: Sequence[Counter[Key]], predicted: Sequence[Counter[Key]]) -> list[int | None]:
    """For each of gold's columns, a predicted column with exactly the same values, preferably at the same position."""
    places: dict[int, list[int]] = {}
    for option, theirs in enumerate(predicted):
        if theirs:
            places.setdefault(_fingerprint(theirs), []).append(option)
    alike = [[o for o in places.get(_fingerprint(ours), ()) if dict.__eq__(ours, predicted[o])] for ours in gold]
    mapping: list[int | None] = [column if column in options else None for column, options in enumerate(alike)]
    used = set(mapping)
    for column, options in enumerate(alike):
        if mapping[column] is None:
            mapping[column] = next((option for option in options if option not in used), None)
            used.add(mapping[column])
    return mapping


def _fingerprint(bag: Counter[Key]) -> int:
    return hash(frozenset(bag.items()))


def key_rows(columns: Sequence[Column]) -> list[tuple[Key, ...]]:
    """The rows of these columns of keys."""
    return list(zip(*columns, strict=True))
