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
from typing import Any

import forking
from assay.engines.pool import memory, spawn

_PROGRAM = """
import gc, signal, sys
gc.disable(); signal.signal(signal.SIGINT, signal.SIG_IGN)
import importlib

import forking

place, names = sys.argv[1:3], sys.argv[3].split()
sys.argv = ["-c"]
import assay.engines.pool.worker
for name in names:
    importlib.import_module(name)
import assay.sql; assay.sql.warm_up()
gc.freeze()
import assay.engines.duckdb  # only now: DuckDB complains at a process's end of what was kept from the collector
asked = forking.serve(*place)
forking.take_path(asked["path"])
assay.engines.pool.worker.main(asked["warm"])
"""
_IMPORTED = """
assay.runs.workers.scoring_worker assay.runs.workers.lint_worker assay.scoring.queries.subquery_ties
assay.engines.sqlite assay.metrics.bird assay.metrics.match assay.metrics.ves
"""
"""What nearly every worker imports."""
_bootstrap = spawn._BOOTSTRAP
true_start = spawn._popen
"""Start a worker as Assay does: an interpreter of its own."""


_servers: list[forking.Server] = []


def server() -> forking.Server:
    """The server of this process's tests."""
    if not _servers:
        _servers.append(forking.Server("workers", _PROGRAM, [_IMPORTED], memory.environment()))
        atexit.register(_servers[0].close)
    return _servers[0]


def forked_from_now_on() -> Callable[[], None]:
    """Start workers by a fork where that is possible, until what is given is called."""
    if forking.can_serve():
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


def start(descriptor: int | None, warm: str) -> Any:
    """Start a worker through this process's server, where that gives the same as `true_start`."""
    there = server()
    return start_at(there.address, there.early, descriptor, warm)


def start_at(address: str, known: Mapping[str, str], descriptor: int | None, warm: str) -> Any:
    """Start a worker through the server at this address, which was started with such an environment."""
    environment = memory.environment()
    if (
        descriptor is None
        or not sys.executable
        or _bootstrap != spawn._BOOTSTRAP
        or forking.early(environment) != known
    ):
        return true_start(descriptor, warm)
    return Forked(address, environment, descriptor, warm)


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
