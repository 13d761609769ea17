"""What reading a large run and writing its reports takes, in time and in memory.

    python benchmarks/reading.py [--cases N] [--only NAME ...] [--keep FOLDER]

The run store writes a made-up run of 100,000 cases with ten metrics (that of `diff.py`). Then, each in a new process
that starts with reading the run:

- load: `assay.load_run`, and nothing read of the evidence.
- pass: as load, and every case's evidence read once.
- json, html, xlsx, junit, md, xlsx-f1: the report of that name, as `assay report` writes it.
- parquet: results.parquet written anew.

Times are seconds of processor time, which other work on the machine disturbs less, and as multiples of the floor, which
is measured just before: a process that reads the journal line by line with `json.loads`. Memory is the process's peak.
Exits with 1 where a multiple is over its bound, or a peak over 300 MiB.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from diff import made_run

from assay.runs.store.folder import save_run

BOUND_MIB = 300
FLOOR = "import json\nfor line in open(sys.argv[1] + '/journal.jsonl', 'rb'): json.loads(line)"
LOAD = "import assay\nrun = assay.load_run(sys.argv[1])"
PARQUET = (
    "from assay.runs.store.folder import write_parquet\nwrite_parquet(Path(sys.argv[2]) / 'x.parquet', run.record)"
)
REPORTS = ("json", "html", "xlsx", "xlsx-f1", "junit", "md")
WORK = {
    "load": LOAD,
    "pass": f"{LOAD}\nfor item in run.evidence: item.outcome",
    **{name: f"{LOAD}\nrun.report(Path(sys.argv[2]) / 'report', format='{name}')" for name in REPORTS},
    "parquet": f"{LOAD}\n{PARQUET}",
}
BOUNDS = {"load": 2.0, "pass": 3.0, "json": 5.0, "html": 14.0, "xlsx": 14.0}
"""Multiples of the floor."""


def measured(work: str, folder: Path, written: Path) -> tuple[float, float]:
    """Seconds of processor time and the peak in MiB of a new process that does this."""
    tail = (
        "import resource\nused = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)"
    )
    script = f"import sys\nfrom pathlib import Path\n{work}\n{tail}"
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder), str(written)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    seconds, peak = map(float, done.stdout.split())
    return seconds, peak


def main() -> int:
    """Write, measure, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--only", nargs="+", choices=list(WORK), default=list(WORK))
    parser.add_argument("--keep", type=Path, help="write the run into this folder and keep it")
    parser.add_argument("--json", type=Path, help="write the figures into this file, too")
    arguments = parser.parse_args()
    missed, figures = 0, []
    with tempfile.TemporaryDirectory(prefix="assay-reading-") as temporary:
        folder = (arguments.keep or Path(temporary)) / f"run-{arguments.cases}"
        if not (folder / "run.json").exists():
            # In a process of its own: what a child holds at its start would count from this one's peak on.
            make = "from reading import make; import sys; make(int(sys.argv[1]), sys.argv[2])"
            here = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
            subprocess.run([sys.executable, "-c", make, str(arguments.cases), str(folder)], check=True, env=here)
        size = (folder / "journal.jsonl").stat().st_size / 2**20
        print(f"{arguments.cases:,} cases, a journal of {size:.0f} MiB")
        for name in arguments.only:
            floor, _ = measured(FLOOR, folder, Path(temporary))
            seconds, peak = measured(WORK[name], folder, Path(temporary))
            bound = BOUNDS.get(name)
            over = peak > BOUND_MIB or (bound is not None and seconds > bound * floor)
            missed += over
            said = "" if bound is None else f" (bound {bound:g})"
            print(
                f"{name:9} {seconds:6.2f} s, {seconds / floor:5.2f} times its floor{said}, {peak:4.0f} MiB"
                f"{'   MISSED' if over else ''}",
                flush=True,
            )
            figures.append({"name": name, "seconds": seconds, "floor_s": floor, "peak_mib": peak, "bound": bound})
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")
    return int(missed > 0)


def make(cases: int, folder: str) -> None:
    """Write the run."""
    save_run(made_run(cases, seed=0, name="baseline"), Path(folder))


if __name__ == "__main__":
    sys.exit(main())
