"""Score one case: execute, compare, score. Runs in a worker, where the rows are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from assay.comparison.result_hash import result_hash
from assay.model import (
    STRICT,
    Case,
    Cause,
    ColumnRule,
    Comparison,
    ComparisonOptions,
    DatabaseSchema,
    DatabaseUrl,
    Diagnosis,
    Evidence,
    Execution,
    Flag,
    Leniency,
    Limits,
    Prediction,
    Row,
    Score,
    Verdict,
)
from assay.ports import CachingExecutor, ChecksSuite, Diagnoser, Executions, Metric, Pulse, QueryRequest, ScoredCase
from assay.scoring.queries.case_verdict import verdict_in_time
from assay.scoring.queries.comparing import is_right_answer
from assay.scoring.queries.context import CaseContext, ExecutionContext, FailureLog
from assay.scoring.queries.executions import execute_gold, execute_prediction, execute_requests
from assay.scoring.queries.given_rows import read_executions
from assay.scoring.queries.metric_scores import MetricScorer
from assay.scoring.queries.verdicts import undisputed
from assay.scoring.time_limit import NO_HEARTBEAT, OutOfTimeError, TimeLimit


class QueryScorer:
    """Scores queries on one executor, and keeps in its cache what several cases may need.

    Each case is executed, then compared and scored at once under a short time limit, which nearly every case meets. If
    it takes longer, its verdict and each metric's score are done again, each under the whole limit
    (``comparison_timeout_s``). All queries of one answer share the time and the bytes that ``limits`` give to one.

    ``gold_executor`` executes the gold queries, where the gold query has limits or databases of its own. The evidence
    keeps ``head_rows`` rows of each result if some metric does not call the answer right, and the first row where all
    do;
    None: a few rows where the answer is wrong. ``retrieval`` gives the metrics that are added for a prediction that
    says what the system was given.
    """

    def __init__(
        self,
        executor: CachingExecutor,
        metrics: Sequence[Metric],
        options: ComparisonOptions,
        *,
        pulse: Pulse = NO_HEARTBEAT,
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        head_rows: int | None = None,
        diagnoser: Diagnoser | None = None,
        suite: ChecksSuite | None = None,
        schemas: Callable[[DatabaseUrl], DatabaseSchema | None] | None = None,
        gold_executor: CachingExecutor | None = None,
        retrieval: Callable[[], Sequence[Metric]] | None = None,
    ) -> None:
        self._clock = TimeLimit(limits.comparison_timeout_s, pulse)
        self._limits = limits
        self._executor = executor
        self._gold_executor = gold_executor or executor
        self._metrics = tuple(metrics)
        self._head_rows = head_rows
        self._suite = suite
        self._schemas = schemas
        self._retrieval = retrieval
        self._asked = _Metrics.of(self._metrics)
        self._with_retrieval: _Metrics | None = None
        self._options = options
        self._variants: dict[tuple[ColumnRule, bool, Leniency | None], ComparisonOptions] = {}
        self._diagnoser = diagnoser
        self._repeatable = all(getattr(metric, "depends_on_queries_only", False) for metric in self._metrics)

    def evidence(
        self, case: Case, prediction: Prediction, url: DatabaseUrl, gold_url: DatabaseUrl | None = None
    ) -> Evidence:
        """As `score`, without the rows. Cases that pair the same queries on one database are scored once.

        Question sets often ask one thing in several wordings, and systems are asked repeatedly.
        """
        if prediction.query is None or not self._repeatable or case.expects != "answer" or prediction.given != "answer":
            return self.score(case, prediction, url, gold_url=gold_url).evidence
        at = url.text if gold_url is None else (url.text, gold_url.text)
        text = None if prediction.extraction is None else (prediction.raw, prediction.extraction)
        given = (case.database, prediction.context_tables, prediction.context_columns) if prediction.has_context else ()
        key = ("verdict", at, case.golds, case.results, prediction.query, text, case.options, *given)
        known = self._executor.cache.get(key)
        if not isinstance(known, Evidence):
            evidence = self.score(case, prediction, url, gold_url=gold_url).evidence
            self._executor.cache.put(key, evidence)
            return evidence
        return replace(known, case=case, prediction=prediction)

    def score(
        self,
        case: Case,
        prediction: Prediction,
        url: DatabaseUrl,
        requests: Sequence[QueryRequest] = (),
        *,
        gold_url: DatabaseUrl | None = None,
    ) -> ScoredCase:
        """Everything about one case. ``requests`` are executed besides what the metrics here ask for.

        ``gold_url``: the database of the gold queries, where that is another one.
        """
        if case.expects != "answer":
            # There are no results that metrics could compare.
            verdict = undisputed(case, prediction)
            scorer = MetricScorer(self._clock, case, prediction, url)
            scores = tuple([scorer.score_decision(metric, verdict) for metric in self._metrics])
            evidence = Evidence(case=case, prediction=prediction, verdict=verdict, scores=scores)
            return ScoredCase(evidence=evidence, executions=Executions())
        if prediction.answered and prediction.given in ("decline", "clarify"):
            # A query with a refusal was not given as the answer: neither executed nor scored.
            held_back = replace(prediction, query=None, result=None, decision=prediction.given)
            scored = self.score(case, held_back, url, requests, gold_url=gold_url)
            evidence = replace(scored.evidence, prediction=prediction)
            return ScoredCase(evidence=evidence, executions=scored.executions)
        scored = self._scored(case, prediction, url, requests, gold_url=gold_url)
        if not (flags := _flags_of(prediction)):
            return scored
        verdict = replace(scored.evidence.verdict, flags=scored.evidence.verdict.flags | flags)
        return replace(scored, evidence=replace(scored.evidence, verdict=verdict))

    def _metrics_for(self, prediction: Prediction) -> _Metrics:
        """The metrics that were asked for; of a prediction with a context, also those of retrieval."""
        if self._retrieval is None or not prediction.has_context:
            return self._asked
        if self._with_retrieval is None:
            names = {metric.name for metric in self._metrics}
            added = (metric for metric in self._retrieval() if metric.name not in names)
            self._with_retrieval = _Metrics.of((*self._metrics, *added))
        return self._with_retrieval

    def _scored(
        self,
        case: Case,
        prediction: Prediction,
        url: DatabaseUrl,
        requests: Sequence[QueryRequest],
        *,
        gold_url: DatabaseUrl | None,
    ) -> ScoredCase:
        """As `score`, of a question that must be answered and a prediction that answers it."""
        context = self._executed(case, prediction, url, url if gold_url is None else gold_url)
        golds, predicted = context.golds, context.execution
        suite = None if self._suite is None else self._suite.check(case, prediction, context.options)
        schema = self._schemas(url) if self._schemas is not None and self._metrics_for(prediction).need_schema else None
        executions = Executions(
            golds=golds,
            predicted=predicted,
            suite=suite,
            schema=schema,
            dialect=context.predicted.dialect,
            apart=context.apart,
        )
        action = partial(self._score_case, context, requests, executions)
        try:
            # All at once, which saves most of the time that holding each step takes.
            what = ("case", context.key, case.id, *case.golds, prediction.query)
            comparison, verdict, executions, scores = self._clock.run_short(what, action)
        except OutOfTimeError:
            comparison, verdict, executions, scores = action()
        head = self._head(verdict, scores)
        shown = tuple([head(gold) for gold in golds])
        answer = None
        if predicted is not None:
            answer = shown[0] if golds and predicted is golds[0] else head(predicted)
        requested = executions.requested.items()
        evidence = Evidence(
            case=case,
            prediction=prediction,
            verdict=verdict,
            scores=scores,
            comparison=comparison,
            gold_executions=shown,
            predicted_execution=answer,
            candidates=tuple([head(each[0]) for request, each in requested if request.candidate]),
            result_hash=None if verdict.outcome != "incorrect" else _hash_of(context, comparison),
        )
        if self._diagnoser is not None and verdict.outcome == "incorrect":
            evidence = with_causes(self._diagnoser, context, evidence)
        return ScoredCase(evidence=evidence, executions=executions)

    def _executed(self, case: Case, prediction: Prediction, url: DatabaseUrl, gold_url: DatabaseUrl) -> CaseContext:
        """The case with both sides executed."""
        predicted = gold = ExecutionContext(
            executor=self._executor,
            url=url,
            dialect=self._executor.dialect(url),
            clock=self._clock,
            limits=self._limits,
            cache=self._executor.cache,
            failures=FailureLog(),
        )
        apart = gold_url is not url and gold_url != url
        if apart or self._gold_executor is not self._executor:
            gold = replace(
                predicted,
                executor=self._gold_executor,
                url=gold_url,
                dialect=self._gold_executor.dialect(gold_url),
                cache=self._gold_executor.cache,
            )
        golds = execute_gold(gold, case)
        return CaseContext(
            case=case,
            prediction=prediction,
            gold=gold,
            predicted=predicted,
            options=self._options_for(case, gold, predicted),
            golds=golds,
            execution=execute_prediction(gold, predicted, case, prediction, golds),
            apart=apart,
        )

    def _options_for(self, case: Case, gold: ExecutionContext, predicted: ExecutionContext) -> ComparisonOptions:
        """The run's options, with what the case and its database say themselves."""
        columns = case.options.columns or self._options.columns
        declared = case.options.leniency
        # None stands for the run's own leniency, which nearly every case has: hashing one takes longer than the rest.
        leniency = None if declared == STRICT else declared.over(self._options.leniency)
        has_boolean = predicted.has_boolean_type
        if gold is not predicted and has_boolean:
            has_boolean = gold.has_boolean_type
        key = (columns, not has_boolean, leniency)
        known = self._variants.get(key)
        if known is None:
            known = self._variants[key] = replace(
                self._options, columns=columns, boolean_is_integer=key[1], leniency=leniency or self._options.leniency
            )
        return known

    def _score_case(
        self, context: CaseContext, requests: Sequence[QueryRequest], executions: Executions
    ) -> tuple[Comparison | None, Verdict, Executions, tuple[Score, ...]]:
        """The verdict on executed queries and its scores; each step is held to its time limit."""
        context.forget_failures()
        comparison, verdict, compared = verdict_in_time(context)
        scorer = MetricScorer(self._clock, context.case, context.prediction, context.predicted.url)
        metrics = self._metrics_for(context.prediction).metrics
        asked = [*scorer.requests(metrics), *requests]
        if asked and not any(gold.succeeded for gold in context.golds):
            asked = [request for request in asked if request.candidate]
        predicted = context.execution
        if compared is not None and compared.reads:
            golds, predicted = read_executions(context.golds, predicted, compared.reads, compared.index)
            executions = replace(executions, golds=golds, predicted=predicted)
        if asked:
            executed = [] if context.execution is None else [context.execution]
            if context.gold is context.predicted:
                executed += context.golds
            requested = execute_requests(context.predicted, asked, predicted, executed)
            executions = replace(executions, requested=requested)
        scores = tuple([scorer.score(metric, executions, comparison, verdict) for metric in metrics])
        return comparison, verdict, executions, scores

    def _head(self, verdict: Verdict, scores: Sequence[Score]) -> Callable[[Execution], Execution]:
        """What keeps as many rows of an execution's result as a reader will want to see."""
        if self._head_rows is None:
            return partial(with_head, rows=0 if verdict.outcome == "correct" else _HEAD_ROWS, cut=False)
        right = all([score.value == 1.0 for score in scores])  # noqa: C419 - every case passes here: a generator takes longer
        return partial(with_head, rows=1 if right else self._head_rows, cut=True)


