"""The Denodo AI SDK evaluator's metrics, by its guide (`assay docs metrics` says which choices are ours)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain, repeat
from typing import ClassVar

from assay.comparison.cells import Column, to_columns
from assay.comparison.tolerance import cluster_numbers
from assay.metrics.base import ResultMetric, same_bag_and_texts, unscorable, unscored
from assay.metrics.bird import BirdSoftF1, soft_precision
from assay.metrics.match import Match
from assay.model import Case, Comparison, ComparisonOptions, Execution, Prediction, Result, Score
from assay.ports import Executions


class ResultsMatch(Match):
    """1 if the results are the same answer with the columns in the gold query's order, else 0.

    The comparison prefers the gold query's own column order wherever that makes the rows equal, so its
    mapping shows the order even if `match` leaves it free.
    """

    name: ClassVar[str] = "results_match"
    meaning: ClassVar[str] = "Denodo: match, with columns in the gold query's order"
    guide_column: ClassVar[str] = "Results Match"
    default_place: ClassVar[int] = 7

    def score(self, case: Case, prediction: Prediction, executions: Executions, comparison: Comparison | None) -> Score:
        """As `match`, with columns in the gold query's order."""
        score = super().score(case, prediction, executions, comparison)
        if comparison is None or not score.value:
            return score
        in_place = comparison.column_mapping == tuple(range(len(comparison.column_mapping)))
        return Score(metric=self.name, value=float(in_place))


class SameRowCount(ResultMetric):
    """1 if gold and prediction return equally many rows, else 0."""

    name: ClassVar[str] = "same_row_count"
    meaning: ClassVar[str] = "Denodo: as many rows as the gold query"
    guide_column: ClassVar[str] = "Have Same Row Count"
    default_place: ClassVar[int] = 8

    def of_results(self, case: Case, gold_index: int, gold: Result, predicted: Execution) -> float:  # noqa: ARG002
        """Compare the row counts."""
        return float(predicted.result is not None and len(gold.rows) == len(predicted.result.rows))


class SameColumnCount(ResultMetric):
    """1 if gold and prediction return equally many columns, else 0.

    The Data Catalog names no columns of an empty result: if only one side is empty and without columns, there is
    no score.
    """

    name: ClassVar[str] = "same_column_count"
    meaning: ClassVar[str] = "Denodo: as many columns as the gold query"
    guide_column: ClassVar[str] = "Have Same Column Count"

    def score(self, case: Case, prediction: Prediction, executions: Executions, comparison: Comparison | None) -> Score:
        """As the other result metrics, but without a score if a result's columns are unknown."""
        results = [execution.result for execution in (*executions.golds, executions.predicted) if execution]
        untold = [result is not None and not result.columns and not result.rows for result in results]
        if any(untold) and not all(untold) and executions.predicted is not None and executions.predicted.succeeded:
            return unscored(self.name, unscorable("engine", "an empty result came without its columns' names"))
        return super().score(case, prediction, executions, comparison)

    def of_results(self, case: Case, gold_index: int, gold: Result, predicted: Execution) -> float:  # noqa: ARG002
        """Compare the column counts."""
        return float(predicted.result is not None and gold.column_count == predicted.result.column_count)


class PercentSubset(ResultMetric):
    """Mean share of the gold query's row found in the predicted row of the same index, both as sets.

    A row that only one side has scores 0; two empty results score 1. Range 0 to 1. Cells are equal by the
    rules of `match`, tolerance included, so that equal rows score 1.
    """

    name: ClassVar[str] = "percent_subset"
    meaning: ClassVar[str] = "Denodo: share of each gold row found in the row at its position"
    guide_column: ClassVar[str] = "Subsetting Percentage"
    default_place: ClassVar[int] = 9
    binary: ClassVar[bool] = False

    def of_results(self, case: Case, gold_index: int, gold: Result, predicted: Execution) -> float:  # noqa: ARG002
        """The mean over row indexes."""
        if predicted.result is not None and gold.rows == predicted.result.rows:
            return 1.0
        rows = predicted.result.rows if predicted.result else ()
        most = max(len(gold.rows), len(rows))
        ours, theirs = _as_keys(gold, predicted)
        clusters = cluster_numbers([*ours, *theirs], ComparisonOptions())
        if clusters:
            ours, theirs = clusters.apply(ours), clusters.apply(theirs)
        shares = []
        for one, two in zip(zip(*ours, strict=True), zip(*theirs, strict=True), strict=False):
            wanted = set(one)
            shares.append(1.0 if one == two or not wanted else len(wanted.intersection(two)) / len(wanted))
        return sum(shares) / most


