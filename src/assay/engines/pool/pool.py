"""A pool of worker processes that survives its tasks' crashes, hangs and memory bombs.

Workers are plain child processes, not `multiprocessing`'s: a script without a main guard or a notebook may start them.
A task that crashes, hangs or uses up its memory ends its worker. The pool starts another worker, puts the unfinished
tasks back, and tells every later worker which step failed (`assay.engines.pool.heartbeat`), so that it is not run
again. If another process killed the worker, its step is first retried once. A worker that holds too much memory after a
task says so and ends: another one takes the next task, and no task counts as the cause.
"""

from __future__ import annotations

import atexit
import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any

from assay.engines.pool import spawn, wire
from assay.engines.pool.process import Event, WorkerProcess
from assay.engines.pool.worker_queues import Source, WorkerQueue, fill
from assay.errors import AssayError, UsageError
from assay.ports import Loss, NeededDatabase, Task, TaskDone, TaskLost

_WATCH_S = 0.05
_WAIT_S = 0.5
"""How long one wait for events may take, so that Ctrl-C is noticed on every system."""
_START_S = 120.0
_MAX_STARTS_LOST = 3
_MAX_LOSSES = 4
_MOST_EVENTS = 32


class WorkerPool:
    """Runs batches of tasks in worker processes: the `Backend` of one machine. A context manager; used by one thread.

    ``setup`` names a function as ``module:function``. Each worker calls it once with ``argument``; the function that it
    returns is called with each task's payload. A worker that exceeds its heartbeat's deadline by more than ``grace_s``
    seconds is ended. ``memory_limit_bytes`` caps what each worker may allocate beyond its memory after setup
    (Linux only; None: no cap).
    """

    def __init__(
        self,
        *,
        workers: int,
        setup: str,
        argument: object,
        grace_s: float = 0.5,
        memory_limit_bytes: int | None = None,
    ) -> None:
        if workers < 1:
            raise UsageError(f"a pool needs at least one worker, not {workers}")
        module_name, _, name = setup.partition(":")
        if not module_name or not name:
            raise UsageError(f"setup={setup!r} is not a function: write 'module:function'")
        self._size = workers
        self._setup = setup
        self._argument = pickle.dumps(argument)
        self._grace_s = grace_s
        self._memory_limit_bytes = memory_limit_bytes
        self._workers: list[WorkerProcess[Task]] = []
        self._starter: spawn.Starter | None = None
        self._events: SimpleQueue[Event[Task] | Callable[[], None]] = SimpleQueue()
        self._returned: deque[deque[Task]] = deque()
        self._losses: dict[bytes, Loss] = {}
        self._times_lost: dict[int, int] = {}
        self._starts_lost = 0
        self._shared = False
        self._winding_up = False
        self._restarts = 0
        self._renewals = 0
        self._stop = threading.Event()
        self._watch: threading.Thread | None = None
        self._changing = threading.RLock()
        self._closed = False
        self._process_id = os.getpid()

    @property
    def size(self) -> int:
        """How many tasks run at once."""
        return self._size

    @property
    def restarts(self) -> int:
        """How many workers were lost and replaced so far."""
        return self._restarts

    @property
    def renewals(self) -> int:
        """How many workers were replaced so far because they held too much memory after their tasks."""
        return self._renewals

    @property
    def closed(self) -> bool:
        """Whether the pool takes no more work."""
        return self._closed

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids of the running workers."""
        # A worker that could not be forked has none. As a process id, 0 would mean a whole group of processes.
        return tuple(pid for worker in self._workers if (pid := worker.pid))

    def start(self, *, shared: bool = False) -> None:
        """Start the workers and return at once: they import while the caller continues.

        ``shared``: the process that imports for the workers serves other such pools, too.
        """
        if self._watch is not None and not self._closed:
            return
        with self._changing:
            if self._closed:
                raise UsageError("this pool is closed: make a new one")
            atexit.register(self.close)
            self._starter = (spawn.take_shared if shared else spawn.take)(self._setup)
            for _ in range(self._size):
                self._workers.append(self._spawn())
        spawn.dismiss_ahead()
        self._watch = threading.Thread(target=self._watch_deadlines, name="assay-watch", daemon=True)
        self._watch.start()

    def expect(self, databases: Sequence[NeededDatabase]) -> None:
        """Prepare nothing: on this machine the workers reach every database directly."""

    @property
    def in_flight(self) -> int:
        """See `Backend.in_flight`."""
        return sum(len(worker.pending) for worker in tuple(self._workers))

    def run(self, batches: Iterable[Sequence[Task] | None], *, shared: bool = False) -> Iterator[TaskDone | TaskLost]:
        """Run every task and yield each outcome as soon as it arrives, in no particular order.

        Each batch is assigned to one worker; free workers take the next batch. ``shared``: as far as possible, but no
        worker is idle while another has tasks to spare (`assay.engines.pool.worker_queues`). A None among the batches
        means that there is none now, and that `soon` says when to ask again. Raises the error that ``setup`` raised in
        a worker, and AssayError if workers do not start. Leaving the iteration early, by a break or an exception,
        closes the pool.
        """
        self.start()
        self._times_lost.clear()
        self._winding_up = False
        self._shared = shared
        self._returned.clear()
        for worker in self._workers:
            worker.queue = WorkerQueue()
        completed = False
        try:
            yield from self._drive(Source(batches))
            completed = True
        finally:
            if not completed:
                self.close()

    def soon(self, call: Callable[[], None]) -> None:
        """See `Backend.soon`."""
        self._events.put(call)  # of all queues, this one may also be used by a signal handler

    def stop_gracefully(self) -> None:
        """Begin no further task: `run` ends when those in flight are done. Safe to call from a signal handler."""
        self._winding_up = True

    def take_back(self) -> list[Task]:
        """Take back the tasks that were not sent to a worker yet. Called in the thread of `run`, for example by
        `soon`."""
        queues = [worker.queue.waiting for worker in self._workers]
        tasks = [task for waiting in queues for task in waiting]
        for waiting in queues:
            waiting.clear()
        return tasks

    def wait_until_ready(self) -> None:
        """Return when every worker has finished its setup, for callers that must not spend that time later, for example
        a benchmark.

        Raises as `run` does. Not to be called during `run`.
        """
        self.start()
        while not all(worker.ready for worker in self._workers):
            try:
                event = self._events.get(timeout=_WAIT_S)
            except Empty:
                continue
            if not isinstance(event, tuple):
                event()
                continue
            worker, frames = event
            for frame in frames or ():
                self._receive(worker, frame)
            if not frames and worker in self._workers:
                list(self._replace(worker))

    def close(self) -> None:
        """End the workers now. Closing twice is harmless."""
        with self._changing:  # another thread may be replacing a worker: none is started after this
            if self._closed:
                return
            self._closed = True
        self._stop.set()
        atexit.unregister(self.close)
        if self._process_id != os.getpid():  # a forked child: the workers belong to its parent
            return
        for worker in self._workers:
            worker.terminate()
        for worker in self._workers:
            worker.reap()
        self._workers.clear()
        if self._starter is not None:
            self._starter.close()
        if self._watch is not None:
            self._watch.join(timeout=1.0)

    def __enter__(self) -> WorkerPool:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _spawn(self) -> WorkerProcess[Task]:
        assert self._starter is not None
        return WorkerProcess(
            self._starter.spawn(),
            setup=self._setup,
            argument=self._argument,
            memory_limit_bytes=self._memory_limit_bytes,
            events=self._events,
        )

    def _drive(self, source: Source[Task]) -> Iterator[TaskDone | TaskLost]:
        heard: set[WorkerProcess[Task]] = set()
        """The workers that sent messages since they were last given tasks."""
        while self._feed(source, heard):
            heard.clear()
            for event in self._arrived():
                if self._closed:
                    raise UsageError("this pool was closed while it ran")
                if not isinstance(event, tuple):
                    event()
                    continue
                worker, frames = event
                heard.add(worker)
                for frame in frames:
                    yield from self._receive(worker, frame)
                if not frames and worker in self._workers:
                    yield from self._replace(worker)

    def _arrived(self) -> list[Event[Task] | Callable[[], None]]:
        """All events until now, after at most `_WAIT_S`: the busier this process, the more at once."""
        events: list[Event[Task] | Callable[[], None]] = []
        with suppress(Empty):
            events.append(self._events.get(timeout=_WAIT_S))
            while len(events) < _MOST_EVENTS:
                events.append(self._events.get_nowait())
        return events

    def _feed(self, source: Source[Task], heard: Collection[WorkerProcess[Task]]) -> bool:
        """Give each worker that may need some its next tasks. Return False when everything is done."""
        busy = False
        for worker in tuple(self._workers):
            if worker.pending and worker not in heard:
                busy = True
            elif tasks := self._next_of(worker, source):
                if not worker.pending and not worker.alive:  # the worker ended while idle: no task is the cause
                    worker.reap()
                    worker = self._heir(worker)  # noqa: PLW2901
                if not worker.pending:
                    worker.queue.begin()
                worker.pending.extend(tasks)
                payloads = pickle.dumps([task.payload for task in tasks], 5)
                worker.send(pickle.dumps(([task.id for task in tasks], self._losses, payloads), 5))
                busy = True
            else:
                busy = busy or bool(worker.pending)
        return busy or (source.dry and not self._winding_up)

    def _next_of(self, worker: WorkerProcess[Task], source: Source[Task]) -> deque[Task]:
        """What to send to this worker now."""
        if self._winding_up:
            return deque()
        if not self._shared:
            if worker.pending:
                return deque()
            return self._returned.popleft() if self._returned else deque(source.next() or ())
        count = worker.queue.size(len(worker.pending))
        if count and not worker.queue.waiting:
            if self._returned:
                worker.queue.assign(self._returned.popleft())
            else:
                fill(worker.queue, source, [other.queue for other in self._workers if other is not worker])
        return worker.queue.next_slice(count)

    def _heir(self, worker: WorkerProcess[Task]) -> WorkerProcess[Task]:
        """A new worker in place of one that is gone, with its queue. Raises UsageError if the pool is closed."""
        with self._changing:
            if self._closed:
                raise UsageError("this pool was closed while it ran")
            heir = self._spawn()
            heir.queue = worker.queue
            self._workers[self._workers.index(worker)] = heir
        return heir

    def _receive(self, worker: WorkerProcess[Task], frame: bytes) -> Sequence[TaskDone | TaskLost]:
        """Process a message of a worker. Return the outcomes of tasks in it."""
        message = pickle.loads(frame)
        match message[0]:
            case wire.ENDED:
                _, took_s, ends = message
                each_s = worker.queue.measure(len(ends), took_s)
                for _ in ends:
                    worker.pending.popleft()
                return [_outcome(end, each_s) for end in ends]
            case wire.READY:
                worker.ready = True
                worker.queue.begin()
                self._starts_lost = 0
            case wire.WORN:
                worker.worn = True
                self._renewals += 1
            case wire.UNUSABLE:
                if isinstance(message[1], AssayError):
                    raise message[1]
                raise AssayError(f"a worker process could not set up {self._setup}:\n{message[2].rstrip()}")
        return ()

    def _replace(self, worker: WorkerProcess[Task]) -> Iterator[TaskLost]:
        """Start a worker in place of one that is gone, and put its unfinished tasks back."""
        worker.reap()
        lost = None
        if not worker.worn:
            lost = self._settle(worker)
            self._restarts += 1
        if worker.pending:
            self._returned.appendleft(worker.pending)
        self._heir(worker)
        if lost is not None:
            yield lost

    def _settle(self, worker: WorkerProcess[Task]) -> TaskLost | None:
        """Find out what ended a worker. A task that is abandoned is removed from its pending tasks and returned."""
        loss = worker.loss()
        if not worker.ready:
            self._starts_lost += 1
            if self._starts_lost >= _MAX_STARTS_LOST:
                raise AssayError(
                    f"worker processes do not start: {_MAX_STARTS_LOST} in a row ended before they were ready; "
                    f"the last one {loss.message}"
                )
            return None
        if not worker.pending:
            return None
        # Tasks whose outcome did not arrive are repeated.
        task = next((task for task in worker.pending if task.id == worker.last_task), worker.pending[0])
        times = self._times_lost[task.id] = self._times_lost.get(task.id, 0) + 1
        if times == 1 and worker.was_killed_by_another:
            return None  # the task may not be the cause; if it used all the memory, it will do so again
        state = worker.last_state
        if state is not None:
            self._losses[state.label] = loss
            if times <= _MAX_LOSSES:
                return None
        worker.pending.remove(task)
        message = f"its worker process {loss.message}" + (f", for the {times}th time" if times > _MAX_LOSSES else "")
        return TaskLost(task.id, loss.kind, message)

    def _watch_deadlines(self) -> None:
        """End workers that run past their deadline. Runs in a thread, since the caller of `run` may iterate slowly."""
        while not self._stop.wait(_WATCH_S):
            now = time.monotonic()
            for worker in list(self._workers):
                if not worker.ready:
                    if now - worker.started > _START_S:
                        worker.kill(None)
                    continue
                state = worker.state()
                if state is not None and now > state.deadline + self._grace_s:
                    worker.kill(state)


def _outcome(end: tuple[Any, ...], took_s: float) -> TaskDone | TaskLost:
    """The outcome of a task, from its form in `wire.ENDED`."""
    match end:
        case (task_id, outcome):
            return TaskDone(task_id, outcome, took_s)
        case (task_id, _, pickled):
            return TaskDone(task_id, pickle.loads(pickled), took_s)
    task_id, _, kind, message = end
    return TaskLost(task_id, kind, message)
