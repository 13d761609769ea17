"""Worker processes at the price of a fork: what each would import is imported once.

A server, started with the first worker, has read what a worker reads, as a worker does it, and forks for each one that
a test's process, or a command that `commands` runs, starts: with that one's pipes, map, path, environment, folder,
cores and mask. From there on it is a worker like any other. What is about how a worker starts or which memory it has
asks for true ones: the fixture `true_workers`. A command that is started to be interrupted has true ones as well, since
those are in its group of processes.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import forking
from assay.engines.pool import memory, spawn

_PROGRAM = """
import contextlib, gc, signal, sys
gc.disable(); signal.signal(signal.SIGINT, signal.SIG_IGN)
import importlib

import forking

place, names = sys.argv[1:3], sys.argv[3].split()
sys.argv = ["-c"]
import assay.engines.pool.worker
for name in names:
    importlib.import_module(name)
import assay.sql; assay.sql.warm_up()
with contextlib.suppress(ImportError):  # what a worker asks Denodo with
    from assay.platform.certificates import tls_context

    tls_context()
gc.freeze()
import assay.engines.duckdb  # only now: DuckDB complains at a process's end of what was kept from the collector
asked = forking.serve(*place)
forking.take_path(asked["path"])
assay.engines.pool.worker.main(asked["also"][0], asked["warm"])
"""
_IMPORTED = """
assay.runs.workers.scoring_worker assay.runs.workers.lint_worker assay.scoring.queries.subquery_ties
assay.engines.sqlite assay.metrics.bird assay.metrics.match assay.metrics.ves
"""
"""What nearly every worker imports."""
_bootstrap = spawn._BOOTSTRAP
true_starter = spawn.starter_of
"""What starts workers as Assay does."""


_servers: list[forking.Server] = []


def server() -> forking.Server:
    """The server of this process's tests."""
    if not _servers:
        _servers.append(forking.Server("workers", _PROGRAM, [_IMPORTED], memory.environment()))
        atexit.register(_servers[0].close)
    return _servers[0]


def forked_from_now_on() -> Callable[[], None]:
    """Start workers through the server where that is possible, until what is given is called."""
    if forking.can_serve():
        spawn.starter_of = starter
    return partial(setattr, spawn, "starter_of", true_starter)


@contextmanager
def true_ones() -> Iterator[None]:
    """Start workers as Assay does for a while."""
    before = spawn.starter_of
    spawn.starter_of = true_starter
    try:
        yield
    finally:
        spawn.starter_of = before


def starter(setup: str, *, alone: bool = False) -> spawn.Starter:
    """Starts workers through this process's server, where that gives the same as `true_starter`."""
    there = server()
    return starter_at(there.address, there.early, setup, alone=alone)


def starter_at(address: str, known: Mapping[str, str], setup: str, *, alone: bool = False) -> spawn.Starter:
    """Starts workers through the server at this address, which was started with such an environment."""
    if not sys.executable or _bootstrap != spawn._BOOTSTRAP or forking.early(memory.environment()) != known:
        return true_starter(setup, alone=alone)
    return Served(address, setup)


class Served:
    """Starts the workers of one pool through a server."""

    def __init__(self, address: str, setup: str) -> None:
        self._address = address
        self._warm = setup.partition(":")[0]

    def prepare(self, count: int) -> None:
        """Do nothing: the server has imported."""

    def spawn(self) -> spawn.Spawned:
        """A worker."""
        return spawn.Spawned(lambda descriptor, _: Forked(self._address, memory.environment(), descriptor, self._warm))

    def close(self) -> None:
        """Do nothing: the server stays."""


class Forked(forking.Process):
    """A worker's process, with its pipes."""

    def __init__(self, address: str, environment: Mapping[str, str], descriptor: int, warm: str) -> None:
        around = forking.about(environment, os.getcwd(), sorted(os.sched_getaffinity(0)))
        asked = {**around, "also": [descriptor], "warm": warm, "path": list(sys.path)}
        its_in, to = os.pipe()
        out, its_out = os.pipe()
        try:
            reply = forking.ask(address, asked, [its_in, its_out, 2, descriptor])
        finally:
            os.close(its_in)
            os.close(its_out)
        self.stdin, self.stdout = os.fdopen(to, "wb", 0), os.fdopen(out, "rb", 0)
        super().__init__(reply)
