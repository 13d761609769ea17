from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from assay.engines.pool.pool import Task, TaskDone, TaskLost, WorkerPool
from assay.errors import AssayError, UsageError
from assay.ports import Loss

pytestmark = [
    pytest.mark.usefixtures("tasks_on_path"),
    pytest.mark.skipif(os.name != "posix", reason="these tests end processes by POSIX signals"),
]

LABEL = b"0123456789abcdef"


@pytest.fixture
def pool(tasks_on_path: None) -> Iterator[WorkerPool]:
    with WorkerPool(
        workers=2, setup="pool_tasks:echo", argument="hello", grace_s=0.2, memory_limit_bytes=512 * 1024 * 1024
    ) as pool:
        yield pool


def run(pool: WorkerPool, *batches: list[tuple[str, object]]) -> dict[int, TaskDone | TaskLost]:
    """Run batches of payloads; ids count through all of them. Each must come out exactly once."""
    tasks: list[list[Task]] = []
    count = 0
    for batch in batches:
        tasks.append([Task(id=count + i, payload=payload) for i, payload in enumerate(batch)])
        count += len(batch)
    outcomes = list(pool.run(tasks))
    assert sorted(outcome.task_id for outcome in outcomes) == list(range(count))
    return {outcome.task_id: outcome for outcome in outcomes}


def value(outcome: TaskDone | TaskLost) -> object:
    assert isinstance(outcome, TaskDone), outcome
    return outcome.outcome


def test_every_task_comes_out_once_and_the_work_is_shared(pool: WorkerPool) -> None:
    batches: list[list[tuple[str, object]]] = [[("echo", b"x" * 1000)] * 20 for _ in range(50)]
    outcomes = run(pool, *batches)
    results = [value(outcome) for outcome in outcomes.values()]
    assert {result[:2] for result in results} == {("hello", b"x" * 1000)}  # type: ignore[index]
    assert {result[2] for result in results} <= set(pool.pids)  # type: ignore[index]
    assert pool.restarts == 0


