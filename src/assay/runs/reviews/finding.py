"""Where a run's reviews are, and the files that the run names by paths relative to the folder it was made in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.errors import InputError
from assay.model import RunSettings
from assay.runs.reviews.file import reviews_beside


def reviews_of_run(folder: Path, settings: RunSettings) -> Path:
    """The reviews of a run's question set: beside it, whether the file is there yet or not.

    Raises InputError if the question set cannot be found from here.
    """
    for base in bases(folder):
        cases = base / settings.cases
        if settings.cases and cases.exists():
            return reviews_beside(cases)
    raise InputError(
        f"{folder}: its question set {settings.cases!r} is not found from here, and reviews are kept beside it: "
        "name their file with --reviews FILE"
    )


def bases(folder: Path) -> Iterator[Path]:
    """The folders that a run's relative paths may start from: the current one, then those around the run."""
    yield Path()
    yield from folder.absolute().parents
