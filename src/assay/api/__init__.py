"""The public Python API."""

from assay.api.evaluation import evaluate
from assay.api.inputs import FileOptions
from assay.api.run import Run, load_run
from assay.api.selections import evaluate_selections, judge_selection, read_selection
from assay.api.single import compare, examine, judge
from assay.api.systems import open_system

__all__ = [
    "FileOptions",
    "Run",
    "compare",
    "evaluate",
    "evaluate_selections",
    "examine",
    "judge",
    "judge_selection",
    "load_run",
    "open_system",
    "read_selection",
]
