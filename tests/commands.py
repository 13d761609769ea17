"""The command line in processes of its own, without input."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

_LIMIT_S = 600


def start(arguments: Sequence[str], *, env: Mapping[str, str], cwd: Path | None = None) -> Any:
    """Begin `assay` in a session of its own, with pipes of text."""
    return subprocess.Popen(
        [sys.executable, "-m", "assay", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
        env=env,
        cwd=cwd,
        start_new_session=True,
        preexec_fn=_on_one_core(),  # noqa: PLW1509 - it is one call of the system
    )


def run(
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `assay` to its end; what goes to no descriptor is captured."""
    done = subprocess.run(
        [sys.executable, "-m", "assay", *arguments],
        stdout=subprocess.PIPE if stdout is None else stdout,
        stderr=subprocess.PIPE if stderr is None else stderr,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
        env=env,
        cwd=cwd,
        timeout=_LIMIT_S,
        check=False,
        preexec_fn=_on_one_core(),
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout or "", done.stderr or "")


def program(folder: Path) -> Path:
    """A program ``assay`` in this folder, for the lines of a shell: this very interpreter's."""
    path = folder / "assay"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m assay "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path


def _on_one_core() -> Callable[[], None] | None:
    """Keeps a process on one core, where a command starts one worker unless it is told otherwise."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    cores = sorted(os.sched_getaffinity(0))
    number = int("0" + os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw"))
    return lambda: os.sched_setaffinity(0, [cores[number % len(cores)]])
