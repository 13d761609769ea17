"""Find the one permutation of columns under which two results are the same rows, without trying all of them.

The gold columns are assigned one after the other. A predicted column is a candidate for a gold column only if both
contain the same values equally often. A partial assignment is kept only if the partial rows agree as bags, which is
checked with a sum of row hashes, extended by a column at a time. Wrong choices are therefore rejected within a column
or two, and the work is about (columns x candidates x rows). What the hashes accept is verified on the rows themselves,
so a collision can cost time, never a verdict. If many columns contain the same values, this search has no direction:
then colours distinguish the columns (`assay.comparison.refinement`). The search has a budget; if columns are so
symmetric that the budget is spent, the answer is "undecided", never a guess.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, Protocol, TypeAlias, overload

from msgspec import Struct

from assay.comparison.budget import Budget, BudgetSpent
from assay.comparison.cells import Column, Key
from assay.comparison.hashed_cells import HashedCells, hashed_cells
from assay.comparison.refinement import Mapping, Refinement

_PATIENCE = 8
"""How often the column-by-column search may read all cells of a side."""
_STEP = 50
"""The fixed cost of a step of that search, added to its cells, so that few rows do not allow many steps."""
Verify: TypeAlias = Callable[[Mapping], bool]
Allow: TypeAlias = Callable[[int, int], bool]
"""Whether the gold column may be mapped to that predicted column at all."""

__all__ = [
    "Allow",
    "BudgetSpent",
    "Mapping",
    "NoPlaces",
    "Side",
    "Verify",
    "contained_rows",
    "find_mapping",
    "key_rows",
    "same_rows",
    "twins_among",
]


class Side(Struct, frozen=True, kw_only=True):
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

    def total(self, prefix: Sequence[int]) -> int:
        """A number for the bag of these rows."""
        return sum(prefix)

    def fingerprints(self, *, counted: bool = False) -> list[int]:
        """A number for each column's set of values; ``counted``: for its bag of values."""
        if counted:
            return [hash(frozenset(Counter(column).items())) for column in self.columns]
        return [hash(frozenset(column)) for column in self.columns]

    def distinct_count(self, column: int) -> int:
        """How many different values a column has."""
        return len(set(self.columns[column]))

    def twins(self) -> list[int]:
        """For each column, the first column that is identical to it."""
        return twins_among(self.columns)

    def hashed_cells(self, cells: int) -> HashedCells:
        """The cells as numbers, for a search that looks at ``cells`` of them at a time."""
        return hashed_cells(self, cells)

    def same_rows(self, other: Side, mapping: Mapping) -> bool:
        """Whether the rows are equal as bags (per position) under this mapping to the other's columns."""
        return same_rows(self, other, mapping)


class Searched(Protocol):
    """What the search for a permutation needs from a result, in any representation of the cells."""

    @property
    def columns(self) -> Sequence[Any]:
        """The columns."""
        ...

    @property
    def row_count(self) -> int:
        """Number of rows."""
        ...

    def first_prefix(self) -> Any:
        """The hashes of rows without columns."""
        ...

    def extended(self, prefix: Any, column: int) -> Any:
        """The hashes of rows with one more column."""
        ...

    def total(self, prefix: Any) -> int:
        """A number for the bag of these rows."""
        ...

    def fingerprints(self, *, counted: bool = False) -> list[int]:
        """A number for each column's values."""
        ...

    def distinct_count(self, column: int) -> int:
        """How many different values a column has."""
        ...

    def twins(self) -> list[int]:
        """For each column, the first column that is identical to it."""
        ...

    def same_rows(self, other: Any, mapping: Mapping) -> bool:
        """Whether the rows are equal as bags under this mapping."""
        ...

    def hashed_cells(self, cells: int) -> HashedCells:
        """The cells as numbers, for a search that looks at ``cells`` of them at a time."""
        ...


def same_rows(gold: Side, predicted: Side, mapping: Mapping) -> bool:
    """Whether the rows are equal as bags (per position) under this mapping of gold columns to predicted ones."""
    if gold.row_count != predicted.row_count:
        return False
    mapped = [predicted.columns[column] for column in mapping]
    distinct = set(gold.rows or _keyed(gold.places, gold.columns))
    if len(distinct) == gold.row_count:
        # No gold duplicates and as many predicted rows: if removing those leaves nothing, each gold row was there once.
        distinct.difference_update(_keyed(predicted.places, mapped))
        return not distinct
    return dict.__eq__(Counter(_keyed(gold.places, gold.columns)), Counter(_keyed(predicted.places, mapped)))


