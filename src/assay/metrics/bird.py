"""BIRD's metrics, as its mini-dev scripts compute them, quirks included (source: metrics of bird-bench/mini_dev).

Python's own equality decides between cells there: 1 = 1.0 = True, text exactly, no tolerance.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import eq
from typing import ClassVar

from msgspec.structs import replace

from assay.metrics.base import ResultMetric, runs_as_empty
from assay.model import Case, Comparison, Execution, Prediction, Result, Row, Score
from assay.ports import Executions

_FIRST_STATEMENT = re.compile(
    r"""(?>'[^']*' | "[^"]*" | `[^`]*` | \[[^\]]*\] | --[^\n]* | /\*.*?(?:\*/|\Z) | [^;])*+;""", re.DOTALL | re.VERBOSE
)
_NOTHING = re.compile(r"(?>[ \t\f\n\r;\ufeff]|--[^\n]*|/\*.*?(?:\*/|\Z))*+", re.DOTALL)
_BLANK = re.compile(r"(?>[ \t\f\n\r]|--[^\n]*|/\*.*?(?:\*/|\Z))*+", re.DOTALL)


class _BirdMetric(ResultMetric):
    def score(self, case: Case, prediction: Prediction, executions: Executions, comparison: Comparison | None) -> Score:
        """As other result metrics, but a gold that fails only in the scripts makes the answer wrong, as there."""
        golds = executions.golds
        if any([gold.succeeded and _fails_there(gold) for gold in golds]):  # noqa: C419 - every case passes here
            golds = tuple(gold for gold in golds if gold.succeeded and not _fails_there(gold))
            if not golds:
                return Score(metric=self.name, value=0.0)
            executions = replace(executions, golds=golds)
        return super().score(case, prediction, executions, comparison)

    def of_failed(self, case: Case, predicted: Execution | None, golds: Sequence[Result]) -> float:
        """Score some failures as an empty result, as the scripts do; every other failure is 0."""
        if predicted is None or not runs_as_empty(predicted) or _fails_there(predicted):
            return 0.0
        empty = Execution(query=predicted.query, status="empty", result=Result(columns=(), rows=()), row_count=0)
        return max(self.of_results(case, index, gold, empty) for index, gold in enumerate(golds))


class BirdEx(_BirdMetric):
    """BIRD's execution accuracy: 1 if the sets of rows are equal. Duplicates and order do not count."""

    name: ClassVar[str] = "bird_ex"
    meaning: ClassVar[str] = "BIRD: the same set of rows; duplicates and order ignored"
    default_place: ClassVar[int] = 3

    def of_results(self, case: Case, gold_index: int, gold: Result, predicted: Execution) -> float:  # noqa: ARG002
        """Equality of row sets; text that is not valid UTF-8 is an error, as in the scripts."""
        if _fails_there(predicted) or predicted.result is None:
            return 0.0
        if gold.rows == predicted.result.rows:
            return 1.0
        return float(_row_set(predicted.result) == _row_set(gold))


class BirdSoftF1(_BirdMetric):
    """BIRD's soft F1: cells of rows paired by position after duplicates are dropped. Range 0 to 1."""

    name: ClassVar[str] = "bird_soft_f1"
    meaning: ClassVar[str] = "BIRD: soft F1 of the cells, row by row"
    guide_column: ClassVar[str] = "Bird Standard F1"
    default_place: ClassVar[int] = 4
    binary: ClassVar[bool] = False

    def of_results(self, case: Case, gold_index: int, gold: Result, predicted: Execution) -> float:  # noqa: ARG002
        """Precision and recall over cells; 0/0 is 0, and two empty results score 1."""
        if _fails_there(predicted) or predicted.result is None:
            return 0.0
        return soft_f1(gold.rows, predicted.result.rows)


def soft_f1(gold: Sequence[Row], predicted: Sequence[Row]) -> float:
    """Soft F1 of two lists of rows."""
    if gold == predicted:
        return 1.0
    matched, predicted_only, gold_only = _soft_counts(gold, predicted)
    precision = matched / (matched + predicted_only) if matched + predicted_only else 0.0
    recall = matched / (matched + gold_only) if matched + gold_only else 0.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def soft_precision(gold: Sequence[Row], predicted: Sequence[Row], *, in_place: bool = False) -> float:
    """The precision of `soft_f1`. ``in_place``: a cell is found only if the gold query's row has it in the same
    column."""
    if gold == predicted:
        return 1.0
    matched, predicted_only, _ = _soft_counts(gold, predicted, in_place=in_place)
    return matched / (matched + predicted_only) if matched + predicted_only else 0.0


def _soft_counts(
    gold: Sequence[Row], predicted: Sequence[Row], *, in_place: bool = False
) -> tuple[float, float, float]:
    """True positives, false positives and false negatives, each row's cells as shares of the gold query's row."""
    ours, theirs = list(dict.fromkeys(hashable(gold))), list(dict.fromkeys(hashable(predicted)))
    matched = predicted_only = gold_only = 0.0
    for one, two in zip(ours, theirs, strict=False):
        if one == two:
            matched += 1.0
            continue
        width = len(one)
        if in_place:
            found = sum(map(eq, one, two))
            missed = width - found
        else:
            found = sum(cell in one for cell in two)
            missed = sum(cell not in two for cell in one)
        matched += found / width
        predicted_only += (len(two) - found) / width
        gold_only += missed / width
    gold_only += max(len(ours) - len(theirs), 0)
    predicted_only += max(len(theirs) - len(ours), 0)
    return matched, predicted_only, gold_only


def _fails_there(execution: Execution) -> bool:
    """Whether the scripts' driver raises if our engine gives a result."""
    return execution.undecodable_text or _holds_more(execution.query)


def _holds_more(text: str) -> bool:
    """Whether anything other than blanks and comments follows the first statement's semicolon, even another semicolon.

    The scripts' driver takes it for a second statement and refuses the text. Semicolons before
    the first statement are skipped.
    """
    if text.find(";") in (-1, len(text) - 1):
        return False
    start = _NOTHING.match(text)
    first = _FIRST_STATEMENT.match(text, start.end() if start else 0)
    if first is None:
        return False
    rest = _BLANK.match(text, first.end())
    return rest is not None and rest.end() < len(text)


def _row_set(result: Result) -> frozenset[Row]:
    return frozenset(hashable(result.rows))


def hashable(rows: Sequence[Row]) -> Sequence[Row]:
    """The rows, with lists and maps replaced by their text where an engine returns them."""
    try:
        for row in rows[:1]:
            hash(row)
        frozenset(rows)
    except TypeError:
        return [tuple(repr(cell) if isinstance(cell, (list, dict, set)) else cell for cell in row) for row in rows]
    return rows
