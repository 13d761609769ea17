"""The LLMSQL benchmark: `evaluate` scores a model's completions as the benchmark's own package does.

`assay docs llmsql` describes the differences and their reasons. The names load when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.llmsql.evaluation import evaluate

__all__ = ["evaluate"]


def __getattr__(name: str) -> Any:
    # Worker processes also import this package, and do not need what `evaluate` imports.
    if name != "evaluate":
        raise AttributeError(f"module 'assay.llmsql' has no attribute {name!r}")
    from assay.llmsql.evaluation import evaluate

    globals()[name] = evaluate
    return evaluate


def __dir__() -> list[str]:
    return sorted(__all__)
