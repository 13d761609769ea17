"""The verdict on a case whose queries are executed: its comparison, its flags, and what its match says."""

from __future__ import annotations

from msgspec.structs import replace

from assay.comparison.compare import compare
from assay.comparison.interval_parts import interval_parts, may_have_intervals
from assay.model import Ambiguity, Comparison, Execution, Failure, Flag, Outcome, Strength, Verdict
from assay.model.failure import NOT_IN_LOG, befalls, blamed, ruling
from assay.scoring.queries.chance_match import chance_flags, storage_order_flag
from assay.scoring.queries.comparing import Compared, compare_best, compare_own_words, compares_itself
from assay.scoring.queries.context import CaseContext, ExecutionContext
from assay.scoring.queries.gold_answers import gold_ambiguity
from assay.scoring.queries.verdicts import NO_GOLD, failure_of_answer, is_no_query, refrained
from assay.scoring.time_limit import OutOfTimeError
from assay.sql import empty_input_probe, is_nondeterministic

_NO_FLAGS: frozenset[Flag] = frozenset()


def verdict_in_time(context: CaseContext) -> tuple[Comparison | None, Verdict, Compared | None]:
    """As `find_verdict`, or a timeout's failure; metrics that need neither still run."""
    case, prediction, clock = context.case, context.prediction, context.predicted.clock
    if clock.is_running:
        return find_verdict(context)
    own = case.id if case.results or prediction.result is not None else ""
    what = ("verdict", context.key, own, case.golds, prediction.query, case.options)
    try:
        return clock.run(what, lambda: find_verdict(context))
    except OutOfTimeError as error:
        comparison = Comparison(equal=False, decided=False, reason=f"comparing the results {error}")
        if error.kind != "crashed" and compares_itself(context):
            reason = f"{comparison.reason}; the gold query compared with itself stays within them"
            comparison = replace(comparison, decided=True, provoked=True, reason=reason)
        return comparison, _decide(context, comparison), None


def find_verdict(context: CaseContext) -> tuple[Comparison | None, Verdict, Compared | None]:
    """The comparison with the gold query that fits best, and the verdict that follows from it."""
    case = context.case
    own = compare_own_words(context)
    if own is not None:
        own = _see_vacuity(context, 0, own)
        return own, _decide(context, own, index=0, flags=_flags(context, own, of_gold_alone=True)), None
    compared = comparison = index = None
    if not is_no_query(context.prediction.query) or any(map(is_no_query, case.golds)):
        compared = compare_best(context)
    if compared is None:
        ambiguity = gold_ambiguity(context.gold, context.golds)
    else:
        index, ambiguity = compared.index, compared.known.ambiguity
        comparison = _see_vacuity(context, index, compared.comparison)
    flags = _flags(context, comparison)
    if ambiguity is not None:
        flags |= {"ambiguous_gold"}
    if compared is not None and compared.known.strict_order:
        flags |= {"strict_order"}
    strictly_equal = comparison is not None and comparison.equal and not comparison.lenient
    if compared is not None and strictly_equal and case.options.ordered is None:
        flags |= chance_flags(context, compared)
    flags |= storage_order_flag(context, compared)
    if compared is not None and strictly_equal and _matches_by_length(context, compared.index):
        flags |= {"interval_length"}
    return comparison, _decide(context, comparison, index=index, flags=flags, ambiguity=ambiguity), compared


