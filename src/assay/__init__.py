"""Assay judges systems that turn questions into data queries.

The names load when they are first used: importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from assay._version import __version__

if TYPE_CHECKING:
    from assay.api import FileOptions, Run, compare, evaluate, examine, judge, load_run
    from assay.errors import (
        AssayError,
        CaseFileError,
        DatabaseError,
        InputError,
        Interrupted,
        MissingDependency,
        PluginError,
        RunError,
        SystemUnusable,
        UsageError,
    )
    from assay.model import (
        Case,
        CaseOptions,
        Comparison,
        Evidence,
        Execution,
        Failure,
        Limits,
        Prediction,
        Result,
        Score,
        Verdict,
    )
    from assay.ports import FieldNames

__all__ = [
    "AssayError",
    "Case",
    "CaseFileError",
    "CaseOptions",
    "Comparison",
    "DatabaseError",
    "Evidence",
    "Execution",
    "Failure",
    "FieldNames",
    "FileOptions",
    "InputError",
    "Interrupted",
    "Limits",
    "MissingDependency",
    "PluginError",
    "Prediction",
    "Result",
    "Run",
    "RunError",
    "Score",
    "SystemUnusable",
    "UsageError",
    "Verdict",
    "__version__",
    "compare",
    "evaluate",
    "examine",
    "judge",
    "load_run",
]

_HOMES = {
    "assay.api": ("FileOptions", "Run", "compare", "evaluate", "examine", "judge", "load_run"),
    "assay.errors": tuple(
        name for name in __all__ if name.endswith(("Error", "Interrupted", "Dependency", "Unusable"))
    ),
    "assay.ports": ("FieldNames",),
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
