"""The command line, without input: in processes of its own, or in this one where nothing depends on that."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.cli.app import run_command_line

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


def here(
    arguments: Sequence[str], *, env: Mapping[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `assay` to its end in this process, which has imported it already; what is written is captured."""
    written = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    with (
        pytest.MonkeyPatch.context() as patch,
        open(os.devnull, encoding="utf-8") as nothing,
        warnings.catch_warnings(),
    ):
        warnings.resetwarnings()
        for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)  # as Python does
        for name in os.environ.keys() - env.keys():
            patch.delenv(name)
        for name, value in env.items():
            patch.setenv(name, value)
        if cwd is not None:
            patch.chdir(cwd)
        for name, stream in zip(("stdin", "stdout", "stderr"), (nothing, *written), strict=True):
            patch.setattr(sys, name, stream)
        if on_one_core := _on_one_core():
            on_one_core()
        try:
            status = run_command_line(arguments)
        finally:
            if cores is not None:
                os.sched_setaffinity(0, cores)
    out, errors = (one.buffer.getvalue().decode("utf-8") for one in written)  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(list(arguments), status, out, errors)


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
