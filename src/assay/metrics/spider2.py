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

from assay.metrics.base import ResultMetric, befallen, same_bag_and_texts, unscored
from assay.metrics.pandas_cells import pandas_result, written_by_pandas
from assay.model import Case, Cell, Comparison, Execution, GivenResult, Prediction, Result, Score
from assay.ports import Executions

TOLERANCE = 0.01
_NUMBERS = frozenset({int, float, bool})
_close = partial(isclose, abs_tol=TOLERANCE)


_EMPTY_IS_WRONG = frozenset({"bigquery", "snowflake"})
"""The engines whose empty results the script scores 0."""


class Spider2Lite(ResultMetric):
    """1 if each of the gold query's (condition) columns is found among the predicted columns as a vector, else 0.

    Extra predicted columns are fine. ``CaseOptions.condition_columns`` and ``ignore_order`` apply. If gold comes from
    CSV, the score is the script's. It writes to CSV what a query returned, and reads both sides by pandas. It tries
    the results one after the other until one matches, and its errors score 0: no result, a table that cannot be read,
    a missing column, fewer lists of columns than results. ``CaseOptions.script_columns`` has the columns
    that it takes if these are others than what is written, or if a result is unusable for `match`.
    """

    name: ClassVar[str] = "spider2_lite"
    scores_unusable_gold: ClassVar[bool] = True
    meaning: ClassVar[str] = "Spider 2.0-lite: the gold query's columns found among the predicted ones"
    default_place: ClassVar[int] = 6

    def score(self, case: Case, prediction: Prediction, executions: Executions, comparison: Comparison | None) -> Score:
        """The script's score if all is CSV, else the best score over the gold queries that ran."""
        given, ran = prediction.result, executions.predicted
        if not _is_of_script(case, executions) or (
            given is not None and given.failure is None and given.cells != "text"
        ):
            return super().score(case, prediction, executions, comparison)
        if given is not None:
            predicted = None if _is_unreadable(given) else given.result()
        elif ran is None or not ran.succeeded or ran.result is None:
            if failure := befallen(prediction, ran):
                return unscored(self.name, failure)
            predicted = None
        else:
            is_wrong = not ran.result.rows and case.engine in _EMPTY_IS_WRONG
            predicted = None if is_wrong else written_by_pandas(ran.result)
        score = 0.0 if predicted is None else _of_script(case, pandas_result(predicted))
        return Score(metric=self.name, value=score)

    def of_results(self, case: Case, gold_index: int, gold: Result, predicted: Execution) -> float:
        """The gold query's columns against the predicted ones."""
        if predicted.result is None:
            return 0.0
        wanted = [column for column in case.counting(gold_index) if column < gold.column_count]
        return _columns_found(gold, predicted.result, wanted, ignore_order=case.options.ignore_order)


def _is_of_script(case: Case, executions: Executions) -> bool:
    """Whether the script has a score for the case's gold: it knows no gold but result files."""
    if case.options.script_columns is not None:
        return True
    if not case.results or case.golds or not any(gold.succeeded for gold in executions.golds):
        return False
    return all(gold.cells == "text" for gold in case.results if gold.failure is None)


def _of_script(case: Case, predicted: Result) -> float:
    """The script's score of a table that it has read."""
    chosen = case.options.script_columns
    if chosen is None:
        chosen = tuple(case.counting(index) for index in range(len(case.results)))
    for gold, columns in zip(case.results, chosen, strict=False):
        if columns is None or _is_unreadable(gold):
            return 0.0
        try:
            table = pandas_result(gold.result(), columns)
        except IndexError:
            return 0.0
        if _columns_found(table, predicted, (), ignore_order=case.options.ignore_order):
            return 1.0
    return 0.0


def _is_unreadable(result: GivenResult) -> bool:
    """Whether pandas cannot read the table either: what it can read has columns, whatever is wrong with it."""
    return result.failure is not None and not result.columns


def _columns_found(gold: Result, predicted: Result, wanted: Sequence[int], *, ignore_order: bool) -> float:
    """1 if each of the gold query's (wanted) columns is one of the predicted ones, else 0."""
    if gold.rows and gold.rows == predicted.rows:
        return 1.0
    if ignore_order and same_bag_and_texts(gold.rows, predicted.rows):
        return 1.0
    columns = list(wanted or range(gold.column_count))
    theirs, ours = _vectors(predicted), _vectors(gold)
    ours = [ours[column] for column in columns]
    if not ignore_order:
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
