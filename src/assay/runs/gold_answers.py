"""What a gold query says the answer is: its rows, their order, its ties. Worked out once and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from assay.comparison import Answer, compare
from assay.model import ComparisonOptions, DatabaseUrl, Execution, Result
from assay.sql import TieProbe, read_shape, tie_probe


class QueryExecutor(Protocol):
    """What judging needs of the worker's executor."""

    def execute(self, url: DatabaseUrl, query: str) -> Execution:
        """What the database makes of the query."""
        ...

    def siblings(self, url: DatabaseUrl) -> tuple[DatabaseUrl, ...]:
        """The databases of the same schema beside this one."""
        ...

    def has_boolean_type(self, url: DatabaseUrl) -> bool:
        """False where True is 1 and False is 0 in results from there."""
        ...

    def dialect(self, url: DatabaseUrl) -> str:
        """sqlglot's name of the SQL dialect spoken there."""
        ...


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
        dialect = self._executor.dialect(url)
        shape = read_shape(execution.query, dialect)
        if not shape.ordered and not shape.limited:
            return GoldAnswer(answer=Answer.bag(gold))
        if shape.parsed and not (shape.limited and not gold.rows):
            answer = self._answer_with_ties(url, execution, gold, ordered=shape.ordered, limited=shape.limited)
            if answer is not None:
                return GoldAnswer(answer=answer)
        if not shape.ordered:
            return GoldAnswer(answer=Answer.bag(gold))
        return GoldAnswer(answer=Answer.strict(gold), strict_order=len(gold.rows) > 1)

    def _answer_with_ties(
        self, url: DatabaseUrl, execution: Execution, gold: Result, *, ordered: bool, limited: bool
    ) -> Answer | None:
        """Gold's answer with its ties seen; None where they cannot be, or where what is seen is not to be trusted."""
        probe = tie_probe(execution.query, self._executor.dialect(url))
        if probe is None:
            return None
        end = probe.offset + len(gold.rows)
        # Under a LIMIT, one row past the cut usually shows that nothing ties there.
        for short in (True, False) if limited else (False,):
            seen = self._executor.execute(url, probe.first(end + 1) if short else probe.query).result
            if seen is None:
                return None
            rows, ranks = _rows_and_ranks(seen, probe)
            if short and len(rows) > end and ranks[end] == ranks[end - 1]:
                continue  # the cut falls into a tie: see all of it
            answer = Answer.ranked(gold, rows, ranks, offset=probe.offset, ordered=ordered)
            # The probe must allow what gold itself returned, or it says nothing.
            trusted = answer is not None and compare(gold, answer, _CHECK).equal
            return answer if trusted else None
        return None

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


_CHECK = ComparisonOptions(near_misses=False, sample_rows=0, boolean_is_integer=True)


def _rows_and_ranks(seen: Result, probe: TieProbe) -> tuple[list[tuple[object, ...]], list[object]]:
    if probe.ranked:
        return [row[:-1] for row in seen.rows], [row[-1] for row in seen.rows]
    return list(seen.rows), [tuple(row[column] for column in probe.key_columns) for row in seen.rows]
