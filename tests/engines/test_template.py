"""Workers forked from a fork of the command itself are like those that an interpreter of their own began."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.engines.pool.template import can_fork

pytestmark = pytest.mark.skipif(not can_fork(), reason="workers are forked on Linux")

_HERE = Path(__file__).parent
_CODE = """
import json, os, signal, sys
kept = open(os.devnull)
from assay.engines.pool import spawn
spawn.start_ahead(2, "worker_facts:set_up", alone=sys.argv[1] == "fork")
from assay.engines.pool.pool import WorkerPool
from assay.ports import Task
with WorkerPool(workers=2, setup="worker_facts:set_up", argument=None) as pool:
    pool.wait_until_ready()
    template = pool._starter._template._process
    assert type(template).__name__ == ("Fork" if sys.argv[1] == "fork" else "Popen"), template
    if sys.argv[2] == "killed":
        os.kill(template.pid, signal.SIGKILL)
        for pid in pool.pids:
            os.kill(pid, signal.SIGKILL)
    found = [done.outcome for done in pool.run([[Task(id=number, payload=None)] for number in range(8)])]
print(json.dumps(found, default=sorted))
"""


def _facts(*arguments: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", _CODE, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=_HERE.parent,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    first, *others = json.loads(done.stdout)
    assert all(other == first for other in others)
    return first


@pytest.mark.parametrize("template", ["alive", "killed"])
def test_a_fork_of_the_command_is_like_an_interpreter_of_its_own(template: str) -> None:
    assert _facts("fork", template) == _facts("interpreter", template)
