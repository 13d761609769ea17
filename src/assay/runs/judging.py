"""Judge one case: execute, compare, score. Runs in a worker, where the rows are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.comparison import Answer, compare
from assay.model import (
    Case,
    ColumnRule,
    Comparison,
    ComparisonOptions,
    DatabaseUrl,
    Evidence,
    Execution,
    Failure,
    Flag,
    Prediction,
    Result,
    Score,
    Verdict,
)
from assay.model.blame import befalls
from assay.ports import Executions, Metric, QueryRequest
from assay.runs.verdicts import Finding, blame, is_no_query
from assay.runs.watching import QueryExecutor, WatchedExecutor
from assay.sql import TieProbe, is_nondeterministic, may_be_cut, read_shape, tie_probe


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A judged case, with the rows that its evidence no longer carries."""

    evidence: Evidence
    executions: Executions


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gold:
    """What one gold query says the answer is."""

    answer: Answer
    strict_order: bool = False


class CaseJudge:
    """Judges cases on one executor. Answers of gold queries are worked out once and kept."""

    def __init__(self, executor: QueryExecutor, metrics: Sequence[Metric], options: ComparisonOptions) -> None:
        self._executor = WatchedExecutor(executor)
        self._metrics = tuple(metrics)
        self._options = options
        self._answers: dict[tuple[str, str], _Gold] = {}
        self._variants: dict[tuple[ColumnRule, bool], ComparisonOptions] = {}
        self._beside: dict[str, tuple[DatabaseUrl, ...]] = {}
        self._judged: dict[object, Evidence] = {}
        self._repeatable = all(getattr(metric, "depends_on_queries_only", False) for metric in self._metrics)

    def evidence(self, case: Case, prediction: Prediction, url: DatabaseUrl) -> Evidence:
        """As `judge`, without the rows. Cases that pair the same queries on one database are judged once.

        Question sets often ask one thing in several wordings, and systems are asked repeatedly.
        """
        key = (url.text, case.golds, prediction.query, case.options)
        known = self._judged.get(key) if self._repeatable else None
        if known is None or prediction.query is None:
            evidence = self.judge(case, prediction, url).evidence
            self._judged[key] = evidence
            return evidence
        return Evidence(
            case=case,
            prediction=prediction,
            verdict=known.verdict,
            scores=known.scores,
            comparison=known.comparison,
            gold_executions=known.gold_executions,
            predicted_execution=known.predicted_execution,
        )

    def judge(
        self, case: Case, prediction: Prediction, url: DatabaseUrl, requests: Sequence[QueryRequest] = ()
    ) -> Judged:
        """Everything about one case. ``requests`` are executed beside what the metrics here ask for."""
        golds = tuple(blame(self._executor.execute(url, gold), "gold") for gold in case.golds)
        predicted = None
        if prediction.query is not None:
            predicted = blame(self._executor.execute(url, prediction.query), "predicted")
        self._executor.look_out()
        if is_no_query(prediction.query) and not any(map(is_no_query, case.golds)):
            comparison, index, strict_order = None, None, False
        else:
            comparison, index, strict_order = self._compare(case, url, golds, predicted)
        flags = self._flags(url, golds, predicted, comparison)
        if strict_order:
            flags |= {"strict_order"}
        verdict = Finding(prediction, golds, predicted, comparison, index, flags, self._executor.trouble).verdict()
        head = 0 if verdict.outcome == "correct" else _HEAD_ROWS
        executions = Executions(
            golds=golds,
            predicted=predicted,
            requested=self._requested(case, prediction, url, golds, requests),
        )
        evidence = Evidence(
            case=case,
            prediction=prediction,
            verdict=verdict,
            scores=tuple(
                score_one(metric, case, prediction, executions, comparison, verdict=verdict) for metric in self._metrics
            ),
            comparison=comparison,
            gold_executions=tuple(gold.without_rows(head=head) for gold in golds),
            predicted_execution=predicted.without_rows(head=head) if predicted else None,
        )
        return Judged(evidence=evidence, executions=executions)

    def _compare(
        self, case: Case, url: DatabaseUrl, golds: Sequence[Execution], predicted: Execution | None
    ) -> tuple[Comparison | None, int | None, bool]:
        """The comparison with the gold that fits best, its index, and whether order was taken strictly."""
        best: tuple[Comparison, int, bool] | None = None
        if predicted is None or predicted.result is None:
            return None, None, False
        for index, execution in enumerate(golds):
            if not execution.succeeded or execution.result is None:
                continue
            if predicted.status == "truncated" and len(predicted.result.rows) < len(execution.result.rows):
                continue  # what was cut off might have matched
            comparison, strict_order = self._compare_one(case, url, execution, predicted.result)
            if predicted.status == "truncated" and comparison.equal:
                comparison = replace(comparison, equal=False, reason="the prediction returns more rows than gold")
            if best is None or _closeness(comparison) > _closeness(best[0]):
                best = (comparison, index, strict_order)
        return best or (None, None, False)

    def _compare_one(
        self, case: Case, url: DatabaseUrl, execution: Execution, predicted: Result
    ) -> tuple[Comparison, bool]:
        gold = execution.result
        if gold is None:
            raise ValueError("only an execution with a result can be compared with")
        options = self._options_for(case, url)
        if case.options.ordered is not None:
            answer = Answer.strict(gold) if case.options.ordered else Answer.bag(gold)
            return _compared(predicted, answer, options), False
        if not may_be_cut(execution.query) and predicted.rows == gold.rows:
            # The same rows in the same order, and all of them: whether order counts does not matter.
            return compare(predicted, Answer.bag(gold), options), False
        known = self._gold(url, execution, gold)
        return _compared(predicted, known.answer, options), known.strict_order

    def _options_for(self, case: Case, url: DatabaseUrl) -> ComparisonOptions:
        key = (case.options.columns or self._options.columns, not self._executor.has_boolean_type(url))
        known = self._variants.get(key)
        if known is None:
            known = self._variants[key] = replace(self._options, columns=key[0], boolean_is_integer=key[1])
        return known

    def _siblings(self, url: DatabaseUrl) -> tuple[DatabaseUrl, ...]:
        known = self._beside.get(url.text)
        if known is None:
            known = self._beside[url.text] = self._executor.siblings(url)
        return known

    def _gold(self, url: DatabaseUrl, execution: Execution, gold: Result) -> _Gold:
        key = (url.text, execution.query)
        known = self._answers.get(key)
        if known is None:
            known = self._work_out(url, execution, gold)
            if self._executor.trouble is None:  # else the next case may see more
                self._answers[key] = known
        return known

    def _work_out(self, url: DatabaseUrl, execution: Execution, gold: Result) -> _Gold:
        dialect = self._executor.dialect(url)
        shape = read_shape(execution.query, dialect)
        if not shape.ordered and not shape.limited:
            return _Gold(answer=Answer.bag(gold))
        if shape.parsed and not (shape.limited and not gold.rows):
            answer = self._answer_with_ties(url, execution, gold, ordered=shape.ordered, limited=shape.limited)
            if answer is not None:
                return _Gold(answer=answer)
        if not shape.ordered:
            return _Gold(answer=Answer.bag(gold))
        return _Gold(answer=Answer.strict(gold), strict_order=len(gold.rows) > 1)

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

    def _flags(
        self,
        url: DatabaseUrl,
        golds: Sequence[Execution],
        predicted: Execution | None,
        comparison: Comparison | None,
    ) -> frozenset[Flag]:
        flags: set[Flag] = set()
        if comparison is not None and comparison.vacuous:
            flags.add("vacuous")
        if comparison.ambiguous if comparison is not None else self._any_ambiguous(url, golds):
            flags.add("ambiguous_gold")
        dialect = self._executor.dialect(url)
        executions = [*golds, *([predicted] if predicted else [])]
        if any(is_nondeterministic(execution.query, dialect) for execution in executions):
            flags.add("nondeterministic")
        if any(execution.status == "truncated" for execution in executions):
            flags.add("truncated")
        if any(execution.status == "timeout" for execution in executions):
            flags.add("timeout")
        return frozenset(flags)

    def _any_ambiguous(self, url: DatabaseUrl, golds: Sequence[Execution]) -> bool:
        """Whether gold is ambiguous is a fact of the case, also where the answer could not be compared."""
        dialect = self._executor.dialect(url)
        return any(
            gold.succeeded
            and gold.result is not None
            and read_shape(gold.query, dialect).limited
            and self._gold(url, gold, gold.result).answer.ambiguous
            for gold in golds
        )

    def _requested(
        self,
        case: Case,
        prediction: Prediction,
        url: DatabaseUrl,
        golds: Sequence[Execution],
        requests: Sequence[QueryRequest],
    ) -> dict[QueryRequest, tuple[Execution, ...]]:
        if not any(gold.succeeded for gold in golds):
            return {}
        wanted = [request for metric in self._metrics for request in metric.requests(case, prediction)]
        found: dict[QueryRequest, tuple[Execution, ...]] = {}
        for request in (*wanted, *requests):
            if request not in found:
                urls = (url, *self._siblings(url)) if request.scope == "siblings" else (url,)
                # Whose query it was, the metric knows; here it matters only what kept it from running.
                found[request] = tuple(blame(self._executor.execute(each, request.query), "predicted") for each in urls)
        return found


