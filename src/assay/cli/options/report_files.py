"""The files of reports, checked before any work is done: a mistake in a name should not cost an hour's run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from assay.errors import UsageError

if TYPE_CHECKING:
    from assay.settings import Settings

_SUFFIXES: Final[Mapping[str, tuple[str, ...]]] = {
    "html": (".html", ".htm", ".xhtml"),
    "md": (".md", ".markdown", ".txt"),
    "xlsx": (".xlsx",),
    "json": (".json",),
    "junit": (".xml",),
    "sarif": (".sarif", ".json"),
    "csv": (".csv", ".txt"),
    "tex": (".tex", ".txt"),
    "test": (".py",),
}
"""The suffixes of each format, the usual one first. A name without a suffix, or with an unknown one, is accepted."""
_FLAGS: Final[Mapping[str, str]] = {"tex": "--latex"}
_WITH_OPTION: Final = ("html", "md", "xlsx", "junit", "json", "sarif", "csv", "tex", "test")
"""The formats that have an option of their own; others are written by ``--report NAME=FILE``."""
_OTHERS: Final = (".xls", ".xlsm", ".ods", ".pdf", ".docx", ".doc", ".png", ".svg", ".yaml", ".yml", ".parquet", ".zip")
_OTHERS_OF_DATA: Final = (".jsonl", ".ndjson", ".tsv", ".sql", ".sqlite", ".db", ".duckdb")
_KNOWN: Final = {suffix for suffixes in _SUFFIXES.values() for suffix in suffixes} | {*_OTHERS, *_OTHERS_OF_DATA}


def option_of(name: str, file: Path | str, flags: Mapping[str, str] = _FLAGS) -> str:
    """The option that writes a format into a file, as one types it."""
    known = name in _WITH_OPTION or name in flags
    return f"{flags.get(name, f'--{name}')} {file}" if known else f"--report {name}={file}"


def check_files(
    targets: Mapping[str, Path], flags: Mapping[str, str] = _FLAGS, *, settings: Settings | None = None
) -> None:
    """Raise UsageError for a folder, a suffix of another format, one file for two reports, and an unwritable place.

    Nor may a report replace a file of a run's own, or one that is read by ``settings``. ``flags``: the options of the
    verb, if they are not called as the formats are.
    """
    for name, path in targets.items():
        if what := _replaced(path, settings):
            raise UsageError(f"{option_of(name, path, flags)} would replace {what}. Name another file")
        _check(name, path, flags)
    for name, path in targets.items():
        other = next(one for one, its in targets.items() if _same(its, path))
        if other != name:
            both = f"{option_of(other, targets[other], flags)} and {option_of(name, path, flags)}"
            raise UsageError(f"{both} name one file: give each report its own")


def _replaced(path: Path, settings: Settings | None) -> str:
    """What would be lost if the file were written: what the run needs, or what it reads. Empty if nothing."""
    from assay.reports.files import belongs_to_run
    from assay.runs.store.folder import RUN_FILES

    folder = None if settings is None else settings.output
    if belongs_to_run(path) or (folder and path.name in RUN_FILES and _same(Path(folder), path.parent)):
        return "a file of the run itself"
    read = {} if settings is None else {"questions": settings.cases, "predictions": settings.predictions}
    return next((f"the {name}" for name, file in read.items() if file and _same(Path(file), path)), "")


def _check(name: str, path: Path, flags: Mapping[str, str]) -> None:
    own = _SUFFIXES.get(name, ())
    suffix = path.suffix.lower()
    if path.is_dir():
        example = path / f"report{own[0] if own else ''}"
        raise UsageError(
            f"{option_of(name, path, flags)}: this is a folder. "
            f"Name a file in it, e.g. {option_of(name, example, flags)}"
        )
    if own and suffix in _KNOWN and suffix not in own:
        raise UsageError(
            f"{option_of(name, path, flags)}: {suffix} is not a suffix of this format. "
            f"Write {option_of(name, path.with_suffix(own[0]), flags)}{_other_option(name, path, suffix, flags)}"
        )
    nearest = next((folder for folder in path.absolute().parents if folder.exists()), None)
    if nearest is not None and not nearest.is_dir():
        raise UsageError(f"{option_of(name, path, flags)}: {nearest} is a file, not a folder. Name another place")
    if nearest is not None and not os.access(path if path.exists() else nearest, os.W_OK):
        raise UsageError(f"{option_of(name, path, flags)}: no permission to write there. Name another place")


def _other_option(name: str, path: Path, suffix: str, flags: Mapping[str, str]) -> str:
    other = next((one for one, suffixes in _SUFFIXES.items() if suffixes[0] == suffix), None)
    shown = other in ("html", "md", "xlsx", "junit", "json") and name in ("html", "md", "xlsx", "junit", "json")
    return f", or {option_of(other, path, flags)}" if other is not None and shown else ""


def _same(one: Path, other: Path) -> bool:
    return one == other or os.path.realpath(one) == os.path.realpath(other)
