"""The public Python API. A name loads with its first use: a run needs nothing of what compares two."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.api.asserting import assert_equivalent
    from assay.api.diffing import Leaderboard, RunDiff, diff, leaderboard
    from assay.api.evaluation import evaluate
    from assay.api.history import export_mlflow, list_runs
    from assay.api.inputs import FileOptions
    from assay.api.judge_model import judge_equivalence, open_judge, open_model
    from assay.api.judged_run import MeasuredJudge, judge_run, measure_judge
    from assay.api.labels import read_labels
    from assay.api.run import Run, load_run
    from assay.api.selections import evaluate_selections, judge_selection, read_selection
    from assay.api.single import compare, examine, judge
    from assay.api.systems import open_system
    from assay.reports.mlflow import MlflowExport

__all__ = [
    "FileOptions",
    "Leaderboard",
    "MeasuredJudge",
    "MlflowExport",
    "Run",
    "RunDiff",
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
    "assay.api.asserting": ("assert_equivalent",),
    "assay.api.diffing": (
        "Leaderboard",
        "RunDiff",
        "diff",
        "leaderboard",
    ),
    "assay.api.evaluation": ("evaluate",),
    "assay.api.history": (
        "export_mlflow",
        "list_runs",
    ),
    "assay.api.inputs": ("FileOptions",),
    "assay.api.judged_run": (
        "MeasuredJudge",
        "judge_run",
        "measure_judge",
    ),
    "assay.api.judge_model": (
        "judge_equivalence",
        "open_judge",
        "open_model",
    ),
    "assay.api.labels": ("read_labels",),
    "assay.api.run": (
        "Run",
        "load_run",
    ),
    "assay.api.selections": (
        "evaluate_selections",
        "judge_selection",
        "read_selection",
    ),
    "assay.api.single": (
        "compare",
        "examine",
        "judge",
    ),
    "assay.api.systems": ("open_system",),
    "assay.reports.mlflow": ("MlflowExport",),
}


def __getattr__(name: str) -> Any:
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'assay.api' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
