"""Thousands of mixed cases with faults, in one process: at its end it holds what it held at its start.

In each round a run of 200 cases on SQLite and DuckDB: right and wrong answers, errors, refused writes, results beyond
a cap, queries without an end, golds that fail, an unreadable database, a damaged cache. Now and then a worker is killed
in the middle, or the run is interrupted.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import duckdb

import assay
from assay.model import Limits, Run
from benchmarks.frame import Setup, descendants
from benchmarks.measurements.spider import evaluated, inputs_of

_ROUND = 200
_CASES = 20_000
_BUSY, _BUSY_RUNS, _BUSY_S = 8, 3, 600
_LIMITS = Limits(timeout_s=0.5, max_rows=1000, max_result_bytes=4 * 1024 * 1024, comparison_timeout_s=5)
_ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
_QUERIES = (
    "SELECT id, name FROM t",
    "SELECT name, id FROM t ORDER BY id DESC",
    "SELECT count(*) FROM t WHERE id > {n}",
    "SELECT name FROM t ORDER BY id % 2 LIMIT 3",
    "SELECT sum(id * {n}) FROM t",
    "SELECT nothing FROM t",
    "SELEC {n}",
    "DELETE FROM t",
    "SELECT a.id FROM t a, t b, t c",
    "SELECT 'x{n}' || name FROM t",
    "",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What this process holds."""

    handles: int
    processes: int
    threads: int
    temporary_files: int
    memory_mb: float

    @classmethod
    def now(cls) -> Held:
        """Counted now (Linux)."""
        gc.collect()
        status = Path("/proc/self/status").read_text().splitlines()
        return cls(
            handles=len(os.listdir("/proc/self/fd")),
            processes=len(descendants(os.getpid())),
            threads=threading.active_count(),
            temporary_files=len(os.listdir(tempfile.gettempdir())),
            memory_mb=next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS")),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Soaked:
    """What was held after a first round and after the last, and what was done in between."""

    before: Held
    after: Held
    cases: int
    killed: int
    interrupted: int

    @property
    def grown(self) -> dict[str, float]:
        """How much more is held at the end, by name."""
        names = [field.name for field in fields(Held)]
        return {name: getattr(self.after, name) - getattr(self.before, name) for name in names}


def soak(cases: int, *, seed: int = 5) -> Soaked:
    """Judge at least so many cases, with faults. What the first rounds hold (imports, pools) is the measure."""
    chance = random.Random(seed)
    done = killed = interrupted = 0
    with tempfile.TemporaryDirectory(prefix="soak-") as name, _temporary_files_in(Path(name, "tmp")):
        folder = Path(name)
        _make_databases(folder)
        for number in range(2):
            done += len(_round(folder, number, chance, None)[0])
        before = Held.now()
        done = 0
        while done < cases:
            number += 1
            fault = chance.choice((None, "kill", "interrupt", "damage"))
            outcomes, struck = _round(folder, number, chance, fault)
            killed += struck and fault == "kill"
            interrupted += struck and fault == "interrupt"
            done += _ROUND if fault == "interrupt" else len(outcomes)
        after = Held.now()
    return Soaked(before=before, after=after, cases=done, killed=killed, interrupted=interrupted)


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """Temporary files of this process and its workers go there."""
    before = os.environ.get("TMPDIR")
    folder.mkdir()
    os.environ["TMPDIR"], tempfile.tempdir = str(folder), None
    try:
        yield
    finally:
        os.environ.pop("TMPDIR")
        if before is not None:
            os.environ["TMPDIR"] = before
        tempfile.tempdir = None


def _make_databases(folder: Path) -> None:
    rows = "SELECT range AS id, 'name ' || range AS name FROM range(120)"
    with duckdb.connect(str(folder / "b.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t AS {rows}")
        found = connection.execute(rows).fetchall()
    with closing(sqlite3.connect(folder / "a.sqlite")) as writer:
        writer.execute("CREATE TABLE t(id INTEGER, name TEXT)")
        writer.executemany("INSERT INTO t VALUES (?, ?)", found)
        writer.commit()
    (folder / "c.sqlite").write_bytes(b"SQLite format 3\0" + bytes(4000))  # begins like one, and is none


def _round(folder: Path, number: int, chance: random.Random, fault: str | None) -> tuple[list[str], bool]:
    """One run: its outcomes, and whether its fault was struck."""
    names = chance.choices("abc", weights=(10, 5, 1), k=_ROUND)
    queries = [(_query(chance), _query(chance)) for _ in names]
    for place in chance.sample(range(_ROUND), 2):
        queries[place] = (queries[place][0], _ENDLESS)
    cases = [
        {"id": str(place), "question": "?", "db_id": database, "gold_sql": gold or "SELECT 1"}
        for place, (database, (gold, _)) in enumerate(zip(names, queries, strict=True))
    ]
    cache = folder / "cache"
    if fault == "damage":
        for path in [path for path in cache.rglob("*") if path.is_file()][::3]:
            path.write_bytes(path.read_bytes()[: chance.randrange(60)])
    struck = False

    def on_progress(progress: Any) -> None:
        nonlocal struck
        if progress.finished < _ROUND // 3 or struck or fault not in ("kill", "interrupt"):
            return
        struck = True
        if fault == "interrupt":
            raise KeyboardInterrupt
        if below := descendants(os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(chance.choice(below), signal.SIGKILL)

    with suppress(KeyboardInterrupt):
        run = assay.evaluate(
            cases,
            {str(place): predicted for place, (_, predicted) in enumerate(queries)},
            databases={name: f"{kind}:///{folder / name}.{kind}" for name, kind in zip("abc", _KINDS, strict=True)},
            limits=_LIMITS,
            workers=2,
            cache=cache,
            cache_bytes=1_000_000,
            output=folder / f"run{number}" if chance.random() < 0.3 else None,
            on_progress=on_progress,
        )
        return [item.outcome for item in run.record.evidence], struck
    return [], struck


_KINDS = ("sqlite", "duckdb", "sqlite")


def _query(chance: random.Random) -> str:
    return chance.choice(_QUERIES).format(n=chance.randrange(500))


def full(_: Setup) -> dict[str, float]:
    """20,000 cases."""
    soaked = soak(_CASES)
    return {f"soak.{name}": value for name, value in soaked.grown.items()} | {
        "soak.killed": soaked.killed,
        "soak.interrupted": soaked.interrupted,
    }


def beside_busy_processes(setup: Setup) -> dict[str, float]:
    """Spider's development set three times beside eight processes that never rest: what differs from a quiet run."""
    inputs, works = inputs_of(setup)
    quiet = _said(evaluated(inputs, works, setup.workers)[0])
    differ = 0
    with ExitStack() as started:
        for _ in range(_BUSY):
            # Each ends by itself, whatever happens to this process.
            code = f"import time; end = time.monotonic() + {_BUSY_S}\nwhile time.monotonic() < end: pass"
            process = started.enter_context(subprocess.Popen([sys.executable, "-c", code]))
            started.callback(process.kill)
        for _ in range(_BUSY_RUNS):
            said = _said(evaluated(inputs, works, setup.workers)[0])
            differ += sum(one != other for one, other in zip(said, quiet, strict=True))
    return {"busy.differ": differ}


def _said(run: Run) -> list[object]:
    return [(item.verdict, [score.value for score in item.scores], item.cause) for item in run.evidence]
