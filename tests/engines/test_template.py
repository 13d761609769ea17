"""Workers forked from a fork of the command itself are like those that an interpreter of their own began."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.engines.pool import spawn
from assay.engines.pool.pool import WorkerPool
from assay.engines.pool.template import can_fork
from assay.ports import Task, TaskLost

pytestmark = pytest.mark.skipif(not can_fork(), reason="workers are forked on Linux")

_HERE = Path(__file__).parent
_CODE = """
import json, os, signal, sys
if sys.argv[2] == "ends are ignored":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
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


@pytest.mark.parametrize("template", ["alive", "killed", "ends are ignored"])
def test_a_fork_of_the_command_is_like_an_interpreter_of_its_own(template: str) -> None:
    assert _facts("fork", template) == _facts("interpreter", template)


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("sys.exit(3)", "ended by itself with exit status 3"),
        ("sys.exit('trouble')", "ended by itself with exit status 1"),
        ("sys.exit()", "ended by itself with exit status 0"),
        ("raise KeyboardInterrupt", "was ended by SIGINT"),
        ("os.kill(os.getpid(), signal.SIGTERM)", "was ended by SIGTERM"),
        ("os.abort()", "was ended by SIGABRT"),
        ("os._exit(7)", "ended by itself with exit status 7"),
    ],
)
@pytest.mark.parametrize("way", ["forks", "interpreters"])
@pytest.mark.usefixtures("tasks_on_path")
def test_how_a_worker_ended_is_told(way: str, end: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "interpreters":
        monkeypatch.setattr(spawn, "can_fork", lambda: False)
    with WorkerPool(workers=1, setup="pool_tasks:echo", argument=None) as pool:
        (lost,) = pool.run([[Task(id=1, payload=("run", f"import os, signal, sys; {end}"))]])
    assert isinstance(lost, TaskLost)
    assert told in lost.message


def test_a_run_in_a_folder_that_was_deleted_goes_on(tmp_path: Path) -> None:
    code = "import os, sys; os.rmdir(os.getcwd()); from assay.__main__ import main; main()"
    command = ["check", "SELECT 1", "SELECT 1", "--db", "sqlite://"]
    (tmp_path / "gone").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code, *command], cwd=tmp_path / "gone", capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_pool_leaves_no_descriptor_behind() -> None:
    before = os.listdir("/proc/self/fd")
    gc.disable()
    try:
        for _ in range(3):
            with WorkerPool(workers=2, setup="worker_facts:set_up", argument=None) as pool:
                pool.wait_until_ready()
            assert len(os.listdir("/proc/self/fd")) == len(before)
    finally:
        gc.enable()
