"""The public Python API."""

from assay.api.evaluation import evaluate
from assay.api.inputs import FileOptions
from assay.api.run import Run, load_run
from assay.api.single import compare, examine, judge
from assay.api.systems import open_system

__all__ = ["FileOptions", "Run", "compare", "evaluate", "examine", "judge", "load_run", "open_system"]
