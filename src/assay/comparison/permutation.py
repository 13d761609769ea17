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

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from assay.comparison.budget import Budget, BudgetSpent
from assay.comparison.refinement import Refinement
from assay.comparison.sides import Mapping, Side, same_rows, twins_among

_PATIENCE = 8
"""How often the column-by-column search may read all cells of a side."""
_STEP = 50
"""The fixed cost of a step of that search, added to its cells, so that few rows do not allow many steps."""
Verify: TypeAlias = Callable[[Mapping], bool]
Allow: TypeAlias = Callable[[int, int], bool]
"""Whether the gold column may be mapped to that predicted column at all."""


def find_mapping(
    gold: Side,
    predicted: Side,
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
    accept = verify or (lambda mapping: same_rows(gold, predicted, mapping))
    if all(len(options) == 1 for options in candidates):
        only = tuple(options[0] for options in candidates)
        return only if len(set(only)) == len(only) and accept(only) else None
    if twins is None:
        twins = twins_among(predicted.columns)
    return _search(gold, predicted, candidates=candidates, accept=accept, twins=twins, budget=budget or Budget())


def _search(
    gold: Side,
    predicted: Side,
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


def _candidates(gold: Side, predicted: Side) -> list[list[int]] | None:
    found: list[list[int]] = []
    ours, theirs = gold.sets, predicted.sets
    if any(theirs.count(fingerprint) > 1 for fingerprint in ours):
        # Columns with the same values are distinguished by how often these occur.
        ours, theirs = gold.bags(), predicted.bags()
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

    def _extended(self, side: Side, prefix: Any, column: int) -> Any:
        self.budget.spend(side.row_count + _STEP)
        return side.extended(prefix, column)

    def _gold_hash(self, depth: int) -> int:
        while len(self.gold_hashes) <= depth:
            column = self.order[len(self.gold_hashes)]
            self._gold_prefix = self._extended(self.gold, self._gold_prefix, column)
            self.gold_hashes.append(sum(self._gold_prefix))
        return self.gold_hashes[depth]

    def _mapping(self, chosen: list[int]) -> Mapping:
        mapping = [0] * len(chosen)
        for column, option in zip(self.order, chosen, strict=True):
            mapping[column] = option
        return tuple(mapping)