def _flags_of(prediction: Prediction) -> frozenset[Flag]:
    """That a prediction's query was extracted from a text, and that the text contains several."""
    how = prediction.extraction
    if how is None or how.place in (None, "tool"):  # the argument of a tool call is the query, not a text
        return frozenset()
    return frozenset(("extracted", "several_statements")) if how.several else frozenset(("extracted",))


class _Metrics(Struct, frozen=True):
    """The metrics of a case, in order."""

    metrics: tuple[Metric, ...]
    need_schema: bool

    @classmethod
    def of(cls, metrics: tuple[Metric, ...]) -> _Metrics:
        return cls(metrics, any(getattr(metric, "needs_schema", False) for metric in metrics))


_HEAD_ROWS = 5
"""Rows to keep of each result, if a reader will want to see them."""
_HEAD_CHARACTERS = 100_000
"""The approximate limit for a longer head: a thousand rows may hold a gigabyte."""


def with_head(execution: Execution, *, rows: int, cut: bool) -> Execution:
    """The execution with the first rows of its result only. ``cut``: with no more characters than a head may have."""
    result = execution.result
    if result is None or not rows:
        return execution.without_rows()
    head = result.rows[:rows]
    return execution.without_rows(head=tuple(_within_characters(head)) if cut else head)


def _within_characters(rows: Sequence[Row]) -> Iterator[Row]:
    left = _HEAD_CHARACTERS
    for row in rows:
        cells = tuple([cell[:_HEAD_CHARACTERS] if isinstance(cell, str | bytes) else cell for cell in row])
        left -= sum([len(cell) if isinstance(cell, str | bytes) else 8 for cell in cells])
        if left < 0 and row is not rows[0]:
            return
        yield cells


