"""A worker that is forked finds what one that is started finds, and ends as that one does."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

import forking
import workers
from assay.engines.pool.pool import WorkerPool
from assay.ports import Task, TaskDone

pytestmark = pytest.mark.skipif(not forking.can_serve(), reason="workers are forked on Linux")


def _facts() -> Any:
    with WorkerPool(workers=1, setup="worker_facts:set_up", argument=None) as pool:
        (done,) = pool.run([[Task(id=1, payload=None)]])
    assert isinstance(done, TaskDone)
    return done.outcome


@pytest.mark.parametrize("coding", [None, "latin-1:replace"])
def test_it_finds_the_same_around_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, coding: str | None) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_TRIED", "ü\n=")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    if coding is not None:
        monkeypatch.setenv("PYTHONIOENCODING", coding)
    old = os.umask(0o027)
    try:
        forked = _facts()
        with workers.true_ones():
            started = _facts()
    finally:
        os.umask(old)
    assert forked == started
    assert (forked["folder"], forked["environment"]["ASSAY_TRIED"]) == (str(tmp_path), "ü\n=")


def test_it_is_a_fork_unless_the_interpreter_would_start_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    with WorkerPool(workers=1, setup="worker_facts:set_up", argument=None) as pool:
        assert isinstance(pool._workers[0]._process, workers.Forked)
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    with WorkerPool(workers=1, setup="worker_facts:set_up", argument=None) as pool:
        assert not isinstance(pool._workers[0]._process, workers.Forked)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_its_end_is_told(number: signal.Signals) -> None:
    with WorkerPool(workers=1, setup="worker_facts:set_up", argument=None) as pool:
        pool.wait_until_ready()
        process = pool._workers[0]._process
        os.kill(process.pid, number)
        assert process.wait(300) == process.poll() == -number
