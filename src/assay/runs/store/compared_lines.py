"""The parts of a journal's line that comparisons read, named as in the model. The rest is skipped, not built."""

from __future__ import annotations

import msgspec

from assay.model import CaseOptions, Decision, GivenResult, Selection, Strength


class SlimFailure(msgspec.Struct, frozen=True):
    """Of `assay.model.Failure`."""

    kind: str


class SlimTurn(msgspec.Struct, frozen=True):
    """Of `assay.model.Turn`."""

    targets: tuple[Selection, ...] = ()


class SlimExchange(msgspec.Struct, frozen=True):
    """Of `assay.model.Exchange`."""

    question: str


class SlimCase(msgspec.Struct, frozen=True):
    """Of `assay.model.Case`."""

    id: str
    question: str
    database: str | None = None
    golds: tuple[str, ...] = ()
    difficulty: str | None = None
    tags: tuple[str, ...] = ()
    context: str | None = None
    options: CaseOptions = msgspec.field(default_factory=CaseOptions)
    expects: Decision = "answer"
    history: tuple[SlimExchange, ...] = ()
    turns: tuple[SlimTurn, ...] = ()
    results: tuple[GivenResult, ...] = ()


class SlimTurnAnswer(msgspec.Struct, frozen=True):
    """Of `assay.model.TurnAnswer`."""

    selection: Selection | None = None
    raw: str | None = None


class SlimPrediction(msgspec.Struct, frozen=True):
    """Of `assay.model.Prediction`."""

    query: str | None = None
    failure: SlimFailure | None = None
    turns: tuple[SlimTurnAnswer, ...] = ()
    repeat: int = 0
    result: GivenResult | None = None


class SlimVerdict(msgspec.Struct, frozen=True):
    """Of `assay.model.Verdict`."""

    reason: str
    failure: SlimFailure | None = None
    strength: Strength = "none"
    decision: Decision | None = None


class SlimScore(msgspec.Struct, frozen=True):
    """Of `assay.model.Score`."""

    metric: str
    value: float | None


class SlimNearMiss(msgspec.Struct, frozen=True):
    """Of `assay.model.NearMiss`."""

    kind: str


class SlimComparison(msgspec.Struct, frozen=True):
    """Of `assay.model.Comparison`."""

    gold_row_count: int = 0
    predicted_row_count: int = 0
    matched_rows: int = 0
    near_misses: tuple[SlimNearMiss, ...] = ()


class SlimExecution(msgspec.Struct, frozen=True):
    """Of `assay.model.Execution`."""

    failure: SlimFailure | None = None
    columns: tuple[str, ...] = ()


class SlimTerm(msgspec.Struct, frozen=True):
    """Of `assay.model.ScoredTerm`."""

    id: str
    dataset: str | None = None


class SlimDimensionScore(msgspec.Struct, frozen=True):
    """Of `assay.model.DimensionScore`."""

    dimension: str
    false_positives: tuple[SlimTerm, ...] = ()
    false_negatives: tuple[SlimTerm, ...] = ()


class SlimTimeScore(msgspec.Struct, frozen=True):
    """Of `assay.model.TimeScore`."""

    dataset: str
    state: str


class SlimSelectionScore(msgspec.Struct, frozen=True):
    """Of `assay.model.SelectionScore`."""

    dimensions: tuple[SlimDimensionScore, ...] = ()
    extra_datasets: tuple[str, ...] = ()
    missing_datasets: tuple[str, ...] = ()
    time: tuple[SlimTimeScore, ...] = ()


class SlimTurnScore(msgspec.Struct, frozen=True):
    """Of `assay.model.TurnScore`."""

    score: SlimSelectionScore | None = None
    failure: SlimFailure | None = None


class SlimEvidence(msgspec.Struct, frozen=True):
    """Of `assay.model.Evidence`."""

    case: SlimCase
    prediction: SlimPrediction
    verdict: SlimVerdict
    scores: tuple[SlimScore, ...] = ()
    comparison: SlimComparison | None = None
    predicted_execution: SlimExecution | None = None
    cause: str | None = None
    turns: tuple[SlimTurnScore, ...] = ()
