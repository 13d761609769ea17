"""The command line in processes of its own, at the price of a fork: what each would import is imported once.

A server, started by the first command, has read the command line's modules and forks a process for each command:
with the command's arguments, environment, folder and descriptors, and an end like any interpreter's. Whoever knows
its address may ask it: the tests themselves, and `program`, which stands for ``assay`` in the lines of a shell.
The workers of such a command are forks as well (`workers`), unless it is started to be interrupted with them.
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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import workers

_PROGRAM = """
import atexit, contextlib, functools, gc, importlib, json, os, select, signal, socket, sys, time

ended = []


def end_at_once():
    # Called last of all. To take apart what was imported would take longer than many a command.
    if ended:
        with contextlib.suppress(Exception):  # then Python says itself what cannot be written
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(ended[0])


atexit.register(end_at_once)

server, life = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])
forking = json.loads(sys.argv[3])
import assay.__main__, assay.engines.pool.spawn
for name in sys.argv[4].split():
    with contextlib.suppress(ImportError):  # a command would import it itself, where it still is
        importlib.import_module(name)
import assay.sql; assay.sql.warm_up()
if forking:
    import workers
gc.freeze()
import duckdb  # only now: it complains at a process's end of what was kept from the collector
told = os.environ.get("PYTHONPATH", "").split(os.pathsep)
ours = [entry for entry in sys.path[1:] if entry not in map(os.path.abspath, filter(None, told))]


def become(command, descriptors):
    # The process of the command, up to where its own program begins.
    for number in range(3):
        os.dup2(descriptors[number], number)
        os.close(descriptors[number])
    if command["session"]:
        os.setsid()
    elif forking:
        assay.engines.pool.spawn._popen = functools.partial(workers.start_at, *forking)
    environment = command["environment"]
    os.environ.clear()
    os.environ.update(environment)
    with contextlib.suppress(AttributeError):  # on one core a command starts one worker, unless it is told more
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[command["number"] % len(cores)]})
    time.tzset()
    os.chdir(command["folder"])
    here = os.getcwd()  # as `python -m` has it
    told = [entry and os.path.abspath(entry) for entry in environment.get("PYTHONPATH", "").split(os.pathsep)]
    sys.path[:] = [here, *filter(None, told), *ours]
    importlib.invalidate_caches()
    coding, _, errors = environment.get("PYTHONIOENCODING", "").partition(":")
    if coding:
        sys.stdin = open(0, encoding=coding, errors=errors or None, closefd=False)
        sys.stdout = open(1, "w", encoding=coding, errors=errors or None, closefd=False)
        sys.stderr = open(2, "w", 1, encoding=coding, errors="backslashreplace", closefd=False)
    sys.argv = [assay.__main__.__file__, *command["arguments"]]


def asked(connection):
    # Begin the command that was asked for; tell its process id, wait, and tell its end. Returns in its process alone.
    head, descriptors, _, _ = socket.recv_fds(connection, 8, 3)
    text = b""
    while head and len(text) < int(head):
        text += connection.recv(int(head) - len(text)) or os._exit(1)
    if not head:
        os._exit(0)
    command = json.loads(text)
    go, tell = os.pipe()  # who asks knows the process before it does anything
    if child := os.fork():
        for number in (*descriptors, go):
            os.close(number)
        with contextlib.suppress(OSError):
            connection.sendall(b"%d\\n" % child)
        os.close(tell)
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(OSError):
            connection.sendall(b"%d\\n" % os.waitstatus_to_exitcode(status))
        os._exit(0)
    connection.close()
    os.close(tell)
    os.read(go, 1)
    os.close(go)
    become(command, descriptors)
    return command["session"]


while server in (ready := select.select([server, life], [], [])[0]) and life not in ready:
    connection, _ = server.accept()
    if os.fork() == 0:
        server.close()
        os.close(life)
        whole = asked(connection)
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
try:
    assay.__main__.main()
