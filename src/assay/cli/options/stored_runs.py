"""Stored runs as arguments: their folders, or by mistake the run.json in one, or the same run twice."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from assay.errors import UsageError


class StoredRun(Struct, frozen=True):
    """Marks a parameter that names runs by their folders: the verb gets the folder also for its run.json."""


A_RUN: Final = StoredRun()


def run_folders(given: Any) -> Any:
    """The folders of runs, as paths or texts, one or several; anything else unchanged."""
    from assay.runs.store.folder import run_folder

    if isinstance(given, list):
        return [run_folders(one) for one in given]
    if given is None or (folder := run_folder(Path(given))) == Path(given):
        return given
    return type(given)(folder)


def is_run(folder: Path) -> bool:
    """Whether a path is the folder of a run."""
    from assay.runs.store.folder import RUN_FILE

    return os.path.isfile(folder / RUN_FILE)


def check_different(runs: Sequence[Path]) -> None:
    """Raise UsageError for a run that is named twice, also through a link or another spelling of its path."""
    seen: dict[str, Path] = {}
    for run in runs:
        other = seen.setdefault(os.path.realpath(run), run)
        if other is not run:
            spelled = f"{run} twice" if str(other) == str(run) else f"{other} and {run}"
            raise UsageError(f"{spelled}: this is one run, which cannot be compared with itself. Name another run")
