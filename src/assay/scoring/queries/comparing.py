"""Compare an answer's rows with those of each gold query."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from assay.comparison.answer import Answer
from assay.comparison.compare import compare_with_itself
from assay.model import CellTypes, Comparison, Execution, Result
from assay.scoring.queries.context import CaseContext, ExecutionContext
from assay.scoring.queries.given_rows import Read, counted, in_readings, with_counting
from assay.scoring.queries.gold_answers import GoldAnswer, gold_answer, with_reversed_columns
from assay.scoring.time_limit import OutOfTimeError


class Compared(Struct, frozen=True, kw_only=True):
    """An answer and the gold query that fits best."""

    comparison: Comparison
    index: int
    known: GoldAnswer
    reads: Mapping[int, Read] = field(default_factory=dict)
    """By the gold query, both results as they were read, if one of the two was given in place of a query."""


def compare_own_words(context: CaseContext) -> Comparison | None:
    """The comparison of an answer in the gold query's own words, which therefore has the gold query's own rows; else
    None.

    Most answers of a good system are such: nothing is to be found out about them. If the gold query may choose among
    rows, its own words are compared like any others.
    """
    predicted, options = context.execution, context.case.options
    if context.apart or predicted is None or len(context.golds) != 1 or options.ordered is not None:
        return None
    gold = context.golds[0]
    if options.condition_columns or gold.given is not None:
        return None
    if gold.result is None or predicted.result is not gold.result or not gold.succeeded:
        return None
    if gold.query != predicted.query or context.gold.leaves_choice(gold.query):
        return None
    return compare_with_itself(gold.result, context.options)


def compare_best(context: CaseContext) -> Compared | None:
    """The comparison with the best fitting gold query; None if nothing could be compared."""
    best: Compared | None = None
    reads: dict[int, Read] = {}
    predicted = context.execution
    if predicted is None or predicted.result is None:
        return None
    for index, execution in enumerate(context.golds):
        if not execution.succeeded or execution.result is None:
            continue
        if predicted.status == "truncated" and len(predicted.result.rows) < len(execution.result.rows):
            continue  # the part that was cut off might have matched
        compared = compare_with_gold(context, index, predicted)
        if predicted.status == "truncated" and compared.comparison.equal:
            reason = "the prediction returns more rows than the gold query"
            compared = replace(compared, comparison=replace(compared.comparison, equal=False, reason=reason))
        reads.update(compared.reads)
        if best is None or _closeness(compared.comparison) > _closeness(best.comparison):
            best = compared
    return replace(best, reads=reads) if best is not None and reads else best


def _closeness(comparison: Comparison) -> tuple[bool, bool, int, int]:
    in_place = comparison.column_mapping == tuple(range(len(comparison.column_mapping)))
    return (comparison.equal, comparison.equal and in_place, len(comparison.near_misses), comparison.matched_rows)


def compare_with_gold(context: CaseContext, index: int, predicted: Execution, *, briefly: bool = False) -> Compared:
    """The comparison with one gold query. ``briefly``: without saying how they differ."""
    execution = context.golds[index]
    gold, theirs = execution.result, predicted.result
    if gold is None or theirs is None:
        raise ValueError("only an execution with a result can be compared with")
    options = context.brief_options if briefly else context.options
    counting = context.case.counting(index)
    if counting:
        options = replace(options, leniency=with_counting(options.leniency, counting))
    known = _gold_answer(context, execution, gold, theirs)

    def compare(ours: GoldAnswer, rows: Result) -> Comparison:
        deadline = context.predicted.clock.soft_deadline()
        return counted(ours, counting).compare(rows, options, deadline=deadline, described=not briefly)

    if not context.apart and execution.given is None and predicted.given is None:
        return Compared(comparison=compare(known, theirs), index=index, known=counted(known, counting))
    comparison, known, read = in_readings(
        known,
        theirs,
        cells=(_cells(context.gold, execution), _cells(context.predicted, predicted)),
        boolean_is_integer=options.boolean_is_integer,
        compare=compare,
    )
    return Compared(comparison=comparison, index=index, known=known, reads={index: read})


_WITHOUT_DATES = frozenset({"sqlite"})
"""Dialects of engines that have no type for dates and times."""


def _cells(side: ExecutionContext, execution: Execution) -> CellTypes:
    """What the cells of a result can say next to a result of another origin.

    An engine without dates has texts in their place, as JSON does.
    """
    if execution.given is not None:
        return execution.cells
    return "dateless" if side.dialect in _WITHOUT_DATES else "engine"


def _gold_answer(context: CaseContext, execution: Execution, gold: Result, predicted: Result) -> GoldAnswer:
    """What this gold query says the answer is."""
    ordered = context.case.options.ordered
    if ordered is not None:
        return GoldAnswer(answer=Answer.strict(gold) if ordered else Answer.bag(gold))
    if execution.given is not None:
        return GoldAnswer(answer=Answer.bag(gold))
    if not context.gold.leaves_choice(execution.query) and gold.rows == predicted.rows:
        # The same rows in the same order, and all of them: whether order counts does not matter.
        return GoldAnswer(answer=Answer.bag(gold))
    return gold_answer(context.gold, execution, gold)


def is_right_answer(context: CaseContext, query: str) -> bool:
    """Whether a query would be a right answer to the case."""
    predicted = context.predicted.execute(query)
    if predicted.result is None or predicted.status == "truncated":
        return False
    return any(
        compare_with_gold(context, index, predicted, briefly=True).comparison.equal
        for index, gold in enumerate(context.golds)
        if gold.succeeded and gold.result is not None
    )


def compares_itself(context: CaseContext) -> bool:
    """Whether a right answer could have been compared: the gold query's own rows, in another order of columns if any
    will do.

    If so, the answer itself made the comparison impossible, and must not become unscored by that.
    """
    gold = next((gold for gold in context.golds if gold.succeeded and gold.result is not None), None)
    if gold is None or gold.result is None:
        return False
    options, own = context.brief_options, gold.result
    mirrored = with_reversed_columns(own, options)
    what = ("the gold query compared with itself", context.key, gold.query or gold.given, context.case.options)
    try:
        return context.gold.clock.run(
            what, lambda: _gold_answer(context, gold, own, mirrored).compare(mirrored, options).decided
        )
    except OutOfTimeError:
        return False
