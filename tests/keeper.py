"""What a test server leaves is taken away when its tests end, however they end.

The keeper is a process that waits at a pipe from the tests. The pipe closes when the keeper is closed, and as well when
the process of the tests is killed: then the keeper ends what runs in the server's folder and removes that.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_WAIT_S = 280

_PROGRAM = """
import os, pathlib, shutil, signal, sys, time

folder = sys.argv[1]
sys.stdin.read()


def running():  # each names its folder in its command; where there is no /proc, only an orderly end ends the server
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if int(place.name) != os.getpid() and os.fsencode(folder) in (place / "cmdline").read_bytes():
                yield int(place.name)
        except OSError:
            continue


until = time.monotonic() + 240
while (pids := list(running())) and time.monotonic() < until:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    time.sleep(0.05)
shutil.rmtree(folder, ignore_errors=True)
"""


class Keeper:
    """Watches one server, whose command line names a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt at the terminal is the tests' alone
            cwd="/",
        )

    def close(self) -> None:
        """End what is left of the server, remove its folder, and return when both are done."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=_WAIT_S)