def _hash_of(context: CaseContext, comparison: Comparison | None) -> str | None:
    """A hash of an incorrect answer's result, by which people's decisions about it are found again."""
    predicted = context.execution
    if predicted is None or predicted.result is None or not predicted.succeeded:
        return None
    ordered = comparison is not None and comparison.ordered
    return result_hash(predicted.result, ordered=ordered, any_columns=context.options.columns == "any")


def with_causes(diagnoser: Diagnoser, context: CaseContext, evidence: Evidence) -> Evidence:
    """The evidence with its causes, which equal answers to equal gold queries share, whatever else is scored of them.

    A diagnosis that fails or takes too long says so in its place, without risk to the verdict.
    """
    case, prediction, verdict = context.case, context.prediction, evidence.verdict
    if context.apart and verdict.failure is None:
        near = evidence.comparison.near_misses if evidence.comparison is not None else ()
        words = "; ".join([verdict.reason, *(miss.detail for miss in near[:2])])
        note = "the gold query runs on another database: only the results are compared, and no clauses"
        found = Diagnosis(causes=(Cause(kind="other", message=words),), notes=(note,), title="Other")
        return replace(evidence, diagnosis=found, cause=found.title)
    key = ("diagnosis", context.key, case.golds, case.results, prediction.query, prediction.result, case.options)
    known = context.predicted.recall(*key, verdict)
    diagnosis = known if isinstance(known, Diagnosis) else None
    if diagnosis is None:
        what = ("diagnosis", context.predicted.url.text, *case.golds, prediction.query)
        try:
            diagnosis = context.predicted.clock.run(
                what, lambda: diagnoser.diagnose(evidence, context.predicted.url, partial(is_right_answer, context))
            )
        except OutOfTimeError as error:
            diagnosis = Diagnosis(causes=(), notes=(f"looking for the cause {error}",))
        except Exception as error:  # noqa: BLE001 - the case's boundary: a verdict must not be lost for want of its cause
            words = f"looking for the cause failed: {type(error).__name__}: {error}"
            diagnosis = Diagnosis(causes=(), notes=(words,))
        if diagnosis is None:
            return evidence
        context.predicted.keep(diagnosis, *key, verdict)
    return replace(evidence, diagnosis=diagnosis, cause=diagnosis.title)