class PercentOverlap(ResultMetric):
    """Cells in common over all cells, both results taken as bags of cells, rows ignored.

    Two empty results score 1. Range 0 to 1. Cells are equal by the rules of `match`, tolerance included.
    """

    name: ClassVar[str] = "percent_overlap"
    meaning: ClassVar[str] = "Denodo: cells in common, rows ignored"
    guide_column: ClassVar[str] = "Percent Overlap"
    default_place: ClassVar[int] = 10
    binary: ClassVar[bool] = False

    def of_results(self, case: Case, gold_index: int, gold: Result, predicted: Execution) -> float:  # noqa: ARG002
        """Jaccard's index of two bags."""
        rows = predicted.result.rows if predicted.result else ()
        if gold.rows == rows or same_bag_and_texts(gold.rows, rows):
            return 1.0
        sides = _as_keys(gold, predicted)
        bags = [Counter(chain.from_iterable(columns)) for columns in sides]
        if bags[0] == bags[1]:
            return 1.0
        clusters = cluster_numbers(chain(*sides), ComparisonOptions())
        if clusters:
            for bag in bags:  # each number counts as its representative
                keys = list(bag)
                for key, standing in zip(keys, clusters.apply([keys])[0], strict=True):
                    if standing is not key and standing != key:
                        bag[standing] += bag.pop(key)
        ours, theirs = bags
        common = sum(map(min, ours.values(), map(theirs.get, ours, repeat(0))))
        union = ours.total() + theirs.total() - common
        return common / union if union else 1.0


class _DenodoPrecision(BirdSoftF1):
    """The precision of the soft F1, by which Denodo's own workbook has both of its percentages. Range 0 to 1.

    Cells are equal as `bird_soft_f1` has them. ``in_place``: columns count in the gold query's order only.
    """

    binary: ClassVar[bool] = False
    in_place: ClassVar[bool]

    def of_results(self, case: Case, gold_index: int, gold: Result, predicted: Execution) -> float:  # noqa: ARG002
        """Found cells over the prediction's cells, row by row."""
        rows = () if predicted.result is None else predicted.result.rows
        return soft_precision(gold.rows, rows, in_place=self.in_place)


class DenodoPercentOverlap(_DenodoPrecision):
    """Percent Overlap as in Denodo's own workbook: columns in the gold query's order."""

    name: ClassVar[str] = "denodo_percent_overlap"
    meaning: ClassVar[str] = "as Denodo's workbook has it: precision of the soft F1, columns in the gold query's order"
    guide_column: ClassVar[str] = "Percent Overlap"
    in_place: ClassVar[bool] = True


class DenodoPercentSubset(_DenodoPrecision):
    """Subsetting Percentage as in Denodo's own workbook: columns in any order."""

    name: ClassVar[str] = "denodo_percent_subset"
    meaning: ClassVar[str] = "as Denodo's workbook has it: precision of the soft F1, columns in any order"
    guide_column: ClassVar[str] = "Subsetting Percentage"
    in_place: ClassVar[bool] = False


def _as_keys(gold: Result, predicted: Execution) -> tuple[Sequence[Column], Sequence[Column]]:
    """The columns of both results as keys."""
    ours = to_columns(gold.rows, gold.column_count, boolean_is_integer=True)[0]
    found = predicted.result
    return ours, [] if found is None else to_columns(found.rows, found.column_count, boolean_is_integer=True)[0]
