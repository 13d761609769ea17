"""What a review is about: hashes of the question, of its gold and of a result."""

from __future__ import annotations

import json
from decimal import Decimal
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from assay.model.cases.case import CaseOptions
from assay.model.results.cell_json import cell_to_json

if TYPE_CHECKING:
    from assay.model import Case, Evidence, Result
    from assay.model.results.result import Cell

_BYTES = 12
_EXACT, _DIGITS = 2.0**53, 40
"""Below these a float holds every whole number, and a decimal is written as one."""


def question_hash(case: Case) -> str:
    """A hash of what a system is asked: the question, its context, and the conversation before it."""
    asked = [one.question for one in case.history] + [turn.question for turn in case.turns]
    return _hash([case.question, case.context or "", asked])


def gold_hash(case: Case) -> str:
    """A hash of the gold and of how answers are compared with it; empty where the case has no gold.

    The order of the golds does not count, nor where results were read.
    """
    results = [[one.columns, one.content] for one in case.results]
    targets = [turn.targets for turn in case.turns]
    usual = CaseOptions()
    options = {
        name: value
        for name in CaseOptions.__struct_fields__
        if (value := getattr(case.options, name)) != getattr(usual, name)
    }
    if not (case.golds or results or any(targets) or case.expects != "answer"):
        return ""
    return _hash([case.database or "", sorted(case.golds), results, targets, case.expects, options])


def result_hash(result: Result, *, ordered: bool, any_columns: bool = True) -> str:
    """A hash that results share whose cells are equal, whatever the names of the columns and the types of numbers.

    The order of rows counts where ``ordered``. Where ``any_columns``, the order of columns does not count. Two
    results that a comparison calls equal within a tolerance may have different hashes.
    """
    columns = [[_cell(cell) for cell in column] for column in zip(*result.rows, strict=True)]
    if any_columns:
        # Columns with the same cells in another order stay as they came: such results may get different hashes.
        columns.sort(key=sorted)
    rows = list(zip(*columns, strict=True))
    return _hash([result.column_count, rows if ordered else sorted(rows)])


def answer_key(evidence: Evidence) -> tuple[str | None, str | None]:
    """What tells an answer from others: `Review.query` and `Review.result` of a decision about it.

    The result of a query is the hash in the evidence, which only incorrect answers have. A given result and a selection
    are hashed as they were given. Without any of these it is what the system did: ``decline``, ``clarify`` or
    ``nothing``.
    """
    prediction = evidence.prediction
    if (given := prediction.given) in ("decline", "clarify"):
        return None, given
    if prediction.result is not None:
        return None, evidence.result_hash or _hash([prediction.result.columns, prediction.result.content])
    if prediction.turns:
        return None, _hash([turn.selection or turn.raw for turn in prediction.turns])
    return (None, given) if prediction.query is None else (prediction.query, evidence.result_hash)


def _cell(cell: Cell) -> str:
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _EXACT:
        cell = int(cell)
    elif isinstance(cell, Decimal):
        whole = cell.is_finite() and cell.adjusted() < _DIGITS and cell == cell.to_integral_value()
        cell = int(cell) if whole else float(cell)
    return json.dumps(cell_to_json(cell), ensure_ascii=False, default=str)


def _hash(value: object) -> str:
    text = json.dumps(msgspec.to_builtins(value), sort_keys=True, default=str)
    return blake2b(text.encode(), digest_size=_BYTES).hexdigest()
