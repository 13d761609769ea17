"""Read the cells of CSV as pandas does when nothing is told of them, for metrics whose scripts read files by it.

Blank lines are no rows, a number of words are NaN (here None), and a column is of whole numbers, floats, truth values
or text, the first of which fits all its cells (pandas' `read_csv`). Whole numbers beyond 64 bits, which its versions
read differently, are numbers here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, time
from math import isnan
from typing import TypeAlias

from msgspec.structs import replace

from assay.model import Case, Cell, Prediction, Result
from assay.ports import Executions

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
