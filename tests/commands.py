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
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import forking
import workers

_PROGRAM = """
import contextlib, functools, gc, importlib, json, os, sys

import forking

place, workers_place, names = sys.argv[1:3], json.loads(sys.argv[3]), sys.argv[4].split()
import assay.__main__, assay.engines.pool.spawn
for name in names:
    with contextlib.suppress(ImportError):  # a command would import it itself, where it still is
        importlib.import_module(name)
import assay.sql; assay.sql.warm_up()
with contextlib.suppress(ImportError):  # nor does each command that asks a server read the trusted authorities
    from assay.platform.certificates import tls_context

    for trust_env in (True, False):
        tls_context(trust_env=trust_env)
with contextlib.suppress(ImportError, AttributeError):  # to make a verb's options takes longer than many a command
    from assay.cli.parsing import commands

    verbs = {listed.name: listed.make() for listed in commands.Verbs.verbs}
    plain = commands._Made.__init__

    def made(self, listed):
        plain(self, listed)
        self._made = {name: verbs[name] for name in self.listed if name in verbs}

    commands._Made.__init__ = made
if workers_place:
    import workers
gc.freeze()
import duckdb  # only now: it complains at a process's end of what was kept from the collector


def told():
    return [entry and os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep)]


ours = [entry for entry in sys.path[1:] if entry not in filter(None, told())]
command = forking.serve(*place)
forking.take_path([os.getcwd(), *filter(None, told()), *ours])  # as `python -m` has it
if command["session"]:
    os.setsid()
elif workers_place:
    assay.engines.pool.spawn.starter_of = functools.partial(workers.starter_at, *workers_place)
sys.argv = [assay.__main__.__file__, *command["arguments"]]
assay.__main__.main()
"""
_IMPORTED = """
assay.api assay.api.diffing assay.api.evaluation assay.api.gates assay.api.refuting assay.api.selections
assay.cases.benchmarks.bird assay.cases.benchmarks.defog assay.cases.benchmarks.llmsql assay.cases.benchmarks.spider
assay.cases.sdmx.format assay.cases.sdmx.records assay.cases.tables.delimited assay.cases.tables.formats
assay.cli.options.access assay.cli.app assay.cli.crash assay.cli.early assay.cli.output assay.cli.progress
assay.cli.streams assay.cli.view.server assay.engines.sqlite assay.linting assay.linting.apply assay.metrics.bird
assay.metrics.denodo
assay.metrics.llmsql assay.metrics.match assay.metrics.spider assay.metrics.spider2 assay.metrics.ves assay.registry
assay.reports.console.diff assay.reports.console.run assay.reports.diff_formats assay.reports.html.data
assay.reports.html.run assay.reports.json.comparisons assay.reports.json.run assay.reports.markdown.comparisons
assay.reports.markdown.run assay.reports.blocks.diff assay.reports.blocks.run assay.reports.witness
assay.runs.compare assay.runs.gates assay.witness.proof assay.witness.refuter
httpx jinja2 lxml.etree numpy rich.console ruamel.yaml typer._adapters xlsxwriter
"""
"""What many commands import. What they read as they start, such as the environment or plugins, is not among it."""
_CLIENT = """
import json, os, signal, socket, sys
mask = os.umask(0)
os.umask(mask)
text = json.dumps({{
    "arguments": sys.argv[1:], "session": False,
    "environment": dict(os.environ), "folder": os.getcwd(), "mask": mask, "cores": {cores},
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

_servers: list[forking.Server] = []


def _server() -> forking.Server:
    if not _servers:
        there = workers.server()
        arguments = [json.dumps([there.address, there.early]), _IMPORTED]
        _servers.append(forking.Server("commands", _PROGRAM, arguments, os.environ))
        atexit.register(_servers[0].close)
    return _servers[0]


def _cores() -> list[int]:
    """One core for a command, since on one it starts one worker, unless it is told more: each process's another."""
    cores = sorted(os.sched_getaffinity(0))
    number = int("0" + os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw"))
    return [cores[number % len(cores)]]


def _begin(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path | None,
    descriptors: Sequence[int],
    *,
    session: bool,
) -> IO[bytes]:
    command = {"arguments": list(arguments), "session": session}
    around = forking.about(environment, str(folder or os.getcwd()), _cores())
    return forking.ask(_server().address, {**command, **around}, descriptors)


class Started(forking.Process):
    """A command that runs, as `subprocess.Popen` has it, with its output in pipes of text."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path | None) -> None:
        out, its_out = os.pipe()
        errors, its_errors = os.pipe()
        with open(os.devnull, "rb") as nothing:
            descriptors = [nothing.fileno(), its_out, its_errors]
            reply = _begin(arguments, environment, folder, descriptors, session=True)
        os.close(its_out)
        os.close(its_errors)
        self.stdout: IO[str] = os.fdopen(out, encoding="utf-8")
        self.stderr: IO[str] = os.fdopen(errors, encoding="utf-8")
        super().__init__(reply)

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
        return Started(arguments, env, cwd)
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
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors, open(os.devnull, "rb") as nothing:
        outs = [out.fileno() if stdout is None else stdout, errors.fileno() if stderr is None else stderr]
        status = forking.Process(_begin(arguments, env, cwd, [nothing.fileno(), *outs], session=False)).wait()
        return subprocess.CompletedProcess(["assay", *arguments], status, _text(out), _text(errors))


def program(folder: Path) -> Path:
    """A program ``assay`` in this folder, for the lines of a shell: this very interpreter's."""
    path = folder / "assay"
    if forking.can_serve():
        client = folder / "assay-client.py"
        client.write_text(_CLIENT.format(cores=_cores(), address=_server().address), encoding="utf-8")
        how = f'-IS "{client}"'
    else:
        how = "-m assay"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {how} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path


def _can_serve(environment: Mapping[str, str]) -> bool:
    if not forking.can_serve() or _stands_in(environment):
        return False
    return forking.early(environment) == (_servers[0].early if _servers else forking.early(os.environ))


def _stands_in(environment: Mapping[str, str]) -> bool:
    """Whether the path holds something else by the name of a package that the server has imported."""
    given = set(filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))) - set(sys.path)
    names = {name.partition(".")[0] for name in _IMPORTED.split()} - {"assay"} | {"duckdb", "sqlglot"}
    return any((Path(folder) / entry).exists() for folder in given for name in names for entry in (name, f"{name}.py"))


def _run_alone(
    arguments: Sequence[str], *, env: Mapping[str, str], cwd: Path | None, stdout: int | None, stderr: int | None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
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
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout or "", done.stderr or "")


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
