"""A worker process of the pool. It imports little, since every run waits for it to start.

It speaks frames (`assay.engines.pool.wire`) over what were its standard input and output. Whatever else
writes to standard output in this process goes to standard error, so nothing can break the protocol.
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

_LARGE_BYTES = 64 * 1024
_MOST_FRAMES = 64
_SOON_S, _LATEST_S = 0.04, 0.25
"""How long outcomes are collected in a run that has just begun, and in one that has lasted for a while. Each sending
wakes the parent twice: many workers that send often would keep it busy."""
_SHARE = 0.01
"""The part of its time so far for which a worker collects outcomes."""


def main(heartbeat_file: int | str, warm: str = "") -> None:
    """Serve until standard input closes, which happens when the parent ends for any reason.

    ``heartbeat_file`` is the descriptor or the path of the map that it shares with its parent; ``warm`` names a module
    to import before the parent's first message, which may take a while.
    """
    inbox, outbox = _take_pipes()
    with contextlib.suppress(Exception):  # if it cannot be imported, the parent will hear of it
        _ = warm and importlib.import_module(warm)
    # DuckDB takes a program without a file for an interactive one, and draws progress bars; so give it a file.
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
    answers = _Answers(outbox)
    answers.put(pickle.dumps((wire.READY,)))
    process = memory.current()
    while True:
        answers.send()
        task_ids, losses, pickled = pickle.loads(batches.get())
        pulse.losses.update(losses)
        try:
            payloads = pickle.loads(pickled)
        except Exception as error:  # noqa: BLE001 - a payload's own unpickling may raise anything: this batch's trouble
            for task_id in task_ids:
                answers.put(pickle.dumps((wire.FAILED, task_id, "error", f"{type(error).__name__}: {error}")))
            continue
        for task_id, payload in zip(task_ids, payloads, strict=True):
            pulse.take_up(task_id)
            answers.put(_run(function, task_id, payload))
            pulse.end()
            if process is not None and process.rest():
                answers.put(pickle.dumps((wire.WORN,)))
                answers.send()
                os._exit(0)  # not a return: Python would take everything apart at exit, which the system does faster


class _Answers:
    """Sends the worker's frames, several at once: sending each outcome alone takes as long as a short task.

    No frame waits for long: a thread sends the queued ones while the next task runs.
    """

    def __init__(self, outbox: int) -> None:
        self._outbox = outbox
        self._frames: list[bytes] = []
        self._lock = threading.Lock()
        self._some = threading.Event()
        threading.Thread(target=self._send_soon, daemon=True).start()

    def put(self, frame: bytes) -> None:
        """Queue a frame, which is sent soon."""
        with self._lock:
            self._frames.append(frame)
        if len(frame) > _LARGE_BYTES or len(self._frames) >= _MOST_FRAMES:
            self.send()
        elif not self._some.is_set():
            self._some.set()

    def send(self) -> None:
        """Send the queued frames."""
        self._some.clear()
        with self._lock:
            frames, self._frames = self._frames, []
            if not frames:
                return
            try:
                wire.send(self._outbox, *frames)
            except BrokenPipeError:
                os._exit(0)  # the parent is gone, and nobody would read a traceback
            except MemoryError:
                os._exit(1)  # another worker repeats the tasks whose outcome was not sent

    def _send_soon(self) -> None:
        started = time.monotonic()
        while self._some.wait():
            time.sleep(min(_LATEST_S, max(_SOON_S, _SHARE * (time.monotonic() - started))))
            self.send()


def _run(function: Callable[[object], object], task_id: int, payload: object) -> bytes:
    try:
        return pickle.dumps((wire.DONE, task_id, function(payload)), 5)
    except MemoryError:
        kind, message = "out_of_memory", "the worker process reached its memory limit"
    except Exception as error:  # noqa: BLE001 - the per-case boundary: one task's trouble must not end the others
        kind, message = "error", f"{type(error).__name__}: {error}"
    return pickle.dumps((wire.FAILED, task_id, kind, message))


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
