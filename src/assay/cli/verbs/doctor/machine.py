"""What the machine has, and which limits hold on it: each is run into by a query of ours, in a worker as in a run."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final

from msgspec import Struct

from assay.cli.verbs.doctor.facts import Machine, Protection
from assay.errors import AssayError
from assay.model import Case, Evidence, Limits, Prediction
from assay.platform.safeguards import protections as operating_system

_SHORT_S: Final = 0.5
"""For the query that never ends."""
_LONG_S: Final = 30.0
"""For the others, which are refused or fail at once: on a busy machine none must be taken for late."""
_MEMORY_BYTES: Final = 256 * 1024 * 1024


class _Trial(Struct, frozen=True, kw_only=True):
    """A query that must not do what it asks for."""

    name: str
    query: str
    kinds: tuple[str, ...]
    """The failures that show that the limit holds."""
    what: str
    timeout_s: float = _LONG_S


def machine() -> Machine:
    """What it has for queries."""
    folder = tempfile.gettempdir()
    # All of the machine's, or of the container that this is; None if it cannot be told.
    found: list[int] = []
    with suppress(OSError, ValueError, AttributeError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # "max" is no number
            found.append(int(Path(path).read_text(encoding="ascii")))
    return Machine(
        python=f"{platform.python_version()} ({sys.executable})",
        platform=platform.platform(terse=True),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_bytes=min(found) if found else None,
        temporary_folder=folder,
        temporary_bytes=shutil.disk_usage(folder).free,
    )


def lent() -> tuple[Protection, ...]:
    """What the operating system provides for a run, and what may happen without it."""
    return tuple(
        Protection(name=one.name, holds=one.holds, tried=one.does if one.holds else one.without)
        for one in operating_system()
    )


def protections() -> tuple[Protection, ...]:
    """The limits that queries are held by, each tried."""
    with tempfile.TemporaryDirectory(prefix="assay-doctor-") as work:
        secret = Path(work) / "secret.csv"
        secret.write_text("a\n1\n", encoding="ascii")
        trials = (
            _Trial(
                name="time",
                query="WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
                kinds=("timeout",),
                what="a query that never ends",
                timeout_s=_SHORT_S,
            ),
            _Trial(
                name="memory",
                query="SELECT length(printf('%2000000000d', 1))",
                kinds=("out_of_memory",),
                what="a text of 2 GB in one call",
            ),
            _Trial(
                name="writing",
                query="CREATE TABLE harm AS SELECT 1 AS one",
                kinds=("writes", "refused"),
                what="a statement that writes",
            ),
            _Trial(
                name="files",
                query=f"SELECT * FROM read_csv('{secret.as_posix()}')",
                kinds=("refused", "error", "writes"),
                what="a query that reads another file",
            ),
        )
        try:
            found = [_tried(trials[:1]), _tried(trials[1:])]
        except (AssayError, OSError) as error:
            return (Protection(name="workers", holds=False, tried=f"no query could be executed: {error}"),)
        return tuple(map(_protection, trials, chain(*found)))


def _tried(trials: tuple[_Trial, ...]) -> list[Evidence]:
    """What became of trials of one time limit."""
    from assay.api.evaluation import evaluate

    run = evaluate(
        [Case(id=trial.name, question=trial.what, golds=("SELECT 1",), database=None) for trial in trials],
        [Prediction(case_id=trial.name, query=trial.query) for trial in trials],
        databases="duckdb:///:memory:",
        metrics=["match"],
        limits=Limits(
            timeout_s=trials[0].timeout_s,
            gold_timeout_s=_LONG_S,
            max_memory_bytes=_MEMORY_BYTES,
            max_result_bytes=_MEMORY_BYTES,
        ),
        workers=1,
    )
    return list(run.evidence)


def _protection(trial: _Trial, evidence: Evidence) -> Protection:
    failure = evidence.verdict.failure
    if failure is None:
        return Protection(name=trial.name, holds=False, tried=f"{trial.what} was let through")
    if failure.kind not in trial.kinds:
        return Protection(name=trial.name, holds=False, tried=f"{trial.what}: {failure.message}")
    return Protection(name=trial.name, holds=True, tried=f"{trial.what} was stopped: {failure.message}")
