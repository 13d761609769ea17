"""What a benchmark is: a measurement, and the lines of the page that it gives. To add one, write it in `registry`.

A line is a ratio measured in one run wherever there is something to measure against, in turn with it. Each measurement
runs in a process of its own, so that its memory is its own.
"""

from __future__ import annotations

import compileall
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).parent / "results.json"


class NotHere(Exception):
    """What the measurement needs is not on this machine. The message says what, and how to get it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What the user gives to all measurements."""

    spider: Path | None = None
    """Folder with ``dev.jsonl``, ``predictions/*.jsonl`` and ``database/{db_id}/{db_id}.sqlite``."""
    rounds: int = 5
    workers: int = 2
    cases: int = 100_000
    """Cases of the large run."""
    peers: Mapping[str, str] = field(default_factory=dict)
    """Per peer, the interpreter that has it, or the command that runs its script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One number: at most ``bound``, or without a bound where there is nothing to promise."""

    name: str
    what: str
    unit: str
    bound: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Some work, and the lines that it gives: ``run`` returns a value for each. It raises `NotHere` where it cannot."""

    name: str
    title: str
    run: Callable[[Setup], Mapping[str, float]]
    lines: tuple[Line, ...]
    heavy: bool = False
    """Takes minutes: left out unless it is named, or all are asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A measured value, and when and where it was measured."""

    value: float
    date: str
    machine: str


def seconds(work: Callable[[], object]) -> float:
    """The time of one piece of work."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def cpu_seconds(work: Callable[[], object]) -> float:
    """The processor's time for one piece of work in this process, which other work disturbs less."""
    started = time.process_time()
    work()
    return time.process_time() - started


def ratio(ours: Callable[[], object], floor: Callable[[], object], rounds: int) -> float:
    """The median of our time over the floor's, measured in turn."""
    return statistics.median([(1 / seconds(floor)) * seconds(ours) for _ in range(rounds)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What a process used from start to end."""

    wall_s: float
    cpu_s: float
    """Of itself, without its children."""
    peak_mb: float
    """The largest memory of itself."""
    children_peak_mb: float
    """The largest memory of one of the processes below it."""


def assay(*arguments: object, watch_s: float = 0.05) -> Used:
    """Run one command of Assay, and watch what it and its workers use (Linux)."""
    command = [sys.executable, "-m", "assay", *map(str, arguments)]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    cpu_s, own, children = 0.0, 0.0, 0.0
    while process.poll() is None:
        cpu_s = max(cpu_s, _cpu_s(process.pid))
        own = max(own, _peak_mb(process.pid))
        children = max([children, *map(_peak_mb, descendants(process.pid))])
        time.sleep(watch_s)
    wall_s = time.perf_counter() - started
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return Used(wall_s=wall_s, cpu_s=cpu_s, peak_mb=own, children_peak_mb=children)


def _cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def descendants(parent: int) -> list[int]:
    """The ids of all processes below one, each before its own children (Linux)."""
    found: list[int] = []
    for path in sorted(Path(f"/proc/{parent}/task").glob("*/children")):
        with suppress(OSError):  # the thread has ended
            for number in map(int, path.read_text().split()):
                found += [number, *descendants(number)]
    return found


def own_peak_mb() -> float:
    """The most memory that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(measurement: Measurement, arguments: Sequence[str]) -> dict[str, Figure]:
    """Run a measurement in a process of its own. Raises NotHere with its reason."""
    command = [sys.executable, "-m", "benchmarks", measurement.name, "--here", *arguments]
    machine = _machine()  # before the measurement adds to the load
    # As an installation has it. Where Python may not keep bytecode, each process would compile every module.
    compileall.compile_dir(ROOT / "src", quiet=2)
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    told = json.loads(done.stdout.splitlines()[-1])
    if "not_here" in told:
        raise NotHere(told["not_here"])
    date = datetime.now(UTC).date().isoformat()
    return {name: Figure(value=value, date=date, machine=machine) for name, value in told.items()}


def _machine() -> str:
    """What it was measured on, and how busy that was: one process that waits for a core is a load of 1."""
    load = f", load {os.getloadavg()[0]:.0f}" if hasattr(os, "getloadavg") else ""
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}{load}"


def kept_figures() -> dict[str, Figure]:
    """The figures measured last."""
    if not RESULTS.exists():
        return {}
    return {name: Figure(**told) for name, told in json.loads(RESULTS.read_text(encoding="utf-8")).items()}


def keep_figures(figures: Mapping[str, Figure]) -> None:
    """Keep the figures for the page."""
    told = {name: asdict(figures[name]) for name in sorted(figures)}
    RESULTS.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
