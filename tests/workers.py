"""Worker processes at the price of a fork: what each would import is imported once.

A server, started with the first worker, has read what a worker reads, as a worker does it, and forks for each one that
a test's process, or a command that `commands` runs, starts: with that one's pipes, map, path, environment, folder,
cores and mask. From there on it is a worker like any other. What is about how a worker starts or which memory it has
asks for true ones: the fixture `true_workers`. A command that is started to be interrupted has true ones as well, since
those are in its group of processes.
"""

from __future__ import annotations

import atexit
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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from assay.engines.pool import memory, spawn

_PROGRAM = """
import gc, signal, sys
gc.disable(); signal.signal(signal.SIGINT, signal.SIG_IGN)
import contextlib, fcntl, importlib, json, os, select, socket, time

server, life, names = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]), sys.argv[3].split()
sys.argv = ["-c"]
import assay.engines.pool.worker
for name in names:
    importlib.import_module(name)
import assay.sql; assay.sql.warm_up()
gc.freeze()
import assay.engines.duckdb  # only now: DuckDB complains at a process's end of what was kept from the collector


def become(told, descriptors):
    # The worker, up to where its own program begins: nothing is open besides what it was given.
    above = max(2, told["map"])
    given = [fcntl.fcntl(number, fcntl.F_DUPFD, above + 1) for number in descriptors]
    for number, one in zip([0, 1, 2, told["map"]], given):
        os.dup2(one, number)
    for number in [int(number) for number in os.listdir("/proc/self/fd")]:
        if number > 2 and number != told["map"]:
            with contextlib.suppress(OSError):
                os.close(number)
    os.environ.clear()
    os.environ.update(told["environment"])
    time.tzset()
    os.chdir(told["folder"])
    os.umask(told["mask"])
    os.sched_setaffinity(0, told["cores"])
    sys.path[:] = told["path"]
    importlib.invalidate_caches()
    coding, _, errors = told["environment"].get("PYTHONIOENCODING", "").partition(":")
    if coding:
        sys.stdin = open(0, encoding=coding, errors=errors or None, closefd=False)
        sys.stdout = open(1, "w", encoding=coding, errors=errors or None, closefd=False)
        sys.stderr = open(2, "w", 1, encoding=coding, errors="backslashreplace", closefd=False)


def asked(connection):
    # Start the worker that was asked for; tell its process id, wait, and tell its end. Returns in its process alone.
    head, descriptors, _, _ = socket.recv_fds(connection, 8, 4)
    text = b""
    while head and len(text) < int(head):
        text += connection.recv(int(head) - len(text)) or os._exit(1)
    if not head:
        os._exit(0)
    if child := os.fork():
        for number in descriptors:
            os.close(number)
        with contextlib.suppress(OSError):
            connection.sendall(b"%d\\n" % child)
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(OSError):
            connection.sendall(b"%d\\n" % os.waitstatus_to_exitcode(status))
        os._exit(0)
    told = json.loads(text)
    become(told, descriptors)
    return told["warm"]


while server in (ready := select.select([server, life], [], [])[0]) and life not in ready:
    connection, _ = server.accept()
    if os.fork() == 0:
        warm = asked(connection)
        break
    connection.close()
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
else:
    server.close()
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    os._exit(0)
assay.engines.pool.worker.main(warm)
"""
_IMPORTED = """
assay.runs.scoring_worker assay.runs.lint_worker assay.scoring.queries.inner_ties assay.engines.sqlite
assay.metrics.bird assay.metrics.match assay.metrics.ves
"""
"""What nearly every worker imports."""
_READ_EARLY = ("PYTHON", "LC_", "LANG", "LD_", "OPENBLAS", "OMP_", "MALLOC_", "DUCKDB_")
"""How the names of variables begin that an interpreter or its libraries read as they start."""
_HEEDED = ("PYTHONPATH", "PYTHONIOENCODING")
"""Those of them that the server heeds for each worker."""
_ROUND_S = 0.5

_bootstrap = spawn._BOOTSTRAP
true_start = spawn._popen
"""Start a worker as Assay does: an interpreter of its own."""


class _Server:
    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="assay-workers-")
        self.address = os.path.join(self.folder, "server")
        self.early = early(memory.environment())
        life, self._life = os.pipe()  # it ends when these tests do, however they end
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(self.address)
            listening.listen(64)
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(listening.fileno()), str(life), _IMPORTED],
                pass_fds=[listening.fileno(), life],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=memory.environment(),
                start_new_session=True,  # an interrupt at the terminal is the tests' alone
                cwd=Path(__file__).parent,
            )
        os.close(life)

    def close(self) -> None:
        os.close(self._life)
        self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


_servers: list[_Server] = []


def server() -> _Server:
    """The server of this process's tests."""
    if not _servers:
        _servers.append(_Server())
        atexit.register(_servers[0].close)
    return _servers[0]


def forked_from_now_on() -> Callable[[], None]:
    """Start workers by a fork where that is possible, until what is given is called."""
    if can_serve():
        spawn._popen = start
    return partial(setattr, spawn, "_popen", true_start)


@contextmanager
def true_ones() -> Iterator[None]:
    """Start workers as Assay does for a while."""
    before = spawn._popen
    spawn._popen = true_start
    try:
        yield
    finally:
        spawn._popen = before


def can_serve() -> bool:
    """Whether this system has what the server is made of."""
    return sys.platform.startswith("linux") and hasattr(socket, "send_fds")


def early(environment: Mapping[str, str]) -> dict[str, str]:
    """What an interpreter or its libraries read of the environment as they start."""
    return {name: text for name, text in environment.items() if name.startswith(_READ_EARLY) and name not in _HEEDED}


def start(descriptor: int | None, warm: str) -> Any:
    """Start a worker through this process's server, where that gives the same as `true_start`."""
    there = server()
    return start_at(there.address, there.early, descriptor, warm)


def start_at(address: str, known: Mapping[str, str], descriptor: int | None, warm: str) -> Any:
    """Start a worker through the server at this address, which was started with such an environment."""
    environment = memory.environment()
    if descriptor is None or not sys.executable or _bootstrap != spawn._BOOTSTRAP or early(environment) != known:
        return true_start(descriptor, warm)
    return Forked(address, environment, descriptor, warm)


class Forked:
    """A worker's process, as far as `subprocess.Popen` is used of one. Its methods may be called in any thread."""

    def __init__(self, address: str, environment: Mapping[str, str], descriptor: int, warm: str) -> None:
        told = {
            "map": descriptor,
            "warm": warm,
            "environment": dict(environment),
            "folder": os.getcwd(),
            "mask": _mask(),
            "cores": sorted(os.sched_getaffinity(0)),
            "path": list(sys.path),
        }
        text = json.dumps(told).encode()
        its_in, to = os.pipe()
        out, its_out = os.pipe()
        try:
            with socket.socket(socket.AF_UNIX) as asking:
                asking.connect(address)
                socket.send_fds(asking, [b"%8d" % len(text)], [its_in, its_out, 2, descriptor])
                asking.sendall(text)
                self._reply = asking.makefile("rb", buffering=0)
        finally:
            os.close(its_in)
            os.close(its_out)
        self.stdin, self.stdout = os.fdopen(to, "wb", 0), os.fdopen(out, "rb", 0)
        told_pid = self._reply.readline()
        assert told_pid, "the server of workers has ended"
        self.pid = int(told_pid)
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
                raise subprocess.TimeoutExpired(["worker"], timeout or 0)
        return found

    def kill(self) -> None:
        """End it at once."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

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
