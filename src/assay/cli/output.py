"""What a verb prints when it is done."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from assay import registry
from assay.api import Run
from assay.errors import InputError


def show(run: Run, *, as_json: bool, folder: Path | None, written: Mapping[str, Path] | None = None) -> None:
    """The summary for a person, or the numbers for a machine, on standard output."""
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
    written: dict[str, Path] = {}
    for name, path in targets:
        if path is None:
            continue
        content = registry.reporter(name).render(run.record)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError as error:
            raise InputError(f"{path}: the report cannot be written there ({error.strerror})") from error
        written[name] = path
    return written
