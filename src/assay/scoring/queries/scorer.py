"""Judge one case: execute, compare, score. Runs in a worker, where the rows are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain
from marshal import dumps

from assay.comparison import Answer, compare_with_itself
from assay.comparison.codes.shared import are_few, same_lists, shared_codes
from assay.model import (
    STRICT,
    Case,
    ColumnRule,
    Comparison,
    ComparisonOptions,
    DatabaseUrl,
    Evidence,
    Execution,
    Failure,
    Flag,
    Leniency,
    Limits,
    Prediction,
    Result,
    Row,
    Score,
    Verdict,
)
from assay.model.making import remade
from assay.ports import CachingExecutor, Diagnoser, Executions, Metric, Pulse, QueryRequest, ScoredCase
from assay.scoring.queries.diagnosing import diagnosed
from assay.scoring.queries.gold_answers import GoldAnswer, GoldAnswers
from assay.scoring.queries.luck import Luck, leaves_room
from assay.scoring.queries.metric_scores import Scorer
from assay.scoring.queries.vacuous import see_vacuity
from assay.scoring.queries.verdicts import Finding, blame, is_no_query
from assay.scoring.queries.watching import ThriftyExecutor, WatchedExecutor
from assay.scoring.timekeeping import SILENT, OutOfTimeError, Timekeeper
from assay.sql import is_nondeterministic, may_be_cut


class QueryScorer:
    """Judges queries on one executor, and keeps in its cache what several cases may need.

    Comparing, and each metric's score, may take ``timeout_s`` seconds; all queries of one answer share the time and the
    bytes that ``limits`` give to one. The
    evidence keeps ``head_rows`` rows of each result where some metric does not call the answer right, and the first
    row where all do; None: a few rows where the answer is wrong.
    """

    def __init__(
        self,
        executor: CachingExecutor,
        metrics: Sequence[Metric],
        options: ComparisonOptions,
        *,
        timeout_s: float = Limits().comparison_timeout_s,
        pulse: Pulse = SILENT,
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        head_rows: int | None = None,
        diagnoser: Diagnoser | None = None,
    ) -> None:
        self._keeper = Timekeeper(timeout_s, pulse)
        self._executor = WatchedExecutor(executor, self._keeper)
        self._metrics = tuple(metrics)
        self._limits = limits
        self._head_rows = head_rows
        self._diagnoser = diagnoser
        self._options = options
        self._answers = GoldAnswers(self._executor)
        self._variants: dict[tuple[ColumnRule, bool, Leniency | None], ComparisonOptions] = {}
        self._repeatable = all(getattr(metric, "depends_on_queries_only", False) for metric in self._metrics)

    def evidence(self, case: Case, prediction: Prediction, url: DatabaseUrl) -> Evidence:
        """As `score`, without the rows. Cases that pair the same queries on one database are judged once.

        Question sets often ask one thing in several wordings, and systems are asked repeatedly.
        """
        if not self._repeatable or prediction.query is None:
            return self.score(case, prediction, url).evidence
        key = ("verdict", url.text, case.golds, prediction.query, case.options)
        known = self._executor.recall(*key)
        if not isinstance(known, Evidence):
            evidence = self.score(case, prediction, url).evidence
            self._executor.keep(evidence, *key)
            return evidence
        return remade(known, case=case, prediction=prediction)

    def score(
        self, case: Case, prediction: Prediction, url: DatabaseUrl, requests: Sequence[QueryRequest] = ()
    ) -> ScoredCase:
        """Everything about one case. ``requests`` are executed beside what the metrics here ask for."""
        golds = tuple([blame(self._executor.execute(url, gold), "gold") for gold in case.golds])
        predicted = None
        if prediction.query is not None:
            predicted = blame(self._executor.execute(url, prediction.query), "predicted")
        action = partial(self._score_case, case, prediction, url, requests, golds=golds, predicted=predicted)
        with nullcontext() if _are_few(golds, predicted) else shared_codes():
            try:
                # All at once, which saves most of the time that holding each step takes.
                comparison, verdict, executions, scores = self._keeper.hold_briefly(
                    ("case", url.text, case.id, *case.golds, prediction.query), action
                )
            except OutOfTimeError:
                comparison, verdict, executions, scores = action()
        head, cut = self._head(verdict, scores), self._head_rows is not None
        shown = tuple([_without_rows(gold, head=head, cut=cut) for gold in golds])
        answer = None
        if predicted is not None:
            answer = shown[0] if golds and predicted is golds[0] else _without_rows(predicted, head=head, cut=cut)
        evidence = Evidence(
            case=case,
            prediction=prediction,
            verdict=verdict,
            scores=scores,
            comparison=comparison,
            gold_executions=shown,
            predicted_execution=answer,
            candidates=tuple(
                [
                    _without_rows(each[0], head=head, cut=cut)
                    for request, each in executions.requested.items()
                    if request.candidate
                ]
            ),
        )
        if self._diagnoser is not None and verdict.outcome == "incorrect":
            is_right = partial(self._would_be_right, case, url, golds)
            evidence = diagnosed(self._diagnoser, self._keeper, evidence, url, is_right)
        return ScoredCase(evidence=evidence, executions=executions)

    def _would_be_right(self, case: Case, url: DatabaseUrl, golds: Sequence[Execution], query: str) -> bool:
        """Whether a query would be a right answer to the case."""
        found = self._executor.execute(url, query)
        if found.result is None or found.status == "truncated":
            return False
        fitting = [gold for gold in golds if gold.succeeded and gold.result is not None]
        return any(self._compare_one(case, url, gold, found.result, briefly=True)[0].equal for gold in fitting)

    def _score_case(
        self,
        case: Case,
        prediction: Prediction,
        url: DatabaseUrl,
        requests: Sequence[QueryRequest],
        *,
        golds: tuple[Execution, ...],
        predicted: Execution | None,
    ) -> tuple[Comparison | None, Verdict, Executions, tuple[Score, ...]]:
        """Judge executed queries; each step is held to its time limit."""
        self._executor.look_out()
        if self._keeper.holds:
            comparison, verdict = self._verdict(case, prediction, url, golds, predicted)
        else:
            comparison, verdict = self._held_verdict(case, prediction, url, golds, predicted)
        scorer = Scorer(self._keeper, case, prediction, url)
        asked = [*scorer.requests(self._metrics), *requests]
        if asked and not any(gold.succeeded for gold in golds):
            asked = [request for request in asked if request.candidate]
        executions = Executions(golds=golds, predicted=predicted, requested=self._requested(url, asked, predicted))
        scores = tuple([scorer.score(metric, executions, comparison, verdict) for metric in self._metrics])
        return comparison, verdict, executions, scores

    def _head(self, verdict: Verdict, scores: Sequence[Score]) -> int:
        """How many rows of each result a reader will want to see."""
        if self._head_rows is None:
            return 0 if verdict.outcome == "correct" else _HEAD_ROWS
        right = all([score.value == 1.0 for score in scores])  # noqa: C419 - every case passes here: a generator takes longer
        return 1 if right else self._head_rows

    def _held_verdict(
        self,
        case: Case,
        prediction: Prediction,
        url: DatabaseUrl,
        golds: Sequence[Execution],
        predicted: Execution | None,
    ) -> tuple[Comparison | None, Verdict]:
        """The comparison and the verdict, or a timeout's failure; metrics that need neither still run."""
        what = ("verdict", url.text, case.golds, prediction.query, case.options)
        try:
            return self._keeper.hold(what, lambda: self._verdict(case, prediction, url, golds, predicted))
        except OutOfTimeError as error:
            comparison = Comparison(equal=False, decided=False, reason=f"comparing the results {error}")
            if error.kind != "crashed" and self._compares_itself(case, url, golds):
                reason = f"{comparison.reason}; gold beside itself is compared within its limits"
                comparison = replace(comparison, decided=True, provoked=True, reason=reason)
            finding = Finding(
                prediction=prediction,
                golds=golds,
                predicted=predicted,
                comparison=comparison,
                trouble=self._executor.trouble,
            )
            return comparison, finding.verdict()

    def _compares_itself(self, case: Case, url: DatabaseUrl, golds: Sequence[Execution]) -> bool:
        """Whether a right answer could have been compared: gold's own rows, in another order of columns if any will do.

        If so, the answer itself made the comparison impossible, and must not become unscored by that.
        """
        gold = next((gold for gold in golds if gold.succeeded and gold.result is not None), None)
        if gold is None or gold.result is None:
            return False
        options = replace(self._options_for(case, url), near_misses=False, sample_rows=0)
        own = gold.result
        mirrored = own
        if options.columns == "any":
            mirrored = Result(columns=own.columns[::-1], rows=tuple([row[::-1] for row in own.rows]))
        what = ("gold beside itself", url.text, gold.query, case.options)
        try:
            return self._keeper.hold(what, lambda: self._answers.of(url, gold, own).compare(mirrored, options).decided)
        except OutOfTimeError:
            return False

    def _verdict(
        self,
        case: Case,
        prediction: Prediction,
        url: DatabaseUrl,
        golds: Sequence[Execution],
        predicted: Execution | None,
    ) -> tuple[Comparison | None, Verdict]:
        own = self._own_rows(case, url, golds, predicted)
        if own is not None and predicted is not None:
            own = see_vacuity(self._executor, url, golds[0], predicted, own)
            flags = self._flags(url, golds, None, own)
            finding = Finding(
                prediction=prediction, golds=golds, predicted=predicted, comparison=own, index=0, flags=flags
            )
            return own, finding.verdict()
        if is_no_query(prediction.query) and not any(map(is_no_query, case.golds)):
            comparison, index, known = None, None, None
        else:
            comparison, index, known = self._compare(case, url, golds, predicted)
        if comparison is not None and index is not None and predicted is not None:
            comparison = see_vacuity(self._executor, url, golds[index], predicted, comparison)
        ambiguity = known.ambiguity if known is not None else self._answers.ambiguity(url, golds)
        flags = self._flags(url, golds, predicted, comparison)
        if ambiguity is not None:
            flags |= {"ambiguous_gold"}
        if known is not None and known.strict_order:
            flags |= {"strict_order"}
        strictly_equal = comparison is not None and comparison.equal and not comparison.lenient
        if comparison is not None and strictly_equal and case.options.ordered is None:
            flags |= self._luck(url, golds, index, predicted, comparison)
        trouble = self._executor.trouble
        finding = Finding(
            prediction=prediction,
            golds=golds,
            predicted=predicted,
            comparison=comparison,
            index=index,
            flags=flags,
            ambiguity=ambiguity,
            trouble=trouble,
        )
        return comparison, finding.verdict()

    def _own_rows(
        self, case: Case, url: DatabaseUrl, golds: Sequence[Execution], predicted: Execution | None
    ) -> Comparison | None:
        """The comparison of an answer in gold's own words, which therefore has gold's own rows; else None.

        Most answers of a good system are such: nothing is to be found out about them. Where gold may choose among
        rows, its own words are compared like any others.
        """
        if predicted is None or len(golds) != 1 or case.options.ordered is not None:
            return None
        gold = golds[0]
        if gold.result is None or predicted.result is not gold.result or not gold.succeeded:
            return None
        if gold.query != predicted.query or self._executor.trouble is not None:
            return None
        if may_be_cut(gold.query, self._executor.dialect(url)):
            return None
        return compare_with_itself(gold.result, self._options_for(case, url))

    def _compare(
        self, case: Case, url: DatabaseUrl, golds: Sequence[Execution], predicted: Execution | None
    ) -> tuple[Comparison | None, int | None, GoldAnswer | None]:
        """The comparison with the best fitting gold, its index, and that gold's answer."""
        best: tuple[Comparison, int, GoldAnswer] | None = None
        if predicted is None or predicted.result is None:
            return None, None, None
        for index, execution in enumerate(golds):
            if not execution.succeeded or execution.result is None:
                continue
            if predicted.status == "truncated" and len(predicted.result.rows) < len(execution.result.rows):
                continue  # the part that was cut off might have matched
            comparison, known = self._compare_one(case, url, execution, predicted.result)
            if predicted.status == "truncated" and comparison.equal:
                comparison = replace(comparison, equal=False, reason="the prediction returns more rows than gold")
            if best is None or _closeness(comparison) > _closeness(best[0]):
                best = (comparison, index, known)
        return best or (None, None, None)

    def _compare_one(
        self, case: Case, url: DatabaseUrl, execution: Execution, predicted: Result, *, briefly: bool = False
    ) -> tuple[Comparison, GoldAnswer]:
        gold = execution.result
        if gold is None:
            raise ValueError("only an execution with a result can be compared with")
        options = self._options_for(case, url)
        if briefly:
            options = replace(options, near_misses=False, sample_rows=0)
        if case.options.ordered is not None:
            known = GoldAnswer(answer=Answer.strict(gold) if case.options.ordered else Answer.bag(gold))
        elif not may_be_cut(execution.query, self._executor.dialect(url)) and same_lists(gold.rows, predicted.rows):
            # The same rows in the same order, and all of them: whether order counts does not matter.
            known = GoldAnswer(answer=Answer.bag(gold))
        else:
            known = self._answers.of(url, execution, gold)
        return known.compare(predicted, options, deadline=self._keeper.soon()), known

    def _options_for(self, case: Case, url: DatabaseUrl) -> ComparisonOptions:
        columns = case.options.columns or self._options.columns
        declared = case.options.leniency
        # None stands for the run's own leniency, which nearly every case has: hashing one takes longer than the rest.
        leniency = None if declared == STRICT else declared.over(self._options.leniency)
        key = (columns, not self._executor.has_boolean_type(url), leniency)
        known = self._variants.get(key)
        if known is None:
            known = self._variants[key] = replace(
                self._options, columns=columns, boolean_is_integer=key[1], leniency=leniency or self._options.leniency
            )
        return known

    def _siblings(self, url: DatabaseUrl) -> tuple[DatabaseUrl, ...]:
        known = self._executor.recall("siblings", url.text)
        if isinstance(known, tuple):
            return known
        found = self._executor.siblings(url)
        self._executor.keep(found, "siblings", url.text)
        return found

    def _luck(
        self,
        url: DatabaseUrl,
        golds: Sequence[Execution],
        index: int | None,
        predicted: Execution | None,
        comparison: Comparison,
    ) -> frozenset[Flag]:
        """The flags for a right answer that is right by luck."""
        gold = golds[index].result if index is not None else None
        if index is None or gold is None or predicted is None or predicted.result is None:
            return frozenset()
        if not leaves_room(golds[index].query, predicted.query, len(gold.rows), self._executor.dialect(url)):
            return frozenset()
        luck = Luck(ThriftyExecutor(self._executor, predicted.took_s), url)
        known = self._answers.of(url, golds[index], gold)
        return luck.flags(known, comparison, predicted.query, predicted.result)

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
        if comparison is not None and comparison.lenient:
            flags.add("lenient")
        dialect = self._executor.dialect(url)
        for execution in golds if predicted is None else (*golds, predicted):
            if is_nondeterministic(execution.query, dialect):
                flags.add("nondeterministic")
            if execution.status == "truncated":
                flags.add("truncated")
            elif execution.status == "timeout":
                flags.add("timeout")
        return frozenset(flags) if flags else _NO_FLAGS

    def _requested(
        self, url: DatabaseUrl, requests: Sequence[QueryRequest], predicted: Execution | None
    ) -> dict[QueryRequest, tuple[Execution, ...]]:
        found: dict[QueryRequest, tuple[Execution, ...]] = {}
        if not requests:
            return found
        answers = [] if predicted is None else [predicted]
        for request in requests:
            if request in found:
                continue
            if request.candidate:
                same = next((one for one in answers if one.query == request.query), None)
                if same is None:
                    same = self._candidate(url, request.query, answers)
                    answers.append(same)
                found[request] = (same,)
            else:
                urls = (url, *self._siblings(url)) if request.scope == "siblings" else (url,)
                # The metric knows whose query it was; here only the reason that kept it from running matters.
                found[request] = tuple(blame(self._executor.execute(each, request.query), "predicted") for each in urls)
        return found

    def _candidate(self, url: DatabaseUrl, query: str, before: Sequence[Execution]) -> Execution:
        """Execute a further query of an answer, unless earlier ones used up the answer's time or bytes."""
        limits = self._limits
        what = None
        if sum(one.took_s or 0.0 for one in before) >= limits.timeout_s:
            what = f"limit of {limits.timeout_s:g} s"
        elif sum(map(_size, before)) >= limits.max_result_bytes:
            what = f"{limits.max_result_bytes >> 20:,} MiB that results may have"
        if what is None:
            return blame(self._executor.execute(url, query), "predicted")
        message = f"not run: the queries before it used up the {what}"
        failure = Failure(stage="execute", kind="timeout", blame="system", message=message)
        return Execution(query=query, status="timeout", failure=failure)


