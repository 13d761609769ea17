"""A cluster node's side of a run: it hosts worker pools, takes batches, and hands out outcomes.

It knows nothing of the cluster's software: `assay.runs.backends.ray` puts one on each node and calls it. Limits and
kills need the machine that the workers are on, so the pools are those of `assay.engines.pool`. There is one pool of one
worker for each worker, since a pool waits for its next batch, and the driver sends batches while others are being done.
"""

from __future__ import annotations

import pickle
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from time import monotonic

from msgspec import Struct
from msgspec.structs import replace

from assay.engines.pool.pool import WorkerPool
from assay.errors import AssayError
from assay.model import DatabaseUrl
from assay.ports import NeededDatabase, Task, TaskDone, TaskLost
from assay.runs import SETUP
from assay.runs.backends.bundle import Bundle
from assay.runs.backends.node_databases import NodeDatabases
from assay.runs.plan import Work
from assay.runs.store.codec import pack_task, unpack_task
from assay.runs.worker_tasks import MatchTask, TimingTask, WorkerSettings

_MOST_WAITING_BYTES = 32 * 1024 * 1024
"""Outcomes of this size wait at most for the driver: then the workers wait, too."""
_OTHER_BYTES = 64 * 1024
"""What an outcome is taken to weigh that is no line of evidence."""
_ENOUGH = 512
_AT_ONCE = 16
"""How many tasks a worker gets at most at once: it waits between them for about a hundredth of a short task."""
_FIRST_AT_ONCE = 4
"""The same before any task of the batch was measured."""
_PART_S = 0.1
"""How long the tasks that a worker gets at once should take together: what it has, nobody else can do."""
_WORTH_S = 0.005
"""What a worker has still to begin must take at least so long to be worth another's help."""
_LINGER_S = 0.1
"""How long outcomes are collected before they are handed out: each call takes as long as a short task."""
_LINGER_WITH_WORK_S = 0.5
"""How much longer while the node has a batch to begin: many nodes that hand out often would keep the driver busy."""


class NodeSettings(Struct, frozen=True, kw_only=True):
    """What a node needs to know."""

    workers: int
    worker: WorkerSettings
    memory_limit_bytes: int | None


class Delivery(Struct, frozen=True, kw_only=True):
    """What a node hands out: outcomes, and the error after which there are no more."""

    outcomes: tuple[TaskDone | TaskLost, ...] = ()
    error: AssayError | None = None


