"""The Denodo AI SDK evaluator's metrics, by its guide (docs/metrics.md says which choices are ours)."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import ClassVar

from assay.comparison.cells import Key, key_of
from assay.metrics.base import ResultMetric
from assay.metrics.match import Match
from assay.model import Case, Comparison, Execution, Prediction, Result, Row, Score
from assay.ports import Executions


class ResultsMatch(Match):
    """1 where the results are the same answer with the columns in gold's order, else 0.

    The comparison prefers gold's own column order wherever that makes the rows equal, so its
    mapping tells, also where `match` leaves the order free.
    """

    name: ClassVar[str] = "results_match"
    label: ClassVar[str] = "Results Match"

    def score(
        self, case: Case, prediction: Prediction, executions: Executions, comparison: Comparison | None
    ) -> Score:
        """As `match`, columns in place."""
        score = super().score(case, prediction, executions, comparison)
        if comparison is None or not score.value:
            return score
        in_place = comparison.column_mapping == tuple(range(len(comparison.column_mapping)))
        return Score(metric=self.name, value=float(in_place))


class SameRowCount(ResultMetric):
    """1 where gold and prediction return equally many rows, else 0."""

    name: ClassVar[str] = "same_row_count"
    label: ClassVar[str] = "Have Same Row Count"

    def of_results(self, case: Case, gold_index: int, gold: Result, predicted: Execution) -> float:  # noqa: ARG002
        """Row counts alone."""
        return float(predicted.result is not None and len(gold.rows) == len(predicted.result.rows))


class PercentSubset(ResultMetric):
    """Mean share of gold's row found in the predicted row of the same index, both as sets.

    A row that only one side has scores 0; both empty score 1. Range 0 to 1.
    """

    name: ClassVar[str] = "percent_subset"
    label: ClassVar[str] = "Percent Subset"
    binary: ClassVar[bool] = False

    def of_results(self, case: Case, gold_index: int, gold: Result, predicted: Execution) -> float:  # noqa: ARG002
        """The mean over row indexes."""
        theirs = predicted.result.rows if predicted.result else ()
        rows = max(len(gold.rows), len(theirs))
        if rows == 0:
            return 1.0
        return sum(_row_share(ours, other) for ours, other in zip(gold.rows, theirs, strict=False)) / rows


def _row_share(gold: Row, predicted: Row) -> float:
    ours, theirs = set(map(_key, gold)), set(map(_key, predicted))
    return len(ours & theirs) / len(ours) if ours else 1.0


class PercentOverlap(ResultMetric):
    """Cells in common over all cells, both results taken as bags of cells, rows ignored.

    Both empty score 1. Range 0 to 1.
    """

    name: ClassVar[str] = "percent_overlap"
    label: ClassVar[str] = "Percent Overlap"
    binary: ClassVar[bool] = False

    def of_results(self, case: Case, gold_index: int, gold: Result, predicted: Execution) -> float:  # noqa: ARG002
        """Jaccard's index of two bags."""
        theirs = predicted.result.rows if predicted.result else ()
        ours_bag = Counter(map(_key, chain.from_iterable(gold.rows)))
        theirs_bag = Counter(map(_key, chain.from_iterable(theirs)))
        union = sum((ours_bag | theirs_bag).values())
        return sum((ours_bag & theirs_bag).values()) / union if union else 1.0


def _key(cell: object) -> Key:
    return key_of(cell, boolean_is_integer=True)
