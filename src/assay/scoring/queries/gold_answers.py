"""What a gold query says the answer is: its rows, their order, its ties. Computed once and kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from assay.comparison import Answer, compare, compare_leniently
from assay.model import Ambiguity, Comparison, ComparisonOptions, DatabaseUrl, Execution, Result
from assay.ports import QueryExecutor
from assay.scoring.queries.recording import BudgetedExecutor, RecordingExecutor
from assay.sql import leaves_choice, may_be_cut, read_shape


class GoldAnswer(Struct, frozen=True, kw_only=True):
    """What one gold query says the answer is."""

    answer: Answer
    others: tuple[Answer, ...] = ()
    """Further right answers: gold's results where an inner part of it chooses other tied rows."""
    strict_order: bool = False
    ambiguity: Ambiguity | None = None

    def compare(
        self, predicted: Result, options: ComparisonOptions, *, deadline: float | None = None, described: bool = True
    ) -> Comparison:
        """The comparison with the answer that the prediction matches, else with gold's own result.

        After ``deadline``, a moment of `time.monotonic`, near misses are no longer looked for. ``described``: see
        `assay.comparison.compare`.
        """
        strictly = partial(_compared, deadline=deadline, described=described)
        comparison = compare_leniently(predicted, self.answer, options, strictly=strictly)
        for other in self.others:
            if comparison.equal:
                break
            briefly = replace(options, near_misses=False)
            strictly = partial(compare, deadline=deadline, described=False)
            found = compare_leniently(predicted, other, briefly, strictly=strictly)
            comparison = found if found.equal else comparison
        return replace(comparison, ambiguous=True) if self.ambiguity is not None else comparison


def _compared(
    predicted: Result, answer: Answer, options: ComparisonOptions, *, deadline: float | None, described: bool
) -> Comparison:
    """As `compare`, but an answer cannot become unscored through rows that exhaust the search for a column order.

    Gold's own rows with reversed columns are as hard to find as any right answer. If they are found, a right answer
    would be found, so the answer is wrong; if not, gold itself makes the comparison undecidable.
    """
    comparison = compare(predicted, answer, options, deadline=deadline, described=described)
    if comparison.decided:
        return comparison
    gold = answer.result
    mirrored = gold
    if options.columns == "any":
        mirrored = Result(columns=gold.columns[::-1], rows=tuple([row[::-1] for row in gold.rows]))
    briefly = replace(options, near_misses=False, sample_rows=0)
    if not compare(mirrored, answer, briefly, deadline=deadline, described=False).decided:
        return comparison
    reason = f"{comparison.reason}; gold's own rows in another order of columns are found"
    return replace(comparison, decided=True, provoked=True, reason=reason)


class GoldAnswers:
    """The answers of gold queries on one executor, each computed once and kept as long as there is room."""

    def __init__(self, executor: RecordingExecutor) -> None:
        self._executor = executor

    def of(self, url: DatabaseUrl, execution: Execution, gold: Result) -> GoldAnswer:
        """The answer of a gold query that gave this result."""
        dialect = self._executor.dialect(url)
        if not leaves_choice(execution.query, dialect):
            shape = read_shape(execution.query, dialect)
            if not shape.ordered and not shape.limited:
                return GoldAnswer(answer=Answer.bag(gold))  # looking it up would take as long
        known = self._executor.recall("answer", url.text, execution.query)
        if isinstance(known, GoldAnswer):
            return known
        budgeted = BudgetedExecutor(self._executor, execution.took_s)
        answer = self._work_out(budgeted, url, execution.query, gold)
        if self._executor.trouble is None:  # otherwise the next case may find out more
            self._executor.keep(answer, "answer", url.text, execution.query)
        return answer

    def ambiguity(self, url: DatabaseUrl, golds: Sequence[Execution]) -> Ambiguity | None:
        """How far gold leaves its answer open: a property of the case, even where the answer could not be compared."""
        dialect = self._executor.dialect(url)
        queries = [gold for gold in golds if gold.succeeded and gold.result is not None and gold.given is None]
        open_ = [gold for gold in queries if leaves_choice(gold.query, dialect)]
        found = (self.of(url, gold, gold.result).ambiguity for gold in open_ if gold.result is not None)
        return next((ambiguity for ambiguity in found if ambiguity is not None), None)

    def _work_out(self, executor: QueryExecutor, url: DatabaseUrl, query: str, gold: Result) -> GoldAnswer:
        from assay.scoring.queries.subquery_ties import different, inner_choices, with_any_rows

        own = self._outermost(executor, url, query, gold)
        inner = inner_choices(executor, url, query, gold) if may_be_cut(query) else None
        inner = with_any_rows(inner, executor, url, query, own.answer)
        if inner is None:
            return own
        answers = [own.answer]
        for text in inner.queries:
            result = executor.execute(url, text).result
            if result is None:
                inner = replace(inner, complete=False)
                continue
            answers.append(self._outermost(executor, url, text, result).answer)
        answers += [Answer.bag(result) for result in inner.results]
        others = tuple(different(answers))[1:]
        if not others and (inner.complete or not inner.tied):
            return own
        ambiguity = own.ambiguity or inner.ambiguity(len(others) + 1)
        return replace(own, others=others, ambiguity=ambiguity)

    def _outermost(self, executor: QueryExecutor, url: DatabaseUrl, query: str, gold: Result) -> GoldAnswer:
        """The answer as far as the outermost query leaves it open."""
        shape = read_shape(query, executor.dialect(url))
        if not shape.ordered and not shape.limited:
            return GoldAnswer(answer=Answer.bag(gold))
        if shape.parsed and not (shape.limited and not gold.rows):
            from assay.scoring.queries.tie_detection import answers_with_ties

            answer = answers_with_ties(executor, url, query, gold, limited=shape.limited)
            if answer is not None:
                return GoldAnswer(answer=answer, ambiguity=answer.ambiguity)
        if not shape.ordered:
            return GoldAnswer(answer=Answer.bag(gold))
        return GoldAnswer(answer=Answer.strict(gold), strict_order=len(gold.rows) > 1)
