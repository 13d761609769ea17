"""The short form of one case's evidence: what a run's numbers, comparisons and overviews read."""

from __future__ import annotations

import math
from hashlib import blake2b

from msgspec import Struct
from msgspec.structs import replace

from assay.model.cases.case import Prediction
from assay.model.cases.decision import Decision, Given
from assay.model.cases.leniency import STRICT
from assay.model.cases.usage import TokenUsage
from assay.model.failure import Failure, lacks_query
from assay.model.results.result import Cost, Execution, ExecutionStatus
from assay.model.verdicts.comparison import NearMissKind
from assay.model.verdicts.diagnosis import SchemaUse
from assay.model.verdicts.evidence import Evidence
from assay.model.verdicts.retrieval import CONTEXT_COMPLETE, Retrieval, retrieval_of
from assay.model.verdicts.review import ReviewDecision
from assay.model.verdicts.verdict import Flag, Outcome, Score, Strength
from assay.model.witness import RefutationKind, WhyUnknown

ANSWER_TIME = "total_execution_time"
"""The name under which systems report an answer's total time."""
ANSWER_TIMES = (ANSWER_TIME, "latency_s", "latency", "wall_time", "time_s", "duration_s", "elapsed_s")
"""The names for an answer's time, the best first: reported by systems, or measured by Assay."""


