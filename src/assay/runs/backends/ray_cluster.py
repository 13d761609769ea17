"""Ray's nodes as a run's backend: on each node one actor, which hosts the same pool as a single machine's run.

The driver keeps the plan and the journal. A thread for each node sends it batches, a few more than it has workers, and
collects what is finished: lines of evidence, which the driver writes without reading more than a few facts of each. A
node that is lost costs what it had not delivered: its batches go to the other nodes. A node that comes, such as the
replacement that Kubernetes starts, gets an actor and takes part.
"""

from __future__ import annotations

import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from queue import Empty, Full, Queue, SimpleQueue
from time import monotonic
from types import TracebackType

from msgspec.structs import replace

from assay.engines.loading import engine_for
from assay.engines.pool.worker_queues import Source
from assay.errors import InputError, RunError, UsageError
from assay.ports import NeededDatabase, Task, TaskDone, TaskLost
from assay.runs.backends.batches import Batch, Costs
from assay.runs.backends.bundle import Bundle, bundle_of, is_file
from assay.runs.backends.node import NodeSettings
from assay.runs.backends.ray_connection import connected
from assay.runs.backends.ray_node import START_S, NodeThread
from assay.runs.workers.worker_tasks import WorkerSettings

_TICK_S = 0.5
_SHORT_TICK_S = 0.05
"""How long the driver waits for outcomes while it has no batch to give: one may come in the next moment."""
_LOOK_S = 3.0
"""How often the driver looks for new nodes."""
_MOST_LOSSES = 3
"""How many actors a node may lose before it gets no other, and nodes a batch before it is taken apart."""
_WAIT_FOR_NODES_S = 60.0
"""How long the driver waits for a node where none is left."""
_MOST_SENT_BYTES = 4 * 1024**3
"""The size up to which a database is sent to a node that does not have it."""
_ID_BITS = 40


