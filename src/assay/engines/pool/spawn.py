"""Start worker processes: ahead of time if a command will certainly need them, else when the pool does.

Imports little itself, so that a command can start its workers before its own imports: both then import at the same
time. On Linux one process imports for all workers (`assay.engines.pool.template`); on other systems each worker that is
started ahead imports for itself. Unused workers end with this process.
"""

from __future__ import annotations

import atexit
import contextlib
import mmap
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from assay.engines.pool import memory, wire
from assay.engines.pool.template import ForkedProcess, Template, can_fork, fork_here
from assay.errors import AssayError

_MOST_WORKERS = 8

# The parent alone handles Ctrl-C from the start, also while the worker imports, which makes no garbage.
_BOOTSTRAP = (
    "import gc, signal, sys; gc.disable(); signal.signal(signal.SIGINT, signal.SIG_IGN); sys.path[:] = {path}; "
    "from assay.engines.pool.{module} import main; main{arguments}"
)


class Spawned:
    """A child process that runs `assay.engines.pool.worker.main`, with the map that it shares with this one."""

    def __init__(self, start: Callable[[int | None, str | None], subprocess.Popen[bytes] | ForkedProcess]) -> None:
        """``start`` starts the process, given the map's descriptor if that is inherited, else its path."""
        descriptor, path = tempfile.mkstemp(prefix="assay-", suffix=".heartbeat")
        self._path = None if os.name == "posix" else path
        try:
            os.ftruncate(descriptor, wire.MAP_BYTES)
            self.memory: mmap.mmap = mmap.mmap(descriptor, wire.MAP_BYTES)
            if self._path is None:
                os.unlink(path)  # the descriptor is enough, and no file can remain
            self.process = start(descriptor if self._path is None else None, self._path)
        finally:
            os.close(descriptor)

    def dismiss(self) -> None:
        """End it: it is not needed."""
        with contextlib.suppress(OSError):
            self.process.stdin.close()  # type: ignore[union-attr]
        self.process.kill()  # it may be in the middle of its imports
        self.process.wait()
        self.process.stdout.close()  # type: ignore[union-attr]
        self.release()

    def release(self) -> None:
        """Release the map, once the process has ended."""
        self.memory.close()
        if self._path is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._path)


class Starter(Protocol):
    """Starts the workers of one pool."""

    def prepare(self, count: int) -> None:
        """Begin to import for this many workers."""

    def spawn(self) -> Spawned:
        """A worker."""

    def close(self) -> None:
        """End the processes that did not become workers."""


class Interpreters:
    """Starts an interpreter for each worker."""

    def __init__(self, setup: str) -> None:
        self._warm = setup.partition(":")[0]
        self._ahead: list[Spawned] = []

    def prepare(self, count: int) -> None:
        """See `Starter.prepare`."""
        for _ in range(count - len(self._ahead)):
            self._ahead.append(Spawned(partial(_worker, self._warm)))

    def spawn(self) -> Spawned:
        """See `Starter.spawn`."""
        while self._ahead:
            spawned = self._ahead.pop(0)
            if spawned.process.poll() is None:
                return spawned
            spawned.dismiss()
        return Spawned(partial(_worker, ""))

    def close(self) -> None:
        """See `Starter.close`."""
        while self._ahead:
            self._ahead.pop().dismiss()


class Forks:
    """Forks each worker from a process that has imported for all of them."""

    def __init__(self, setup: str, *, alone: bool = False) -> None:
        self._setup = setup
        self._template = Template(lambda control: fork_here(control, setup)) if alone else self._open()

    def prepare(self, count: int) -> None:
        """Do nothing: the template imports already."""

    def spawn(self) -> Spawned:
        """See `Starter.spawn`."""
        if not self._template.alive:
            self._template.close()
            self._template = self._open()
        return Spawned(lambda descriptor, _: self._template.fork(descriptor or 0))

    def close(self) -> None:
        """See `Starter.close`."""
        self._template.close()

    def _open(self) -> Template:
        return Template(lambda control: _popen("template", (control, self._setup), control, subprocess.DEVNULL))


