"""A cluster node's side of a run: it hosts a pool of workers, takes batches, and hands out outcomes.

It knows nothing of the cluster's software: `assay.runs.backends.ray_node` puts one on each node and calls it. Limits
and kills need the machine that the workers are on, so the pool is that of `assay.engines.pool`. The pool's run goes on
from batch to batch, since the driver sends batches while others are being done.
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
from assay.runs.workers.worker_tasks import MatchTask, TimingTask, WorkerSettings

_MOST_WAITING_BYTES = 32 * 1024 * 1024
"""Outcomes of this size wait at most for the driver: then the workers wait, too."""
_OTHER_BYTES = 64 * 1024
"""What an outcome is taken to weigh that is not a line of evidence."""
_ENOUGH = 512
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


class Node:
    """Does batches on this machine. Its methods may be called by several threads."""

    def __init__(self, settings: NodeSettings) -> None:
        self._batches: deque[tuple[bool, list[Task]]] = deque()
        """The batches that the pool has not taken yet, and whether several workers may do each."""
        self._waiting: deque[TaskDone | TaskLost] = deque()
        self._waiting_bytes = 0
        self._change = threading.Condition()
        self._ready = False
        self._error: AssayError | None = None
        self._closed = False
        self._dropping = False
        self._databases = NodeDatabases(settings.worker.engines)
        self._pool = WorkerPool(
            workers=settings.workers,
            setup=SETUP,
            argument=settings.worker,
            memory_limit_bytes=settings.memory_limit_bytes,
        )
        self._pool.start()  # here, so that `close` ends every worker
        self._thread = threading.Thread(target=self._serve, name="assay-node", daemon=True)
        self._thread.start()

    def wait_until_ready(self) -> None:
        """Return when every worker has set up. Raises the error for which one did not."""
        with self._change:
            self._change.wait_for(lambda: self._ready or self._error is not None)
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
        batch = [_placed(Task(id=task_id, payload=payload), place) for task_id, payload in tasks]
        with self._change:
            self._batches.append((shared, batch))
        self._pool.soon(lambda: None)  # the pool then asks for the next batch

    def stop_gracefully(self) -> list[int]:
        """Begin no further task of those given so far. Returns the ids of the tasks that are not done therefore."""
        dropped: list[int] = []

        def drop() -> None:  # called in the thread of the pool's run
            with self._change:
                tasks = [task for _, batch in self._batches for task in batch] + self._pool.take_back()
                self._batches.clear()
                dropped.extend(task.id for task in tasks)
                self._dropping = False
                self._change.notify_all()

        with self._change:
            self._dropping = True  # so that the thread does not wait for the driver, which waits for this
            self._change.notify_all()
            self._pool.soon(drop)
            self._change.wait_for(lambda: not self._dropping or self._error is not None or self._closed)
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
        return self._pool.pids

    def close(self) -> None:
        """End the workers now."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        self._pool.close()
        self._thread.join(timeout=1.0)

    def _serve(self) -> None:
        try:
            self._pool.wait_until_ready()
            with self._change:
                self._ready = True
                self._change.notify_all()
            shared = True
            while not self._closed:
                for outcome in self._pool.run(self._given(shared=shared), shared=shared):
                    found = outcome.outcome if isinstance(outcome, TaskDone) else ()
                    with self._change:
                        self._change.wait_for(
                            lambda: self._waiting_bytes < _MOST_WAITING_BYTES or self._dropping or self._closed
                        )
                        self._waiting.append(outcome)
                        self._waiting_bytes += sum(map(len, found)) if isinstance(found, tuple) else _OTHER_BYTES
                        if len(self._waiting) in (1, _ENOUGH):
                            self._change.notify_all()
                shared = not shared
        except AssayError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - the driver must hear of it: it waits for these outcomes
            self._fail(AssayError(f"a node of the cluster failed: {type(error).__name__}: {error}"))

    def _given(self, *, shared: bool) -> Iterator[Sequence[Task] | None]:
        """The batches that several workers may do, or the others, up to the next of the other kind."""
        while not self._closed:
            with self._change:
                if self._batches and self._batches[0][0] != shared:
                    return
                batch = self._batches.popleft()[1] if self._batches else None
                self._change.notify_all()
            yield batch

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
    packed = [(task.id, _shifted(task, -now).payload) for task in tasks]
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
