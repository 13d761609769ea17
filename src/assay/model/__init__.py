"""The vocabulary: frozen, slotted, typed values that every room speaks."""

from assay.model.case import Case, CaseOptions, ColumnRule, Prediction, TokenUsage
from assay.model.comparison import AlignedRow, Comparison, ComparisonOptions, NearMiss, NearMissKind
from assay.model.database import DatabaseUrl
from assay.model.evidence import (
    Aggregates,
    Count,
    Disagreement,
    Evidence,
    Fingerprint,
    Group,
    MetricSummary,
    PairTiming,
    Provenance,
    Rate,
    Run,
    RunSettings,
    TimeSummary,
)
from assay.model.failure import Blame, Failure, FailureKind, Stage
from assay.model.result import Cell, Execution, ExecutionStatus, Limits, Result, Row
from assay.model.secret import Secret
from assay.model.verdict import Flag, Outcome, Score, Strength, Verdict

__all__ = [
    "Aggregates",
    "AlignedRow",
    "Blame",
    "Case",
    "CaseOptions",
    "Cell",
    "ColumnRule",
    "Comparison",
    "ComparisonOptions",
    "Count",
    "DatabaseUrl",
    "Disagreement",
    "Evidence",
    "Execution",
    "ExecutionStatus",
    "Failure",
    "FailureKind",
    "Fingerprint",
    "Flag",
    "Group",
    "Limits",
    "MetricSummary",
    "NearMiss",
    "NearMissKind",
    "Outcome",
    "PairTiming",
    "Prediction",
    "Provenance",
    "Rate",
    "Result",
    "Row",
    "Run",
    "RunSettings",
    "Score",
    "Secret",
    "Stage",
    "Strength",
    "TimeSummary",
    "TokenUsage",
    "Verdict",
]
