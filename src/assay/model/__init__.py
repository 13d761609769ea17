"""The vocabulary: frozen, slotted, typed values that every room speaks.

Each name loads on first use: loading a hundred classes would take a tenth of the time budget of `assay --help`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.model.case import Case, CaseOptions, ColumnRule, Extraction, ExtractionPlace, Prediction
    from assay.model.comparison import AlignedRow, Comparison, ComparisonOptions, NearMiss, NearMissKind
    from assay.model.database import DatabaseUrl
    from assay.model.decision import Decision, Exchange, Given
    from assay.model.diagnosis import Cause, CauseKind, Diagnosis, Repair, RepairStep, Symptom
    from assay.model.diff import (
        BoardAnswer,
        BoardCase,
        BoardDetail,
        BoardGroup,
        CaseChange,
        CaseSide,
        ChangedCase,
        ChangeKind,
        DiffSettings,
        GroupDiff,
        Leaderboard,
        Matching,
        MetricDiff,
        PairedTest,
        RunDiff,
        RunHead,
        Standing,
        StandingPair,
    )
    from assay.model.evidence import (
        Aggregates,
        CacheUse,
        CauseGroup,
        CauseGroupKind,
        Count,
        Disagreement,
        Evidence,
        Fingerprint,
        Forgiven,
        Group,
        HistoryPoint,
        MetricSummary,
        PairTiming,
        PassRate,
        Provenance,
        RepeatTotals,
        Run,
        RunSettings,
        SelectionTotals,
        TimeBin,
        TimeSpread,
        TimeSummary,
        WitnessTotals,
    )
    from assay.model.failure import Blame, Failure, FailureKind, Stage
    from assay.model.field_names import FieldNames
    from assay.model.gate import GateResult, Gates
    from assay.model.given import GivenResult
    from assay.model.joining import ColumnUse, JoinedBy, Joining
    from assay.model.leniency import STRICT, Leniency
    from assay.model.metric import MetricInfo
    from assay.model.proof import Proof, Unproved
    from assay.model.rate import Rate
    from assay.model.reliability import (
        CalibrationBin,
        ConfidenceTotals,
        ConversationTotals,
        DecisionCount,
        PenaltyScore,
        ReliabilityTotals,
        RiskPoint,
    )
    from assay.model.result import Cell, CellTypes, Execution, ExecutionStatus, Limits, Result, Row
    from assay.model.schema import ColumnSchema, DatabaseSchema, ForeignKey, TableSchema, quoted
    from assay.model.secret import Secret
    from assay.model.selection import (
        DataScore,
        DatasetSelection,
        DimensionScore,
        DimensionSelection,
        DimensionTotal,
        HierarchyEquivalence,
        ScoredTerm,
        Selection,
        SelectionScore,
        SelectionSettings,
        Term,
        TermCounts,
        TermNote,
        TimeRange,
        TimeScore,
        TimeState,
        Turn,
        TurnAnswer,
        TurnScore,
    )
    from assay.model.usage import TokenUsage, UsageTotals
    from assay.model.verdict import Ambiguity, Flag, Outcome, Score, Strength, Verdict

__all__ = [
    "STRICT",
    "Aggregates",
    "AlignedRow",
    "Ambiguity",
    "Blame",
    "BoardAnswer",
    "BoardCase",
    "BoardDetail",
    "BoardGroup",
    "CacheUse",
    "CalibrationBin",
    "Case",
    "CaseChange",
    "CaseOptions",
    "CaseSide",
    "Cause",
    "CauseGroup",
    "CauseGroupKind",
    "CauseKind",
    "Cell",
    "CellTypes",
    "ChangeKind",
    "ChangedCase",
    "ColumnRule",
    "ColumnSchema",
    "ColumnUse",
    "Comparison",
    "ComparisonOptions",
    "ConfidenceTotals",
    "ConversationTotals",
    "Count",
    "DataScore",
    "DatabaseSchema",
    "DatabaseUrl",
    "DatasetSelection",
    "Decision",
    "DecisionCount",
    "Diagnosis",
    "DiffSettings",
    "DimensionScore",
    "DimensionSelection",
    "DimensionTotal",
    "Disagreement",
    "Evidence",
    "Exchange",
    "Execution",
    "ExecutionStatus",
    "Extraction",
    "ExtractionPlace",
    "Failure",
    "FailureKind",
    "FieldNames",
    "Fingerprint",
    "Flag",
    "ForeignKey",
    "Forgiven",
    "GateResult",
    "Gates",
    "Given",
    "GivenResult",
    "Group",
    "GroupDiff",
    "HierarchyEquivalence",
    "HistoryPoint",
    "JoinedBy",
    "Joining",
    "Leaderboard",
    "Leniency",
    "Limits",
    "Matching",
    "MetricDiff",
    "MetricInfo",
    "MetricSummary",
    "NearMiss",
    "NearMissKind",
    "Outcome",
    "PairTiming",
    "PairedTest",
    "PassRate",
    "PenaltyScore",
    "Prediction",
    "Proof",
    "Provenance",
    "Rate",
    "ReliabilityTotals",
    "Repair",
    "RepairStep",
    "RepeatTotals",
    "Result",
    "RiskPoint",
    "Row",
    "Run",
    "RunDiff",
    "RunHead",
    "RunSettings",
    "Score",
    "ScoredTerm",
    "Secret",
    "Selection",
    "SelectionScore",
    "SelectionSettings",
    "SelectionTotals",
    "Stage",
    "Standing",
    "StandingPair",
    "Strength",
    "Symptom",
    "TableSchema",
    "Term",
    "TermCounts",
    "TermNote",
    "TimeBin",
    "TimeRange",
    "TimeScore",
    "TimeSpread",
    "TimeState",
    "TimeSummary",
    "TokenUsage",
    "Turn",
    "TurnAnswer",
    "TurnScore",
    "Unproved",
    "UsageTotals",
    "Verdict",
    "WitnessTotals",
    "quoted",
]

_MODULES = (
    *(
        "secret",
        "database",
        "decision",
        "failure",
        "field_names",
        "joining",
        "gate",
        "usage",
        "result",
        "given",
        "schema",
        "verdict",
    ),
    *(
        "leniency",
        "comparison",
        "selection",
        "case",
        "metric",
        "diagnosis",
        "rate",
        "reliability",
        "evidence",
        "diff",
        "proof",
    ),
)
"""Modules that load fast come first: a name is looked up in this order."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'assay.model' has no attribute {name!r}")
    homes = (import_module(f"assay.model.{module}") for module in _MODULES)
    value = next(getattr(home, name) for home in homes if hasattr(home, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
