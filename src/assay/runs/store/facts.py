"""What a run's numbers need of each case: a few facts, read from its line, instead of all of its evidence.

The classes have the names of the model's fields, so that whatever adds up cases takes facts and evidence alike. All
that is not named here is skipped, not built: reading the facts takes a quarter of the time of reading the evidence, and
a run keeps a few hundred bytes per case.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from assay.errors import RunError
from assay.model import (
    Case,
    Decision,
    Failure,
    Flag,
    NearMissKind,
    Outcome,
    Prediction,
    Strength,
    TokenUsage,
    TurnAnswer,
    TurnScore,
)
from assay.model.witness import RefutationKind, WhyUnknown
from assay.runs.store.codec import of_today
from assay.sql.features import features_of

_Kept = TypeVar("_Kept")


class VerdictFacts(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Verdict`."""

    outcome: Outcome
    flags: frozenset[Flag] = frozenset()
    failure: Failure | None = None
    strength: Strength = "none"
    decision: Decision | None = None


class _LineVerdict(msgspec.Struct, frozen=True, gc=False):
    """A verdict's facts in a line, with its reason, which few cases share."""

    outcome: Outcome
    reason: str
    flags: frozenset[Flag] = frozenset()
    failure: Failure | None = None
    strength: Strength = "none"
    decision: Decision | None = None


