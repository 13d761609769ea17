"""BIRD's metrics, as its mini-dev scripts compute them, quirks included (source: metrics of bird-bench/mini_dev).

Python's own equality decides between cells there: 1 = 1.0 = True, text exactly, no tolerance.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from assay.metrics.base import ResultMetric
from assay.model import Case, Execution, Result, Row

_SECOND_SEMICOLON = re.compile(r";\s*;\s*$")
"""The scripts' driver takes an empty statement after the first for a second one, and refuses the text."""


class _BirdMetric(ResultMetric):
    def of_failed(self, case: Case, predicted: Execution | None, golds: Sequence[Result]) -> float:
        """The scripts run a text without any statement as an empty result; every other failure is 0."""
        failure = predicted.failure if predicted is not None else None
        if predicted is None or failure is None or failure.kind != "no_query":
            return 0.0
        empty = Execution(query=predicted.query, status="empty", result=Result(columns=(), rows=()), row_count=0)
        return max(self.of_results(case, index, gold, empty) for index, gold in enumerate(golds))


class BirdEx(_BirdMetric):
    """BIRD's execution accuracy: 1 where the sets of rows are equal. Duplicates and order do not count."""

    name: ClassVar[str] = "bird_ex"
    label: ClassVar[str] = "BIRD EX"

    def of_results(self, case: Case, gold_index: int, gold: Result, predicted: Execution) -> float:  # noqa: ARG002
        """Equality of row sets; text that is not valid UTF-8 is an error there."""
        if _fails_there(predicted) or predicted.result is None:
            return 0.0
        if gold.rows == predicted.result.rows:
            return 1.0
        return float(_row_set(predicted.result) == _row_set(gold))


class BirdSoftF1(_BirdMetric):
    """BIRD's soft F1: cells of rows paired by position after duplicates are dropped. Range 0 to 1."""

    name: ClassVar[str] = "bird_soft_f1"
    label: ClassVar[str] = "BIRD soft F1"
    binary: ClassVar[bool] = False

    def of_results(self, case: Case, gold_index: int, gold: Result, predicted: Execution) -> float:  # noqa: ARG002
        """Precision and recall over cells, 0/0 taken as 0, both empty 1."""
        if _fails_there(predicted) or predicted.result is None:
            return 0.0
        return soft_f1(_hashable(gold.rows), _hashable(predicted.result.rows))


def soft_f1(gold: Sequence[Row], predicted: Sequence[Row]) -> float:
    """Soft F1 of two lists of rows whose cells hash."""
    if gold == predicted:
        return 1.0
    ours, theirs = list(dict.fromkeys(gold)), list(dict.fromkeys(predicted))
    matched = predicted_only = gold_only = 0.0
    for one, two in zip(ours, theirs, strict=False):
        width = len(one)
        found = sum(cell in one for cell in two)
        matched += found / width
        predicted_only += (len(two) - found) / width
        gold_only += sum(cell not in two for cell in one) / width
    gold_only += max(len(ours) - len(theirs), 0)
    predicted_only += max(len(theirs) - len(ours), 0)
    precision = matched / (matched + predicted_only) if matched + predicted_only else 0.0
    recall = matched / (matched + gold_only) if matched + gold_only else 0.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _fails_there(predicted: Execution) -> bool:
    """Whether the scripts' driver would have raised where our engine gave a result."""
    return predicted.undecodable_text or _SECOND_SEMICOLON.search(predicted.query) is not None


def _row_set(result: Result) -> frozenset[Row]:
    return frozenset(_hashable(result.rows))


def _hashable(rows: Sequence[Row]) -> Sequence[Row]:
    """The rows as they are, or with lists and maps as their text where an engine returns such."""
    try:
        for row in rows[:1]:
            hash(row)
        frozenset(rows)
    except TypeError:
        return [tuple(repr(cell) if isinstance(cell, (list, dict, set)) else cell for cell in row) for row in rows]
    return rows
