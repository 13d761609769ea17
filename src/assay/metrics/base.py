"""What all metrics share: the shape of a score, and how several gold queries and failures count."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter
from types import NoneType
from typing import ClassVar

from assay.comparison.sides import same_bag
from assay.model import Blame, Case, Comparison, Execution, Failure, Prediction, Result, Row, Score
from assay.model.failure import blamed, ruling
from assay.ports import Executions, QueryRequest


class QueryMetric:
    """The base of most metrics: 1 or 0, dependent on the queries alone, with no further queries to execute."""

    name: ClassVar[str]
    binary: ClassVar[bool] = True
    lowest: ClassVar[float] = 0.0
    highest: ClassVar[float] = 1.0
    depends_on_queries_only: ClassVar[bool] = True
    scores_unusable_gold: ClassVar[bool] = False
    """Whether it may score a case whose gold query cannot be used, as its benchmark's script does."""

    def requests(self, case: Case, prediction: Prediction) -> Sequence[QueryRequest]:  # noqa: ARG002 - the port's
        """No queries besides gold and the prediction as they are."""
        return ()


class ResultMetric(QueryMetric, ABC):
    """A metric over the two results alone.

    Of several gold queries the best score counts. An answer that fails or is absent scores 0, by the system's own
    fault. A gold query that fails gives no score, since no answer could be right; nor does an answer whose query
    could not run for reasons outside it (`assay.model.failure`).
    """

    def score(
        self,
        case: Case,
        prediction: Prediction,
        executions: Executions,
        comparison: Comparison | None,  # noqa: ARG002 - the port's
    ) -> Score:
        """The best score over the gold queries that ran."""
        golds = [
            (index, gold.result)
            for index, gold in enumerate(executions.golds)
            if gold.result is not None and gold.succeeded
        ]
        if not golds:
            return unscored(self.name, gold_failure(executions.golds))
        predicted = executions.predicted
        if predicted is None or not predicted.succeeded:
            if failure := befallen(prediction, predicted):
                return unscored(self.name, failure)
            return Score(metric=self.name, value=self.of_failed(case, predicted, [gold for _, gold in golds]))
        best = 0.0
        for index, gold in golds:
            best = max(best, self.of_results(case, index, gold, predicted))
        return Score(metric=self.name, value=best)

    def of_failed(self, case: Case, predicted: Execution | None, golds: Sequence[Result]) -> float:  # noqa: ARG002
        """The score of an answer without a result."""
        return 0.0

    @abstractmethod
    def of_results(self, case: Case, gold_index: int, gold: Result, predicted: Execution) -> float:
        """The score of one result against one gold query."""


_TRANSACTION_BEGINS = re.compile(r"(?>\s|--[^\n]*\n|/\*.*?\*/)*+(begin|savepoint)\b", re.DOTALL | re.IGNORECASE)


def runs_as_empty(execution: Execution) -> bool:
    """Whether the benchmarks' scripts get an empty result from a text that our engine does not run.

    They get one from a text without any statement, and from one that begins a transaction.
    """
    kind = execution.failure.kind if execution.failure is not None else None
    return kind == "no_query" or (kind == "refused" and _TRANSACTION_BEGINS.match(execution.query) is not None)


def gold_failure(golds: Sequence[Execution]) -> Failure:
    """Why no gold query gave a result."""
    failure = next((gold.failure for gold in golds if gold.failure is not None), None)
    if failure is None:
        return Failure(stage="load", kind="no_gold", blame="gold", message="the case has no gold query")
    return blamed(failure, "gold")


def without_query(case: Case, prediction: Prediction, executions: Executions) -> Failure | None:
    """Why a metric that executes both queries on one database does not apply; None if it does.

    The gold query, or the answer, may be a given result, and the gold query's database another one.
    """
    if prediction.result is not None:
        message = "it does not apply: the prediction is rows, and there is no query to execute"
    elif case.results and not case.golds:
        message = "it does not apply: the gold query is a given result, and there is no query to execute"
    elif executions.apart:
        message = "it does not apply: the gold query runs on another database than the prediction"
    else:
        return None
    return unscorable("setup", message)


def unscorable(blame: Blame, message: str) -> Failure:
    """The failure of a metric that does not apply to a case."""
    return Failure(stage="score", kind="unscorable", blame=blame, message=message)


def without_schema(case: Case, prediction: Prediction, executions: Executions) -> Failure | None:
    """Why a metric that compares the queries' texts by the schema has no score; None if it has one."""
    if (failure := without_query(case, prediction, executions)) is not None:
        return failure
    if not any(gold.succeeded for gold in executions.golds):
        return gold_failure(executions.golds)
    if failure := befallen(prediction, executions.predicted):
        return failure
    if executions.schema is None:
        return unscorable("setup", "the database's tables and columns cannot be read")
    return None


def befallen(prediction: Prediction, predicted: Execution | None) -> Failure | None:
    """The failure of the answer or its query that is not the answer's fault: then there is no score."""
    failure = prediction.failure if predicted is None else predicted.failure
    if failure is None:
        return None
    rule = ruling(failure, "predicted")
    return blamed(failure, "predicted") if rule.outcome == "unscored" else None


_ONE_SPELLING = frozenset({int, float, str, bytes})
"""Types whose equal values have one text; except 0.0 and -0.0."""


def same_bag_and_texts(gold: Sequence[Row], predicted: Sequence[Row]) -> bool:
    """Whether the rows are the same in any order, with cells of the same types and texts. False if in doubt."""
    if not gold or len(gold) != len(predicted) or len(gold[0]) != len(predicted[0]):
        return False
    for cell in map(itemgetter, range(len(gold[0]))):
        kinds = {*map(type, map(cell, gold)), *map(type, map(cell, predicted))} - {NoneType}
        if len(kinds) > 1 or not kinds <= _ONE_SPELLING or (float in kinds and 0.0 in map(cell, gold)):
            return False
    return same_bag(gold, predicted)


@lru_cache(maxsize=1024)
def plain_score(metric: str, value: float) -> Score:
    """A score of nothing but a value, which many cases share."""
    return Score(metric=metric, value=value)


def unscored(metric: str, failure: Failure | None) -> Score:
    """No value, and why."""
    return Score(metric=metric, value=None, failure=failure)
