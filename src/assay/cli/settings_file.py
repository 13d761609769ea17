"""A settings file with the options that were typed over it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import CaseFileError, InputError
from assay.settings import RunFileSettings, is_run_file, place_of, read_run_file

if TYPE_CHECKING:
    from assay import registry


def with_file(path: Path, flags: RunFileSettings) -> RunFileSettings:
    """The settings of a file, overridden by the flags; the flags alone where the path is a question set.

    Raises CaseFileError with line and column for what cannot be used of the file, names that nothing has included.
    """
    if not is_run_file(path):
        return flags
    own = read_run_file(path)

    for place, name in enumerate(own.metrics or () if flags.metrics is None else ()):
        _check(path, "assay.metrics", name, "metrics", place)
    for setting in ("case_format", "prediction_format"):
        if getattr(flags, setting) is None and (name := getattr(own, setting)) is not None:
            _check(path, "assay.cases", name, setting)
    return own.overlaid(flags)


def _check(path: Path, group: registry.Group, name: str, *trail: str | int) -> None:
    from assay import registry

    try:
        registry.find(group, name)
    except InputError as error:
        raise CaseFileError(str(error), path=str(path), place=place_of(path, *trail)) from None