_HEAD_ROWS = 5
"""Of each result, where a reader will want to see what came back."""
_CHECK = ComparisonOptions(near_misses=False, sample_rows=0, boolean_is_integer=True)


def _rows_and_ranks(seen: Result, probe: TieProbe) -> tuple[list[tuple[object, ...]], list[object]]:
    if probe.ranked:
        return [row[:-1] for row in seen.rows], [row[-1] for row in seen.rows]
    return list(seen.rows), [tuple(row[column] for column in probe.key_columns) for row in seen.rows]


def _closeness(comparison: Comparison) -> tuple[bool, bool, int, int]:
    in_place = comparison.column_mapping == tuple(range(len(comparison.column_mapping)))
    return (comparison.equal, comparison.equal and in_place, len(comparison.near_misses), comparison.matched_rows)


def _compared(predicted: Result, answer: Answer, options: ComparisonOptions) -> Comparison:
    """As `compare`, but no answer gets out of the rate by rows on which the search for an order of columns ends.

    Gold's own rows with their columns in reverse are as hard to find as any right answer. Where they are found, a
    right answer would have been; where they are not, gold is what cannot be decided by.
    """
    comparison = compare(predicted, answer, options)
    if comparison.decided:
        return comparison
    gold = answer.result
    mirrored = gold
    if options.columns == "any":
        mirrored = Result(columns=gold.columns[::-1], rows=tuple([row[::-1] for row in gold.rows]))
    if not compare(mirrored, answer, replace(options, near_misses=False, sample_rows=0)).decided:
        return comparison
    reason = f"{comparison.reason}; gold's own rows in another order of columns are found"
    return replace(comparison, decided=True, provoked=True, reason=reason)


