"""What one room needs of another, as Protocols. An implementation imports only this room and the model."""

from __future__ import annotations

from assay.ports.cases import CaseFormat, Column, LoadedCases, LoadedPredictions
from assay.ports.engines import (
    Cache,
    CachingExecutor,
    DescribesSchema,
    Engine,
    EngineClass,
    QueryExecutor,
    TellsContent,
)
from assay.ports.reports import CountingReporter, Reporter, StreamingReporter
from assay.ports.scoring import (
    AWAITS_TIMING,
    CaseScorer,
    Diagnoser,
    Executions,
    Metric,
    QueryRequest,
    ScoredCase,
    SelectionDiagnoser,
    TimedMetric,
    TimedScore,
)
from assay.ports.suites import ChecksSuite
from assay.ports.systems import AsksAboutDatabases, ChatMessage, ChatModel, Completion, SchemaSource, System, ToolCall
from assay.ports.witnesses import (
    MakesScratchInMemory,
    MakesScratchOnServer,
    PossibleAnswers,
    ReadsAnswers,
    ScratchDatabase,
)
from assay.ports.workers import (
    LABEL_BYTES,
    Backend,
    Loss,
    LossKind,
    LostKind,
    NeededDatabase,
    Pulse,
    Task,
    TaskDone,
    TaskLost,
)

__all__ = [
    "AWAITS_TIMING",
    "LABEL_BYTES",
    "AsksAboutDatabases",
    "Backend",
    "Cache",
    "CachingExecutor",
    "CaseFormat",
    "CaseScorer",
    "ChatMessage",
    "ChatModel",
    "ChecksSuite",
    "Column",
    "Completion",
    "CountingReporter",
    "DescribesSchema",
    "Diagnoser",
    "Engine",
    "EngineClass",
    "Executions",
    "LoadedCases",
    "LoadedPredictions",
    "Loss",
    "LossKind",
    "LostKind",
    "MakesScratchInMemory",
    "MakesScratchOnServer",
    "Metric",
    "NeededDatabase",
    "PossibleAnswers",
    "Pulse",
    "QueryExecutor",
    "QueryRequest",
    "ReadsAnswers",
    "Reporter",
    "SchemaSource",
    "ScoredCase",
    "ScratchDatabase",
    "SelectionDiagnoser",
    "StreamingReporter",
    "System",
    "Task",
    "TaskDone",
    "TaskLost",
    "TellsContent",
    "TimedMetric",
    "TimedScore",
    "ToolCall",
]