class RayBackend:
    """The `Backend` of a Ray cluster.

    ``address`` is Ray Client's, for example ``ray://head:10001``. Without one, ``RAY_ADDRESS`` names the cluster, or
    it is the one whose node this machine is. ``workers`` are those of each node; None: as many as Ray says that it has
    CPUs. Raises MissingDependency without Ray, and InputError if no cluster can be reached.
    """

    def __init__(
        self,
        *,
        address: str | None,
        worker: WorkerSettings,
        workers: int | None,
        memory_limit_bytes: int | None,
    ) -> None:
        self.worker = worker
        self._memory_limit_bytes = memory_limit_bytes
        self.needed: dict[str, NeededDatabase] = {}
        self.results: Queue[list[TaskDone | TaskLost]] = Queue(maxsize=64)
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.work: deque[Batch] = deque()
        self.costs = Costs()
        self.change = threading.Condition()
        self.closed = False
        self._workers = workers
        self._nodes: dict[str, NodeThread] = {}
        self._losses: Counter[str] = Counter()
        self._unfinished: set[int] = set()
        self._bundles: dict[str, Bundle] = {}
        self._bundle_lock = threading.Lock()
        self._failure: BaseException | None = None
        self._last_loss = "it has none with CPUs"
        self._run = 0
        self._shared = False
        self._winding_up = self._wound_up = False
        self._looked = self._had_nodes = monotonic()
        self.ray, self._leave = connected(address)
        try:
            found = self._look()
            if not found:
                raise InputError("no node of the Ray cluster has a CPU: start one with  ray start --address=…")
            self._size = sum(node.workers for node in found)
        except BaseException:
            self.close()
            raise

    @property
    def size(self) -> int:
        """How many tasks run at once on the nodes that there were at the start."""
        return self._size

    @property
    def nodes(self) -> tuple[str, ...]:
        """Ray's ids of the nodes in use."""
        return tuple(self._nodes)

    def expect(self, databases: Sequence[NeededDatabase]) -> None:
        """See `Backend.expect`. Passwords stay where they are: a URL that contains one is refused."""
        for needed in databases:
            if needed.url.holds_secret:
                raise InputError(
                    f"{needed.url} contains a password, and these are not sent to a cluster: write ${{NAME}} in its "
                    "place, and set the environment variable NAME here and on every node"
                )
            self.needed[needed.url.text] = needed
        self.wait_until_ready()
        with self.change:
            node = next(iter(self._nodes.values()), None)
        if node is None:
            return  # all were lost meanwhile: the run says so, unless one comes
        for needed in databases:
            # Any other file is available, since it can be sent.
            if not is_file(engine_for(needed.url, self.worker.engines), needed.url) or (
                os.path.getsize(needed.url.path) > _MOST_SENT_BYTES
            ):
                node.check(needed.url)
        self._check()

    def wait_until_ready(self) -> None:
        """Return when every node is ready. Raises the error of one that is not."""
        with self.change:
            self.change.wait_for(
                lambda: self._failure is not None or all(node.ready for node in self._nodes.values()),
                timeout=START_S,
            )
        self._check()

    @property
    def in_flight(self) -> int:
        """See `Backend.in_flight`: what the nodes were given, or are about to be."""
        return len(self._unfinished)

    def run(self, batches: Iterable[Sequence[Task] | None], *, shared: bool = False) -> Iterator[TaskDone | TaskLost]:
        """See `Backend.run`. ``shared``: batches are cut by what tasks cost. Raises RunError if no node is left."""
        if self.closed:
            raise UsageError("this backend is closed: make a new one")
        self._run += 1
        completed = False
        try:
            self._shared = shared
            yield from self._drive(Source(batches), self._run << _ID_BITS)
            completed = True
        finally:
            if not completed:
                self.close()

    def soon(self, call: Callable[[], None]) -> None:
        """See `Backend.soon`. It is called within a moment, since the thread of `run` never waits for longer."""
        self._calls.put(call)

    def stop_gracefully(self) -> None:
        """Begin no further task: `run` ends when those in flight are done. Safe to call from a signal handler."""
        self._winding_up = True

    def _drive(self, source: Source[Task], first: int) -> Iterator[TaskDone | TaskLost]:
        # A worker identifies its tasks by their ids, and serves several runs: so each run has ids of its own.
        while self._fill(source, first) or self._unfinished:
            if self._winding_up and not self._wound_up:
                self._wound_up = True
                with self.change:
                    dropped = [task_id for batch in self.work for task_id in batch.tasks]
                    self.work.clear()
                    nodes = list(self._nodes.values())
                for node in nodes:
                    dropped += node.stop_gracefully()
                self._unfinished.difference_update(dropped)
                continue
            if not self._calls.empty():
                self._calls.get()()
                continue
            try:
                outcomes = self.results.get(timeout=_SHORT_TICK_S if source.dry else _TICK_S)
            except Empty:
                self._check()
                continue
            self._check()
            for outcome in outcomes:
                if outcome.task_id in self._unfinished:  # a node that was given up may have delivered it meanwhile
                    self._unfinished.discard(outcome.task_id)
                    yield replace(outcome, task_id=outcome.task_id - first)

    def _fill(self, source: Source[Task], first: int) -> bool:
        """Have a few batches ready for each node, taken from ``source`` in the thread of `run`'s caller."""
        if self._winding_up:
            return False
        while len(self.work) < 2 * len(self._nodes) + 1:
            tasks = source.next()
            if tasks is None:
                return source.dry
            renumbered = {first + task.id: replace(task, id=first + task.id) for task in tasks}
            batch = Batch(tasks=renumbered, shared=self._shared)
            with self.change:
                self._unfinished.update(batch.tasks)
                self.work.append(batch)
                self.change.notify_all()
        return True

    def close(self) -> None:
        """End the workers of all nodes now, and leave the cluster. Closing twice is harmless."""
        with self.change:
            if self.closed:
                return
            self.closed = True
            nodes = list(self._nodes.values())
            self.change.notify_all()
        for node in nodes:
            node.end()
        for node in nodes:
            node.join(timeout=5.0)
        if self._leave is not None:
            self._leave()

    def __enter__(self) -> RayBackend:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # What the threads of the nodes call.

    def lost(self, node: NodeThread, why: str) -> None:
        """A node is gone, or its actor: its unfinished batches are for others."""
        given_up: list[TaskDone | TaskLost] = []
        with self.change:
            if self._nodes.get(node.node_id) is node:
                del self._nodes[node.node_id]
            self._losses[node.node_id] += 1
            self._last_loss = why
            for batch in reversed(list(node.batches.values())):
                batch.times_lost += 1
                if batch.times_lost < _MOST_LOSSES:
                    self.work.appendleft(batch)
                elif len(batch.tasks) > 1:
                    self.work.extendleft(batch.halves())
                else:
                    message = f"the node that scored it was lost, for the {batch.times_lost}th time: {why}"
                    given_up += [TaskLost(task_id, "crashed", message) for task_id in batch.tasks]
            node.batches.clear()
            self.change.notify_all()
        if given_up:
            self.deliver(given_up)

    def failed(self, error: BaseException) -> None:
        """The run cannot go on: `run` raises the error."""
        with self.change:
            self._failure = self._failure or error
            self.change.notify_all()

    def deliver(self, outcomes: list[TaskDone | TaskLost]) -> None:
        """Hand outcomes to the thread of `run`, which may be slow: then the nodes wait, too."""
        while not self.closed:
            with suppress(Full):
                self.results.put(outcomes, timeout=_TICK_S)
                return

    def bundle(self, needed: NeededDatabase) -> Bundle:
        """The files of a database, read once. Raises InputError if they are too large to be sent."""
        with self._bundle_lock:
            bundle = self._bundles.get(needed.url.text)
            if bundle is None:
                engine = engine_for(needed.url, self.worker.engines)
                bundle = self._bundles[needed.url.text] = bundle_of(engine, needed.url, self.worker.limits)
        if bundle.size > _MOST_SENT_BYTES:
            raise InputError(
                f"{needed.url} is not there with the same content, and its {bundle.size:,} bytes are too many to be "
                f"sent (at most {_MOST_SENT_BYTES:,}): put it on storage that the nodes share, under the "
                "same absolute path"
            )
        return bundle

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure
        now = monotonic()
        if now - self._looked > _LOOK_S:
            self._look()
        if self._nodes:
            self._had_nodes = now
        elif now - self._had_nodes > _WAIT_FOR_NODES_S:
            raise RunError(
                f"no node of the Ray cluster is left ({self._last_loss}): finished cases are stored; run the same "
                "command to resume when there are nodes again"
            )

    def _look(self) -> list[NodeThread]:
        """Take every node into use that is alive and not in use yet."""
        self._looked = monotonic()
        found: list[NodeThread] = []
        for node in self.ray.nodes():
            name, cpus = node["NodeID"], int(node["Resources"].get("CPU", 0))
            if not node["Alive"] or not cpus or name in self._nodes or self._losses[name] >= _MOST_LOSSES:
                continue
            settings = NodeSettings(
                workers=self._workers or cpus, worker=self.worker, memory_limit_bytes=self._memory_limit_bytes
            )
            thread = NodeThread(self, name, node["NodeManagerAddress"], settings=settings, cpus=cpus)
            found.append(thread)
            with self.change:
                self._nodes[name] = thread
        for thread in found:
            thread.start()
        return found
