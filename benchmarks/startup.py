"""How long it takes to start.

    python benchmarks/startup.py [--rounds N]

`assay --help` must answer in 0.3 s, and `import assay` must load neither duckdb nor any optional
package. Prints the medians, bare interpreter start measured in turn with them, and exits with 1
where a bound is missed.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

HELP_BOUND_S = 0.3
UNWANTED = ("duckdb", "numpy", "sqlglot", "pandas", "polars", "pyarrow", "rich", "typer", "jinja2")


def seconds(*arguments: str) -> float:
    """Time one interpreter from start to end."""
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> int:
    """Measure in turn and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    measured = [
        (seconds("-c", "pass"), seconds("-c", "import assay"), seconds("-m", "assay", "--help")) for _ in range(rounds)
    ]
    bare, imported, helped = (statistics.median(column) for column in zip(*measured, strict=True))
    script = f"import sys, assay; print(*[name for name in {UNWANTED!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    loaded = done.stdout.strip()
    print(f"bare interpreter  {bare:.3f} s")
    print(f"import assay      {imported:.3f} s  loads of the heavy packages: {loaded or 'none'}")
    print(f"assay --help      {helped:.3f} s  (bound {HELP_BOUND_S:g} s)")
    return int(helped > HELP_BOUND_S or bool(loaded))


if __name__ == "__main__":
    sys.exit(main())
