"""Find a mapping of columns under which two results have the same rows, within tolerance.

First the cells themselves are compared, then the clusters of numbers within tolerance; if these do not decide, rows are
paired one to one.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

from msgspec import Struct

from assay.comparison.budget import Budget
from assay.comparison.cells import Column
from assay.comparison.contained import find_contained_mapping
from assay.comparison.pairing import Pairing, may_hold_floats
from assay.comparison.permutation import (
    Allow,
    Mapping,
    Side,
    Verify,
    contained_rows,
    find_mapping,
    same_rows,
    twins_among,
)
from assay.comparison.tolerance import Clusters, cluster_numbers, is_nested
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
        """Whether each gold column without numbers has an equal counterpart: most mismatches end here."""
        theirs: list[Column] = [column for column in self.predicted.columns if not _may_hold_numbers(column)]
        for mine in self.gold.columns:
            if _may_hold_numbers(mine):
                continue
            if self.contained:
                if not any(set(mine).issuperset(other) for other in theirs):
                    return False
            else:
                counts = Counter(mine)
                if not any(dict.__eq__(counts, Counter(other)) for other in theirs):
                    return False
        return True

    def holds_in_place(self) -> bool:
        """Whether the columns agree in their present order, within tolerance: checked first, because it is fast and
        usually true.

        Only columns that meet a float are clustered, each with its counterpart. False, too, if clusters do not decide.
        """
        ours, theirs = list(self.gold.columns), list(self.predicted.columns)
        if len(ours) != len(theirs) or (not self.contained and self.gold.row_count != self.predicted.row_count):
            return False
        for column, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            if not (may_hold_floats(mine) or may_hold_floats(other)):
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


def _may_hold_numbers(column: Column) -> bool:
    """Whether some cell is a number, or may hold one inside."""
    return any(issubclass(kind, (int, float, Decimal, tuple)) for kind in set(map(type, column)))


def _typed(column: Column) -> Column:
    """The column with keys that are equal only if their types are equal, too."""
    return [(type(key), repr(key) if is_nested(key) else key) for key in column]
