"""The command line in processes of its own, at the price of a fork: what each would import is imported once.

A server, started by the first command, has read the command line's modules and forks a process for each command:
with the command's arguments, environment, folder and descriptors, and an end like any interpreter's.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

_PROGRAM = """
import contextlib, gc, json, os, socket, sys, time, traceback

server = socket.socket(fileno=int(sys.argv[1]))
import assay.__main__, assay.api, assay.cli.app, assay.cli.crash, assay.cli.progress, assay.cli.view_server
import assay.reports.views.run_build, assay.reports.console.run, assay.reports.markdown.run, assay.sql
import assay.registry, httpx, jinja2, numpy, rich.console, xlsxwriter
gc.freeze()


def told():
    # The next command: its length, its descriptors, its text. None where there is no more.
    head, descriptors, _, _ = socket.recv_fds(server, 8, 4)
    if not head:
        return None
    text = b""
    while len(text) < int(head):
        text += server.recv(int(head) - len(text))
    return json.loads(text), descriptors


while (job := told()) is not None:
    command, descriptors = job
    if os.fork() == 0:
        server.close()
        reply = socket.socket(fileno=descriptors[3])
        if child := os.fork():
            for number in descriptors[:3]:
                os.close(number)
            reply.sendall(b"%d\\n" % child)
            _, status = os.waitpid(child, 0)
            reply.sendall(b"%d\\n" % os.waitstatus_to_exitcode(status))
            os._exit(0)
        reply.close()
        for number in range(3):
            os.dup2(descriptors[number], number)
            os.close(descriptors[number])
        os.environ.clear()
        os.environ.update(command["environment"])
        with contextlib.suppress(AttributeError):  # on one core a command starts one worker, unless it is told more
            cores = sorted(os.sched_getaffinity(0))
            os.sched_setaffinity(0, {cores[command["number"] % len(cores)]})
        time.tzset()
        os.chdir(command["folder"])
        sys.path[0] = os.getcwd()  # as `python -m` has it
        sys.argv = [assay.__main__.__file__, *command["arguments"]]
        break
    for number in descriptors:
        os.close(number)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
else:
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    os._exit(0)
assay.__main__.main()
"""
_READ_EARLY = ("PYTHON", "LC_", "LANG", "LD_", "OPENBLAS", "OMP_")
"""How the names of variables begin that an interpreter reads as it starts: a command with others needs its own."""


class _Server:
    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt at the terminal is the tests' alone
                cwd=Path(__file__).parent,
            )
        self._socket = ours
        self.environment = dict(os.environ)

    def begin(
        self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path | str, descriptors: Sequence[int]
    ) -> IO[bytes]:
        """Begin a command; from what it returns, its process id and its exit status are to be read, a line each."""
        number = int("0" + os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw"))
        command = {"arguments": arguments, "environment": environment, "folder": str(folder), "number": number}
        text = json.dumps(command).encode()
        ours, theirs = socket.socketpair()
        with ours, theirs:
            socket.send_fds(self._socket, [b"%8d" % len(text)], [*descriptors, theirs.fileno()])
            self._socket.sendall(text)
            return ours.makefile("rb")

    def close(self) -> None:
        self._socket.close()
        self._process.wait()


_servers: list[_Server] = []


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
    if not _servers:
        _servers.append(_Server())
        atexit.register(_servers[0].close)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors, open(os.devnull, "rb") as nothing:
        outs = [out.fileno() if stdout is None else stdout, errors.fileno() if stderr is None else stderr]
        with _servers[0].begin(arguments, env, cwd or os.getcwd(), [nothing.fileno(), *outs]) as reply:
            assert reply.readline(), "the server of commands has ended"
            status = int(reply.readline())
        return subprocess.CompletedProcess(["assay", *arguments], status, _text(out), _text(errors))


def _can_serve(environment: Mapping[str, str]) -> bool:
    if not hasattr(os, "fork") or not hasattr(socket, "send_fds"):
        return False
    there = _servers[0].environment if _servers else os.environ

    def early(one: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in one.items() if name.startswith(_READ_EARLY)}

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
        timeout=240,
        check=False,
    )


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
