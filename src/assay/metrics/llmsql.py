"""LLMSQL's metric, as its own package computes it: one query of a completion must give the gold query's rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from assay.comparison.sides import same_bag
from assay.metrics.base import befallen, gold_failure, plain_score, unscored
from assay.model import Case, Comparison, Execution, Prediction, Row, Score
from assay.ports import Executions, QueryRequest


class LlmsqlEx:
    """LLMSQL's execution accuracy: 1 if a query of the completion gives the gold query's rows, in any order and as
    often.

    Rows compare as tuples, with columns in the gold query's order whatever their names; numbers by exact value
    whatever their type; NULL equals NULL. Outside LLMSQL the one predicted query is compared like this. Rows are not
    sorted, so cells need not have an order.
    """

    name: ClassVar[str] = "llmsql_ex"
    meaning: ClassVar[str] = "LLMSQL: a query of the completion gives the gold query's rows"
    binary: ClassVar[bool] = True

    def requests(self, case: Case, prediction: Prediction) -> Sequence[QueryRequest]:
        """All further queries of a completion, even if an earlier one matches: the evidence counts them."""
        from assay.sql.extraction.completions import candidates  # loads a parser, which only workers need

        # Queries that differed only in the placeholder are one text now, but still two for the benchmark.
        queries = candidates(case, prediction)
        return [QueryRequest(query=query, candidate=True, turn=turn) for turn, query in enumerate(queries)]

    def score(
        self,
        case: Case,  # noqa: ARG002 - the port's
        prediction: Prediction,
        executions: Executions,
        comparison: Comparison | None,  # noqa: ARG002 - the port's
    ) -> Score:
        """1 if any query of the completion gives the rows of any gold query."""
        golds = [gold.result.rows for gold in executions.golds if gold.succeeded and gold.result is not None]
        if not golds:
            return unscored(self.name, gold_failure(executions.golds))
        if _gives(executions.predicted, golds):
            return plain_score(self.name, 1.0)
        for request, each in executions.requested.items():
            if request.candidate and _gives(each[0], golds):
                return plain_score(self.name, 1.0)
        failure = befallen(prediction, executions.predicted)
        return unscored(self.name, failure) if failure else plain_score(self.name, 0.0)


def _gives(execution: Execution | None, golds: Sequence[Sequence[Row]]) -> bool:
    if execution is None or not execution.succeeded or execution.result is None:
        return False
    rows = execution.result.rows
    return any([same_rows(rows, gold) for gold in golds])  # noqa: C419 - every case passes here: a generator takes longer


def same_rows(first: Sequence[Row], second: Sequence[Row]) -> bool:
    """Whether two results are equal as bags of rows, by Python's own equality of their cells."""
    if len(first) != len(second):
        return False
    if first == second:
        return True
    try:
        return same_bag(first, second)
    except TypeError:  # lists and maps in cells, from engines that have them
        return Counter(map(repr, first)) == Counter(map(repr, second))
