"""Fork worker processes from one that has imported what they need, if the system can (Linux).

Importing takes a fifth of a second of processor time, and many short runs need as many workers as there are cores. So
one single-threaded process, the template, imports for all of them, and forks one on each request. The parent sends
requests over a socket, passes the worker's pipes along, and continues: it waits for the reply only when it needs the
process id. The template stores an ended worker's exit status until the parent asks for it, and ends with the parent.

Requests and replies are messages of one packet each: ``fork`` with three descriptors is answered by a process id, a
process id by its exit status.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import IO

from assay.engines.pool import memory

_PACKET_BYTES = 64
_FORK = b"fork"
_MOST_S = 120.0
"""How long a reply may take: the first one waits for all imports, on a busy machine."""
_UNKNOWN = -signal.SIGKILL if sys.platform != "win32" else 1
"""The exit status of a worker whose template is gone: it was killed from outside, and probably the worker too."""


def can_fork() -> bool:
    """Whether this system has what a template needs."""
    if not sys.platform.startswith("linux") or not hasattr(socket, "send_fds"):
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):  # an old kernel, or a sandbox that refuses the call
        return False
    return True


class Template:
    """The parent's handle on a template process. May be used from any thread."""

    def __init__(self, start: Callable[[int], subprocess.Popen[bytes] | Fork]) -> None:
        """``start`` starts a process that calls `main` with the descriptor that it is given."""
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its:
            self._process = start(its.fileno())
        ours.settimeout(_MOST_S)
        self._socket = ours
        self._asking = threading.Lock()
        self._asked = 0
        self._replies: dict[int, bytes] = {}
        self._received = 0

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def fork(self, descriptor: int) -> ForkedProcess:
        """A worker with this heartbeat file. Returns at once, even before the template has finished its imports."""
        inbox, to_worker = os.pipe()
        from_worker, outbox = os.pipe()
        try:
            number = self._ask(_FORK, [inbox, outbox, descriptor])
        finally:
            os.close(inbox)
            os.close(outbox)
        return ForkedProcess(self, number, os.fdopen(to_worker, "wb", 0), os.fdopen(from_worker, "rb", 0))

    def close(self) -> None:
        """End it: workers that still run end with their parent."""
        self._socket.close()
        self._process.kill()  # it may be in the middle of its imports
        self._process.wait()

    def reply(self, number: int) -> bytes:
        """The reply to a request; empty if the template is gone."""
        with self._asking:
            while number not in self._replies:
                try:
                    packet = self._socket.recv(_PACKET_BYTES)
                except OSError:  # closed, or stopped by another process: it would never reply
                    packet = b""
                if not packet:
                    self._process.kill()
                    self._process.wait()  # a killed process may take a while to end, and must not be `alive` until then
                    return b""
                self._replies[self._received] = packet
                self._received += 1
            return self._replies.pop(number)

    def exit_status(self, pid: int) -> int:
        """The exit status of a worker that has ended."""
        return int(self.reply(self._ask(b"%d" % pid)) or _UNKNOWN)

    def _ask(self, request: bytes, descriptors: Sequence[int] = ()) -> int:
        with self._asking:
            number = self._asked
            with contextlib.suppress(OSError):  # it is gone: there will be no reply
                socket.send_fds(self._socket, [request], list(descriptors))
            self._asked += 1
            return number


