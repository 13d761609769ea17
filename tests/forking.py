"""Processes at the price of a fork: a server has imported what each of them would, and forks one for whoever asks.

`Server` starts one, `ask` asks it, and `Process` is what was asked for; `serve` is what such a server runs. It imports
first what it likes, and then gives each process the descriptors, environment, folder, mask, cores and path that it was
asked for with. `workers` and `commands` say what the process does from there on.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

_READ_EARLY = ("PYTHON", "LC_", "LANG", "LD_", "OPENBLAS", "OMP_", "MALLOC_", "DUCKDB_")
"""How the names of variables begin that an interpreter or its libraries read as they start."""
_HEEDED = ("PYTHONPATH", "PYTHONIOENCODING")
"""Those of them that a server heeds for each process."""
_ROUND_S = 0.5
_END_S = 60


def can_serve() -> bool:
    """Whether this system has what a server is made of."""
    return sys.platform.startswith("linux") and hasattr(socket, "send_fds")


def early(environment: Mapping[str, str]) -> dict[str, str]:
    """What an interpreter or its libraries read of the environment as they start: a fork has the server's own."""
    return {name: text for name, text in environment.items() if name.startswith(_READ_EARLY) and name not in _HEEDED}


class Server:
    """A process that runs a program of few lines, which calls `serve`. It ends when this one does, however it ends."""

    def __init__(self, name: str, program: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self.folder = tempfile.mkdtemp(prefix=f"assay-{name}-")
        self.address = os.path.join(self.folder, "server")
        self.early = early(environment)
        life, self._life = os.pipe()
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(self.address)
            listening.listen(64)
            self._process = subprocess.Popen(
                [sys.executable, "-c", program, str(listening.fileno()), str(life), *arguments],
                pass_fds=[listening.fileno(), life],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={name: text for name, text in environment.items() if name != "PYTHONIOENCODING"},
                start_new_session=True,  # an interrupt at the terminal is the tests' alone
                cwd=Path(__file__).parent,
            )
        os.close(life)

    def close(self) -> None:
        """End it, when what it has forked has ended."""
        os.close(self._life)
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:  # what nobody ended is somebody's failure, not a reason to stay
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def serve(listening: str, alive: str) -> dict[str, Any]:
    """Fork for whoever asks. Returns in the forked processes alone: what was asked for."""
    server, life = socket.socket(fileno=int(listening)), int(alive)
    while server in (ready := select.select([server, life], [], [])[0]) and life not in ready:
        connection, _ = server.accept()
        if os.fork() == 0:
            asked = _asked(connection)
            for mine in (server, connection):
                mine.detach()  # its number may be another's by now
            return asked
        connection.close()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
    server.close()
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    os._exit(0)


def _asked(connection: socket.socket) -> dict[str, Any]:
    """Start the process that was asked for; tell its id, wait, and tell its end. Returns in that process alone."""
    head, descriptors, _, _ = socket.recv_fds(connection, 8, 4)
    text = b""
    while head and len(text) < int(head):
        text += connection.recv(int(head) - len(text)) or os._exit(1)
    if not head:
        os._exit(0)
    go, tell = os.pipe()  # who asks knows the process before it does anything
    if child := os.fork():
        for number in (*descriptors, go):
            os.close(number)
        with contextlib.suppress(OSError):
            connection.sendall(b"%d\n" % child)
        os.close(tell)
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(OSError):
            connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
        os._exit(0)
    os.close(tell)
    os.read(go, 1)
    asked: dict[str, Any] = json.loads(text)
    _become(asked, descriptors)
    return asked


def _become(asked: Mapping[str, Any], descriptors: Sequence[int]) -> None:
    """Be the process up to where its own program begins: nothing is open besides what it was given."""
    places = [0, 1, 2, *asked.get("also", [])]
    above = [fcntl.fcntl(number, fcntl.F_DUPFD, max(places) + 1) for number in descriptors]
    for place, number in zip(places, above, strict=True):
        os.dup2(number, place)
    for number in [int(number) for number in os.listdir("/proc/self/fd")]:
        if number not in places:
            with contextlib.suppress(OSError):
                os.close(number)
    environment: dict[str, str] = asked["environment"]
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(asked["folder"])
    os.umask(asked["mask"])
    os.sched_setaffinity(0, asked["cores"])
    coding, _, errors = environment.get("PYTHONIOENCODING", "").partition(":")
    if coding:
        sys.stdin = open(0, encoding=coding, errors=errors or None, closefd=False)  # noqa: SIM115 - as long as it runs
        sys.stdout = open(1, "w", encoding=coding, errors=errors or None, closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", 1, encoding=coding, errors="backslashreplace", closefd=False)  # noqa: SIM115


def take_path(path: Sequence[str]) -> None:
    """Import from these places from now on."""
    sys.path[:] = path
    importlib.invalidate_caches()


def about(environment: Mapping[str, str], folder: str, cores: Sequence[int]) -> dict[str, object]:
    """What to ask a server with, besides what the process is to do."""
    return {"environment": dict(environment), "folder": folder, "mask": _mask(), "cores": list(cores)}


def ask(address: str, asked: Mapping[str, object], descriptors: Sequence[int]) -> IO[bytes]:
    """Have a server start a process with these descriptors: its input, output and errors, and what it asks for also.

    The reply is what a `Process` reads: its id, and its exit status when it has ended, a line each.
    """
    text = json.dumps(asked).encode()
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(address)
        socket.send_fds(asking, [b"%8d" % len(text)], list(descriptors))
        asking.sendall(text)
        return asking.makefile("rb", buffering=0)


class Process:
    """A process that was asked for, as far as `subprocess.Popen` is used of one. May be used in any thread."""

    def __init__(self, reply: IO[bytes]) -> None:
        self._reply = reply
        told = reply.readline()
        assert told, "the server of processes has ended"
        self.pid = int(told)
        self.returncode: int | None = None
        self._noting = threading.Lock()

    def poll(self) -> int | None:
        """The exit status, or None while it runs."""
        return self._note(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises TimeoutExpired where that does not come in time."""
        end = None if timeout is None else time.monotonic() + timeout
        while (found := self._note(_ROUND_S if end is None else min(_ROUND_S, end - time.monotonic()))) is None:
            if end is not None and time.monotonic() >= end:
                raise subprocess.TimeoutExpired(["a process of a server"], timeout or 0)
        return found

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def _note(self, wait_s: float) -> int | None:
        """The exit status, as soon as it was told and within a while."""
        try:
            waiting = select.poll()
            waiting.register(self._reply, select.POLLIN)
            waiting.poll(max(0, wait_s) * 1000)
        except ValueError:  # another thread has read it meanwhile
            pass
        with self._noting:
            if self.returncode is None:
                waiting = select.poll()
                waiting.register(self._reply, select.POLLIN)
                if waiting.poll(0):
                    self.returncode = int(self._reply.readline() or -signal.SIGKILL)
                    self._reply.close()
            return self.returncode


def _mask() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("\nUmask:")[2].split()[0], 8)