except SystemExit as end:
    if not whole and isinstance(end.code or 0, int):
        ended.append((end.code or 0) & 0xFF)
    raise
"""
_IMPORTED = """
assay.api assay.api.diffing assay.api.evaluation assay.api.gates assay.api.refuting assay.api.selections
assay.cases.benchmarks.bird assay.cases.benchmarks.defog assay.cases.benchmarks.llmsql assay.cases.benchmarks.spider
assay.cases.sdmx.format assay.cases.sdmx.yaml assay.cases.tables.delimited assay.cases.tables.formats assay.cli.access
assay.cli.app assay.cli.crash assay.cli.early assay.cli.output assay.cli.progress assay.cli.streams
assay.cli.view_server assay.engines.sqlite assay.linting assay.linting.apply assay.metrics.bird assay.metrics.denodo
assay.metrics.llmsql assay.metrics.match assay.metrics.spider assay.metrics.spider2 assay.metrics.ves assay.registry
assay.reports.console.diff assay.reports.console.run assay.reports.diff_formats assay.reports.html.data
assay.reports.html.run assay.reports.json.diff assay.reports.json.run assay.reports.markdown.diff
assay.reports.markdown.run assay.reports.views.diff_build assay.reports.views.run_build assay.reports.witness
assay.runs.compare assay.runs.gates assay.witness.proof assay.witness.refuter
httpx jinja2 lxml.etree numpy rich.console ruamel.yaml typer._adapters xlsxwriter
"""
"""What many commands import. What they read as they start, such as the environment or plugins, is not among it."""
_CLIENT = """
import json, os, signal, socket, sys
number = {number}
text = json.dumps({{
    "arguments": sys.argv[1:], "environment": dict(os.environ), "folder": os.getcwd(), "number": number,
    "session": False,
}}).encode()
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [b"%8d" % len(text)], [0, 1, 2])
    server.sendall(text)
    for number in (0, 1, 2):
        os.close(number)
    with server.makefile("rb") as reply:
        reply.readline()
        status = int(reply.readline() or 1)
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
"""
_READ_EARLY = ("PYTHON", "LC_", "LANG", "LD_", "OPENBLAS", "OMP_")
"""How the names of variables begin that an interpreter reads as it starts: a command with others needs its own."""
_HEEDED = ("PYTHONPATH", "PYTHONIOENCODING")
"""Those of them that the server heeds for each command."""


class _Server:
    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="assay-commands-")
        self.address = os.path.join(self.folder, "server")
        life, self._life = os.pipe()  # it ends when these tests do, however they end
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(self.address)
            listening.listen(64)
            forking = [workers.server().address, workers.server().early] if workers.can_serve() else None
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(listening.fileno()), str(life), json.dumps(forking), _IMPORTED],
                pass_fds=[listening.fileno(), life],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt at the terminal is the tests' alone
                cwd=Path(__file__).parent,
            )
        os.close(life)
        self.environment = dict(os.environ)

    def begin(self, command: Mapping[str, object], descriptors: Sequence[int]) -> IO[bytes]:
        """Begin a command; from what it returns, its process id and its exit status are to be read, a line each."""
        text = json.dumps(command).encode()
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(self.address)
            socket.send_fds(asking, [b"%8d" % len(text)], list(descriptors))
            asking.sendall(text)
            return asking.makefile("rb", buffering=0)

    def close(self) -> None:
        os.close(self._life)
        self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


_servers: list[_Server] = []


def _server() -> _Server:
    if not _servers:
        _servers.append(_Server())
        atexit.register(_servers[0].close)
    return _servers[0]


def _number() -> int:
    return int("0" + os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw"))


class Started:
    """A command that runs, as `subprocess.Popen` has it, with its output in pipes of text."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path | str) -> None:
        command = {
            "arguments": list(arguments),
            "environment": dict(environment),
            "folder": str(folder),
            "number": _number(),
            "session": True,
        }
        out, its_out = os.pipe()
        errors, its_errors = os.pipe()
        with open(os.devnull, "rb") as nothing:
            self._reply = _server().begin(command, [nothing.fileno(), its_out, its_errors])
        os.close(its_out)
        os.close(its_errors)
        self.stdout: IO[str] = os.fdopen(out, encoding="utf-8")
        self.stderr: IO[str] = os.fdopen(errors, encoding="utf-8")
        told = self._reply.readline()
        assert told, "the server of commands has ended"
        self.pid = int(told)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit status, or None while it runs."""
        if self.returncode is None and select.select([self._reply], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._reply], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(["assay"], timeout or 0)
            self.returncode = int(self._reply.readline())
            self._reply.close()
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """All of its output, and of who else holds its pipes, and its end."""
        end = None if timeout is None else time.monotonic() + timeout
        texts = ["", ""]

        def read(place: int, stream: IO[str]) -> None:
            with stream:
                texts[place] = stream.read()

        readers = [
            threading.Thread(target=read, args=(place, stream), daemon=True)
            for place, stream in enumerate((self.stdout, self.stderr))
            if not stream.closed
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(None if end is None else max(0, end - time.monotonic()))
            if reader.is_alive():
                raise subprocess.TimeoutExpired(["assay"], timeout or 0)
        self.wait(None if end is None else max(0, end - time.monotonic()))
        return texts[0], texts[1]


def start(arguments: Sequence[str], *, env: Mapping[str, str], cwd: Path | None = None) -> Any:
    """Begin `assay` in a session of its own, without input, as `subprocess.Popen` does with pipes of text."""
    if _can_serve(env):
        return Started(arguments, env, cwd or os.getcwd())
    return subprocess.Popen(
        [sys.executable, "-m", "assay", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
        env=env,
        cwd=cwd,
        start_new_session=True,
    )


def run(
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `assay` to its end, as `subprocess.run` does, without input; what goes to no descriptor is captured."""
    if not _can_serve(env):
        return _run_alone(arguments, env=env, cwd=cwd, stdout=stdout, stderr=stderr)
    command = {
        "arguments": list(arguments),
        "environment": dict(env),
        "folder": str(cwd or os.getcwd()),
        "number": _number(),
        "session": False,
    }
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors, open(os.devnull, "rb") as nothing:
        outs = [out.fileno() if stdout is None else stdout, errors.fileno() if stderr is None else stderr]
        with _server().begin(command, [nothing.fileno(), *outs]) as reply:
            assert reply.readline(), "the server of commands has ended"
            status = int(reply.readline())
        return subprocess.CompletedProcess(["assay", *arguments], status, _text(out), _text(errors))


def program(folder: Path) -> Path:
    """A program ``assay`` in this folder, for the lines of a shell: this very interpreter's."""
    path = folder / "assay"
    if hasattr(os, "fork") and hasattr(socket, "send_fds"):
        client = folder / "assay-client.py"
        client.write_text(_CLIENT.format(number=_number(), address=_server().address), encoding="utf-8")
        how = f'-IS "{client}"'
    else:
        how = "-m assay"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {how} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path


def _can_serve(environment: Mapping[str, str]) -> bool:
    if not hasattr(os, "fork") or not hasattr(socket, "send_fds"):
        return False
    there = _servers[0].environment if _servers else os.environ

    def early(one: Mapping[str, str]) -> dict[str, str]:
        return {name: text for name, text in one.items() if name.startswith(_READ_EARLY) and name not in _HEEDED}

    return early(environment) == early(there)


def _run_alone(
    arguments: Sequence[str], *, env: Mapping[str, str], cwd: Path | None, stdout: int | None, stderr: int | None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "assay", *arguments],
        stdout=subprocess.PIPE if stdout is None else stdout,
        stderr=subprocess.PIPE if stderr is None else stderr,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
        env=env,
        cwd=cwd,
        timeout=600,
        check=False,
    )


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
