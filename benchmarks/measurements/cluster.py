"""A run on a Ray cluster beside the same run on this machine: two nodes of one worker each, as processes, on loopback.

In processor time: two nodes that share a machine's cores are never twice as fast as one.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from benchmarks.frame import NotHere, Setup, Used, assay
from benchmarks.measurements.scale import make_benchmark

_CASES, _SMALL = 20_000, 1_000
_HOST = "127.0.0.2"
"""Ray takes 127.0.0.1 for the machine's outer address."""
_NODES = 2
_START_S = 240.0
_WATCH_S = 0.2
_TIME = re.compile(rb'"wall_time_s":[0-9.e+-]+')


def two_nodes(setup: Setup) -> dict[str, float]:
    """Judge a benchmark here and on the cluster."""
    if importlib.util.find_spec("ray") is None:
        raise NotHere("Ray: python -m pip install '.[ray]'")
    if not sys.platform.startswith("linux"):
        raise NotHere("several nodes on one machine, which Ray has on Linux only")
    with tempfile.TemporaryDirectory() as name, _cluster() as cluster:
        cases = min(_CASES, setup.cases)
        small, large = Path(name, "small"), Path(name, "large")
        for folder, count in ((small, min(_SMALL, cases)), (large, cases)):
            folder.mkdir()
            make_benchmark(folder, count)
        here = _run(large, large / "here", "--workers", _NODES)
        with _backend(cluster.address):
            little = _run(small, small / "there", "--backend", "ray")
            with cluster.watched() as used:
                there = _run(large, large / "there", "--backend", "ray")
        differ = len(_lines(large / "here") ^ _lines(large / "there"))
    return {
        "cluster.differ": differ,
        "cluster.overhead": (used["node"] + used["ray"]) / used["worker"],
        "cluster.worker": 1000 * used["worker"] / cases,
        "cluster.node": 1000 * used["node"] / cases,
        "cluster.driver": 1000 * there.cpu_s / cases,
        "cluster.driver_here": there.cpu_s / here.cpu_s,
        "cluster.memory": there.peak_mb / little.peak_mb,
    }


def _run(folder: Path, output: Path, *more: object) -> Used:
    command = ["run", folder / "cases.jsonl", "-p", folder / "answers.jsonl", "-q", "-o", output]
    return assay(*command, "--metrics", "match,bird_ex,spider_ex", "--db", f"sqlite:///{folder / 'shop.sqlite'}", *more)


def _lines(run: Path) -> set[bytes]:
    """Hashes of a journal's lines without their times, and without causes, whose repairs end by the clock."""
    found = set()
    with open(run / "journal.jsonl", "rb") as lines:
        for line in lines:
            read = json.loads(_TIME.sub(b'"wall_time_s":0', line))
            for name in ("cause", "diagnosis"):
                read["evidence"].pop(name, None)
            found.add(blake2b(json.dumps(read, sort_keys=True).encode(), digest_size=16).digest())
    return found


@contextmanager
def _backend(address: str) -> Iterator[None]:
    before = os.environ.get("RAY_ADDRESS")
    os.environ["RAY_ADDRESS"] = address
    try:
        yield
    finally:
        os.environ.pop("RAY_ADDRESS")
        if before is not None:
            os.environ["RAY_ADDRESS"] = before


@dataclass(slots=True, kw_only=True)
class _Cluster:
    """A head that judges nothing, and nodes of one processor each."""

    folder: Path
    port: int
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"{_HOST}:{self.port}"

    def start(self, *arguments: str) -> None:
        """Start the head or a node, and wait until it runs."""
        log = self.folder / f"log{len(self.started)}"
        with open(log, "wb") as output:
            command = ["from ray.scripts.scripts import main; main()", "start", "--block", "--disable-usage-stats"]
            command += ["--node-ip-address", _HOST, "--object-store-memory", "80000000", *arguments]
            process = subprocess.Popen(
                [sys.executable, "-c", *command],
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, "ASSAY_NODE_CACHE": str(self.folder / "databases")},
            )
        self.started.append(process)
        end = time.monotonic() + _START_S
        while b"runtime started" not in log.read_bytes():
            if process.poll() is not None or time.monotonic() > end:
                raise NotHere(f"Ray, which does not start here: {log.read_text(errors='replace')[-300:]}")
            time.sleep(0.1)

    @contextmanager
    def watched(self) -> Iterator[dict[str, float]]:
        """The processor time meanwhile of the nodes' workers, of the processes that host them, and of Ray itself."""
        used: dict[str, float] = {}
        first = {pid: seconds for pid, (_, seconds) in self._processes().items()}
        last: dict[int, tuple[str, float]] = {}
        over = threading.Event()

        def watch() -> None:
            while not over.wait(_WATCH_S):
                last.update(self._processes())

        watching = threading.Thread(target=watch, daemon=True)
        watching.start()
        try:
            yield used
        finally:
            over.set()
            watching.join()
        for pid, (kind, seconds) in last.items():
            used[kind] = used.get(kind, 0.0) + seconds - first.get(pid, 0.0)

    def _processes(self) -> dict[int, tuple[str, float]]:
        """The processes of the nodes, without the head: what each is, and its processor time until now."""
        sessions = {process.pid for process in self.started[1:]}
        found = {}
        for name in os.listdir("/proc"):
            with suppress(OSError, ValueError):
                told = Path("/proc", name, "stat").read_text().rpartition(")")[2].split() if name.isdigit() else []
                if told and int(told[3]) in sessions:
                    command = Path("/proc", name, "cmdline").read_bytes()
                    kind = (
                        "worker" if b"assay.engines.pool" in command else "node" if b"AssayNode" in command else "ray"
                    )
                    found[int(name)] = (kind, (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK"))
        return found

    def close(self) -> None:
        """End all that was started."""
        for process in reversed(self.started):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def _cluster() -> Iterator[_Cluster]:
    with socket.create_server((_HOST, 0)) as one, socket.create_server((_HOST, 0)) as other:
        port, client_port = one.getsockname()[1], other.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="ar-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        cluster = _Cluster(folder=Path(folder), port=port)  # a short folder: a socket's path has 107 characters at most
        try:
            cluster.start(
                *("--head", "--port", str(port), "--ray-client-server-port", str(client_port), "--num-cpus", "0"),
                *("--temp-dir", str(Path(folder, "s")), "--include-dashboard", "false"),
            )
            for _ in range(_NODES):
                cluster.start("--address", cluster.address, "--num-cpus", "1")
            yield cluster
        finally:
            cluster.close()