class _Share:
    """One worker's part of a batch: the tasks that it has not begun, and what one of them costs."""

    __slots__ = ("cost_s", "may_be_parted", "tasks")

    def __init__(self, tasks: deque[Task], *, may_be_parted: bool, cost_s: float | None = None) -> None:
        self.tasks = tasks
        self.may_be_parted = may_be_parted
        self.cost_s = cost_s

    def part(self) -> list[Task]:
        """The tasks to begin now."""
        count = _FIRST_AT_ONCE if self.cost_s is None else int(min(_AT_ONCE, _PART_S / max(self.cost_s, 1e-6)))
        return [self.tasks.popleft() for _ in range(min(max(1, count), len(self.tasks)))]

    def measure(self, took_s: float) -> None:
        """One task took so long."""
        self.cost_s = took_s if self.cost_s is None else 0.7 * self.cost_s + 0.3 * took_s

    @property
    def left_s(self) -> float:
        """About how long it will take, as far as others may help; what nobody has measured may be long."""
        return len(self.tasks) * (_PART_S if self.cost_s is None else self.cost_s) if self.may_be_parted else 0.0

    def half(self) -> _Share:
        """Give away half of it."""
        given = [self.tasks.pop() for _ in range((len(self.tasks) + 1) // 2)]
        return _Share(deque(reversed(given)), may_be_parted=True, cost_s=self.cost_s)


class Node:
    """Does batches on this machine. Its methods may be called by several threads."""

    def __init__(self, settings: NodeSettings) -> None:
        self._settings = settings
        self._batches: deque[_Share] = deque()
        self._begun: dict[WorkerPool, _Share] = {}
        """What each worker has still to begin of the batch that it is at."""
        self._waiting: deque[TaskDone | TaskLost] = deque()
        self._waiting_bytes = 0
        self._change = threading.Condition()
        self._ready = 0
        self._error: AssayError | None = None
        self._closed = False
        self._databases = NodeDatabases(settings.worker.engines)
        self._pools = [
            WorkerPool(workers=1, setup=SETUP, argument=settings.worker, memory_limit_bytes=settings.memory_limit_bytes)
            for _ in range(settings.workers)
        ]
        for pool in self._pools:
            pool.start()  # here, so that `close` ends every worker
        self._threads = [
            threading.Thread(target=self._serve, args=(pool,), name="assay-node", daemon=True) for pool in self._pools
        ]
        for thread in self._threads:
            thread.start()

    def wait_until_ready(self) -> None:
        """Return when every worker has set up. Raises the error for which one did not."""
        with self._change:
            self._change.wait_for(lambda: self._ready == len(self._pools) or self._error is not None)
            if self._error is not None:
                raise self._error

    def locate(self, needed: NeededDatabase, bundle: Bundle | None = None) -> bool:
        """See `NodeDatabases.locate`."""
        return self._databases.locate(needed, bundle)

    def receive(self, digest: str, name: str, chunk: bytes) -> None:
        """See `NodeDatabases.receive`."""
        self._databases.receive(digest, name, chunk)

    def give(self, packed: bytes) -> None:
        """Take a batch that `pack_batch` packed, whose database is located. Returns at once."""
        database, shared, tasks = pickle.loads(packed)
        place = None if database is None else self._databases.places.get(database)
        batch = _Share(deque([_placed(task, place) for task in tasks]), may_be_parted=shared)
        with self._change:
            self._batches.append(batch)
            self._change.notify_all()

    def wind_up(self) -> list[int]:
        """Begin no further task of those given so far. Returns the ids of the tasks that are not done therefore."""
        with self._change:
            shares = (*self._batches, *self._begun.values())
            dropped = [task.id for share in shares for task in share.tasks]
            for share in shares:
                share.tasks.clear()
            self._batches.clear()
        return dropped

    def take(self, wait_s: float) -> Delivery:
        """The outcomes since the last call, after at most ``wait_s`` seconds, if there are none yet."""
        with self._change:
            self._change.wait_for(lambda: self._waiting or self._error is not None, timeout=wait_s)
            if self._waiting:
                self._change.wait_for(self._has_enough, timeout=_LINGER_S)
                self._change.wait_for(lambda: self._has_enough() or not self._batches, timeout=_LINGER_WITH_WORK_S)
            outcomes = tuple(self._waiting)
            self._waiting.clear()
            self._waiting_bytes = 0
            self._change.notify_all()
            return Delivery(outcomes=outcomes, error=self._error)

    def _has_enough(self) -> bool:
        return len(self._waiting) >= _ENOUGH or self._error is not None

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids of the workers that are alive now."""
        return tuple(pid for pool in self._pools for pid in pool.pids)

    def close(self) -> None:
        """End the workers now."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        for pool in self._pools:
            pool.close()
        for thread in self._threads:
            thread.join(timeout=1.0)

    def _serve(self, pool: WorkerPool) -> None:
        try:
            pool.wait_until_ready()
            with self._change:
                self._ready += 1
                self._change.notify_all()
            for outcome in pool.run(self._given(pool)):
                share = self._begun.get(pool)
                if share is not None and isinstance(outcome, TaskDone):
                    share.measure(outcome.took_s)
                self._put(outcome)
        except AssayError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - the driver must hear of it: it waits for these outcomes
            self._fail(AssayError(f"a node of the cluster failed: {type(error).__name__}: {error}"))

    def _given(self, pool: WorkerPool) -> Iterator[Sequence[Task]]:
        """The tasks for one worker, a few at a time, so that the rest can still be dropped, or done by another."""
        while True:
            with self._change:
                self._begun.pop(pool, None)
                self._change.wait_for(lambda: self._batches or self._longest() or self._closed)
                if self._closed:
                    return
                longest = self._longest()
                share = self._batches.popleft() if self._batches or longest is None else longest.half()
                self._begun[pool] = share
                self._change.notify_all()
            while part := self._part(share):
                yield part

    def _longest(self) -> _Share | None:
        """What another worker should have help with, where no batch waits."""
        longest = max(self._begun.values(), key=lambda share: share.left_s, default=None)
        return longest if longest is not None and longest.left_s >= _WORTH_S else None

    def _part(self, share: _Share) -> list[Task]:
        with self._change:
            return share.part()

    def _put(self, outcome: TaskDone | TaskLost) -> None:
        found = outcome.outcome if isinstance(outcome, TaskDone) else b""
        with self._change:
            self._change.wait_for(lambda: self._waiting_bytes < _MOST_WAITING_BYTES or self._closed)
            self._waiting.append(outcome)
            self._waiting_bytes += len(found) if isinstance(found, bytes) else _OTHER_BYTES
            if len(self._waiting) in (1, _ENOUGH):
                self._change.notify_all()

    def _fail(self, error: AssayError) -> None:
        with self._change:
            if not self._closed:
                self._error = self._error or error
            self._change.notify_all()


def pack_batch(tasks: Sequence[Task], now: float, *, shared: bool = False) -> bytes:
    """A batch for `Node.give`. Moments of this machine's clock become the seconds until then.

    ``shared``: several workers may do it; else one does.
    """
    database = tasks[0].database
    packed = [replace(_shifted(task, -now), database=None) for task in tasks]
    return pickle.dumps((None if database is None else database.text, shared, packed), 5)


def _shifted(task: Task, seconds: float) -> Task:
    payload = task.payload
    if isinstance(payload, TimingTask) and payload.until is not None:
        return replace(task, payload=replace(payload, until=payload.until + seconds))
    return task


def _placed(task: Task, place: DatabaseUrl | None) -> Task:
    """The task with the database where this node has it."""
    task = _shifted(task, monotonic())
    if place is None:
        return task
    if isinstance(task.payload, (TimingTask, MatchTask)):
        return replace(task, payload=replace(task.payload, url=place))
    payload = unpack_task(task.payload, Work)
    return task if payload.url == place else replace(task, payload=pack_task(replace(payload, url=place)))
