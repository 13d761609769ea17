"""Write a report's file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

from assay.errors import UsageError


def replace_file(path: Path, content: bytes | Iterable[bytes], *, mode: int | None = None) -> None:
    """Write a file whole or not at all: if the disk is full, the old file stays. Raises OSError.

    ``content`` is the whole or its pieces, which are written as they are made. A link, a pipe or a device (for example
    ``/dev/stdout``) is not replaced: its target is written to. ``mode``: the file's permissions from before its first
    byte on; None: those of the file that is replaced. Raises UsageError for a file of a run's own.
    """
    if belongs_to_run(path):
        raise UsageError(f"{path} belongs to the run in this folder: give the report another name")
    pieces = [content] if isinstance(content, bytes) else content
    if path.is_symlink() or (path.exists() and not path.is_file()):
        _write(path, pieces, mode)
        return
    beside = path.with_name(f".{path.name[:100]}.{os.getpid()}.part")
    try:
        file = _opened(beside, mode)
    except PermissionError:  # of the folder: the file itself may still be writable
        if not path.exists():
            raise
        _write(path, pieces, mode)
        return
    try:
        with file:
            file.writelines(pieces)
        if path.exists() and mode is None:
            shutil.copymode(path, beside)
        _replace(path, beside)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def belongs_to_run(path: Path) -> bool:
    """Whether a stored run needs the file: without it the run is lost."""
    from assay.runs.store.folder import RUN_FILE, RUN_FILES

    path = path.resolve()
    return path.name in RUN_FILES and (path.parent / RUN_FILE).exists()


def _replace(path: Path, beside: Path) -> None:
    try:
        beside.replace(path)
    except PermissionError:  # of the folder, or of another's file in it: the file itself may still be writable
        if not path.exists():
            raise
        shutil.copyfile(beside, path)
        beside.unlink()


def _write(path: Path, pieces: Iterable[bytes], mode: int | None) -> None:
    with _opened(path, mode) as file:
        file.writelines(pieces)


def _opened(path: Path, mode: int | None) -> BinaryIO:
    """The file, open and empty; with ``mode`` no other user can open it before it has these permissions."""
    if mode is None:
        return path.open("wb")
    file = open(path, "wb", opener=partial(os.open, mode=mode))  # noqa: SIM115 - the caller closes it
    path.chmod(mode)  # of a file that was there
    return file
