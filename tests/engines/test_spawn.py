"""Workers that were started ahead of their pool: taken where they fit, and ended where nobody takes them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.cli import early
from assay.engines.pool import spawn
from assay.engines.pool.pool import Task, TaskDone, WorkerPool

pytestmark = pytest.mark.usefixtures("tasks_on_path", "true_workers")

ECHO = "pool_tasks:echo"


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    spawn.dismiss_ahead()
    yield
    spawn.dismiss_ahead()


def ahead() -> list[int]:
    return [spawned.process.pid for _, spawned in spawn._ahead]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_pool_takes_the_workers_that_were_started_for_it_and_ends_the_others() -> None:
    spawn.start_ahead(3, ECHO)
    started = ahead()
    with WorkerPool(workers=2, setup=ECHO, argument="hello") as pool:
        assert set(pool.pids) == set(started[:2])
        assert ahead() == []
        assert not is_alive(started[2])
        (done,) = pool.run([[Task(id=1, payload=("echo", "x"))]])
        assert isinstance(done, TaskDone)


def test_a_worker_for_another_setup_or_another_path_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    spawn.start_ahead(1, "pool_tasks:other")
    (other,) = ahead()
    with WorkerPool(workers=1, setup=ECHO, argument="hello") as pool:
        assert other not in pool.pids
        assert not is_alive(other)
    spawn.start_ahead(1, ECHO)
    (before,) = ahead()
    monkeypatch.setattr(sys, "path", [*sys.path, "/nowhere"])
    with WorkerPool(workers=1, setup=ECHO, argument="hello") as pool:
        assert before not in pool.pids


def test_a_worker_that_died_before_it_was_taken_is_replaced() -> None:
    spawn.start_ahead(1, ECHO)
    (_, spawned), *_ = spawn._ahead
    spawned.process.kill()
    spawned.process.wait()
    with WorkerPool(workers=1, setup=ECHO, argument="hello") as pool:
        pool.wait_until_ready()
        assert pool.pids[0] != spawned.process.pid


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ("run cases.jsonl --db x", 2),
        ("run cases.jsonl --db x --workers 1", 1),
        ("run cases.jsonl --db x --workers=1", 1),
        ("run cases.jsonl --workers many", 0),
        ("run cases.jsonl --workers", 0),
        ("llmsql outputs.jsonl", 1),
        ("demo", 2),
        ("run --help", 0),
        ("run cases.jsonl --system http:x", 0),
        ("run cases.jsonl --system=http:x", 0),
        ("report runs/a", 0),
        ("", 0),
    ],
)
def test_only_a_command_that_will_surely_need_them_starts_workers_ahead(
    arguments: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spawn, "default_workers", lambda: 2)
    told: list[tuple[int, str]] = []
    monkeypatch.setattr(spawn, "start_ahead", lambda count, setup: told.append((count, setup)))
    early.start_workers(arguments.split())
    assert sum(number for number, _ in told) == count
    assert {Path(setup.partition(":")[0]).name for _, setup in told} <= {"assay.runs.workers.scoring_worker"}
