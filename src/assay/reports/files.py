"""Write a report's file."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path


def replace_file(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: where the disk is full, the old file stays. Raises OSError.

    A link, a pipe or a device such as ``/dev/stdout`` is not replaced: its target is written to.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_bytes(content)
        return
    beside = path.with_name(f".{path.name[:100]}.{os.getpid()}.part")
    try:
        beside.write_bytes(content)
        if path.exists():
            shutil.copymode(path, beside)
        beside.replace(path)
    except PermissionError:  # of the folder: the file itself may still be writable
        if not path.exists():
            raise
        path.write_bytes(content)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
