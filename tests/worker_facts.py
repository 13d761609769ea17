"""What a worker finds around it."""

from __future__ import annotations

import codecs
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path


def set_up(argument: object) -> Callable[[object], object]:
    """A worker's function that tells it."""
    return facts


def facts(payload: object) -> dict[str, object]:
    """By name, as it can be compared."""
    mask = os.umask(0)
    os.umask(mask)
    return {
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "path": list(sys.path),
        "arguments": list(sys.argv),
        "mask": mask,
        "cores": os.sched_getaffinity(0),
        "Ctrl-C": signal.getsignal(signal.SIGINT) is signal.SIG_IGN,
        "collects garbage": gc.isenabled(),
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "open files": sorted(_kind(file) for file in Path("/proc/self/fd").iterdir()),
        "streams": [codecs.lookup(stream.encoding).name for stream in (sys.stdin, sys.stdout, sys.stderr)],
    }


def _kind(file: Path) -> str:
    try:
        kind = str(file.readlink()).partition(":")[0]
    except OSError:
        return "the listing's own"
    return "its map" if kind.endswith(".heartbeat (deleted)") else kind