def score_one(
    metric: Metric,
    case: Case,
    prediction: Prediction,
    executions: Executions,
    comparison: Comparison | None,
    *,
    verdict: Verdict,
) -> Score:
    """A metric's score. What left the case unscored leaves it so in every metric, the caller's own among them.

    An exception in a metric becomes a score without a value.
    """
    try:
        failure = _unscored_by(verdict) or _lost_request(metric, case, prediction, executions)
        if failure is not None:
            return Score(metric=metric.name, value=None, failure=failure)
        return metric.score(case, prediction, executions, comparison)
    except Exception as error:  # noqa: BLE001 - the per-case boundary: a metric's bug must not cost the run
        message = f"the metric {metric.name!r} failed with {type(error).__name__}: {error}"
        failure = Failure(stage="score", kind="unscorable", blame="judge", message=message)
        return Score(metric=metric.name, value=None, failure=failure)


def _unscored_by(verdict: Verdict) -> Failure | None:
    """What kept the queries from being compared at all. Where the comparison is undecided, other metrics may know."""
    failure = verdict.failure
    return failure if verdict.outcome == "unscored" and failure is not None and failure.stage != "compare" else None


def _lost_request(metric: Metric, case: Case, prediction: Prediction, executions: Executions) -> Failure | None:
    """What kept a query of the metric's own from running."""
    found = (execution for one in metric.requests(case, prediction) for execution in executions.requested.get(one, ()))
    return next((each.failure for each in found if befalls(each.failure)), None)
