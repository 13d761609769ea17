"""What a gold query says the answer is: its rows, their order, its ties. Computed once and kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from assay.comparison.answer import Answer
from assay.comparison.compare import compare
from assay.comparison.lenient import compare_leniently
from assay.model import Ambiguity, Comparison, ComparisonOptions, DatabaseUrl, Execution, Result
from assay.ports import ScratchDatabase
from assay.scoring.queries.context import ExecutionContext, FailureLog
from assay.scoring.queries.tie_detection import answers_with_ties
from assay.scoring.time_limit import TimeLimit
from assay.sql import may_be_cut, read_shape


class GoldAnswer(Struct, frozen=True, kw_only=True):
    """What one gold query says the answer is."""

    answer: Answer
    others: tuple[Answer, ...] = ()
    """Further right answers: the gold query's results when an inner part of it chooses other tied rows."""
    strict_order: bool = False
    ambiguity: Ambiguity | None = None

    def compare(
        self, predicted: Result, options: ComparisonOptions, *, deadline: float | None = None, described: bool = True
    ) -> Comparison:
        """The comparison with the answer that the prediction matches, else with the gold query's own result.

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

    The gold query's own rows with reversed columns are as hard to find as any right answer. If they are found, a right
    answer would be found, so the answer is wrong; if not, the gold query itself makes the comparison undecidable.
    """
    comparison = compare(predicted, answer, options, deadline=deadline, described=described)
    if comparison.decided:
        return comparison
    mirrored = with_reversed_columns(answer.result, options)
    briefly = replace(options, near_misses=False, sample_rows=0)
    if not compare(mirrored, answer, briefly, deadline=deadline, described=False).decided:
        return comparison
    reason = f"{comparison.reason}; the gold query's own rows in another order of columns are found"
    return replace(comparison, decided=True, provoked=True, reason=reason)


def with_reversed_columns(gold: Result, options: ComparisonOptions) -> Result:
    """The gold query's own rows as a right answer may write them: in another order of columns, if any will do."""
    if options.columns != "any":
        return gold
    return Result(columns=gold.columns[::-1], rows=tuple([row[::-1] for row in gold.rows]))


def gold_answer(gold: ExecutionContext, execution: Execution, result: Result) -> GoldAnswer:
    """The answer of a gold query that gave this result, worked out once and kept as long as there is room."""
    query = execution.query
    if not gold.leaves_choice(query):
        shape = read_shape(query, gold.dialect)
        if not shape.ordered and not shape.limited:
            return GoldAnswer(answer=Answer.bag(result))  # looking it up would take as long
    known = gold.recall("answer", gold.url.text, query)
    if isinstance(known, GoldAnswer):
        return known
    answer = _work_out(gold.with_budget(execution.took_s), query, result)
    if gold.failures.first is None:  # otherwise the next case may find out more
        gold.keep(answer, "answer", gold.url.text, query)
    return answer


def gold_ambiguity(gold: ExecutionContext, golds: Sequence[Execution]) -> Ambiguity | None:
    """How ambiguous the gold query is: a property of the case, even if the answer could not be
    compared."""
    for execution in golds:
        result = execution.result
        if not execution.succeeded or result is None or execution.given is not None:
            continue
        if not gold.leaves_choice(execution.query):
            continue
        ambiguity = gold_answer(gold, execution, result).ambiguity
        if ambiguity is not None:
            return ambiguity
    return None


def _work_out(gold: ExecutionContext, query: str, result: Result) -> GoldAnswer:
    from assay.scoring.queries.subquery_ties import different, inner_choices, with_any_rows

    own = _outermost(gold, query, result)
    inner = inner_choices(gold, query, result) if may_be_cut(query) else None
    inner = with_any_rows(inner, gold, query, own.answer)
    if inner is None:
        return own
    answers = [own.answer]
    for text in inner.queries:
        other = gold.execute(text).result
        if other is None:
            inner = replace(inner, complete=False)
            continue
        answers.append(_outermost(gold, text, other).answer)
    answers += [Answer.bag(other) for other in inner.results]
    others = tuple(different(answers))[1:]
    if not others and (inner.complete or not inner.tied):
        return own
    ambiguity = own.ambiguity or inner.ambiguity(len(others) + 1)
    return replace(own, others=others, ambiguity=ambiguity)


def _outermost(gold: ExecutionContext, query: str, result: Result) -> GoldAnswer:
    """The answer as far as the outermost query leaves it open."""
    shape = read_shape(query, gold.dialect)
    if not shape.ordered and not shape.limited:
        return GoldAnswer(answer=Answer.bag(result))
    if shape.parsed and not (shape.limited and not result.rows):
        answer = answers_with_ties(gold, query, result, limited=shape.limited)
        if answer is not None:
            return GoldAnswer(answer=answer, ambiguity=answer.ambiguity)
    if not shape.ordered:
        return GoldAnswer(answer=Answer.bag(result))
    return GoldAnswer(answer=Answer.strict(result), strict_order=len(result.rows) > 1)


class ScratchAnswers(Struct, frozen=True):
    """Implements `assay.ports.PossibleAnswers`."""

    answer: GoldAnswer

    @property
    def open(self) -> bool:
        """Whether a LIMIT or the like cuts rows that tie."""
        return self.answer.ambiguity is not None

    @property
    def others(self) -> tuple[Result, ...]:
        """Results of other choices within the query."""
        return tuple(other.result for other in self.answer.others)

    def compare(self, other: Result, options: ComparisonOptions) -> Comparison:
        """How another result relates to the answer that is closest to it."""
        return self.answer.compare(other, options)


def read_answers(database: ScratchDatabase, query: str, result: Result) -> ScratchAnswers:
    """Implements `assay.ports.ReadsAnswers`: the answers are those that a run would accept from a system.

    Nothing is kept, since the rows of the database change.
    """
    context = ExecutionContext(
        executor=_OnScratch(database),
        url=_SCRATCH,
        dialect=database.dialect,
        clock=TimeLimit(_SCRATCH_LIMIT_S),
        failures=FailureLog(),
        folds_texts=False,
    )
    execution = Execution(query=query, status="rows" if result.rows else "empty", result=result)
    return ScratchAnswers(gold_answer(context, execution, result))


class _OnScratch:
    """A scratch database as an executor, whatever URL is asked for."""

    def __init__(self, database: ScratchDatabase) -> None:
        self._database = database

    def execute(self, url: DatabaseUrl, query: str) -> Execution:  # noqa: ARG002 - the port's
        return self._database.execute(query)

    def siblings(self, url: DatabaseUrl) -> tuple[DatabaseUrl, ...]:  # noqa: ARG002 - the port's
        return ()

    def has_boolean_type(self, url: DatabaseUrl) -> bool:  # noqa: ARG002 - the port's
        return self._database.has_boolean_type

    def dialect(self, url: DatabaseUrl) -> str:  # noqa: ARG002 - the port's
        return self._database.dialect


_SCRATCH_LIMIT_S = 5.0
_SCRATCH = DatabaseUrl(text="trial:")
