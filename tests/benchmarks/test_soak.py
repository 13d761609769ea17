"""What a process holds after 400 cases with faults is what it held at the start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_CODE = """
import json, sys
from dataclasses import asdict
from benchmarks.measurements.soak import soak
soaked = soak(int(sys.argv[1]))
print(json.dumps({**soaked.grown, "killed": soaked.killed, "interrupted": soaked.interrupted, "cases": soaked.cases}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counted in /proc")
def test_nothing_is_left_of_400_cases_with_faults() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _CODE, "400"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=1100
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["cases"] >= 400
    assert found["killed"] + found["interrupted"] > 0
    assert {name: found[name] for name in ("handles", "processes", "threads", "temporary_files")} == {
        "handles": 0,
        "processes": 0,
        "threads": 0,
        "temporary_files": 0,
    }
    assert found["memory_mb"] < 30
