"""Find a mapping of columns under which two coded results have the same rows, within tolerance.

It works like `assay.comparison.tolerant_mapping`, by arrays. Rows with a number of a loose cluster, which are few, are
passed to that module unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from assay.comparison.budget import Budget, BudgetSpent
from assay.comparison.cells import to_columns
from assay.comparison.codes.coder import CodedColumn
from assay.comparison.codes.layout import Flags
from assay.comparison.codes.near import gathered
from assay.comparison.codes.shared import CodedColumns, coded_columns
from assay.comparison.codes.side import EncodedResult, Mapping, counts_agree
from assay.comparison.permutation import Allow, Side, Verify, find_mapping
from assay.comparison.tolerant_mapping import find_agreement
from assay.model import ComparisonOptions, Row


class CodedPair(Struct, frozen=True, kw_only=True):
    """Two coded results of one shape, with the rows that they were made of."""

    gold: EncodedResult
    predicted: EncodedResult
    rows: tuple[Sequence[Row], Sequence[Row]]
    columns: CodedColumns
    options: ComparisonOptions

    def agreement(self, budget: Budget) -> Mapping | None:
        """A mapping of the gold columns under which the rows are equal, as in `find_agreement`.

        None if there is none. Raises BudgetSpent if this could not be determined.
        """
        found = self._search(self.gold, self.predicted, budget.part(budget.work))
        if found is not None:
            return found
        budget.check_clock()
        if self._holds_in_place(budget):
            return self._identity
        budget.check_clock()
        every = [*self.gold.columns, *self.predicted.columns]
        both = gathered(every, self.columns.known, self.options)
        if both is None:
            return None
        budget.check_clock()
        width = len(self.gold.columns)
        ours = replace(self.gold, columns=both.columns[:width])
        theirs = replace(self.predicted, columns=both.columns[width:])
        if both.loose is None:
            return self._search(ours, theirs, budget)
        verify = partial(self._holds, ours, theirs, (both.loose[:width], both.loose[width:]), budget)
        return self._search(ours, theirs, budget, verify=verify, allow=self._exactly, twins=self._typed_twins())

    @property
    def _identity(self) -> Mapping:
        return tuple(range(len(self.gold.columns)))

    def _search(
        self,
        ours: EncodedResult,
        theirs: EncodedResult,
        budget: Budget,
        *,
        verify: Verify | None = None,
        allow: Allow | None = None,
        twins: list[int] | None = None,
    ) -> Mapping | None:
        identity = self._identity
        # The search tries the gold query order before any other, and most answers have it.
        if verify(identity) if verify else self._same_in_place(ours, theirs):
            return identity
        if self.options.columns == "strict":
            return None
        budget.check_clock()
        return find_mapping(ours, theirs, verify=verify, allow=allow, twins=twins, budget=budget)

    def _same_in_place(self, ours: EncodedResult, theirs: EncodedResult) -> bool:
        if ours is not self.gold or ours.places is not None:
            return ours.same_rows(theirs, self._identity)
        if ours.row_count != theirs.row_count or ours.fingerprints() != theirs.fingerprints():
            return False
        # The metrics will need the same numbers.
        numbers = self.columns.row_numbers(ours.row_count, theirs.row_count)
        return numbers is not None and counts_agree(*numbers)

    def _holds_in_place(self, budget: Budget) -> bool:
        """Whether the columns agree in their present order, within tolerance."""
        ours, theirs = list(self.gold.columns), list(self.predicted.columns)
        loose: tuple[list[Flags], list[Flags]] = ([], [])
        totals = self.gold.fingerprints(), self.predicted.fingerprints()
        for column, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            # Equal bags usually need no clusters; if they do, the search finds out.
            if totals[0][column] == totals[1][column] or not (mine.any_floats or other.any_floats):
                continue
            both = gathered([mine, other], self.columns.known, self.options)
            if both is not None:
                ours[column], theirs[column] = both.columns
                if both.loose is not None:
                    loose[0].append(both.loose[0])
                    loose[1].append(both.loose[1])
            # One column with other values is enough: most mismatches end here.
            if ours[column].total != theirs[column].total:
                return False
            budget.check_clock()
        one, two = replace(self.gold, columns=ours), replace(self.predicted, columns=theirs)
        return self._holds(one, two, loose, budget, self._identity, in_place=True)

    def _holds(
        self,
        ours: EncodedResult,
        theirs: EncodedResult,
        loose: tuple[Sequence[Flags], Sequence[Flags]],
        budget: Budget,
        mapping: Mapping,
        *,
        in_place: bool = False,
    ) -> bool:
        """Whether the rows are equal by their clusters, and those with loose clusters can be paired one to one."""
        if not ours.same_rows(theirs, mapping):
            return False
        if not any(map(np.any, loose[0])) and not any(map(np.any, loose[1])):
            return True
        gold = np.flatnonzero(np.logical_or.reduce(loose[0]))
        predicted = np.flatnonzero(np.logical_or.reduce(loose[1]))
        if len(gold) != len(predicted):
            return False
        sides = self._few(0, gold.tolist(), self._identity), self._few(1, predicted.tolist(), mapping)
        settings = replace(self.options, columns="strict")
        try:
            return find_agreement(*sides, settings, budget.part(budget.work) if in_place else budget) is not None
        except BudgetSpent as spent:
            if spent.out_of_time or not in_place:
                raise
            return False  # the search will reach this order again

    def _few(self, which: int, places: list[int], mapping: Mapping) -> Side:
        """Some rows of one side as keys, with columns in the gold query order."""
        coded = (self.gold, self.predicted)[which]
        rows = [self.rows[which][place] for place in places]
        keys, _ = to_columns(rows, len(mapping), boolean_is_integer=self.options.boolean_is_integer)
        fixed = [0] * len(rows) if coded.places is None else coded.places[places].tolist()
        return Side(columns=[keys[column] for column in mapping], places=fixed)

    def _exactly(self, column: int, option: int) -> bool:
        """Whether two columns may correspond: without floats they must hold the same values equally often."""
        ours, theirs = self.gold.columns[column], self.predicted.columns[option]
        if ours.any_floats or theirs.any_floats:
            return True
        return bool((np.sort(ours.codes) == np.sort(theirs.codes)).all())

    def _typed_twins(self) -> list[int]:
        """For each predicted column, the first one with the same numbers of the same types."""
        columns = self.predicted.columns
        return [next(first for first, other in enumerate(columns) if _same(one, other)) for one in columns]


def coded_pair(
    gold: Sequence[Row], predicted: Sequence[Row], width: int, counts: Sequence[int], options: ComparisonOptions
) -> CodedPair | None:
    """Two results of ``width`` columns as codes; None if cells contain other cells, which may include floats.

    ``counts``: the number of rows per position; with one position, order does not matter.
    """
    found = coded_columns(gold, predicted, (width, width), boolean_is_integer=options.boolean_is_integer)
    if found.nested:
        return None
    places = np.repeat(np.arange(len(counts), dtype=np.uint64), counts) if len(counts) > 1 else None
    return CodedPair(
        gold=EncodedResult(columns=found.gold, row_count=len(gold), places=places),
        predicted=EncodedResult(columns=found.predicted, row_count=len(predicted), places=places),
        rows=(gold, predicted),
        columns=found,
        options=options,
    )


def _same(one: CodedColumn, two: CodedColumn) -> bool:
    return np.array_equal(one.codes, two.codes) and (
        one is two or np.array_equal(one.is_float(), two.is_float()) or not (one.any_floats or two.any_floats)
    )
