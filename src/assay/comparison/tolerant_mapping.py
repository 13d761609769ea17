"""Find a mapping of columns under which two results have the same rows, within tolerance.

First the cells themselves are compared, then the clusters of numbers within tolerance; if these do not decide, rows are
paired one to one.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from msgspec import Struct

from assay.comparison.budget import Budget
from assay.comparison.cells import Column, Key
from assay.comparison.contained import find_contained_mapping
from assay.comparison.pairing import Pairing, may_hold_floats
from assay.comparison.permutation import Allow, Verify, find_mapping
from assay.comparison.sides import Mapping, Side, contained_rows, same_rows, twins_among
from assay.comparison.tolerance import Clusters, Number, cluster_numbers, in_range, is_nested, is_number, maybe_close
from assay.model import ComparisonOptions


def find_agreement(
    gold: Side, predicted: Side, options: ComparisonOptions, budget: Budget, *, contained: bool = False
) -> Mapping | None:
    """A mapping of the gold columns under which the predicted rows are the gold rows, per position, within tolerance.

    With ``contained`` there may be more gold rows at a position than predicted ones. There may be more predicted
    columns than gold columns, but not with ``contained``. None if there is no such mapping; raises BudgetSpent if this
    could not be determined.
    """
    search = _Search(gold, predicted, options, contained)
    found = search.run(gold, predicted, budget.part(budget.work))
    if found is not None:
        return found
    budget.check_clock()
    if not search.may_agree():
        return None
    if search.holds_in_place():
        return tuple(range(len(gold.columns)))
    clusters = cluster_numbers([*gold.columns, *predicted.columns], options)
    if clusters is None:
        return None
    budget.check_clock()
    ours = Side(columns=clusters.apply(gold.columns), places=gold.places)
    theirs = Side(columns=clusters.apply(predicted.columns), places=predicted.places)
    if not clusters.loose:
        return search.run(ours, theirs, budget)
    return search.run_loose(ours, theirs, clusters, budget)


class _Search(Struct, frozen=True):
    gold: Side
    predicted: Side
    options: ComparisonOptions
    contained: bool

    def may_agree(self) -> bool:
        """Whether each gold column has a predicted column that may contain its values: most mismatches end here."""
        ours, theirs = _Values.of(self.gold), _Values.of(self.predicted)
        if self.contained:
            return all(any(map(mine.may_contain, theirs)) for mine in ours)
        return all(any(mine.may_equal(other, self.options) for other in theirs) for mine in ours)

    def holds_in_place(self) -> bool:
        """Whether the columns agree in their present order, within tolerance: checked first, because it is fast and
        usually true.

        Only columns that meet a float are clustered, each with its counterpart. False, too, if clusters do not decide.
        """
        ours, theirs = list(self.gold.columns), list(self.predicted.columns)
        if len(ours) != len(theirs) or (not self.contained and self.gold.row_count != self.predicted.row_count):
            return False
        with_floats = [
            may_hold_floats(mine) or may_hold_floats(other) for mine, other in zip(ours, theirs, strict=True)
        ]
        if not self.contained and any(
            mine != other
            for mine, other, floats in zip(self.gold.sets, self.predicted.sets, with_floats, strict=True)
            if not floats
        ):
            return False
        for column, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            if not with_floats[column]:
                continue
            clusters = cluster_numbers([mine, other], self.options)
            if clusters is not None:
                if clusters.loose:
                    return False
                ours[column], theirs[column] = clusters.apply((mine, other))
            # One column with other values is enough: most mismatches end here.
            if not set(ours[column]) >= set(theirs[column]):
                return False
        holds = contained_rows if self.contained else same_rows
        one, two = Side(columns=ours, places=self.gold.places), Side(columns=theirs, places=self.predicted.places)
        return holds(one, two, tuple(range(len(ours))))

    def run(
        self,
        gold: Side,
        predicted: Side,
        budget: Budget,
        *,
        verify: Verify | None = None,
        allow: Allow | None = None,
        twins: list[int] | None = None,
    ) -> Mapping | None:
        identity = tuple(range(len(gold.columns)))
        if self.options.columns == "strict" and len(gold.columns) == len(predicted.columns):
            if verify is None:
                holds = contained_rows if self.contained else same_rows
                return identity if holds(gold, predicted, identity) else None
            return identity if gold.row_count >= predicted.row_count and verify(identity) else None
        find = find_contained_mapping if self.contained else find_mapping
        return find(gold, predicted, verify=verify, allow=allow, twins=twins, budget=budget)

    def run_loose(self, gold: Side, predicted: Side, clusters: Clusters, budget: Budget) -> Mapping | None:
        """Search by loose clusters, pairing rows under each mapping found; columns without floats agree exactly."""
        pairing = Pairing(self.gold, self.predicted, clusters, self.options, budget)
        exact_gold = [not may_hold_floats(column) for column in self.gold.columns]
        exact_predicted = [not may_hold_floats(column) for column in self.predicted.columns]
        ours = [Counter(column) if exact else None for column, exact in zip(self.gold.columns, exact_gold, strict=True)]
        theirs = [
            Counter(column) if exact else None
            for column, exact in zip(self.predicted.columns, exact_predicted, strict=True)
        ]

        def allow(column: int, option: int) -> bool:
            have, need = ours[column], theirs[option]
            return have is None or need is None or need <= have

        # Columns with equal clusters may differ, and 1 is not 1.0 near a float: only identical cells make twins.
        twins = twins_among([_typed(column) for column in self.predicted.columns])
        return self.run(gold, predicted, budget, verify=pairing.complete, allow=allow, twins=twins)


class _Values(Struct, frozen=True, dict=True):
    """The values of one column, regardless of its rows."""

    side: Side
    index: int

    @classmethod
    def of(cls, side: Side) -> list[_Values]:
        """Those of each column."""
        return [cls(side, index) for index in range(len(side.columns))]

    @property
    def column(self) -> Column:
        """The column."""
        return self.side.columns[self.index]

    @cached_property
    def exact(self) -> bool:
        """Whether no float takes part: only identical keys are equal."""
        return not may_hold_floats(self.column)

    @cached_property
    def distinct(self) -> frozenset[Key]:
        """Each value once."""
        return frozenset(self.column)

    @cached_property
    def ends(self) -> tuple[Number, Number] | None:
        """The least and the greatest number; None if there are no numbers."""
        numbers = list(filter(is_number, self.column))
        return (min(numbers), max(numbers)) if numbers else None

    def may_contain(self, other: _Values) -> bool:
        """False only if the other column has a value that this one does not have."""
        return not (self.exact and other.exact) or self.distinct >= other.distinct

    def may_equal(self, other: _Values, options: ComparisonOptions) -> bool:
        """False only if the values of the two cannot be paired one to one.

        Numbers that can be paired at all can be paired in sorted order, so the ends are pairs.
        """
        if self.exact and other.exact:
            return self.side.sets[self.index] == other.side.sets[other.index]
        if self.ends is None or other.ends is None:
            return self.ends is other.ends
        return all(
            one == two or maybe_close(in_range(one), in_range(two), options)
            for one, two in zip(self.ends, other.ends, strict=True)
        )


def _typed(column: Column) -> Column:
    """The column with keys that are equal only if their types are equal, too."""
    return [(type(key), repr(key) if is_nested(key) else key) for key in column]
