"""Spider 2.0-lite's comparison of result tables, as in its evaluation script, known flaws included.

Columns are matched one by one, so rows need not stay aligned and one predicted column may serve
two gold columns; NULL is taken as 0; numbers agree within an absolute 0.01.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from math import isclose, isnan
from operator import ne
from typing import ClassVar

from assay.comparison.codes.shared import same_lists
from assay.metrics.base import ResultMetric, by_codes
from assay.metrics.pandas_cells import read_by_pandas
from assay.model import Case, Cell, Comparison, Execution, Prediction, Result, Score
from assay.ports import Executions

TOLERANCE = 0.01
_NUMBERS = frozenset({int, float, bool})
_close = partial(isclose, abs_tol=TOLERANCE)


class Spider2Lite(ResultMetric):
    """1 where each of gold's (condition) columns is found among the predicted columns as a vector, else 0.

    Extra predicted columns are fine. ``CaseOptions.condition_columns`` and ``ignore_order`` apply. Where gold comes
    from CSV, the cells of both sides are read as by pandas, which the script uses, and not as for verdicts: it writes
    to CSV what a query returned, too.
    """

    name: ClassVar[str] = "spider2_lite"
    scores_text: ClassVar[bool] = True
    meaning: ClassVar[str] = "Spider 2.0-lite: gold's columns found among the predicted ones"
    default_place: ClassVar[int] = 6

    def score(self, case: Case, prediction: Prediction, executions: Executions, comparison: Comparison | None) -> Score:
        """The best score over the golds that ran."""
        return super().score(case, prediction, read_by_pandas(case, prediction, executions), comparison)

    def of_results(self, case: Case, gold_index: int, gold: Result, predicted: Execution) -> float:
        """Gold's columns against the predicted ones."""
        if predicted.result is not None and gold.rows and same_lists(gold.rows, predicted.result.rows):
            return 1.0
        conditions = case.options.condition_columns
        wanted = conditions[gold_index] if gold_index < len(conditions) else ()
        columns = [column for column in wanted or range(gold.column_count) if column < gold.column_count]
        rows = predicted.result.rows if predicted.result else ()
        if case.options.ignore_order and (large := by_codes(gold.rows, rows, as_python=False)):
            columns = [column for column in columns if not large.has_alike(column)]
            if not columns:
                return 1.0
        theirs = _vectors(predicted.result) if predicted.result else []
        ours = _vectors(gold)
        ours = [ours[column] for column in columns]
        if not case.options.ignore_order:
            return float(all(any(_vectors_match(one, two) for two in theirs) for one in ours))
        sides = [_Unordered(vectors) for vectors in (ours, theirs)]
        # Sorting takes long, and mostly the column at the same place is the one.
        places = [sorted(range(len(theirs)), key=partial(ne, column)) for column in columns]
        return float(
            all(any(sides[0].matches(one, sides[1], two) for two in options) for one, options in enumerate(places))
        )


class _Unordered:
    """Columns whose order does not count, each sorted at most once."""

    def __init__(self, vectors: Sequence[Sequence[Cell]]) -> None:
        self.vectors = vectors
        self._sorted: dict[int, Sequence[Cell]] = {}

    def sorted(self, column: int) -> Sequence[Cell]:
        """The column sorted by text, as by the script; of equal texts the cells that are not numbers first."""
        if column not in self._sorted:
            vector = self.vectors[column]
            if len({issubclass(kind, (int, float)) for kind in set(map(type, vector))}) <= 1:
                self._sorted[column] = sorted(vector, key=str)
            else:
                self._sorted[column] = sorted(vector, key=lambda cell: (str(cell), isinstance(cell, (int, float))))
        return self._sorted[column]

    def matches(self, column: int, other: _Unordered, column_of_other: int) -> bool:
        """Whether two columns are the same vector, sorted."""
        if len(self.vectors[column]) != len(other.vectors[column_of_other]):
            return False
        return _vectors_match(self.sorted(column), other.sorted(column_of_other))


def _vectors(result: Result) -> list[Sequence[Cell]]:
    if not result.rows:
        return [() for _ in result.columns]
    return [_nulls_as_zeros(column) for column in zip(*result.rows, strict=True)]


def _nulls_as_zeros(column: Sequence[Cell]) -> Sequence[Cell]:
    types = set(map(type, column))
    if type(None) not in types and not (float in types and any(map(ne, column, column))):
        return column
    return [0 if cell is None or (isinstance(cell, float) and isnan(cell)) else cell for cell in column]


def _vectors_match(gold: Sequence[Cell], predicted: Sequence[Cell]) -> bool:
    if len(gold) != len(predicted):
        return False
    if set(map(type, chain(gold, predicted))) <= _NUMBERS:
        with suppress(OverflowError):
            return all(map(_close, gold, predicted))
    return all(map(_cells_match, gold, predicted))


def _cells_match(gold: Cell, predicted: Cell) -> bool:
    if isinstance(gold, (int, float)) and isinstance(predicted, (int, float)):
        try:
            return _close(gold, predicted)
        except OverflowError:
            return gold == predicted
    return gold == predicted
