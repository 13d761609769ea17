"""Where a run's reviews are, and the files that the run names by paths relative to the folder it was made in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.model import Provenance, RunSettings
from assay.runs.reviews.file import reviews_beside


def reviews_file(folder: Path, settings: RunSettings, provenance: Provenance) -> Path | None:
    """Where the reviews of a stored run are, or will be: in the file that it was made with, or beside its question set.

    None: its question set is not found from here.
    """
    if provenance.reviews is not None and (named := folder / provenance.reviews).is_file():
        return named
    sets = (base / settings.cases for base in bases(folder)) if settings.cases else ()
    return next((reviews_beside(cases) for cases in sets if cases.exists()), None)


def bases(folder: Path) -> Iterator[Path]:
    """The folders that a run's relative paths may start from: the current one, then those around the run."""
    yield Path()
    yield from folder.absolute().parents
