"""Write a report's file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def replace_file(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file whole or not at all: where the disk is full, the old file stays. Raises OSError.

    ``content`` is the whole or its pieces, which are written as they are made. A link, a pipe or a device such as
    ``/dev/stdout`` is not replaced: its target is written to.
    """
    pieces = [content] if isinstance(content, bytes) else content
    if path.is_symlink() or (path.exists() and not path.is_file()):
        _write(path, pieces)
        return
    beside = path.with_name(f".{path.name[:100]}.{os.getpid()}.part")
    try:
        file = beside.open("wb")
    except PermissionError:  # of the folder: the file itself may still be writable
        if not path.exists():
            raise
        _write(path, pieces)
        return
    try:
        with file:
            file.writelines(pieces)
        if path.exists():
            shutil.copymode(path, beside)
        _replace(path, beside)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def _replace(path: Path, beside: Path) -> None:
    try:
        beside.replace(path)
    except PermissionError:  # of the folder, or of another's file in it: the file itself may still be writable
        if not path.exists():
            raise
        shutil.copyfile(beside, path)
        beside.unlink()


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        file.writelines(pieces)
