"""Assay judges systems that turn questions into data queries.

The names load when they are first used: importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from assay._version import __version__

if TYPE_CHECKING:
    from assay.api import (
        FileOptions,
        MeasuredJudge,
        MlflowExport,
        Run,
        assert_equivalent,
        compare,
        evaluate,
        evaluate_selections,
        examine,
        export_mlflow,
        judge,
        judge_equivalence,
        judge_run,
        judge_selection,
        list_runs,
        load_run,
        measure_judge,
        open_judge,
        open_model,
        open_system,
        read_labels,
        read_selection,
    )
    from assay.api.diffing import Leaderboard, RunDiff, diff, leaderboard
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
        DimensionSelection,
        Evidence,
        Execution,
        Failure,
        FieldNames,
        GateResult,
        Gates,
        GroupDiff,
        HistoryPoint,
        Leniency,
        Limits,
        MetricDiff,
        Prediction,
        Result,
        Score,
        Selection,
        SelectionScore,
        Term,
        TimeRange,
        Turn,
        TurnAnswer,
        Verdict,
    )

__all__ = [
    "AssayError",
    "Calibration",
    "Case",
    "CaseChange",
    "CaseFileError",
    "CaseOptions",
    "Comparison",
    "DatabaseError",
    "DatasetSelection",
    "DimensionSelection",
    "Evidence",
    "Execution",
    "Failure",
    "FieldNames",
    "FileOptions",
    "GateResult",
    "Gates",
    "GroupDiff",
    "HistoryPoint",
    "InputError",
    "Interrupted",
    "JudgedCase",
    "Leaderboard",
    "Leniency",
    "Limits",
    "MeasuredJudge",
    "MetricDiff",
    "MissingDependency",
    "MlflowExport",
    "Opinion",
    "PluginError",
    "Prediction",
    "QueryJudge",
    "QueryPair",
    "Result",
    "Run",
    "RunDiff",
    "RunError",
    "Score",
    "Selection",
    "SelectionScore",
    "SystemLost",
    "SystemUnusable",
    "Term",
    "TimeRange",
    "Turn",
    "TurnAnswer",
    "UnscoredError",
    "UsageError",
    "Verdict",
    "__version__",
    "assert_equivalent",
    "compare",
    "diff",
    "evaluate",
    "evaluate_selections",
    "examine",
    "export_mlflow",
    "judge",
    "judge_equivalence",
    "judge_run",
    "judge_selection",
    "leaderboard",
    "list_runs",
    "load_run",
    "measure_judge",
    "open_judge",
    "open_model",
    "open_system",
    "read_labels",
    "read_selection",
]

_HOMES = {
    "assay.api": (
        *("FileOptions", "Run", "compare", "evaluate", "evaluate_selections", "examine", "judge", "judge_selection"),
        "assert_equivalent",
        *("MeasuredJudge", "judge_equivalence", "judge_run", "load_run", "measure_judge", "open_judge", "open_model"),
        *("open_system", "read_labels", "read_selection", "Leaderboard", "RunDiff", "diff", "leaderboard"),
        *("MlflowExport", "export_mlflow", "list_runs"),
    ),
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
