"""Whether two queries return the same rows, by a rule in which neither of them is the gold query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from assay.comparison.result_hash import result_hash
from assay.metrics.base import QueryMetric
from assay.model import Case, Comparison, Execution, Prediction, Row, Score
from assay.ports import Executions
from assay.sql.shape import read_shape


class SameResult(QueryMetric):
    """1 if the two executed results have the same cells, else 0.

    Any gold query scores equal cells alike, which its verdict by itself does not ensure: another answer that a tie of
    the gold query allows counts as correct there. So ties, tolerances and leniency play no part here. The order of
    rows counts if one of the two queries sorts, or if the case says so; that of columns if the case says so.
    """

    name: ClassVar[str] = "same_result"
    scores_unusable_gold: ClassVar[bool] = True

    def score(
        self,
        case: Case,
        prediction: Prediction,  # noqa: ARG002 - the port's
        executions: Executions,
        comparison: Comparison | None,  # noqa: ARG002 - the port's
    ) -> Score:
        """The score of the prediction against the first gold query."""
        first, second = executions.predicted, next(iter(executions.golds), None)
        if first is None or second is None:
            return Score(metric=self.name, value=0.0)
        ordered = case.options.ordered or any(
            read_shape(one.query, executions.dialect).ordered for one in (first, second) if one.query
        )
        same = are_same(first, second, ordered=ordered, any_columns=case.options.columns != "strict")
        return Score(metric=self.name, value=float(same))


def are_same(first: Execution, second: Execution, *, ordered: bool, any_columns: bool) -> bool:
    """Whether two executions returned the same rows, or both failed."""
    if not (first.succeeded and second.succeeded):
        return not first.succeeded and not second.succeeded
    if first.result is None or second.result is None:
        return False
    hashes = [result_hash(one, ordered=ordered, any_columns=any_columns) for one in (first.result, second.result)]
    if None in hashes:
        return _rows(first.result.rows) == _rows(second.result.rows)
    return hashes[0] == hashes[1]


def _rows(rows: Sequence[Row]) -> list[str]:
    return [repr(row) for row in rows]
