"""What judging takes in instructions of the processor, which the load of the machine does not change.

Counted by valgrind's callgrind (Debian package `valgrind`), which runs a process about fifty times as slowly.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

from benchmarks.frame import ROOT, NotHere, Setup
from benchmarks.measurements.spider import evaluated, folder_of, inputs_of

_EACH = 60
"""How many cases of each outcome are judged."""
_JUDGE = """
import sys
from pathlib import Path
from assay.api.workers import worker_settings
from assay import registry
from assay.model import ComparisonOptions, Limits
from assay.runs.workers.scoring_worker import set_up
from assay.scoring import time_limit
from assay.scoring.queries import context
from benchmarks.frame import Setup
from benchmarks.measurements.spider import inputs_of

# No limit may be reached: a case that runs out of time here, fifty times as slow, would be done twice.
time_limit._BRIEFLY_S = context._LEAST_S = 10_000.0
limits = Limits(comparison_timeout_s=10_000.0, timeout_s=1_000.0)
_, works = inputs_of(Setup(spider=Path(sys.argv[1])))
chosen = [works[int(number)] for number in sys.argv[2].split(",")]
scorer = set_up(worker_settings(ComparisonOptions(), limits, registry.default_metrics()))
for work in chosen:
    scorer(work)
scorer.close()
"""
_COMPARE = """
import random, sys
from assay.comparison.compare import compare
from assay.model import Result
from benchmarks.measurements.comparing import copied, noisy, rows_of

chance = random.Random(7)
gold = rows_of(100_000, 5, chance)
same = copied(gold, chance)
other = {
    "shuffled": lambda: same,
    "swapped": lambda: [(a, d, c, b, e) for a, b, c, d, e in same],
    "noisy": lambda: noisy(same),
}[sys.argv[1]]()
ours, theirs = Result.of(gold), Result.of(other)
if sys.argv[2] == "assay":
    assert compare(theirs, ours).equal
elif sys.argv[2] == "sets":
    assert set(same) == set(gold)
"""


def of_cases(setup: Setup) -> dict[str, float]:
    """Millions of instructions of a worker for a correct and for an incorrect answer, causes included."""
    spider = folder_of(setup)
    inputs, works = inputs_of(setup)
    run, _ = evaluated(inputs, works, setup.workers)
    found = {}
    for kind in ("correct", "incorrect"):
        numbers = [str(number) for number, case in enumerate(run.summaries) if case.outcome == kind]
        few, many = (instructions(_JUDGE, str(spider), ",".join(numbers[:count])) for count in (_EACH // 3, _EACH))
        found[f"instructions.{kind}"] = (many - few) / (_EACH - _EACH // 3) / 1e6
    return found


def of_comparisons(_: Setup) -> dict[str, float]:
    """The instructions of a comparison of two large results, against those of comparing sets."""
    found = {}
    for kind in ("shuffled", "swapped", "noisy"):
        made, sets, ours = (instructions(_COMPARE, kind, side) for side in ("neither", "sets", "assay"))
        found[f"instructions.{kind}"] = (ours - made) / (sets - made)
    return found


def instructions(code: str, *arguments: str) -> float:
    """How many instructions an interpreter takes for it. Raises NotHere where nothing can count them."""
    if shutil.which("valgrind") is None:
        raise NotHere("valgrind counts instructions: apt-get install valgrind")
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return sum(map(float, re.findall(r"Collected : (\d+)", done.stderr)))
