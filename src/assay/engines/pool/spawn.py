"""Start worker processes: ahead of time where a command will surely need them, else when the pool does.

Imports little itself, so that a command can start its workers before it imports what it needs: both then import at the
same time. A worker that was started ahead waits for the first message, with its modules imported; one that nobody takes
ends with this process.
"""

from __future__ import annotations

import atexit
import contextlib
import mmap
import os
import subprocess
import sys
import tempfile

from assay.engines.pool import memory, wire
from assay.errors import AssayError

_MOST_WORKERS = 8

# The parent alone handles Ctrl-C from the start, also while the worker imports, which makes no garbage.
_BOOTSTRAP = (
    "import gc, signal, sys; gc.disable(); signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "sys.path[:] = {path}; from assay.engines.pool.worker import main; main({warm!r})"
)


class Spawned:
    """A child process that runs `assay.engines.pool.worker.main`, with the map that it shares with this one."""

    def __init__(self, *, warm: str = "") -> None:
        descriptor, self.path = tempfile.mkstemp(prefix="assay-", suffix=".heartbeat")
        try:
            os.ftruncate(descriptor, wire.MAP_BYTES)
            self.memory: mmap.mmap = mmap.mmap(descriptor, wire.MAP_BYTES)
            self.inherits: bool = os.name == "posix"
            if self.inherits:
                os.unlink(self.path)  # the descriptor is enough, and no file can remain
            self.process = _popen(descriptor if self.inherits else None, warm)
            self.descriptor = descriptor
        finally:
            os.close(descriptor)

    def dismiss(self) -> None:
        """End it: nobody needs it."""
        with contextlib.suppress(OSError):
            self.process.stdin.close()  # type: ignore[union-attr]
        self.process.kill()  # it may be in the middle of its imports
        self.process.wait()
        self.process.stdout.close()  # type: ignore[union-attr]
        if not self.inherits:
            self.memory.close()
            with contextlib.suppress(OSError):
                os.unlink(self.path)


_ahead: list[tuple[str, Spawned]] = []
_owner = 0


def start_ahead(count: int, setup: str) -> None:
    """Start workers that a pool with this ``setup`` (``module:function``) will take; they import its module already."""
    global _owner  # noqa: PLW0603 - these are the process's own children
    if _owner != os.getpid():
        _ahead.clear()  # a forked child: the workers belong to its parent
        _owner = os.getpid()
        atexit.register(dismiss_ahead)
    for _ in range(count - len(_ahead)):
        _ahead.append((sys_path_key(setup), Spawned(warm=setup.partition(":")[0])))


def take(setup: str) -> Spawned:
    """A worker that was started ahead for this ``setup``, else a new one."""
    if _owner == os.getpid():
        key = sys_path_key(setup)
        for index, (known, spawned) in enumerate(_ahead):
            if known == key and spawned.process.poll() is None:
                del _ahead[index]
                return spawned
    return Spawned()


def dismiss_ahead() -> None:
    """End the workers that were started ahead and that nobody took."""
    while _ahead and _owner == os.getpid():
        _ahead.pop()[1].dismiss()


def sys_path_key(setup: str) -> str:
    """What must not have changed since a worker was started: a caller may extend the path that it was given."""
    return "\0".join((setup, *sys.path))


def default_workers() -> int:
    """One worker per core that this process may use, at most 8."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, _MOST_WORKERS))


def _popen(descriptor: int | None, warm: str) -> subprocess.Popen[bytes]:
    if not sys.executable:
        raise AssayError("worker processes need a Python interpreter to start, and sys.executable names none")
    # Pass sys.path on, since the parent may have changed it: the worker can import what the parent can.
    code = _BOOTSTRAP.format(path=ascii(list(sys.path)), warm=warm)
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        env=memory.environment(),
        pass_fds=() if descriptor is None else (descriptor,),
    )