class ExecutionSummary(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One execution of a gold or predicted query, without its text and its rows."""

    query_hash: int
    """A hash of the query's text, the same in every process."""
    status: ExecutionStatus
    failure: Failure | None = None
    wall_time_s: float | None = None
    earlier_time_s: float | None = None

    @property
    def took_s(self) -> float | None:
        """Seconds that the execution took, in this run or in the earlier run that it was cached by."""
        return self.earlier_time_s if self.wall_time_s is None else self.wall_time_s


class SearchSummary(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The outcome of a search for a counterexample."""

    kind: RefutationKind
    why: WhyUnknown | None = None
    budget_s: float | None = None


class CaseSummary(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Everything that a run keeps in memory of one answer to one case.

    A run contains one summary per answer, in the order of the question set. Aggregates, groups, gates on rates and the
    overview of every report are computed from summaries. Texts (the question, the queries, sample rows) stay in the
    journal: reports decode the `Evidence` of the cases that they show.

    What many cases have in common, such as their scores, is one object for all of them, so that a summary takes a few
    hundred bytes.
    """

    case_id: str
    outcome: Outcome
    reason: str
    """The sentence of the verdict."""

    # The case
    database: str | None = None
    difficulty: str | None = None
    tags: tuple[str, ...] = ()
    expects: Decision = "answer"
    conversation: str | None = None
    turn: int | None = None
    declares_leniency: bool = False
    """Whether the case has a leniency of its own."""
    gold_features: tuple[str, ...] = ()
    """Features of the first gold query; only for a case with a cause, since only those are counted by feature."""

    # The answer
    repeat: int = 0
    given: Given = "answer"
    """What the system did with the question."""
    decision: Decision | None = None
    """``decline`` or ``clarify`` if the verdict says that the system did that."""
    repeats_gold: bool | None = None
    """Whether the predicted query is the text of a gold query. None: there is no predicted query."""
    query_source: str | None = None
    """The field of the answer that the query was in, if it is not the field for queries."""
    confidence: float | None = None
    answer_time_s: float | None = None
    """The answer's total time as the system reports it (``total_execution_time``); without it the latency that was
    reported or measured under another name."""
    tokens: TokenUsage | None = None
    cost_usd: float | None = None
    answer_failure: Failure | None = None
    """Why there is no answer."""

    # The verdict
    flags: frozenset[Flag] = frozenset()
    strength: Strength = "none"
    failure: Failure | None = None
    """Why the case is unscored, or why the answer could not be compared."""
    all_tie: bool = False
    """Whether every row that the gold query could return ties."""
    scores: tuple[Score, ...] = ()
    """In the order of the run's metrics, without their details."""
    near_misses: tuple[NearMissKind, ...] = ()
    """Counted for incorrect answers only."""
    provoked: bool = False
    """Whether the comparison of the rows was cut short by a limit."""
    golds: tuple[ExecutionSummary, ...] = ()
    predicted: ExecutionSummary | None = None
    result_hash: str | None = None
    """For an incorrect answer: systems with equal hashes agree with one another against the gold query."""
    billed: Cost | None = None
    """What the queries that were executed for the case cost, where the service tells."""

    # The diagnosis
    cause: str | None = None
    cause_table: str = ""
    cause_column: str = ""
    repair_steps: int = 0
    """How many clauses the repair changes; 0: there is no repair."""
    repair_strength: Strength = "none"
    schema_use: SchemaUse | None = None
    search: SearchSummary | None = None
    """None without a counterexample search."""

    # People's reviews
    reviewed: Outcome | None = None
    """The outcome by what people decided. None: nothing that they decided concerns this answer."""
    review: ReviewDecision | None = None
    """The decision that it follows from."""
    pending: bool = False
    """Whether the answer must still be scored by the corrected gold query."""

    def score(self, metric: str) -> Score | None:
        """The score of that metric; None if the run did not ask for it."""
        return next((score for score in self.scores if score.metric == metric), None)

    @property
    def retrieval(self) -> Retrieval | None:
        """What retrieval had to do with a wrong answer, in a run with `CONTEXT_COMPLETE`; None: it is not wrong."""
        score = self.score(CONTEXT_COMPLETE) if self.outcome == "incorrect" else None
        return retrieval_of(self.outcome, None if score is None else score.value)

    @property
    def executions(self) -> tuple[ExecutionSummary, ...]:
        """The gold query's executions, then the prediction's."""
        return self.golds if self.predicted is None else (*self.golds, self.predicted)

    @property
    def unanswered(self) -> bool:
        """Whether there is neither a predicted query nor rows, whatever the cause, nor a refusal."""
        return self.given == "nothing"


def summarized(
    evidence: Evidence, *, scores: tuple[Score, ...] | None = None, gold_features: tuple[str, ...] = ()
) -> CaseSummary:
    """The summary of one case; ``scores``: those of the evidence `without_details`, if they are known."""
    case, prediction, verdict = evidence.case, evidence.prediction, evidence.verdict
    leniency = case.options.leniency
    comparison, diagnosis, found = evidence.comparison, evidence.diagnosis, evidence.refutation
    first = diagnosis.causes[0] if diagnosis is not None and diagnosis.causes else None
    repair = None if diagnosis is None else diagnosis.repair
    misses = () if comparison is None or verdict.outcome != "incorrect" else comparison.near_misses
    return CaseSummary(
        case_id=case.id,
        outcome=verdict.outcome,
        reason=verdict.reason,
        database=case.database,
        difficulty=case.difficulty,
        tags=case.tags,
        expects=case.expects,
        conversation=case.conversation,
        turn=case.turn,
        declares_leniency=leniency != STRICT and bool(leniency.said),
        gold_features=gold_features,
        repeat=prediction.repeat,
        given=given_of(evidence),
        decision=verdict.decision,
        repeats_gold=None if prediction.query is None else prediction.query in case.golds,
        query_source=prediction.query_source,
        confidence=prediction.confidence,
        answer_time_s=answer_time_s(prediction),
        tokens=prediction.tokens,
        cost_usd=prediction.cost_usd,
        billed=evidence.cost,
        answer_failure=prediction.failure,
        flags=verdict.flags,
        strength=verdict.strength,
        failure=verdict.failure,
        all_tie=verdict.ambiguity is not None and verdict.ambiguity.all_tie,
        scores=without_details(evidence.scores) if scores is None else scores,
        near_misses=tuple([miss.kind for miss in misses]),
        provoked=comparison is not None and comparison.provoked,
        golds=tuple(map(_execution, evidence.gold_executions)),
        predicted=None if evidence.predicted_execution is None else _execution(evidence.predicted_execution),
        result_hash=evidence.result_hash,
        cause=evidence.cause,
        cause_table="" if first is None else first.table,
        cause_column="" if first is None else first.column,
        repair_steps=0 if repair is None else len(repair.steps),
        repair_strength="none" if repair is None else repair.strength,
        schema_use=None if diagnosis is None else diagnosis.schema_use,
        search=None if found is None else SearchSummary(kind=found.kind, why=found.why, budget_s=found.budget_s),
        reviewed=None if evidence.reviewed is None else evidence.reviewed.outcome,
        review=None if evidence.reviewed is None else evidence.reviewed.decision,
        pending=evidence.reviewed is not None and evidence.reviewed.pending,
    )


def given_of(evidence: Evidence) -> Given:
    """What the system did with a question, by the verdict and the answer's own failure.

    The verdict alone does not say if the gold query is broken.
    """
    verdict = evidence.verdict
    if verdict.decision is not None:
        return verdict.decision
    lacks = lacks_query(verdict.failure) or lacks_query(evidence.prediction.failure)
    return "nothing" if lacks else "answer"


def answer_time_s(prediction: Prediction) -> float | None:
    """How long the answer took, by the best name for it."""
    total_s = prediction.timing_s(ANSWER_TIME)
    return total_s if total_s is not None else _latency_of(prediction)


def _latency_of(prediction: Prediction) -> float | None:
    """The answer's time under one of the other names that systems report it by; for a conversation, of all turns."""
    for name in ANSWER_TIMES[1:] if prediction.timings_s else ():
        seconds = prediction.timing_s(name)
        if seconds is not None:
            return seconds
    turns = [turn.latency_s for turn in prediction.turns if turn.latency_s is not None] if prediction.turns else ()
    return math.fsum(turns) if turns else None


def without_details(scores: tuple[Score, ...]) -> tuple[Score, ...]:
    """The scores as a summary has them."""
    for score in scores:
        if score.detail is not None:
            return tuple([replace(score, detail=None) for score in scores])
    return scores


def _execution(execution: Execution) -> ExecutionSummary:
    return ExecutionSummary(
        query_hash=int.from_bytes(blake2b(execution.query.encode("utf-8", "surrogatepass"), digest_size=8).digest()),
        status=execution.status,
        failure=execution.failure,
        wall_time_s=execution.wall_time_s,
        earlier_time_s=execution.earlier_time_s,
    )
