"""Judge one case: execute, compare, score. Runs in a worker, where the rows are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

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
    Outcome,
    Prediction,
    Result,
    Score,
    Strength,
    Verdict,
)
from assay.ports import Executions, Metric, QueryRequest
from assay.runs.vacuous import see_vacuity
from assay.sql import TieProbe, is_nondeterministic, may_be_cut, read_shape, tie_probe


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
        self._executor = executor
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
        golds = tuple(_blame_gold(self._executor.execute(url, gold)) for gold in case.golds)
        predicted = None if prediction.query is None else self._executor.execute(url, prediction.query)
        if _is_no_query(prediction.query) and not any(map(_is_no_query, case.golds)):
            comparison, index, strict_order = None, None, False
        else:
            comparison, index, strict_order = self._compare(case, url, golds, predicted)
        if comparison is not None and index is not None and predicted is not None:
            comparison = see_vacuity(self._executor, url, golds[index], predicted, comparison)
        flags = self._flags(url, golds, predicted, comparison)
        if strict_order:
            flags |= {"strict_order"}
        verdict = _Finding(prediction, golds, predicted, comparison, index, flags).verdict()
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
            scores=tuple(score_one(metric, case, prediction, executions, comparison) for metric in self._metrics),
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
            return compare(predicted, answer, options), False
        if not may_be_cut(execution.query) and predicted.rows == gold.rows:
            # The same rows in the same order, and all of them: whether order counts does not matter.
            return compare(predicted, Answer.bag(gold), options), False
        known = self._gold(url, execution, gold)
        return compare(predicted, known.answer, options), known.strict_order

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
            known = self._answers[key] = self._work_out(url, execution, gold)
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
                found[request] = tuple(self._executor.execute(each, request.query) for each in urls)
        return found


_HEAD_ROWS = 5
"""Of each result, where a reader will want to see what came back."""
# Atomic, so that a text of many comments is read once and not in all ways to divide it.
_BLANK = r"(?>\s|\(|--[^\n]*\n|/\*.*?\*/)*+"
_NO_QUERY = re.compile(rf"{_BLANK}(pragma|explain)\b", re.IGNORECASE | re.DOTALL)
_BEGINS_LIKE_SQL = re.compile(
    rf"{_BLANK}(select|with|values|table|from|pivot|unpivot|show|describe|desc|explain|pragma|call|exec"
    r"|insert|update|delete|replace|merge|upsert|create|alter|drop|truncate|grant|revoke|attach|detach|vacuum|analyze"
    r"|begin|commit|rollback|savepoint|release|set|reset|use|copy|load|install|import|export|do|declare|prepare"
    r"|execute|lock|reindex|refresh|comment|checkpoint)\b",
    re.IGNORECASE | re.DOTALL,
)
"""What a statement can begin with. Only asked where the engine could not run a text: is it prose?"""
_CHECK = ComparisonOptions(near_misses=False, sample_rows=0, boolean_is_integer=True)


def _is_no_query(text: str | None) -> bool:
    """Whether a text asks about the engine (PRAGMA, EXPLAIN): engines run it, but its rows answer no question."""
    return text is not None and _NO_QUERY.match(text) is not None


def _rows_and_ranks(seen: Result, probe: TieProbe) -> tuple[list[tuple[object, ...]], list[object]]:
    if probe.ranked:
        return [row[:-1] for row in seen.rows], [row[-1] for row in seen.rows]
    return list(seen.rows), [tuple(row[column] for column in probe.key_columns) for row in seen.rows]


def _closeness(comparison: Comparison) -> tuple[bool, bool, int, int]:
    in_place = comparison.column_mapping == tuple(range(len(comparison.column_mapping)))
    return (comparison.equal, comparison.equal and in_place, len(comparison.near_misses), comparison.matched_rows)


def _blame_gold(execution: Execution) -> Execution:
    failure = execution.failure
    if failure is None:
        return execution
    setup = failure.kind in ("unreadable_database", "truncated")
    return replace(execution, failure=replace(failure, blame="setup" if setup else "gold"))


@dataclass(frozen=True, slots=True)
class _Finding:
    """What was found out about one case, and the verdict that it comes to."""

    prediction: Prediction
    golds: Sequence[Execution]
    predicted: Execution | None
    comparison: Comparison | None
    index: int | None
    flags: frozenset[Flag]

    def verdict(self) -> Verdict:
        """The verdict, by the first thing that decides it."""
        if not any(gold.succeeded for gold in self.golds):
            failure = next((gold.failure for gold in self.golds if gold.failure), None)
            if failure is None:
                failure = Failure(stage="load", kind="no_gold", blame="gold", message="the case has no gold query")
            return self._of("unscored", f"gold gives no answer: {failure.message}", failure=failure)
        if self.predicted is None:
            failure = self.prediction.failure or unanswered()
            return self._of("incorrect", f"no query to judge: {failure.message}", failure=failure)
        if self.comparison is None:
            return self._of_failed(self.predicted)
        if not self.comparison.decided:
            failure = Failure(stage="compare", kind="unscorable", blame="judge", message=self.comparison.reason)
            return self._of("unscored", self.comparison.reason, failure=failure)
        if self.comparison.equal:
            return self._of("correct", self.comparison.reason, strength="matched_on_one_database")
        return self._of("incorrect", self.comparison.reason, strength="refuted")

    def _of_failed(self, predicted: Execution) -> Verdict:
        failure = predicted.failure
        if predicted.result is not None and _is_no_query(predicted.query):
            failure = _prose(predicted.query)
        elif predicted.status == "truncated" or failure is None:
            message = "a cap cut the prediction's result before it could be compared: raise the caps"
            failure = Failure(stage="execute", kind="truncated", blame="setup", message=message)
            return self._of("unscored", message, failure=failure)
        if failure.kind == "unreadable_database":
            return self._of("unscored", failure.message, failure=replace(failure, blame="setup"))
        if failure.kind == "error" and not _BEGINS_LIKE_SQL.match(predicted.query):
            failure = _prose(predicted.query)
        return self._of("incorrect", f"the prediction fails: {failure.message}", failure=failure)

    def _of(
        self, outcome: Outcome, reason: str, *, failure: Failure | None = None, strength: Strength = "none"
    ) -> Verdict:
        return Verdict(
            outcome=outcome,
            reason=reason,
            flags=self.flags,
            strength=strength,
            gold_index=self.index,
            failure=failure,
        )


def _prose(text: str) -> Failure:
    opening = " ".join(text.split())[:60]
    message = f"it is no query: it begins with {opening!r}"
    return Failure(stage="read", kind="no_query", blame="system", message=message)


def unanswered() -> Failure:
    """The failure of a case that no prediction answers."""
    return Failure(stage="ask", kind="unanswered", blame="system", message="the system gave no answer to this case")


def score_one(
    metric: Metric, case: Case, prediction: Prediction, executions: Executions, comparison: Comparison | None
) -> Score:
    """A metric's score; an exception in it becomes a score without a value."""
    try:
        return metric.score(case, prediction, executions, comparison)
    except Exception as error:  # noqa: BLE001 - the per-case boundary: a metric's bug must not cost the run
        message = f"the metric {metric.name!r} failed with {type(error).__name__}: {error}"
        failure = Failure(stage="score", kind="unscorable", blame="judge", message=message)
        return Score(metric=metric.name, value=None, failure=failure)