class RefutationFacts(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.witness.Refutation`."""

    kind: RefutationKind
    why: WhyUnknown | None = None
    budget_s: float | None = None


class ScoreFacts(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Score`."""

    metric: str
    value: float | None
    failure: Failure | None = None


class NearMissFacts(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.NearMiss`."""

    kind: NearMissKind


class ComparisonFacts(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Comparison`."""

    near_misses: tuple[NearMissFacts, ...] = ()
    provoked: bool = False


class ExecutionFacts(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Execution`."""

    query: str | int
    """In the facts of a large run a hash, which is enough to tell queries apart."""
    wall_time_s: float | None = None
    failure: Failure | None = None
    earlier_time_s: float | None = None


class StepFacts(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.RepairStep`."""

    clause: str


class RepairFacts(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Repair`."""

    steps: tuple[StepFacts, ...] = ()
    strength: Strength = "none"


class CausePlace(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Cause`."""

    table: str = ""
    column: str = ""


class DiagnosisFacts(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Diagnosis`."""

    causes: tuple[CausePlace, ...] = ()
    repair: RepairFacts | None = None


class CaseName(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Case`."""

    id: str
    database: str | None = None
    difficulty: str | None = None
    tags: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    """Of gold's SQL, where there is a cause to count by them."""
    expects: Decision = "answer"
    conversation: str | None = None
    turn: int | None = None


class _CaseLine(CaseName, frozen=True, gc=False):
    """With gold's texts."""

    golds: tuple[str, ...] = ()


class AnswerFacts(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Prediction`, for a case with queries."""

    timings_s: tuple[tuple[str, float], ...] = ()
    tokens: TokenUsage | None = None
    cost_usd: float | None = None
    failure: Failure | None = None
    repeat: int = 0
    confidence: float | None = None

    @property
    def own(self) -> bool:
        """Whether they tell what hardly two answers share."""
        return bool(self.timings_s) or (self.tokens, self.cost_usd, self.confidence) != (None, None, None)

    @property
    def turns(self) -> tuple[TurnAnswer, ...]:
        """None: only conversations have turns."""
        return ()

    def timing_s(self, name: str) -> float | None:
        """As `Prediction.timing_s`."""
        if not self.timings_s:
            return None
        return next((seconds for known, seconds in self.timings_s if known == name), None)


class _Line(msgspec.Struct, frozen=True, gc=False):
    """The facts in a line of evidence."""

    verdict: _LineVerdict
    scores: tuple[ScoreFacts, ...] = ()
    comparison: ComparisonFacts | None = None
    gold_executions: tuple[ExecutionFacts, ...] = ()
    predicted_execution: ExecutionFacts | None = None
    cause: str | None = None
    diagnosis: DiagnosisFacts | None = None
    refutation: RefutationFacts | None = None


class _WholeLine(_Line, frozen=True, gc=False, kw_only=True):
    """With the facts of the case and of the answer."""

    case: _CaseLine
    prediction: AnswerFacts


class CaseFacts(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Evidence`, for a case with queries."""

    case: Case | CaseName
    prediction: Prediction | AnswerFacts
    verdict: VerdictFacts
    scores: tuple[ScoreFacts, ...]
    comparison: ComparisonFacts | None
    gold_executions: tuple[ExecutionFacts, ...]
    predicted_execution: ExecutionFacts | None
    cause: str | None
    reason: str
    """Of the verdict."""
    diagnosis: DiagnosisFacts | None = None
    refutation: RefutationFacts | None = None

    @property
    def outcome(self) -> Outcome:
        """Short for ``verdict.outcome``."""
        return self.verdict.outcome

    @property
    def turns(self) -> tuple[TurnScore, ...]:
        """None: only cases with selections have turns."""
        return ()

    def score(self, metric: str) -> ScoreFacts | None:
        """The score of that metric, or None where the run did not ask for it."""
        return next((score for score in self.scores if score.metric == metric), None)


class FactReader:
    """Reads the facts of a run's cases. What many cases have in common, such as their scores, is kept once."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def read(self, line: bytes, case: Case, prediction: Prediction) -> CaseFacts:
        """The facts in a line of evidence. Raises RunError where it does not hold them."""
        found = decoded(_decoder(), line)
        predicted = found.predicted_execution
        return self._facts(
            found,
            case,
            prediction,
            golds=tuple([_with_text_of(one, case.golds) for one in found.gold_executions]),
            predicted=None if predicted is None else _with_text_of(predicted, (prediction.query,)),
        )

    def read_alone(self, line: bytes) -> CaseFacts:
        """As `read`, without the texts of case, answer and queries: what a run of a hundred thousand cases can keep."""
        found = decoded(_whole_decoder(), line)
        case, answer, predicted = found.case, found.prediction, found.predicted_execution
        features = features_of(case.golds[0]) if found.cause and case.golds else ()
        name = CaseName(
            case.id,
            self._once(case.database),
            self._once(case.difficulty),
            self._once(case.tags),
            self._once(features),
            case.expects,
            case.conversation,
            case.turn,
        )
        return self._facts(
            found,
            name,
            answer if answer.own else self._once(answer),
            golds=tuple(map(_hashed, found.gold_executions)),
            predicted=None if predicted is None else _hashed(predicted),
        )

    def _facts(
        self,
        found: _Line,
        case: Case | CaseName,
        prediction: Prediction | AnswerFacts,
        *,
        golds: tuple[ExecutionFacts, ...],
        predicted: ExecutionFacts | None,
    ) -> CaseFacts:
        verdict = found.verdict
        return CaseFacts(
            case=case,
            prediction=prediction,
            verdict=self._once(
                VerdictFacts(verdict.outcome, verdict.flags, verdict.failure, verdict.strength, verdict.decision)
            ),
            scores=self._once(found.scores),
            comparison=self._once(found.comparison),
            gold_executions=golds,
            predicted_execution=predicted,
            cause=self._once(found.cause),
            # Right answers have few reasons, such as the number of their rows, wrong ones have many.
            reason=self._once(verdict.reason) if verdict.outcome == "correct" else verdict.reason,
            diagnosis=self._once(found.diagnosis),
            refutation=self._once(found.refutation),
        )

    def _once(self, value: _Kept) -> _Kept:
        kept: _Kept = self._known.setdefault(value, value)
        return kept


@lru_cache(maxsize=1)
def _decoder() -> msgspec.json.Decoder[_Line]:
    return msgspec.json.Decoder(_Line)


@lru_cache(maxsize=1)
def _whole_decoder() -> msgspec.json.Decoder[_WholeLine]:
    return msgspec.json.Decoder(_WholeLine)


def decoded(decoder: msgspec.json.Decoder[_Kept], line: bytes) -> _Kept:
    """What a decoder reads in a line of evidence. Raises RunError where the line does not hold it."""
    try:
        return decoder.decode(of_today(line))
    except (msgspec.DecodeError, ValueError) as error:
        raise RunError(f"{line[:60]!r} is no stored evidence: {error}") from error


def _hashed(execution: ExecutionFacts) -> ExecutionFacts:
    return ExecutionFacts(hash(execution.query), execution.wall_time_s, execution.failure, execution.earlier_time_s)


def _with_text_of(execution: ExecutionFacts, texts: Sequence[str | None]) -> ExecutionFacts:
    """The facts of an execution with the case's own text of its query, which is thus kept once."""
    for text in texts:
        if text == execution.query and text is not execution.query:
            return ExecutionFacts(text, execution.wall_time_s, execution.failure, execution.earlier_time_s)
    return execution
