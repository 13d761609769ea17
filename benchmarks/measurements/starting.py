"""How long it takes to start, and what `import assay` loads."""

from __future__ import annotations

import statistics
import subprocess
import sys

from benchmarks.frame import Setup, seconds

_HEAVY = ("duckdb", "numpy", "sqlglot", "pandas", "polars", "pyarrow", "rich", "click", "jinja2")


def start(setup: Setup) -> dict[str, float]:
    """A new process each, in turn."""
    helped, imported = [], []
    for _ in range(setup.rounds):
        bare = seconds(lambda: _python("-c", "pass"))
        imported.append(seconds(lambda: _python("-c", "import assay")) / bare)
        helped.append(seconds(lambda: _python("-m", "assay", "--help")))
    script = f"import sys, assay; print(sum(name in sys.modules for name in {_HEAVY!r}))"
    return {
        "start.help": statistics.median(helped),
        "start.import": statistics.median(imported),
        "start.loaded": float(_python("-c", script)),
    }


def _python(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True).stdout
