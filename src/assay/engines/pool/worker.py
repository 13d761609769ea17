"""A worker process of the pool. It imports little, since every run waits for it to start.

It exchanges frames (`assay.engines.pool.wire`) over its original standard input and output. Anything else written to
standard output in this process is redirected to standard error, so that nothing can break the protocol.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import mmap
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator
from queue import SimpleQueue

from assay.engines import watchdog
from assay.engines.pool import heartbeat, memory, wire
from assay.platform import safeguards as protections

_LARGE_BYTES = 256 * 1024
_MOST_ENDS = 256
_PIPE_BYTES = 1024 * 1024
"""The size of the pipe to the parent, if the system allows setting it: each filling wakes the parent."""
_SOON_S, _LATEST_S = 0.04, 0.25
"""How long outcomes are collected in a run that has just begun, and in one that has lasted for a while. Each sending
wakes the parent twice: many workers that send often would keep it busy."""
_SHARE = 0.01
"""The share of its time so far for which a worker collects outcomes."""


def main(heartbeat_file: int | str, warm: str = "") -> None:
    """Serve until standard input closes, which happens when the parent ends for any reason.

    ``heartbeat_file`` is the descriptor or the path of the map that it shares with its parent; ``warm`` names a module
    to import before the parent's first message, which may take a while.
    """
    inbox, outbox = _take_pipes()
    with contextlib.suppress(Exception):  # if it cannot be imported, the parent will be told
        _ = warm and importlib.import_module(warm)
    # Without a file, DuckDB treats a program as interactive and draws progress bars; so give it a file.
    program = sys.modules["__main__"]
    if not hasattr(program, "__file__"):
        program.__file__ = __file__
    arrivals = wire.read_frames(inbox)
    frames = next(arrivals, [])
    if not frames:
        return
    hello: wire.Hello = pickle.loads(frames[0])
    pulse = heartbeat.Heartbeat(_map(heartbeat_file))
    heartbeat.install(pulse)
    batches: SimpleQueue[bytes] = SimpleQueue()
    for frame in frames[1:]:
        batches.put(frame)
    # Read from now on, so that the parent never waits for a full pipe.
    threading.Thread(target=_listen, args=(arrivals, batches), daemon=True).start()
    function = _prepare(hello, outbox)
    gc.enable()
    if function is None:
        return
    _limit(hello.memory_limit_bytes)
    if hello.memory_limit_bytes is not None:
        memory.install()
    _serve(function, outbox, batches, pulse)


def _serve(
    function: Callable[[object], object], outbox: int, batches: SimpleQueue[bytes], pulse: heartbeat.Heartbeat
) -> None:
    """Do the tasks of each batch in turn, as long as the parent exists."""
    outcomes = _Outcomes(outbox)
    outcomes.tell(wire.READY)
    process = memory.current()
    while True:
        outcomes.send()
        task_ids, losses, pickled = pickle.loads(batches.get())
        pulse.losses.update(losses)
        try:
            payloads = pickle.loads(pickled)
        except Exception as error:  # noqa: BLE001 - a payload's own unpickling may raise anything: this batch's trouble
            for task_id in task_ids:
                outcomes.put((task_id, None, "error", f"{type(error).__name__}: {error}"))
            continue
        for task_id, payload in zip(task_ids, payloads, strict=True):
            pulse.take_up(task_id)
            begun = time.monotonic()
            outcomes.put(_run(function, task_id, payload), begun)  # no name, which would keep it while this rests
            pulse.end()
            if process is not None and process.rest():
                outcomes.send()
                outcomes.tell(wire.WORN)
                os._exit(0)  # not a return: Python would tear everything down at exit, which the system does faster


class _Outcomes:
    """Sends the outcomes of the worker's tasks, many in one frame: each frame wakes the parent, which has many workers.

    Nothing waits for long: a thread sends what is there while the next task runs.
    """

    def __init__(self, outbox: int) -> None:
        self._outbox = outbox
        self._ends: list[tuple[object, ...]] = []
        self._bytes = 0
        self._took_s = 0.0
        self._lock = threading.Lock()
        self._some = threading.Event()
        if fcntl := protections.module("fcntl"):
            with contextlib.suppress(OSError, AttributeError):  # not Linux, or beyond what a user's pipes may hold
                fcntl.fcntl(outbox, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        threading.Thread(target=self._send_soon, daemon=True).start()

    def put(self, end: tuple[object, ...], begun: float | None = None) -> None:
        """Queue the outcome of a task that was ``begun`` then, to be sent soon."""
        took_s = 0.0 if begun is None else time.monotonic() - begun
        with self._lock:
            self._ends.append(end)
            self._took_s += took_s
            self._bytes += _size(end)
        if self._bytes > _LARGE_BYTES or len(self._ends) >= _MOST_ENDS:
            self.send()
        elif not self._some.is_set():
            self._some.set()

    def send(self) -> None:
        """Send what is queued."""
        self._some.clear()
        with self._lock:
            if self._ends:
                ends, took_s = self._ends, self._took_s
                self._ends, self._took_s, self._bytes = [], 0.0, 0
                self.tell(wire.ENDED, took_s, ends)

    def tell(self, *message: object) -> None:
        """Send one message now."""
        try:
            wire.send(self._outbox, pickle.dumps(message, 5))
        except BrokenPipeError:
            os._exit(0)  # the parent is gone, so a traceback would be lost
        except MemoryError:
            os._exit(1)  # another worker repeats the tasks whose outcome was not sent

    def _send_soon(self) -> None:
        started = time.monotonic()
        while self._some.wait():
            time.sleep(min(_LATEST_S, max(_SOON_S, _SHARE * (time.monotonic() - started))))
            self.send()


def _run(function: Callable[[object], object], task_id: int, payload: object) -> tuple[object, ...]:
    """The outcome of a task, as in `wire.ENDED`."""
    try:
        outcome = function(payload)
        return (task_id, outcome) if _is_bytes(outcome) else (task_id, None, pickle.dumps(outcome, 5))
    except MemoryError:
        kind, message = "out_of_memory", "the worker process reached its memory limit"
    except Exception as error:  # noqa: BLE001 - the per-case boundary: one task's trouble must not end the others
        kind, message = "error", f"{type(error).__name__}: {error}"
    return task_id, None, kind, message


def _is_bytes(outcome: object) -> bool:
    """Whether it is bytes, or a tuple of nothing else."""
    return type(outcome) is bytes or (type(outcome) is tuple and all(type(part) is bytes for part in outcome))


def _size(end: object) -> int:
    """The length of all bytes in the outcome of a task."""
    return sum(map(_size, end)) if isinstance(end, tuple) else len(end) if isinstance(end, bytes) else 0


def _take_pipes() -> tuple[int, int]:
    inbox, outbox = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # started without a standard error
        os.dup2(nothing, 1)
    os.close(nothing)
    return inbox, outbox


def _map(file: int | str) -> mmap.mmap:
    with open(file, "r+b") as opened:
        return mmap.mmap(opened.fileno(), wire.MAP_BYTES)


def _listen(arrivals: Iterator[list[bytes]], batches: SimpleQueue[bytes]) -> None:
    for frames in arrivals:
        for frame in frames:
            batches.put(frame)
    with contextlib.suppress(Exception):
        watchdog.interrupt_all()  # a server such as MariaDB goes on with a query after its client is gone
    os._exit(0)  # not sys.exit: the main thread may be in a query that nothing else ends


def _prepare(hello: wire.Hello, outbox: int) -> Callable[[object], object] | None:
    try:
        module_name, _, name = hello.setup.partition(":")
        setup = getattr(importlib.import_module(module_name), name)
        function: Callable[[object], object] = setup(pickle.loads(hello.argument))
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent must hear of it: no task can run
        wire.send(outbox, _unusable(error))
        return None
    return function


def _unusable(error: Exception) -> bytes:
    import traceback

    text = "".join(traceback.format_exception(error))
    try:
        frame = pickle.dumps((wire.UNUSABLE, error, text))
        pickle.loads(frame)
    except Exception:  # noqa: BLE001 - an exception class that does not pickle: its text must do
        frame = pickle.dumps((wire.UNUSABLE, None, text))
    return frame


def _limit(memory_limit_bytes: int | None) -> None:
    """Cap what this process may still allocate, so that a memory bomb affects this process alone. Linux only."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_limit_bytes is None or not protections.caps_memory():
        return
    with open(protections.STATISTICS, "rb") as file:
        data_bytes = int(file.read().split()[5]) * resource.getpagesize()
    # Not RLIMIT_AS, which also counts mapped files and address space that is only reserved.
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = data_bytes + memory_limit_bytes
    resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
