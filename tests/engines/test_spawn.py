"""Workers that were started ahead of their pool: taken where they fit, and ended where nobody takes them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.cli import early
from assay.engines.pool import spawn
from assay.engines.pool.pool import Task, TaskDone, WorkerPool

pytestmark = pytest.mark.usefixtures("tasks_on_path")

ECHO = "pool_tasks:echo"


WAYS = ["forks", "interpreters"] if spawn.can_fork() else ["interpreters"]


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    spawn.dismiss_ahead()
    yield
    spawn.dismiss_ahead()


@pytest.fixture(params=WAYS, autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How workers start: forked where the system can, and as everywhere else."""
    way: str = request.param
    if way == "interpreters":
        monkeypatch.setattr(spawn, "can_fork", lambda: False)
    return way


def ahead() -> list[int]:
    """The processes that were started ahead."""
    pids: list[int] = []
    for _, starter in spawn._ahead:
        if isinstance(starter, spawn.Forks):
            pids.append(starter._template._process.pid)
        elif isinstance(starter, spawn.Interpreters):
            pids += [spawned.process.pid for spawned in starter._ahead]
    return pids


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def comes_of(pool: WorkerPool, started: list[int], way: str) -> bool:
    """Whether the pool's workers are those that were started, or forks of it."""
    pool.wait_until_ready()
    if way == "forks":
        return {parent_of(pid) for pid in pool.pids} == set(started)
    return set(pool.pids) <= set(started)


def test_a_pool_takes_what_was_started_for_it_and_ends_the_rest(way: str) -> None:
    spawn.start_ahead(3, ECHO)
    started = ahead()
    with WorkerPool(workers=2, setup=ECHO, argument="hello") as pool:
        assert comes_of(pool, started, way)
        (done,) = pool.run([[Task(id=1, payload=("echo", "x"))]])
        assert isinstance(done, TaskDone)
    assert ahead() == []
    assert not any(map(is_alive, started))


def test_what_was_started_for_another_setup_or_another_path_is_not_taken(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawn.start_ahead(1, "pool_tasks:other")
    other = ahead()
    with WorkerPool(workers=1, setup=ECHO, argument="hello") as pool:
        assert not comes_of(pool, other, way)
        assert not any(map(is_alive, other))
    spawn.start_ahead(1, ECHO)
    before = ahead()
    monkeypatch.setattr(sys, "path", [*sys.path, "/nowhere"])
    with WorkerPool(workers=1, setup=ECHO, argument="hello") as pool:
        assert not comes_of(pool, before, way)


def test_what_died_before_it_was_taken_is_replaced(way: str) -> None:
    spawn.start_ahead(1, ECHO)
    (before,) = ahead()
    os.kill(before, signal.SIGKILL)
    with WorkerPool(workers=1, setup=ECHO, argument="hello") as pool:
        assert not comes_of(pool, [before], way)
        (done,) = pool.run([[Task(id=1, payload=("echo", "x"))]])
        assert isinstance(done, TaskDone)


@pytest.mark.parametrize("way", [way for way in WAYS if way == "forks"], indirect=True)
def test_workers_outlive_what_they_were_forked_from_and_are_replaced_without_it() -> None:
    with WorkerPool(workers=2, setup=ECHO, argument="hello") as pool:
        pool.wait_until_ready()
        (template,) = {parent_of(pid) for pid in pool.pids}
        before = pool.pids
        os.kill(template, signal.SIGKILL)
        tasks = [[Task(id=number, payload=("echo", str(number)))] for number in range(20)]
        assert len([done for done in pool.run(tasks) if isinstance(done, TaskDone)]) == 20
        assert pool.pids == before
        os.kill(before[0], signal.SIGKILL)
        assert len([done for done in pool.run(tasks) if isinstance(done, TaskDone)]) == 20
        assert set(pool.pids) != set(before)
    assert not any(map(is_alive, pool.pids))


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
    monkeypatch.setattr(spawn, "start_ahead", lambda count, setup, alone: told.append((count, setup)))
    early.start_workers(arguments.split())
    assert sum(number for number, _ in told) == count
    assert {Path(setup.partition(":")[0]).name for _, setup in told} <= {"assay.runs.workers.scoring_worker"}
