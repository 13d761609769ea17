"""Assay scores systems that turn questions into data queries.

The names load when they are first used: importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from assay._version import __version__

if TYPE_CHECKING:
    from assay.api.diffing import Leaderboard, RunDiff, diff, leaderboard
    from assay.api.estimating import estimate, estimate_difference
    from assay.api.evaluation import evaluate
    from assay.api.exporting import export_reviewed
    from assay.api.history import export_mlflow, list_runs
    from assay.api.inputs import FileOptions
    from assay.api.linting import lint
    from assay.api.llm_judging import (
        MeasuredJudge,
        judge_equivalence,
        judge_run,
        measure_judge,
        open_judge,
        read_labels,
    )
    from assay.api.models import open_model
    from assay.api.refuting import refute
    from assay.api.reviewing import Reviews, load_reviews
    from assay.api.run import Run, load_run
    from assay.api.selections import check_selection, evaluate_selections, judge_selection, read_selection
    from assay.api.single import assert_equivalent, check, compare, diagnose, gather_evidence
    from assay.api.single import check as judge
    from assay.api.single import gather_evidence as examine
    from assay.api.suites import build_suite, load_suite
    from assay.api.systems import open_system
    from assay.errors import (
        AssayError,
        CaseFileError,
        DatabaseError,
        InputError,
        Interrupted,
        MissingDependency,
        PluginError,
        RunError,
        SystemLost,
        SystemUnusable,
        UnscoredError,
        UsageError,
    )
    from assay.llm_judge import Calibration, JudgedCase, Opinion, QueryJudge, QueryPair
    from assay.model import (
        Case,
        CaseChange,
        CaseOptions,
        Comparison,
        DatasetSelection,
        Diagnosis,
        DimensionSelection,
        Evidence,
        Exchange,
        Execution,
        Failure,
        FieldNames,
        GateResult,
        Gates,
        GivenResult,
        GroupDiff,
        HistoryPoint,
        Leniency,
        Limits,
        MetricDiff,
        PairVerdict,
        Prediction,
        Result,
        Review,
        Reviewed,
        Score,
        Selection,
        SelectionScore,
        Term,
        TimeRange,
        Turn,
        TurnAnswer,
        Verdict,
    )
    from assay.model.databases.suite import Suite, SuiteCase, SuiteDatabase
    from assay.model.lint import LintFinding, LintOptions, LintReport
    from assay.model.runs.estimate import Estimate, EstimatedDifference
    from assay.model.witness import Assumption, Refutation, Witness, WitnessSettings, WitnessTable
    from assay.reports.mlflow import MlflowExport

__all__ = [
    "AssayError",
    "Assumption",
    "Calibration",
    "Case",
    "CaseChange",
    "CaseFileError",
    "CaseOptions",
    "Comparison",
    "DatabaseError",
    "DatasetSelection",
    "Diagnosis",
    "DimensionSelection",
    "Estimate",
    "EstimatedDifference",
    "Evidence",
    "Exchange",
    "Execution",
    "Failure",
    "FieldNames",
    "FileOptions",
    "GateResult",
    "Gates",
    "GivenResult",
    "GroupDiff",
    "HistoryPoint",
    "InputError",
    "Interrupted",
    "JudgedCase",
    "Leaderboard",
    "Leniency",
    "Limits",
    "LintFinding",
    "LintOptions",
    "LintReport",
    "MeasuredJudge",
    "MetricDiff",
    "MissingDependency",
    "MlflowExport",
    "Opinion",
    "PairVerdict",
    "PluginError",
    "Prediction",
    "QueryJudge",
    "QueryPair",
    "Refutation",
    "Result",
    "Review",
    "Reviewed",
    "Reviews",
    "Run",
    "RunDiff",
    "RunError",
    "Score",
    "Selection",
    "SelectionScore",
    "Suite",
    "SuiteCase",
    "SuiteDatabase",
    "SystemLost",
    "SystemUnusable",
    "Term",
    "TimeRange",
    "Turn",
    "TurnAnswer",
    "UnscoredError",
    "UsageError",
    "Verdict",
    "Witness",
    "WitnessSettings",
    "WitnessTable",
    "__version__",
    "assert_equivalent",
    "build_suite",
    "check",
    "check_selection",
    "compare",
    "diagnose",
    "diff",
    "estimate",
    "estimate_difference",
    "evaluate",
    "evaluate_selections",
    "examine",
    "export_mlflow",
    "export_reviewed",
    "gather_evidence",
    "judge",
    "judge_equivalence",
    "judge_run",
    "judge_selection",
    "leaderboard",
    "lint",
    "list_runs",
    "load_reviews",
    "load_run",
    "load_suite",
    "measure_judge",
    "open_judge",
    "open_model",
    "open_system",
    "read_labels",
    "read_selection",
    "refute",
]

_HOMES = {
    "assay.api.diffing": ("Leaderboard", "RunDiff", "diff", "leaderboard"),
    "assay.api.estimating": ("estimate", "estimate_difference"),
    "assay.api.evaluation": ("evaluate",),
    "assay.api.exporting": ("export_reviewed",),
    "assay.api.history": ("export_mlflow", "list_runs"),
    "assay.api.inputs": ("FileOptions",),
    "assay.api.llm_judging": (
        "MeasuredJudge",
        "judge_equivalence",
        "judge_run",
        "measure_judge",
        "open_judge",
        "read_labels",
    ),
    "assay.api.linting": ("lint",),
    "assay.api.models": ("open_model",),
    "assay.api.refuting": ("refute",),
    "assay.api.reviewing": ("Reviews", "load_reviews"),
    "assay.api.run": ("Run", "load_run"),
    "assay.api.selections": ("check_selection", "evaluate_selections", "judge_selection", "read_selection"),
    "assay.api.single": ("assert_equivalent", "check", "compare", "diagnose", "examine", "gather_evidence", "judge"),
    "assay.api.suites": ("build_suite", "load_suite"),
    "assay.model.databases.suite": ("Suite", "SuiteCase", "SuiteDatabase"),
    "assay.api.systems": ("open_system",),
    "assay.model.witness": ("Assumption", "Refutation", "Witness", "WitnessSettings", "WitnessTable"),
    "assay.model.lint": ("LintFinding", "LintOptions", "LintReport"),
    "assay.model.runs.estimate": ("Estimate", "EstimatedDifference"),
    "assay.reports.mlflow": ("MlflowExport",),
    "assay.errors": tuple(
        name for name in __all__ if name.endswith(("Error", "Interrupted", "Dependency", "Unusable", "Lost"))
    ),
    "assay.llm_judge": ("Calibration", "JudgedCase", "Opinion", "QueryJudge", "QueryPair"),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    home = next((module for module, names in _HOMES.items() if name in names), "assay.model")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
