"""Judge one case: execute, compare, score. Runs in a worker, where the rows are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial

from msgspec.structs import replace

from assay.comparison.codes.shared import are_few, shared_codes
from assay.model import (
    STRICT,
    Case,
    Comparison,
    ComparisonOptions,
    DatabaseSchema,
    DatabaseUrl,
    Evidence,
    Execution,
    Failure,
    Flag,
    Limits,
    Prediction,
    Score,
    Verdict,
)
from assay.ports import CachingExecutor, ChecksSuite, Diagnoser, Executions, Metric, Pulse, QueryRequest, ScoredCase
from assay.scoring.queries.brevity import ends_at_once
from assay.scoring.queries.case_databases import CaseDatabases
from assay.scoring.queries.chance_match import ChanceMatchDetector, may_match_by_chance
from assay.scoring.queries.comparing import Compared, GoldComparer
from assay.scoring.queries.diagnosing import Causes
from assay.scoring.queries.given_rows import checked_gold, read_executions
from assay.scoring.queries.gold_answers import GoldAnswer, GoldAnswers
from assay.scoring.queries.heads import without_rows
from assay.scoring.queries.metric_scores import Scorer
from assay.scoring.queries.recording import BudgetedExecutor, RecordingExecutor
from assay.scoring.queries.requested import RequestedQueries
from assay.scoring.queries.vacuous import see_vacuity
from assay.scoring.queries.verdicts import Finding, blame, is_no_query, undisputed
from assay.scoring.time_limit import NO_HEARTBEAT, OutOfTimeError, TimeLimit
from assay.sql import is_nondeterministic, same_text, takes_any_row
from assay.sql.extraction import written


class QueryScorer:
    """Judges queries on one executor, and keeps in its cache what several cases may need. ``gold_executor`` executes
    gold's, where gold has limits or databases of its own.

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
        pulse: Pulse = NO_HEARTBEAT,
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        head_rows: int | None = None,
        diagnoser: Diagnoser | None = None,
        suite: ChecksSuite | None = None,
        schemas: Callable[[DatabaseUrl], DatabaseSchema | None] | None = None,
        gold_executor: CachingExecutor | None = None,
    ) -> None:
        self._keeper = TimeLimit(timeout_s, pulse)
        self._executor = RecordingExecutor(executor, self._keeper)
        self._metrics = tuple(metrics)
        self._head_rows = head_rows
        self._suite = suite
        self._schemas = schemas if any(getattr(metric, "needs_schema", False) for metric in self._metrics) else None
        self._options = options
        self._gold = self._executor if gold_executor is None else RecordingExecutor(gold_executor, self._keeper)
        self._answers = GoldAnswers(self._gold)
        self._comparer = GoldComparer(self._executor, self._keeper, self._answers, options, gold=self._gold)
        self._requests = RequestedQueries(self._executor, limits)
        self._causes = None
        if diagnoser is not None:
            self._causes = Causes(diagnoser, self._executor, self._keeper, self._comparer)
        self._brief = all(getattr(metric, "brief", False) for metric in self._metrics)
        self._repeatable = all(getattr(metric, "depends_on_queries_only", False) for metric in self._metrics)

    def evidence(
        self, case: Case, prediction: Prediction, url: DatabaseUrl, gold_url: DatabaseUrl | None = None
    ) -> Evidence:
        """As `score`, without the rows. Cases that pair the same queries on one database are judged once.

        Question sets often ask one thing in several wordings, and systems are asked repeatedly.
        """
        if prediction.query is None or not self._repeatable or case.expects != "answer" or prediction.given != "answer":
            return self.score(case, prediction, url, gold_url=gold_url).evidence
        at = url.text if gold_url is None else (url.text, gold_url.text)
        text = None if prediction.extraction is None else (prediction.raw, prediction.extraction)
        key = ("verdict", at, case.golds, case.results, prediction.query, text, case.options)
        known = self._executor.recall(*key)
        if not isinstance(known, Evidence):
            evidence = self.score(case, prediction, url, gold_url=gold_url).evidence
            self._executor.keep(evidence, *key)
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
        """Everything about one case. ``requests`` are executed beside what the metrics here ask for.

        ``gold_url``: the database of gold's queries, where that is another one.
        """
        if case.expects != "answer":
            return self._without_answer(case, prediction, url)
        if prediction.answered and prediction.given in ("decline", "clarify"):
            # What is beside a refusal was not given as the answer: neither executed nor scored.
            held_back = replace(prediction, query=None, result=None, decision=prediction.given)
            scored = self.score(case, held_back, url, requests, gold_url=gold_url)
            evidence = replace(scored.evidence, prediction=prediction)
            return ScoredCase(evidence=evidence, executions=scored.executions)
        scored = self._scored(case, prediction, url, requests, gold_url=gold_url)
        return scored if prediction.extraction is None else self._with_text(scored, url, gold_url)

    def _with_text(self, scored: ScoredCase, url: DatabaseUrl, gold_url: DatabaseUrl | None) -> ScoredCase:
        """The case with the flag that its query was extracted, and with the benchmarks' scores of the whole text."""
        evidence = scored.evidence
        found = evidence.prediction.extraction
        if found is None or found.place in (None, "tool"):  # the argument of a tool call is the query, not a text
            return scored
        scores = evidence.scores
        if not found.live and any(getattr(metric, "scores_text", False) for metric in self._metrics):
            of_text = self._scored(
                evidence.case, written(evidence.prediction), url, (), gold_url=gold_url
            ).evidence.scores
            scores = tuple(
                theirs if getattr(metric, "scores_text", False) else ours
                for metric, ours, theirs in zip(self._metrics, scores, of_text, strict=True)
            )
        verdict = replace(evidence.verdict, flags=evidence.verdict.flags | {"extracted"})
        return replace(scored, evidence=replace(evidence, verdict=verdict, scores=scores))

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
        at = CaseDatabases(predicted=url, gold=url if gold_url is None else gold_url)
        golds = self._gold_executions(case, at.gold)
        predicted = None
        if prediction.query is not None:
            predicted = self._predicted(case, prediction.query, at, golds)
        elif prediction.result is not None:
            predicted = blame(prediction.result.execution(), "predicted")
        suite = (
            None if self._suite is None else self._suite.check(case, prediction, self._comparer.options_for(case, at))
        )
        schema = None if self._schemas is None else self._schemas(url)
        executed = (*golds, predicted)
        action = partial(
            self._score_case,
            case,
            prediction,
            at,
            requests,
            found=Executions(golds=golds, predicted=predicted, suite=suite, schema=schema, apart=at.apart),
        )
        with nullcontext() if _are_few(golds, predicted) else shared_codes():
            try:
                if self._brief and not requests and self._ends_at_once(case, prediction, at, executed):
                    comparison, verdict, executions, scores = self._keeper.trust(action)
                else:
                    # All at once, which saves most of the time that holding each step takes.
                    what = ("case", at.key, case.id, *case.golds, prediction.query)
                    comparison, verdict, executions, scores = self._keeper.run_short(what, action)
            except OutOfTimeError:
                comparison, verdict, executions, scores = action()
        head, cut = self._head(verdict, scores), self._head_rows is not None
        shown = tuple([without_rows(gold, head=head, cut=cut) for gold in golds])
        answer = None
        if predicted is not None:
            answer = shown[0] if golds and predicted is golds[0] else without_rows(predicted, head=head, cut=cut)
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
                    without_rows(each[0], head=head, cut=cut)
                    for request, each in executions.requested.items()
                    if request.candidate
                ]
            ),
        )
        if self._causes is not None and verdict.outcome == "incorrect":
            evidence = self._causes.added_to(evidence, at, golds)
        return ScoredCase(evidence=evidence, executions=executions)

    def _gold_executions(self, case: Case, url: DatabaseUrl) -> tuple[Execution, ...]:
        """Gold's queries, executed, and the results that are given as gold."""
        golds = tuple([blame(self._gold.execute(url, gold), "gold") for gold in case.golds])
        if not case.results and not case.options.condition_columns:
            return golds
        golds += tuple([blame(result.execution(), "gold") for result in case.results])
        return tuple([checked_gold(gold, case.counting(index)) for index, gold in enumerate(golds)])

    def _without_answer(self, case: Case, prediction: Prediction, url: DatabaseUrl) -> ScoredCase:
        """A case whose question must not be answered. There are no results that metrics could compare."""
        verdict = undisputed(case, prediction)
        scorer = Scorer(self._keeper, case, prediction, url)
        scores = tuple([scorer.score_decision(metric, verdict) for metric in self._metrics])
        evidence = Evidence(case=case, prediction=prediction, verdict=verdict, scores=scores)
        executions = Executions(golds=(), predicted=None, requested={}, suite=None)
        return ScoredCase(evidence=evidence, executions=executions)

    def _predicted(self, case: Case, query: str, at: CaseDatabases, golds: Sequence[Execution]) -> Execution:
        """The execution of the predicted query. One in gold's own words has run already, however long gold may take."""
        if self._gold is not self._executor and not at.apart and query in case.golds:
            same = golds[case.golds.index(query)]
            if same.succeeded:
                return same
        return blame(self._executor.execute(at.predicted, query), "predicted")

    def _ends_at_once(
        self, case: Case, prediction: Prediction, at: CaseDatabases, executed: Sequence[Execution | None]
    ) -> bool:
        if case.options.leniency != STRICT or self._options.leniency != STRICT:
            return False
        return not at.apart and ends_at_once(prediction, executed, self._executor.dialect(at.predicted))

    def _score_case(
        self,
        case: Case,
        prediction: Prediction,
        at: CaseDatabases,
        requests: Sequence[QueryRequest],
        *,
        found: Executions,
    ) -> tuple[Comparison | None, Verdict, Executions, tuple[Score, ...]]:
        """Judge executed queries; each step is held to its time limit."""
        golds, predicted = found.golds, found.predicted
        self._executor.look_out()
        self._gold.look_out()
        if self._keeper.holds:
            comparison, verdict, met = self._verdict(case, prediction, at, golds, predicted)
        else:
            comparison, verdict, met = self._held_verdict(case, prediction, at, golds, predicted)
        scorer = Scorer(self._keeper, case, prediction, at.predicted)
        asked = [*scorer.requests(self._metrics), *requests]
        if asked and not any(gold.succeeded for gold in golds):
            asked = [request for request in asked if request.candidate]
        executions = found
        if met is not None and met.reads:
            golds, predicted = read_executions(golds, predicted, met.reads, met.index)
            executions = replace(executions, golds=golds, predicted=predicted)
        if asked:
            requested = self._requests.executed(at.predicted, asked, predicted)
            executions = replace(executions, requested=requested)
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
        at: CaseDatabases,
        golds: Sequence[Execution],
        predicted: Execution | None,
    ) -> tuple[Comparison | None, Verdict, Compared | None]:
        """The comparison and the verdict, or a timeout's failure; metrics that need neither still run."""
        own = case.id if case.results or prediction.result is not None else ""
        what = ("verdict", at.key, own, case.golds, prediction.query, case.options)
        try:
            return self._keeper.hold(what, lambda: self._verdict(case, prediction, at, golds, predicted))
        except OutOfTimeError as error:
            comparison = Comparison(equal=False, decided=False, reason=f"comparing the results {error}")
            if error.kind != "crashed" and self._comparer.compares_itself(case, at, golds):
                reason = f"{comparison.reason}; gold beside itself is compared within its limits"
                comparison = replace(comparison, decided=True, provoked=True, reason=reason)
            finding = Finding(
                prediction=prediction,
                golds=golds,
                predicted=predicted,
                comparison=comparison,
                trouble=self._trouble,
            )
            return comparison, finding.verdict(), None

    def _verdict(
        self,
        case: Case,
        prediction: Prediction,
        at: CaseDatabases,
        golds: Sequence[Execution],
        predicted: Execution | None,
    ) -> tuple[Comparison | None, Verdict, Compared | None]:
        own = self._comparer.of_own_words(case, at, golds, predicted)
        if own is not None and predicted is not None:
            own = self._seen(at, golds[0], predicted, own)
            flags = self._flags(at, golds, None, own)
            finding = Finding(
                prediction=prediction, golds=golds, predicted=predicted, comparison=own, index=0, flags=flags
            )
            return own, finding.verdict(), None
        found = None
        if not is_no_query(prediction.query) or any(map(is_no_query, case.golds)):
            found = self._comparer.best(case, at, golds, predicted)
        comparison, index, known = (None,) * 3 if found is None else (found.comparison, found.index, found.known)
        if comparison is not None and index is not None and predicted is not None:
            comparison = self._seen(at, golds[index], predicted, comparison)
        ambiguity = known.ambiguity if known is not None else self._answers.ambiguity(at.gold, golds)
        flags = self._flags(at, golds, predicted, comparison)
        if ambiguity is not None:
            flags |= {"ambiguous_gold"}
        if known is not None and known.strict_order:
            flags |= {"strict_order"}
        strictly_equal = comparison is not None and comparison.equal and not comparison.lenient
        if found is not None and strictly_equal and case.options.ordered is None:
            flags |= self._luck(case, at, golds, predicted, found)
        flags |= self._storage_order(case, at, golds, predicted, found)
        trouble = self._trouble
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
        return comparison, finding.verdict(), found

    @property
    def _trouble(self) -> Failure | None:
        """What kept a query of either side from running."""
        return self._executor.trouble or self._gold.trouble

    def _seen(self, at: CaseDatabases, gold: Execution, predicted: Execution, comparison: Comparison) -> Comparison:
        """The comparison, marked where it matches what both queries computed over no rows."""
        return see_vacuity((self._gold, at.gold), (self._executor, at.predicted), gold, predicted, comparison)

    def _luck(
        self, case: Case, at: CaseDatabases, golds: Sequence[Execution], predicted: Execution | None, found: Compared
    ) -> frozenset[Flag]:
        """The flags for a right answer that is right by luck."""
        execution = golds[found.index]
        gold = execution.result
        if gold is None or predicted is None or predicted.result is None:
            return _NO_FLAGS
        if execution.given is not None or predicted.given is not None:
            return _NO_FLAGS  # only queries leave something open
        dialects = self._gold.dialect(at.gold), self._executor.dialect(at.predicted)
        if not may_match_by_chance(execution.query, predicted.query, len(gold.rows), dialects):
            return _NO_FLAGS
        luck = ChanceMatchDetector(BudgetedExecutor(self._executor, predicted.took_s), at.predicted)
        known = self._with_other_golds(self._answers.of(at.gold, execution, gold), at, golds, found.index)
        options = replace(self._comparer.options_for(case, at), near_misses=False, sample_rows=0)
        return luck.flags(known, found.comparison, predicted.query, predicted.result, options)

    def _storage_order(
        self,
        case: Case,
        at: CaseDatabases,
        golds: Sequence[Execution],
        predicted: Execution | None,
        found: Compared | None,
    ) -> frozenset[Flag]:
        """The flag of a prediction whose result depends on the order in which rows are stored."""
        if found is None or predicted is None or predicted.result is None or predicted.given is not None:
            return _NO_FLAGS
        dialect = self._executor.dialect(at.predicted)
        if not at.apart and same_text(golds[found.index].query, predicted.query, dialect):
            return _NO_FLAGS  # one query: whatever the order, it matches
        if not takes_any_row(predicted.query, dialect):
            return _NO_FLAGS
        luck = ChanceMatchDetector(BudgetedExecutor(self._executor, predicted.took_s), at.predicted)
        options = replace(self._comparer.options_for(case, at), near_misses=False, sample_rows=0)
        known, gold = found.known, golds[found.index]
        if not known.answer.ordered and gold.given is None and gold.result is not None and case.options.ordered is None:
            # Rows that match in gold's own order are compared without asking whether their order counts.
            known = replace(known, answer=self._answers.of(at.gold, gold, gold.result).answer)
        known = self._with_other_golds(known, at, golds, found.index)
        return luck.storage_order(known, found.comparison, predicted.query, predicted.result, options)

    def _with_other_golds(
        self, known: GoldAnswer, at: CaseDatabases, golds: Sequence[Execution], index: int
    ) -> GoldAnswer:
        """What is right by the gold query that was matched, or by any other."""
        others = [gold for place, gold in enumerate(golds) if place != index and gold.succeeded and gold.given is None]
        answers = [self._answers.of(at.gold, gold, gold.result) for gold in others if gold.result is not None]
        if not answers:
            return known
        return replace(known, others=(*known.others, *(one for each in answers for one in (each.answer, *each.others))))

    def _flags(
        self,
        at: CaseDatabases,
        golds: Sequence[Execution],
        predicted: Execution | None,
        comparison: Comparison | None,
    ) -> frozenset[Flag]:
        flags: set[Flag] = set()
        if comparison is not None and comparison.vacuous:
            flags.add("vacuous")
        if comparison is not None and comparison.lenient:
            flags.add("lenient")
        dialect, golds_dialect = self._executor.dialect(at.predicted), self._gold.dialect(at.gold)
        for execution in golds if predicted is None else (*golds, predicted):
            written = dialect if execution is predicted else golds_dialect
            if execution.given is None and is_nondeterministic(execution.query, written):
                flags.add("nondeterministic")
            if execution.status == "truncated":
                flags.add("truncated")
            elif execution.status == "timeout":
                flags.add("timeout")
        return frozenset(flags) if flags else _NO_FLAGS


_NO_FLAGS: frozenset[Flag] = frozenset()
_HEAD_ROWS = 5
"""Rows to keep of each result, where a reader will want to see them."""
_FEW_CELLS = 1_000
_TINY_ROWS = 100
_SHORT_ANSWER = 20_000


def _are_few(golds: Sequence[Execution], predicted: Execution | None) -> bool:
    """Whether all results are so small that nothing about them is worth keeping for the next step."""
    for one in golds:
        if one.result is not None and not are_few(one.result.rows):
            return False
    return predicted is None or predicted.result is None or are_few(predicted.result.rows)