def _decide(
    context: CaseContext,
    comparison: Comparison | None,
    *,
    index: int | None = None,
    flags: frozenset[Flag] = _NO_FLAGS,
    ambiguity: Ambiguity | None = None,
) -> Verdict:
    """The verdict, by the first rule that applies. ``index``: the gold that was compared with."""

    def verdict(
        outcome: Outcome, reason: str, *, failure: Failure | None = None, strength: Strength = "none"
    ) -> Verdict:
        return Verdict(
            outcome=outcome,
            reason=reason if ambiguity is None or comparison is None else f"{reason}; {ambiguity.text}",
            flags=flags,
            strength=strength,
            gold_index=index,
            ambiguity=ambiguity,
            failure=failure,
            decision=refrained(context.prediction.given),
        )

    if comparison is not None and comparison.equal:
        return verdict("correct", comparison.reason, strength="matched_on_one_database")
    failures = [gold.failure for gold in context.golds if gold.failure is not None]
    # The answer might match a gold query that was kept from running.
    kept = next(filter(befalls, failures), None)
    if not any(gold.succeeded for gold in context.golds):
        if kept is not None:
            return verdict("unscored", f"the gold query could not be executed: {kept.message}", failure=kept)
        if failures:
            return verdict("unscored", f"the gold query gives no answer: {failures[0].message}", failure=failures[0])
        if (failure := context.prediction.failure) is None or failure.code != NOT_IN_LOG:
            return verdict("unscored", NO_GOLD.message, failure=NO_GOLD)
    if comparison is None:
        failure, words = failure_of_answer(context.prediction, context.execution)
        failure = blamed(failure, "predicted")
        outcome = ruling(failure, "predicted").outcome
        reason = f"{words}: {failure.message}" if outcome == "incorrect" else failure.message
        return verdict(outcome, reason, failure=failure)
    if kept is not None:
        return verdict("unscored", f"a gold query could not be executed: {kept.message}", failure=kept)
    if context.failure is not None:
        failure = blamed(context.failure, "gold")
        return verdict("unscored", f"the gold query's order could not be seen: {failure.message}", failure=failure)
    if not comparison.decided:
        failure = Failure(stage="compare", kind="unscorable", blame="assay", message=comparison.reason)
        return verdict("unscored", comparison.reason, failure=failure)
    return verdict("incorrect", comparison.reason, strength="none" if comparison.provoked else "settled")


def _flags(context: CaseContext, comparison: Comparison | None, *, of_gold_alone: bool = False) -> frozenset[Flag]:
    """The flags that need nothing executed. ``of_gold_alone``: the prediction is the gold query's own execution."""
    flags: set[Flag] = set()
    if comparison is not None and comparison.vacuous:
        flags.add("vacuous")
    if comparison is not None and comparison.lenient:
        flags.add("lenient")
    sides = [(gold, context.gold.dialect) for gold in context.golds]
    if context.execution is not None and not of_gold_alone:
        sides.append((context.execution, context.predicted.dialect))
    for execution, dialect in sides:
        if execution.given is None and is_nondeterministic(execution.query, dialect):
            flags.add("nondeterministic")
        if execution.status == "truncated":
            flags.add("truncated")
        elif execution.status == "timeout":
            flags.add("timeout")
    return frozenset(flags) if flags else _NO_FLAGS


def _matches_by_length(context: CaseContext, index: int) -> bool:
    """Whether the rows match, in any order, and would not if intervals of one length but of other parts differed."""
    execution = context.execution
    gold, predicted = context.golds[index].result, None if execution is None else execution.result
    if gold is None or predicted is None or not (may_have_intervals(gold) or may_have_intervals(predicted)):
        return False
    options = context.brief_options
    exact = compare(interval_parts(predicted), interval_parts(gold), options, described=False)
    return exact.decided and not exact.equal and compare(predicted, gold, options, described=False).equal


def _see_vacuity(context: CaseContext, index: int, comparison: Comparison) -> Comparison:
    """The comparison, marked vacuous if it matches one row that both queries computed over no rows.

    If only one of the queries found no rows, the match still says something. Only rows of nothing but
    NULL and 0 are checked, by executing each query once more with an indicator column; if that is
    impossible, the match counts as not vacuous.
    """
    predicted = context.execution
    if not comparison.equal or comparison.vacuous or predicted is None:
        return comparison
    if not (_has_empty_input(context.gold, context.golds[index]) and _has_empty_input(context.predicted, predicted)):
        return comparison
    reason = f"{comparison.reason}; both queries computed it over no rows"
    return replace(comparison, vacuous=True, reason=reason)


def _has_empty_input(side: ExecutionContext, execution: Execution) -> bool:
    """Whether a query computed its only row, of nothing but NULL and 0, over no rows."""
    result = execution.result
    if result is None or len(result.rows) != 1 or any(cell is not None and cell != 0 for cell in result.rows[0]):
        return False
    if execution.given is not None:  # a given result does not say what it was computed over
        return False
    probe = empty_input_probe(execution.query, side.dialect)
    if probe is None:
        return False
    seen = side.execute(probe).result
    # The probe must give the query's own result, or it is a different query.
    return seen is not None and len(seen.rows) == 1 and seen.rows[0][:-1] == result.rows[0] and seen.rows[0][-1] == 1
