"""What a verb prints when it is done."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from assay import registry
from assay.api import Run
from assay.errors import InputError, UsageError

STANDARD_OUTPUT: Final = Path("-")
"""In place of a file's name."""


def show(run: Run, *, as_json: bool, folder: Path | None, written: Mapping[str, Path] | None = None) -> None:
    """The summary for a person, or the numbers for a machine, on standard output, unless a report stands there."""
    if STANDARD_OUTPUT in (written or {}).values():
        return
    if as_json:
        sys.stdout.buffer.write(registry.reporter("json").render(run.record))
        sys.stdout.buffer.write(b"\n")
        sys.stdout.buffer.flush()
        return
    from assay.reports.console import print_summary

    paths = {name: str(path) for name, path in (written or {}).items()}
    print_summary(run.record, run_path=str(folder) if folder is not None else None, written=paths)


def write_reports(run: Run, targets: Iterable[tuple[str, Path | None]]) -> dict[str, Path]:
    """Write each report that has a path, and return the paths by format.

    Raises InputError where a file cannot be written.
    """
    return {
        name: deliver(path, registry.reporter(name).render(run.record)) for name, path in targets if path is not None
    }


def deliver(path: Path, content: bytes) -> Path:
    """Write a report to a file, or to standard output for ``-``. Raises InputError where it cannot be written."""
    if path == STANDARD_OUTPUT:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise InputError(f"{path}: the report cannot be written there ({error.strerror})") from error
    return path


def check_one_printed(targets: Mapping[str, Path | None], *, as_json: bool = False) -> None:
    """Raise UsageError where standard output is to hold two things. ``targets`` has the paths by option."""
    options = [option for option, path in targets.items() if path == STANDARD_OUTPUT]
    options += ["--json"] if as_json and options else []
    if len(options) > 1:
        raise UsageError(f"{' and '.join(options)} would both be printed: give all but one of them a file")


def say_written(paths: Iterable[Path]) -> None:
    """Name the files: on standard error where a report is what was printed."""
    import typer

    paths = list(paths)
    for path in paths:
        if path != STANDARD_OUTPUT:
            typer.echo(f"wrote {path}", err=STANDARD_OUTPUT in paths)
