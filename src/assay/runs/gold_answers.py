"""What a gold query says the answer is: its rows, their order, its ties. Worked out once and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.comparison import Answer
from assay.model import DatabaseUrl, Execution, Result
from assay.runs.tie_seeing import QueryExecutor, answer_with_ties
from assay.sql import read_shape


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldAnswer:
    """What one gold query says the answer is."""

    answer: Answer
    strict_order: bool = False


class GoldAnswers:
    """The answers of gold queries on one executor, each worked out once."""

    def __init__(self, executor: QueryExecutor) -> None:
        self._executor = executor
        self._answers: dict[tuple[str, str], GoldAnswer] = {}

    def of(self, url: DatabaseUrl, execution: Execution, gold: Result) -> GoldAnswer:
        """The answer of a gold query that gave this result."""
        key = (url.text, execution.query)
        known = self._answers.get(key)
        if known is None:
            known = self._answers[key] = self._work_out(url, execution, gold)
        return known

    def _work_out(self, url: DatabaseUrl, execution: Execution, gold: Result) -> GoldAnswer:
        shape = read_shape(execution.query, self._executor.dialect(url))
        if not shape.ordered and not shape.limited:
            return GoldAnswer(answer=Answer.bag(gold))
        if shape.parsed and not (shape.limited and not gold.rows):
            answer = answer_with_ties(self._executor, url, execution.query, gold, limited=shape.limited)
            if answer is not None:
                return GoldAnswer(answer=answer)
        if not shape.ordered:
            return GoldAnswer(answer=Answer.bag(gold))
        return GoldAnswer(answer=Answer.strict(gold), strict_order=len(gold.rows) > 1)

    def any_ambiguous(self, url: DatabaseUrl, golds: Sequence[Execution]) -> bool:
        """Whether gold is ambiguous is a fact of the case, also where the answer could not be compared."""
        dialect = self._executor.dialect(url)
        return any(
            gold.succeeded
            and gold.result is not None
            and read_shape(gold.query, dialect).limited
            and self.of(url, gold, gold.result).answer.ambiguous
            for gold in golds
        )