_NO_FLAGS: frozenset[Flag] = frozenset()
_HEAD_ROWS = 5
"""Rows to keep of each result, where a reader will want to see them."""
_FEW_CELLS = 1_000
_HEAD_CHARACTERS = 100_000
"""The approximate limit for a longer head: a thousand rows may hold a gigabyte."""


def _are_few(golds: Sequence[Execution], predicted: Execution | None) -> bool:
    """Whether all results are so small that nothing about them is worth keeping for the next step."""
    for one in golds:
        if one.result is not None and not are_few(one.result.rows):
            return False
    return predicted is None or predicted.result is None or are_few(predicted.result.rows)


def _size(execution: Execution) -> int:
    """The approximate size of an execution's rows in bytes."""
    cells = chain.from_iterable(execution.result.rows) if execution.result is not None else ()
    return sum([len(cell) if isinstance(cell, str | bytes) else 8 for cell in cells])


def _without_rows(execution: Execution, *, head: int, cut: bool) -> Execution:
    result = execution.result
    if result is None or not head:
        return execution.without_rows()
    rows = result.rows[:head]
    return execution.without_rows(head=tuple(_within_characters(rows)) if cut and not _is_short(rows) else rows)


def _is_short(rows: Sequence[Row]) -> bool:
    """Whether the rows surely have fewer characters than a head may have: a check many times as fast as counting."""
    if not rows or len(rows) * len(rows[0]) > _FEW_CELLS:
        return False
    try:
        return len(dumps(rows)) < _HEAD_CHARACTERS  # type: ignore[arg-type]
    except ValueError:  # dates, decimals and the like
        return False


def _within_characters(rows: Sequence[Row]) -> Iterator[Row]:
    left = _HEAD_CHARACTERS
    for row in rows:
        cells = tuple([cell[:_HEAD_CHARACTERS] if isinstance(cell, str | bytes) else cell for cell in row])
        left -= sum([len(cell) if isinstance(cell, str | bytes) else 8 for cell in cells])
        if left < 0 and row is not rows[0]:
            return
        yield cells


def _closeness(comparison: Comparison) -> tuple[bool, bool, int, int]:
    in_place = comparison.column_mapping == tuple(range(len(comparison.column_mapping)))
    return (comparison.equal, comparison.equal and in_place, len(comparison.near_misses), comparison.matched_rows)
