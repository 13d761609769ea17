"""A stored run of 100,000 cases: reading it, and writing each report of it, in a process of its own.

The run is made up, ten metrics and all (`benchmarks.diff`). Times are of processor, which other work on the machine
disturbs less; the floor is a process that reads the journal line by line with `json.loads`, measured in turn.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.frame import ROOT, Setup

_FLOOR = "import json\nfor line in open(sys.argv[1] + '/journal.jsonl', 'rb'): json.loads(line)"
_LOAD = "import assay\nrun = assay.load_run(sys.argv[1])"
_REPORTS = ("json", "html", "xlsx", "junit", "md")
_WORK = {
    "load": _LOAD,
    "pass": f"{_LOAD}\nfor item in run.evidence: item.outcome",
    **{name: f"{_LOAD}\nrun.report(Path(sys.argv[2]) / 'report', format='{name}')" for name in _REPORTS},
    "parquet": f"{_LOAD}\nfrom assay.runs.store.results_table import with_parquet\n"
    "with_parquet(run.record, Path.exists)",
}
_TAIL = """
import resource
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""
_MAKE = """
from benchmarks.diff import made_run
from assay.runs.store.folder import save_run
save_run(made_run(int(sys.argv[1]), seed=0, name="baseline"), Path(sys.argv[2]))
"""


def reading(setup: Setup) -> dict[str, float]:
    """Seconds of processor time, multiples of the floor and the peak of memory of each piece of work."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="assay-reading-") as name:
        folder = Path(name) / "run"
        # In a process of its own: what a child holds at its start would count from this one's peak on.
        _used(_MAKE, str(setup.cases), folder)
        for work, code in _WORK.items():
            floor_s, _ = _used(_FLOOR, folder, name)
            seconds, peak = _used(code, folder, name)
            found |= {
                f"reading.{work}": seconds,
                f"reading.{work}_ratio": seconds / floor_s,
                f"reading.{work}_memory": peak,
            }
    return found


def _used(work: str, *arguments: object) -> tuple[float, float]:
    """Seconds of processor time and the peak in MiB of a new process that does this."""
    script = f"import sys\nfrom pathlib import Path\n{work}\n{_TAIL}"
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    seconds, peak = map(float, done.stdout.split()[-2:])
    return seconds, peak