class Shared:
    """Starts the workers of several pools, which threads use, and ends with the last of these pools."""

    def __init__(self, starter: Starter) -> None:
        self._starter = starter
        self._changing = threading.Lock()
        self._pools = 0

    def join(self) -> bool:
        """Count one pool more; False if the last one has ended."""
        with self._changing:
            self._pools += self._pools >= 0
            return self._pools > 0

    def prepare(self, count: int) -> None:
        """See `Starter.prepare`."""
        self._starter.prepare(count)

    def spawn(self) -> Spawned:
        """See `Starter.spawn`."""
        with self._changing:
            return self._starter.spawn()

    def close(self) -> None:
        """Count one pool less, and end with the last one."""
        with self._changing:
            self._pools -= 1
            if not self._pools:
                self._pools = -1
                self._starter.close()


_shared: list[tuple[tuple[Any, ...], Shared]] = []
"""The latest shared starter, under its `_key`: at most one."""
_ahead: list[tuple[tuple[Any, ...], Starter]] = []
"""What was started ahead, under its `_key`: at most one."""


def start_ahead(count: int, setup: str, *, alone: bool = False) -> None:
    """Start what a pool of this many workers with this ``setup`` (``module:function``) will need.

    ``alone``: this process has one thread and has written nothing, so that it may be forked itself.
    """
    dismiss_ahead()
    if count:
        starter = starter_of(setup, alone=alone)
        starter.prepare(count)
        _ahead.append((_key(setup), starter))


def take(setup: str) -> Starter:
    """What was started ahead for this ``setup``, else a new one."""
    if _ahead and _ahead[0][0] == _key(setup):
        return _ahead.pop()[1]
    return starter_of(setup)


def take_shared(setup: str) -> Starter:
    """The starter that other pools with this ``setup`` use already, else a new one. For one thread at a time."""
    key = _key(setup)
    if _shared and _shared[0][0] == key and _shared[0][1].join():
        return _shared[0][1]
    starter = Shared(take(setup))
    starter.join()
    _shared[:] = [(key, starter)]
    return starter


def dismiss_ahead() -> None:
    """End what was started ahead, if no pool took it."""
    while _ahead:
        key, starter = _ahead.pop()
        if key[0] == os.getpid():  # else a forked child, whose parent it belongs to
            starter.close()


atexit.register(dismiss_ahead)


def _key(setup: str) -> tuple[Any, ...]:
    """What must not have changed since a worker was started: a caller may extend the path that it was given."""
    folder = None
    with contextlib.suppress(OSError):  # it was deleted
        folder = os.getcwd()
    return os.getpid(), setup, tuple(sys.path), folder, dict(os.environ)


def starter_of(setup: str, *, alone: bool = False) -> Starter:
    """What starts workers on this machine for ``setup``; see `start_ahead`."""
    return Forks(setup, alone=alone) if can_fork() else Interpreters(setup)


def default_workers() -> int:
    """One worker per core that this process may use, at most 8."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, _MOST_WORKERS))


def _worker(warm: str, descriptor: int | None, path: str | None) -> subprocess.Popen[bytes]:
    return _popen("worker", (descriptor if path is None else path, warm), descriptor)


def _popen(
    module: str, arguments: tuple[object, ...], descriptor: int | None, streams: int = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    if not sys.executable:
        raise AssayError("worker processes need a Python interpreter, but sys.executable is empty")
    # Pass sys.path on, since the parent may have changed it: the worker can import what the parent can.
    code = _BOOTSTRAP.format(path=ascii(list(sys.path)), module=module, arguments=ascii(arguments))
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=streams,
        stdout=streams,
        bufsize=0,
        env=memory.environment(),
        pass_fds=() if descriptor is None else (descriptor,),
    )
