"""What a node's workers run in a test. They import it by the path that the parent sends along."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import Any


def meeting(_argument: object) -> Callable[[Any], bytes]:
    """Tasks are ``(folder, together)``: each ends once so many processes have begun one."""
    return lambda payload: _meet(*payload)


def _meet(folder: Path, together: int) -> bytes:
    (folder / f"{os.getpid()}").touch()
    until = monotonic() + 300
    while len(os.listdir(folder)) < together and monotonic() < until:
        sleep(0.01)
    return b"met"
