"""Spider 2.0-lite's comparison of result tables, as in its evaluation script, known flaws included.

Columns are matched one by one, so rows need not stay aligned and one predicted column may serve
two gold columns; NULL is taken as 0; numbers agree within an absolute 0.01.

Cells of CSV are read as pandas does when nothing is told of them, since the script reads files by it: blank lines are
no rows, a number of words are NaN (here None), and a column is of whole numbers, floats, truth values or text, the
first of which fits all its cells (pandas' `read_csv`). Whole numbers beyond 64 bits, which its versions read
differently, are numbers here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, time
from functools import partial
from itertools import chain
from math import isclose, isnan
from operator import ne
from typing import ClassVar, TypeAlias

from msgspec.structs import replace

from assay.comparison.codes.shared import same_lists
from assay.metrics.base import ResultMetric, by_codes
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


_ABSENT = frozenset(
    (
        *("", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "-NaN", "-nan"),
        *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "1.#IND", "1.#QNAN"),
    )
)
_WHOLE = re.compile(r"\s*[-+]?\d+\s*", re.ASCII)
_FLOAT = re.compile(
    r"\s*[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|inf(?:inity)?)\s*",
    re.ASCII | re.IGNORECASE,
)
_TRUTH = {word: word.lower() == "true" for word in ("True", "TRUE", "true", "False", "FALSE", "false")}
_LONGEST = 400
_MIDNIGHT = time()

_Column: TypeAlias = list[Cell]


def read_by_pandas(case: Case, prediction: Prediction, executions: Executions) -> Executions:
    """The executions as a script sees them that reads both sides from CSV, to which it writes what a query returned.

    They are as they are where gold is no CSV, or the answer is rows with types.
    """
    given, predicted = prediction.result, executions.predicted
    if predicted is None or predicted.result is None or (given is not None and given.cells != "text"):
        return executions
    if len(case.results) != len(executions.golds) or any(gold.cells != "text" for gold in case.results):
        return executions
    golds = [
        gold if gold.result is None else replace(gold, result=pandas_result(source.result()))
        for gold, source in zip(executions.golds, case.results, strict=True)
    ]
    theirs = written_by_pandas(predicted.result) if given is None else given.result()
    read = replace(predicted, result=pandas_result(theirs))
    return replace(executions, golds=tuple(golds), predicted=read)


def written_by_pandas(result: Result) -> Result:
    """The result of a query as the texts that pandas writes to CSV (`DataFrame.to_csv`)."""
    columns = [_written_column(column) for column in zip(*result.rows, strict=True)]
    return replace(result, rows=tuple(zip(*columns, strict=True)))


def _written_column(column: Sequence[Cell]) -> list[str]:
    """The cells as texts. Timestamps without a zone are all as fine as the finest: at midnight they are dates."""
    moments = [cell for cell in column if isinstance(cell, datetime) and cell.tzinfo is None]
    if not moments or len(moments) + sum(cell is None for cell in column) < len(column):
        return list(map(_written, column))
    if all(moment.time() == _MIDNIGHT for moment in moments):
        return [cell.date().isoformat() if isinstance(cell, datetime) else "" for cell in column]
    parts = [moment.microsecond for moment in moments]
    finest = "seconds" if not any(parts) else "microseconds" if any(part % 1000 for part in parts) else "milliseconds"
    return [cell.isoformat(" ", finest) if isinstance(cell, datetime) else "" for cell in column]


def _written(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and isnan(cell)):
        return ""
    return cell if isinstance(cell, str) else str(cell)


def pandas_result(result: Result) -> Result:
    """A result of texts as pandas reads it; a cell that is None is a blank line."""
    rows = [row for row in result.rows if len(row) != 1 or not _is_blank_line(row[0])]
    columns = [_column([_present(cell) for cell in column]) for column in zip(*rows, strict=True)]
    kinds = [set(map(type, column)) for column in columns]
    floats = [each <= {float, type(None)} for each in kinds]
    if any(floats) and all(is_float or each == {int} for is_float, each in zip(floats, kinds, strict=True)):
        # One array of numbers has one type.
        columns = [[float(cell) if isinstance(cell, int) else cell for cell in column] for column in columns]
    return replace(result, rows=tuple(zip(*columns, strict=True)))


def _is_blank_line(cell: Cell) -> bool:
    return cell is None or (isinstance(cell, str) and cell != "" and not cell.strip(" \t"))


def _present(cell: Cell) -> str | None:
    return None if cell is None or cell in _ABSENT else str(cell)


def _column(cells: Sequence[str | None]) -> _Column:
    texts = [cell for cell in cells if cell is not None]
    if all(len(text) <= _LONGEST and _FLOAT.fullmatch(text) for text in texts):
        if len(texts) < len(cells) or not all(map(_WHOLE.fullmatch, texts)):
            return _each(cells, float)
        return _each(cells, int)
    if all(text in _TRUTH for text in texts):
        return _each(cells, _TRUTH.__getitem__)
    return list(cells)


def _each(cells: Sequence[str | None], read: Callable[[str], Cell]) -> _Column:
    return [None if cell is None else read(cell) for cell in cells]
