"""Spider 2.0-lite's comparison of result tables, as its evaluation script makes it, known flaws included.

Columns are matched one by one, so rows need not stay aligned and one predicted column may serve
two gold columns; NULL is taken as 0; numbers agree within an absolute 0.01.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose, isnan
from typing import ClassVar

from assay.metrics.base import ResultMetric
from assay.model import Case, Cell, Execution, Result

TOLERANCE = 0.01


class Spider2Lite(ResultMetric):
    """1 where each of gold's (condition) columns is found among the predicted columns as a vector, else 0.

    Extra predicted columns are fine. ``CaseOptions.condition_columns`` and ``ignore_order`` apply.
    """

    name: ClassVar[str] = "spider2_lite"
    label: ClassVar[str] = "Spider 2.0-lite"

    def of_results(self, case: Case, gold_index: int, gold: Result, predicted: Execution) -> float:
        """Gold's columns against the predicted ones."""
        if predicted.result is not None and gold.rows == predicted.result.rows and gold.rows:
            return 1.0
        theirs = _vectors(predicted.result) if predicted.result else []
        conditions = case.options.condition_columns
        wanted = conditions[gold_index] if gold_index < len(conditions) else ()
        ours = _vectors(gold)
        ours = [ours[column] for column in wanted if column < len(ours)] if wanted else ours
        ignore_order = case.options.ignore_order
        if ignore_order:
            ours, theirs = [_as_text_sorted(one) for one in ours], [_as_text_sorted(two) for two in theirs]
        return float(all(any(_vectors_match(one, two) for two in theirs) for one in ours))


def _vectors(result: Result) -> list[list[Cell]]:
    if not result.rows:
        return [[] for _ in result.columns]
    return [[_null_as_zero(cell) for cell in column] for column in zip(*result.rows, strict=True)]


def _null_as_zero(cell: Cell) -> Cell:
    return 0 if cell is None or (isinstance(cell, float) and isnan(cell)) else cell


def _as_text_sorted(vector: Sequence[Cell]) -> list[Cell]:
    return sorted(vector, key=lambda cell: (cell is None, str(cell), isinstance(cell, (int, float))))


def _vectors_match(gold: Sequence[Cell], predicted: Sequence[Cell]) -> bool:
    return len(gold) == len(predicted) and all(_cells_match(a, b) for a, b in zip(gold, predicted, strict=True))


def _cells_match(gold: Cell, predicted: Cell) -> bool:
    if isinstance(gold, (int, float)) and isinstance(predicted, (int, float)):
        try:
            return isclose(float(gold), float(predicted), abs_tol=TOLERANCE)
        except OverflowError:
            return gold == predicted
    return gold == predicted
