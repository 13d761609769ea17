"""Runs of the command line that faults are brought upon, and what became of their cases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import commands
from assay import load_run
from process_tree import descendants

SERVER_SCRIPT = "CREATE TABLE t(a INTEGER PRIMARY KEY, b VARCHAR(10))"
ROWS = 400
"""At least as many as the largest run has cases, so that each query gives something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one fault came to. Survived and explained make up what was tried, unless some were lost."""

    fault: str
    faults: int
    """How often it struck."""
    tried: int
    """Cases of the run."""
    survived: int
    """Judged as without the fault."""
    explained: int
    """Judged otherwise, or unscored, with a reason that names what happened."""

    @property
    def lost(self) -> int:
        """Cases that are absent, judged wrongly without such a reason, or done and then done again."""
        return self.tried - self.survived - self.explained


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A run of many cases of about 10 to 30 ms: the answers to two in three are right."""

    folder: Path
    url: str
    count: int
    timeout_s: float = 10.0

    @property
    def run(self) -> Path:
        """Where the run goes, unless told otherwise."""
        return self.folder / "run"

    @property
    def journal(self) -> Path:
        """Its journal."""
        return self.run / "journal.jsonl"

    def arguments(self, *, run: Path | None = None) -> list[str]:
        """Those of the command that makes the run, and that goes on with it."""
        return [
            *("run", str(self.folder / "cases.jsonl")),
            *("-p", str(self.folder / "answers.jsonl"), "--db", self.url, "-o", str(run or self.run)),
            *("--metrics", "match", "--workers", "2", "--timeout", str(self.timeout_s)),
        ]

    def start(self) -> Any:
        """Begin it, with workers that are its own processes."""
        return commands.start(self.arguments(), env=os.environ)

    def again(self, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run it to its end; with options of `subprocess.run`'s, if any."""
        if not options:
            return commands.run(self.arguments(), env=os.environ)
        return subprocess.run(
            [sys.executable, "-m", "assay", *self.arguments()],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=280,
            check=False,
            **options,
        )

    def lines(self) -> list[bytes]:
        """The whole lines of its journal."""
        if not self.journal.exists():
            return []
        return [line for line in self.journal.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]

    def wait_for(self, process: subprocess.Popen[str], count: int) -> None:
        """Wait until so many cases are finished, or the run is."""
        until = time.monotonic() + 300
        while len(self.lines()) < count and process.poll() is None:
            assert time.monotonic() < until, f"{count} cases were not finished within 300 s"
            time.sleep(0.005)

    def figures(
        self,
        fault: str,
        faults: int,
        done: subprocess.CompletedProcess[str],
        reasons: tuple[str, ...],
        outcomes: tuple[str, ...] = ("unscored",),
    ) -> Figures:
        """Hold the finished run against what it must be. ``reasons`` and ``outcomes``: how another verdict may read."""
        if done.returncode or "Traceback" in done.stderr:
            raise AssertionError(f"{fault}: exit status {done.returncode}: {done.stderr}")
        run = load_run(self.run)
        digests = [json.loads(line)["digest"] for line in self.lines()]
        repeated = len(digests) - len(set(digests))
        survived = explained = 0
        for evidence in run.evidence:
            if evidence.outcome == expected(int(evidence.case.id)):
                survived += 1
            elif evidence.outcome in outcomes and any(reason in evidence.verdict.reason for reason in reasons):
                explained += 1
            else:
                print(f"lost: {evidence.case.id}: {evidence.verdict}", file=sys.stderr)
        assert len(run.evidence) == self.count
        return Figures(fault=fault, faults=faults, tried=self.count, survived=survived - repeated, explained=explained)


def expected(number: int) -> str:
    """The verdict of a case that nothing disturbs."""
    return "incorrect" if number % 3 == 0 else "correct"


def make_job(
    folder: Path,
    url: str,
    *,
    count: int = 150,
    cross: str = "t x, t y",
    timeout_s: float = 10.0,
    gold: str | None = None,
) -> Job:
    """Write a question set and answers for a database that has the table t. ``gold``: that of every case."""
    folder.mkdir(parents=True, exist_ok=True)
    slow = f"(SELECT count(*) FROM {cross} WHERE x.a + y.a > {{i}}) > 0"
    cases = [
        {"id": str(i), "question": f"q{i}", "gold_sql": gold or f"SELECT a, b FROM t WHERE a <= {i + 1}"}
        for i in range(count)
    ]
    answers = []
    for i in range(count):
        most = (i + 1 if gold is None else 1) - (i % 3 == 0)
        query = f"SELECT b, a FROM t WHERE a <= {most} AND {slow.format(i=i)}"
        answers.append({"id": str(i), "predicted_sql": query})
    for name, rows in (("cases", cases), ("answers", answers)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return Job(folder=folder, url=url, count=count, timeout_s=timeout_s)


def insert() -> str:
    """The rows of the table t."""
    return f"INSERT INTO t VALUES {', '.join(str((i, f'x{i}')) for i in range(1, ROWS + 1))}"


def disturb(
    job: Job, strike: Callable[[subprocess.Popen[str]], object], at: list[int]
) -> subprocess.CompletedProcess[str]:
    """Run it, and strike whenever so many cases are finished."""
    process = job.start()
    try:
        for count in at:
            job.wait_for(process, count)
            strike(process)
        out, errors = process.communicate(timeout=280)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    return subprocess.CompletedProcess(job.arguments(), process.returncode, out, errors)


def workers(process: subprocess.Popen[str], database: Path) -> list[int]:
    """The process ids of a run's workers that have opened the database: the others are starting. Linux only."""
    found = []
    for number in descendants(process.pid):
        with suppress(OSError):
            if any(os.readlink(file) == str(database.resolve()) for file in Path(f"/proc/{number}/fd").iterdir()):
                found.append(number)
    return found