def test_a_batch_stays_in_one_worker_and_in_order(pool: WorkerPool) -> None:
    batches = [[Task(id=10 * b + i, payload=("echo", None)) for i in range(10)] for b in range(6)]
    workers: dict[int, set[object]] = {}
    seen: dict[int, list[int]] = {}
    for outcome in pool.run(batches):
        workers.setdefault(outcome.task_id // 10, set()).add(value(outcome)[2])  # type: ignore[index]
        seen.setdefault(outcome.task_id // 10, []).append(outcome.task_id)
    assert all(len(pids) == 1 for pids in workers.values())
    assert all(ids == sorted(ids) for ids in seen.values())


def test_outcomes_stream_while_the_rest_of_the_batch_runs(pool: WorkerPool, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    outcomes = pool.run([[Task(id=0, payload=("echo", 1)), Task(id=1, payload=("wait for", str(seen)))]])
    assert next(outcomes).task_id == 0
    seen.touch()
    assert [outcome.task_id for outcome in outcomes] == [1]


def test_batches_are_taken_only_when_a_worker_is_free(pool: WorkerPool) -> None:
    taken = 0

    def batches() -> Iterator[list[Task]]:
        nonlocal taken
        for number in range(100):
            taken += 1
            yield [Task(id=number, payload=("nap", 0.001))]

    outcomes = pool.run(batches())
    next(outcomes)
    assert taken <= 5
    assert len(list(outcomes)) == 99


def test_outcomes_of_every_kind_and_size_come_back_as_they_were(pool: WorkerPool) -> None:
    kinds = [b"", b"bytes", (b"two", b"parts"), (), (b"bytes", "and text"), (b"nested", (b"tuple",)), None, [b"list"]]
    kinds.append(os.urandom(5_000_000))
    outcomes = run(pool, [("return", kind) for kind in kinds] * 3)
    assert [value(outcome) for _, outcome in sorted(outcomes.items())] == kinds * 3


def test_a_task_that_raises_loses_only_itself(pool: WorkerPool) -> None:
    outcomes = run(pool, [("raise", "no luck"), ("echo", 1), ("unpicklable", None), ("echo", 2)])
    assert outcomes[0] == TaskLost(0, "error", "ValueError: no luck")
    assert isinstance(outcomes[2], TaskLost)
    assert value(outcomes[1]) is not None
    assert value(outcomes[3]) is not None
    assert pool.restarts == 0


def test_shared_work_survives_what_ends_workers_and_each_task_comes_out_once(pool: WorkerPool) -> None:
    bad: dict[int, tuple[str, object]] = {7: ("exit", 3), 90: ("raise", "no"), 91: ("segfault", None), 150: ("exit", 4)}
    tasks = [Task(id=i, payload=bad.get(i, ("echo", i))) for i in range(200)]
    outcomes = {one.task_id: one for one in pool.run([tasks[:3], [], tasks[3:]], shared=True)}
    assert sorted(outcomes) == list(range(200))
    assert {i for i, one in outcomes.items() if isinstance(one, TaskLost)} == set(bad)
    assert pool.restarts == 3


def test_a_message_that_cannot_be_read_loses_only_its_own_tasks(pool: WorkerPool) -> None:
    tasks = [Task(id=i, payload=Unreadable() if i == 40 else ("echo", i)) for i in range(200)]
    outcomes = {one.task_id: one for one in pool.run([tasks], shared=True)}
    assert sorted(outcomes) == list(range(200))
    lost = [i for i, one in outcomes.items() if isinstance(one, TaskLost)]
    assert 40 in lost
    assert lost == list(range(lost[0], lost[-1] + 1))
    assert len(lost) < 100


class Unreadable:
    """Pickles, and raises when it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return int, ("no number",)


def test_a_batch_is_shared_where_its_worker_would_be_the_only_busy_one(pool: WorkerPool, tmp_path: Path) -> None:
    # One worker waits for a file that the caller makes only once all tasks are done that were not sent to it.
    mark = tmp_path / "all others are done"
    # It is the first of its slice, of four: the other three are done after it.
    tasks = [Task(id=i, payload=("wait for", str(mark)) if i == 0 else ("echo", i)) for i in range(60)]
    outcomes = []
    for outcome in pool.run([tasks], shared=True):
        outcomes.append(outcome)
        if len(outcomes) == 56:
            mark.touch()
    assert sorted(one.task_id for one in outcomes) == list(range(60))


def test_a_pool_that_is_closed_while_it_replaces_workers_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    spawns = WorkerPool._spawn

    def spawned(pool: WorkerPool) -> Any:
        made.append(spawns(pool))
        return made[-1]

    monkeypatch.setattr(WorkerPool, "_spawn", spawned)
    for begun in range(3, 9):
        made.clear()
        pool = WorkerPool(workers=2, setup="pool_tasks:echo", argument="hello")
        tasks = [[Task(id=i, payload=("suicide", None))] for i in range(200)]

        def drive(pool: WorkerPool = pool, tasks: Any = tasks) -> None:
            with suppress(UsageError):
                list(pool.run(tasks))

        running = threading.Thread(target=drive, daemon=True)
        running.start()
        while len(made) < begun and running.is_alive():
            time.sleep(0.001)
        pool.close()
        running.join(300)
        assert not running.is_alive()
        assert [worker.alive for worker in made] == [False] * len(made)


def test_winding_up_finishes_what_is_in_flight_and_begins_nothing(pool: WorkerPool) -> None:
    outcomes = []
    for outcome in pool.run([[Task(id=i, payload=("echo", i)) for i in range(5_000)]], shared=True):
        outcomes.append(outcome)
        if len(outcomes) == 10:
            pool.stop_gracefully()
    assert 10 <= len(outcomes) < 500
    assert all(isinstance(one, TaskDone) for one in outcomes)
    again = run(pool, [("echo", 1)], [("echo", 2)])
    assert len(again) == 2, "the pool goes on"


@pytest.mark.parametrize(
    ("verb", "argument", "words"),
    [("exit", 3, "exit status 3"), ("suicide", None, "SIGKILL"), ("segfault", None, "SIGSEGV")],
)
def test_a_crash_without_a_label_loses_the_task_and_no_other(
    pool: WorkerPool, verb: str, argument: object, words: str
) -> None:
    outcomes = run(pool, [("echo", 0), (verb, argument), ("echo", 2), ("echo", 3)], [("echo", 4)])
    lost = outcomes.pop(1)
    assert isinstance(lost, TaskLost)
    assert lost.kind == "crashed"
    assert words in lost.message
    assert all(isinstance(outcome, TaskDone) for outcome in outcomes.values())
    assert pool.restarts == (2 if verb == "suicide" else 1), "a kill may be another's doing: once more"


def test_a_worker_killed_from_outside_is_replaced(pool: WorkerPool, tmp_path: Path) -> None:
    # Each worker waits in the middle of its batch for what comes after the kill: none can be done before.
    mark = tmp_path / "one is killed"
    verbs: list[tuple[str, object]] = [*[("echo", 1)] * 5, ("wait for", str(mark)), *[("echo", 2)] * 14]
    tasks = [[Task(id=b * 20 + i, payload=verb) for i, verb in enumerate(verbs)] for b in range(2)]
    outcomes = []
    for outcome in pool.run(tasks):
        outcomes.append(outcome)
        if len(outcomes) == 10:
            os.kill(pool.pids[0], signal.SIGKILL)
            mark.touch()
    assert sorted(outcome.task_id for outcome in outcomes) == list(range(40))
    assert sum(isinstance(outcome, TaskLost) for outcome in outcomes) <= 1
    assert pool.restarts == 1


def test_a_worker_that_dies_idle_costs_no_task(pool: WorkerPool, wait_for_exit: Callable[[int], bool]) -> None:
    run(pool, [("echo", 1)])
    for pid in pool.pids:
        os.kill(pid, signal.SIGKILL)
        assert wait_for_exit(pid)
    outcomes = run(pool, [("echo", 1)], [("echo", 2)], [("echo", 3)])
    assert all(isinstance(outcome, TaskDone) for outcome in outcomes.values())


@pytest.mark.parametrize(("what", "kind"), [("hang", "timeout"), ("abort", "crashed")])
def test_what_was_lost_under_a_label_is_known_to_the_next_worker(pool: WorkerPool, what: str, kind: str) -> None:
    outcomes = run(pool, [("echo", 0), ("labelled", (LABEL, what)), ("echo", 2)])
    loss = value(outcomes[1])
    assert isinstance(loss, Loss)
    assert loss.kind == kind
    again = run(pool, [("labelled", (LABEL, what))], [("labelled", (LABEL, what))])
    assert [value(outcome) for outcome in again.values()] == [loss, loss]
    assert pool.restarts == 1


def test_a_task_lost_again_and_again_is_given_up(pool: WorkerPool) -> None:
    outcomes = run(pool, [("fall apart", None), ("echo", 1)])
    lost = outcomes[0]
    assert isinstance(lost, TaskLost)
    assert "5th time" in lost.message
    assert isinstance(outcomes[1], TaskDone)
    assert pool.restarts == 5


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the memory limit is Linux's")
def test_a_memory_bomb_hits_its_own_task(pool: WorkerPool) -> None:
    outcomes = run(pool, [("bomb", 4 * 1024**3), ("echo", 1)], [("bomb", 1024**2)])
    lost = outcomes[0]
    assert isinstance(lost, TaskLost)
    assert lost.kind == "out_of_memory"
    assert value(outcomes[2]) == 1024**2


def test_nothing_that_a_task_prints_disturbs_the_protocol(pool: WorkerPool, capfd: pytest.CaptureFixture[str]) -> None:
    with WorkerPool(workers=1, setup="pool_tasks:echo", argument=None) as loud:
        assert value(run(loud, [("print", "hello")])[0]) == ""
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "hello" in captured.err


@pytest.mark.parametrize(
    ("setup", "message"),
    [
        ("broken", r"(?s)could not set up pool_tasks:broken.*the setup is broken"),
        ("fatal", r"do not start.*exit status 7"),
    ],
)
def test_a_setup_that_fails_is_told(setup: str, message: str) -> None:
    with (
        WorkerPool(workers=1, setup=f"pool_tasks:{setup}", argument=None) as pool,
        pytest.raises(AssayError, match=message),
    ):
        run(pool, [("echo", 1)])


def test_wrong_arguments_are_said_to_be_wrong() -> None:
    with pytest.raises(UsageError, match="at least one worker"):
        WorkerPool(workers=0, setup="pool_tasks:echo", argument=None)
    with pytest.raises(UsageError, match="module:function"):
        WorkerPool(workers=1, setup="pool_tasks", argument=None)
    pool = WorkerPool(workers=1, setup="pool_tasks:echo", argument=None)
    pool.close()
    with pytest.raises(UsageError, match="closed"):
        pool.start()


def test_leaving_a_run_early_leaves_no_process(pool: WorkerPool, wait_for_exit: Callable[[int], bool]) -> None:
    pids = pool.pids
    outcomes = pool.run([[Task(id=0, payload=("echo", 1)), Task(id=1, payload=("nap", 600))]])
    next(outcomes)
    outcomes.close()  # type: ignore[attr-defined]
    assert all(wait_for_exit(pid) for pid in pids)


PARENT = """
import sys, time
sys.path.insert(0, {tasks!r})
from assay.engines.pool.pool import Task, WorkerPool
pool = WorkerPool(workers=2, setup="pool_tasks:echo", argument=None)
pool.start()
for outcome in pool.run([[Task(id=0, payload=("echo", 1)), Task(id=1, payload=("nap", 600))]]):
    print(*pool.pids, flush=True)
    {then}
"""


def start_parent(then: str) -> tuple[subprocess.Popen[str], list[int]]:
    source = textwrap.dedent(PARENT).format(tasks=str(Path(__file__).parent), then=then)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    # A script from standard input has no main guard and no file: what a notebook is like.
    parent = subprocess.Popen([sys.executable, "-"], **pipes, text=True, env=environment)
    parent.stdin.write(source)
    parent.stdin.close()
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2
    return parent, pids


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, None])
def test_a_parent_that_is_ended_leaves_no_process(number: int | None, wait_for_exit: Callable[[int], bool]) -> None:
    """By a signal, or by itself without closing the pool."""
    parent, pids = start_parent("time.sleep(0)" if number else "sys.exit(0)")
    if number:
        parent.send_signal(number)
    parent.wait(timeout=300)
    parent.stdout.close()
    assert number or parent.returncode == 0
    assert all(wait_for_exit(pid) for pid in pids)