def _keyed(places: Sequence[int], columns: Sequence[Column]) -> Iterable[tuple[Key, ...]]:
    """The rows, preceded by their positions if these differ."""
    if columns and isinstance(places, NoPlaces):
        return zip(*columns, strict=True)
    return zip(places, *columns, strict=True)


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


def contained_rows(gold: Side, predicted: Side, mapping: Mapping) -> bool:
    """Whether the predicted rows occur among the gold rows (per position), each at most as often, under this
    mapping."""
    ours = Counter(_keyed(gold.places, gold.columns))
    theirs = Counter(_keyed(predicted.places, [predicted.columns[column] for column in mapping]))
    return all(ours[row] >= count for row, count in theirs.items())


def find_mapping(
    gold: Searched,
    predicted: Searched,
    *,
    verify: Verify | None = None,
    allow: Allow | None = None,
    twins: Sequence[int] | None = None,
    budget: Budget | None = None,
) -> Mapping | None:
    """Map each gold column to a different predicted column so that the rows are equal as bags, per position.

    There may be more predicted than gold columns. Returns None if there is no such mapping; raises BudgetSpent if this
    could not be determined. ``verify`` has the last word over a complete mapping (default: compare the rows). If it
    distinguishes more than these keys do, ``twins`` says which predicted columns it treats as equal (see
    `twins_among`).
    """
    if gold.row_count != predicted.row_count or len(gold.columns) > len(predicted.columns):
        return None
    candidates = _candidates(gold, predicted)
    if candidates is not None and allow is not None:
        candidates = [[option for option in found if allow(column, option)] for column, found in enumerate(candidates)]
    if candidates is None or not all(candidates):
        return None
    accept = verify or (lambda mapping: gold.same_rows(predicted, mapping))
    if all(len(options) == 1 for options in candidates):
        only = tuple(options[0] for options in candidates)
        return only if len(set(only)) == len(only) and accept(only) else None
    if twins is None:
        twins = predicted.twins()
    return _search(gold, predicted, candidates=candidates, accept=accept, twins=twins, budget=budget or Budget())


def _search(
    gold: Searched,
    predicted: Searched,
    *,
    candidates: list[list[int]],
    accept: Verify,
    twins: Sequence[int],
    budget: Budget,
) -> Mapping | None:
    """Search column by column, which nearly always ends soon; if it does not, by the colours of columns."""
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


def _candidates(gold: Searched, predicted: Searched) -> list[list[int]] | None:
    found: list[list[int]] = []
    ours, theirs = gold.fingerprints(), predicted.fingerprints()
    if any(theirs.count(fingerprint) > 1 for fingerprint in ours):
        # Columns with the same values are distinguished by how often these occur.
        ours, theirs = gold.fingerprints(counted=True), predicted.fingerprints(counted=True)
    for index, fingerprint in enumerate(ours):
        options = [option for option, other in enumerate(theirs) if other == fingerprint]
        if not options:
            return None
        # The same position first: most answers have the gold query order.
        found.append(sorted(options, key=lambda option: (option != index, option)))
    return found


class _Search:
    def __init__(
        self,
        gold: Searched,
        predicted: Searched,
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
        # The most distinctive columns first, so that wrong choices show early.
        self.order = sorted(
            range(len(gold.columns)), key=lambda column: (len(candidates[column]), -gold.distinct_count(column))
        )
        self.gold_hashes: list[int] = []
        self._gold_prefix = gold.first_prefix()
        self.twins = twins

    def run(self) -> Mapping | None:
        """Depth first, without recursion: columns may be many."""
        chosen: list[int] = []
        prefixes = [self.predicted.first_prefix()]
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
            prefix = self._extended(self.predicted, prefixes[-1], option)
            if self.predicted.total(prefix) != self._gold_hash(depth):
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

    def _extended(self, side: Searched, prefix: Any, column: int) -> Any:
        self.budget.spend(side.row_count + _STEP)
        return side.extended(prefix, column)

    def _gold_hash(self, depth: int) -> int:
        while len(self.gold_hashes) <= depth:
            column = self.order[len(self.gold_hashes)]
            self._gold_prefix = self._extended(self.gold, self._gold_prefix, column)
            self.gold_hashes.append(self.gold.total(self._gold_prefix))
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


def key_rows(columns: Sequence[Column]) -> list[tuple[Key, ...]]:
    """The rows of these columns of keys."""
    return list(zip(*columns, strict=True))
