"""An answer as a row of a table: read from its line of evidence, whatever else that holds.

The classes have the names of the model's fields. What is not named here is skipped, not built.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from assay.model import Decision, Evidence, Given, TokenUsage
from assay.runs.aggregate.reliability import given_of
from assay.runs.store.codec import encode_evidence
from assay.runs.store.facts import decoded
from assay.runs.store.kept_lines import LazyEvidence


class RowCase(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Case`."""

    id: str
    question: str
    database: str | None = None
    difficulty: str | None = None
    golds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    expects: Decision = "answer"
    conversation: str | None = None
    turn: int | None = None


class RowTurn(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.TurnAnswer`."""

    latency_s: float | None = None


class RowFailure(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Failure`."""

    blame: str
    kind: str
    message: str = ""


class RowAnswer(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Prediction`."""

    query: str | None = None
    confidence: float | None = None
    repeat: int = 0
    timings_s: tuple[tuple[str, float], ...] = ()
    tokens: TokenUsage | None = None
    cost_usd: float | None = None
    failure: RowFailure | None = None
    turns: tuple[RowTurn, ...] = ()

    def timing_s(self, name: str) -> float | None:
        """As `Prediction.timing_s`."""
        return next((seconds for known, seconds in self.timings_s if known == name), None)


class RowExecution(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Execution`."""

    row_count: int | None = None
    wall_time_s: float | None = None
    earlier_time_s: float | None = None
    failure: RowFailure | None = None

    @property
    def time_s(self) -> float | None:
        """What it took when it was executed, for this run or for an earlier one."""
        return self.earlier_time_s if self.wall_time_s is None else self.wall_time_s


class RowVerdict(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Verdict`."""

    outcome: str
    reason: str
    flags: frozenset[str] = frozenset()
    failure: RowFailure | None = None
    strength: str = "none"
    gold_index: int | None = None
    decision: Decision | None = None


class RowScore(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Score`."""

    metric: str
    value: float | None
    detail: str | None = None
    failure: RowFailure | None = None


class RowNearMiss(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.NearMiss`."""

    kind: str
    detail: str = ""


class RowComparison(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Comparison`."""

    near_misses: tuple[RowNearMiss, ...] = ()


class RowCause(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Cause`."""

    kind: str
    message: str = ""
    clause: str = ""
    proved: bool = False
    table: str = ""
    column: str = ""


class RowDiagnosis(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Diagnosis`."""

    causes: tuple[RowCause, ...] = ()


class AnswerRow(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Evidence`: what tables say of one answer."""

    case: RowCase
    prediction: RowAnswer
    verdict: RowVerdict
    scores: tuple[RowScore, ...] = ()
    comparison: RowComparison | None = None
    gold_executions: tuple[RowExecution, ...] = ()
    predicted_execution: RowExecution | None = None
    cause: str | None = None
    diagnosis: RowDiagnosis | None = None

    @property
    def given(self) -> Given:
        """What the system did with the question."""
        return given_of(self)

    @property
    def gold_execution(self) -> RowExecution | None:
        """Of the gold that the answer was judged by; of the first, where it was judged by none."""
        index = self.verdict.gold_index or 0
        return self.gold_executions[index] if index < len(self.gold_executions) else None

    @property
    def near_misses(self) -> tuple[RowNearMiss, ...]:
        """How a wrong answer comes close to gold; none of any other answer."""
        return self.comparison.near_misses if self.comparison and self.verdict.outcome == "incorrect" else ()


def row_of(line: bytes) -> AnswerRow:
    """The row of a line of evidence. Raises RunError where the line does not hold one."""
    return decoded(_decoder(), line)


def rows_of(evidence: Sequence[Evidence]) -> Iterator[AnswerRow]:
    """The rows of a run's answers, in its order, each read when it is asked for."""
    line = evidence.line if isinstance(evidence, LazyEvidence) else None
    if line is not None:
        return (row_of(line(place)) for place in range(len(evidence)))
    return (row_of(encode_evidence(item)) for item in evidence)


@lru_cache(maxsize=1)
def _decoder() -> msgspec.json.Decoder[AnswerRow]:
    return msgspec.json.Decoder(AnswerRow)
