"""The public Python API."""

from assay.api.asserting import assert_equivalent
from assay.api.diffing import Leaderboard, RunDiff, diff, leaderboard
from assay.api.evaluation import evaluate
from assay.api.history import export_mlflow, list_runs
from assay.api.inputs import FileOptions
from assay.api.judged_run import MeasuredJudge, judge_run, measure_judge
from assay.api.judging import judge_equivalence, open_judge, open_model
from assay.api.labels import read_labels
from assay.api.run import Run, load_run
from assay.api.selections import evaluate_selections, judge_selection, read_selection
from assay.api.single import compare, examine, judge
from assay.api.systems import open_system
from assay.reports.mlflow_export import MlflowExport

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
