"""The parent's handle on one worker process."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import threading
import time
from collections import deque
from queue import SimpleQueue
from typing import Any, Generic, TypeAlias, TypeVar

from assay.engines.pool import heartbeat, wire
from assay.engines.pool.heartbeat import HeartbeatState
from assay.engines.pool.spawn import Spawned
from assay.engines.pool.worker_queues import WorkerQueue
from assay.ports import Loss

T = TypeVar("T")

_TERMINATE_S = 5.0
"""A worker that is told to end does so at once, unless its server is slow to cancel a query."""


class WorkerProcess(Generic[T]):
    """A child process that runs `assay.engines.pool.worker.main`, and the thread that reads from it.

    Each arriving list of frames is put on ``events`` with this object; an empty list comes last and means that the
    process is gone.
    """

    def __init__(
        self,
        spawned: Spawned,
        *,
        setup: str,
        argument: bytes,
        memory_limit_bytes: int | None,
        events: SimpleQueue[Any],
    ) -> None:
        self.pending: deque[T] = deque()
        """Its tasks whose outcome has not arrived, in order: the first ones may be done."""
        self.queue: WorkerQueue[T] = WorkerQueue()
        """Its share of the unsent tasks, and the cost of a task."""
        self.ready = False
        self.worn = False
        """The worker reported that it holds too much memory, and ends: none of its tasks is the cause."""
        self.started: float = time.monotonic()
        self.last_state: HeartbeatState | None = None
        """What ran when it ended; set by `reap`."""
        self.last_task: int | None = None
        """The id of the task that it was doing when it ended; set by `reap`."""
        self._killed_at: HeartbeatState | None = None
        self._killed = False
        self._reaping = threading.Lock()
        self._reaped = False
        self._spawned = spawned
        self._memory = spawned.memory
        self._process = spawned.process
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        self._stdin, self._stdout = stdin, stdout
        hello = wire.Hello(
            setup=setup,
            argument=argument,
            memory_limit_bytes=memory_limit_bytes,
        )
        self.send(pickle.dumps(hello))
        self._thread = threading.Thread(target=self._read, args=(events,), name="assay-reader", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def state(self) -> HeartbeatState | None:
        """What the worker is doing right now, or did last. Safe to call from another thread, also during `reap`."""
        with contextlib.suppress(ValueError):  # its map is closed
            return heartbeat.read(self._memory)
        return None

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def send(self, frame: bytes) -> None:
        """Send one frame. For a worker that is gone this does nothing: its end arrives through ``events``."""
        with contextlib.suppress(OSError, ValueError):
            wire.send(self._stdin.fileno(), frame)

    def kill(self, state: HeartbeatState | None) -> None:
        """End it at once because of this step. Safe to call from another thread, and twice."""
        if not self._killed:
            self._killed_at = state
            self._killed = True
            self._process.kill()

    def terminate(self) -> None:
        """Tell it to end by closing its standard input: it cancels its server's running query, and exits."""
        with contextlib.suppress(OSError):
            self._stdin.close()

    def reap(self) -> None:
        """Wait for its end, killing it if necessary, and release everything. Harmless when repeated, in any thread."""
        with self._reaping:
            if not self._reaped:
                try:
                    self._process.wait(timeout=_TERMINATE_S)
                except subprocess.TimeoutExpired:
                    self._process.kill()
                    self._process.wait()
                with contextlib.suppress(OSError):
                    self._stdin.close()
                self._thread.join()
                self._stdout.close()
                self.last_state = heartbeat.read(self._memory)
                self.last_task = heartbeat.read_task(self._memory)
                self._spawned.release()
                self._reaped = True

    @property
    def was_killed_by_another(self) -> bool:
        """Whether someone else ended it: a person, or a system short of memory. Call it after `reap`."""
        return os.name == "posix" and not self._killed and self._process.returncode == -signal.SIGKILL

    def loss(self) -> Loss:
        """How the worker ended. Call it after `reap`."""
        if self._killed and (not self.ready or self._killed_at == self.last_state):
            return Loss(kind="timeout", message="did not stop at its time limit and was ended")
        code = self._process.wait()
        if code < 0:
            name = _signal_name(-code)
            hint = ", perhaps because memory ran out" if name == "SIGKILL" else ""
            return Loss(kind="crashed", message=f"was ended by {name}{hint}")
        return Loss(kind="crashed", message=f"ended by itself with exit status {code}")

    def _read(self, events: SimpleQueue[Any]) -> None:
        with contextlib.suppress(OSError):
            for frames in wire.read_frames(self._stdout.fileno()):
                events.put((self, frames))
        events.put((self, []))


Event: TypeAlias = tuple[WorkerProcess[T], list[bytes]]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