class Fork:
    """A fork of this process that calls a function, with the methods of `subprocess.Popen` that are needed."""

    def __init__(self, function: Callable[[], None]) -> None:
        """This process must have no other thread, and nothing in its streams' buffers."""
        self.returncode: int | None = None
        self.pid = os.fork()
        if not self.pid:
            try:
                function()
            finally:
                os._exit(1)

    def poll(self) -> int | None:
        """The exit status; None while it runs."""
        if self.returncode is None:
            with contextlib.suppress(ChildProcessError):  # where this process ignores the ends of its children
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if not pid:
                    return None
                self.returncode = os.waitstatus_to_exitcode(status)
                return self.returncode
            self.returncode = _UNKNOWN
        return self.returncode

    def wait(self) -> int:
        """Wait for its end."""
        if self.returncode is None:
            self.returncode = _UNKNOWN
            with contextlib.suppress(ChildProcessError):
                self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def kill(self) -> None:
        """End it at once."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


class ForkedProcess:
    """A worker that a template forked, with the methods of `subprocess.Popen` that are needed. May be used from any
    thread."""

    def __init__(self, template: Template, number: int, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.stdin, self.stdout = stdin, stdout
        self.returncode: int | None = None
        self._template = template
        self._number = number
        self._known: tuple[int, int] | None = None
        self._noting = threading.RLock()

    @property
    def pid(self) -> int:
        """The process id; 0 if the template ended before it forked."""
        return self._handle()[0]

    def poll(self) -> int | None:
        """The exit status; None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises TimeoutExpired after the timeout."""
        with self._noting:
            if self.returncode is not None:
                return self.returncode
            pid, descriptor = self._handle()
        if pid:
            ended = select.poll()
            ended.register(descriptor, select.POLLIN)
            if not ended.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired(["a forked worker"], timeout or 0)
        with self._noting:
            if self.returncode is None:
                self.returncode = self._template.exit_status(pid) if pid else _UNKNOWN
                if pid:
                    os.close(descriptor)
            return self.returncode

    def kill(self) -> None:
        """End it at once."""
        with self._noting:
            if self.poll() is None:
                signal.pidfd_send_signal(self._handle()[1], signal.SIGKILL)

    def _handle(self) -> tuple[int, int]:
        """Its process id, and a descriptor that identifies it even if the id is reused."""
        with self._noting:
            if self._known is None:
                self._known = 0, -1
                if pid := int(self._template.reply(self._number) or 0):
                    with contextlib.suppress(ProcessLookupError):  # it ended after its template
                        self._known = pid, os.pidfd_open(pid)
            return self._known


def fork_here(control: int, setup: str) -> Fork:
    """A template that is a fork of this process, and shares what that has imported."""
    return Fork(lambda: _become_template(control, setup))


def _become_template(control: int, setup: str) -> None:
    """Set up what a new interpreter would have, and begin."""
    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nothing, descriptor)
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor > 2 and descriptor != control:
            with contextlib.suppress(OSError):  # it listed the folder
                os.close(descriptor)
    del sys.argv[1:]
    memory.take_environment()
    main(control, setup)


def _work(heartbeat: int) -> None:
    """Run as a worker, and end like a separate interpreter."""
    from assay.engines.pool import worker

    status = 0
    try:
        worker.main(heartbeat)
    except SystemExit as end:
        status = end.code & 0xFF if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:  # noqa: BLE001 - the boundary of a process: whatever ends it is printed
        traceback.print_exc()
        status = 1
    os._exit(status)


def main(control: int, setup: str) -> None:
    """Import what the workers of this ``setup`` need, and fork one per request. Called in the template.

    A function of ``setup`` may have another one as its attribute ``preload``, which is called first.
    """
    import_module("assay.engines.pool.worker")
    module_name, _, name = setup.partition(":")
    with contextlib.suppress(Exception):  # if it cannot be imported, each worker says so to the parent
        getattr(getattr(import_module(module_name), name), "preload", int)()
    gc.freeze()  # without a collection first, which takes longer than a worker's start and frees next to nothing
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, the ends of the workers would be lost
    connection = socket.socket(fileno=control)
    while True:
        request, descriptors, _, _ = socket.recv_fds(connection, _PACKET_BYTES, 3)
        if not request:
            os._exit(0)
        if request != _FORK:
            _, status = os.waitpid(int(request), 0)
            connection.send(b"%d" % os.waitstatus_to_exitcode(status))
        elif child := os.fork():
            connection.send(b"%d" % child)
            for descriptor in descriptors:
                os.close(descriptor)
        else:
            connection.close()
            inbox, outbox, heartbeat = descriptors
            os.dup2(inbox, 0)
            os.dup2(outbox, 1)
            os.close(inbox)
            os.close(outbox)
            _work(heartbeat)
