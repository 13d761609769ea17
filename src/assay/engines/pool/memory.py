"""What a worker process may hold while one query runs, so that a bomb hits that query and nothing else.

An engine's own limit counts what goes through its buffers. A function that makes one text of two
gigabytes asks the allocator, and a driver makes a copy of it. So the process itself is capped while a
query runs: what asks for more is told that there is no memory, which engines and Python turn
into an error of that query. Linux only; elsewhere, and outside of workers, the calls do nothing.
"""

from __future__ import annotations

import contextlib
import os
import sys

SLACK_BYTES = 300 * 1024 * 1024
"""What a worker may hold beside the engine's memory and one result: interpreter, libraries, the driver's copies."""
_LEAST_SLACK_BYTES = 64 * 1024 * 1024
_LATER_BYTES = 96 * 1024 * 1024
"""Of libraries, what is read into memory only while queries run; the limit on data does not count it."""
_RESIDENT, _DATA = 1, 5
"""Columns of /proc/self/statm."""


class ProcessMemory:
    """The cap of this process. Made once the process has imported what it needs."""

    __slots__ = ("_descriptor", "_page", "_slack", "_start", "_usual")

    def __init__(self) -> None:
        import resource

        self._descriptor = os.open("/proc/self/statm", os.O_RDONLY)
        self._page = resource.getpagesize()
        self._usual = resource.getrlimit(resource.RLIMIT_DATA)
        self._start = self._read(_DATA)
        self._slack = max(_LEAST_SLACK_BYTES, SLACK_BYTES - self._read(_RESIDENT) - _LATER_BYTES)

    def grown(self) -> int:
        """Bytes that were allocated since the start, or since `settle`."""
        return self._read(_DATA) - self._start

    def settle(self, held: int) -> None:
        """Give freed memory back, and take what is left beside ``held`` bytes of results for the new start."""
        import ctypes

        with contextlib.suppress(OSError, AttributeError):  # another C library than GNU's
            ctypes.CDLL(None).malloc_trim(0)
        self._start = max(self._start, self._read(_DATA) - held)

    def begin(self, budget: int) -> None:
        """From now on the process may hold so many bytes more than at the start, and the slack."""
        self._limit(self._start + budget + self._slack)

    def end(self) -> None:
        """The cap of the whole process counts again."""
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, self._usual)

    def _limit(self, wanted: int) -> None:
        import resource

        usual, hard = self._usual
        if usual != resource.RLIM_INFINITY:
            wanted = min(wanted, usual)
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))

    def _read(self, column: int) -> int:
        return int(os.pread(self._descriptor, 256, 0).split()[column]) * self._page


_current: ProcessMemory | None = None


def install() -> None:
    """Cap this process from now on while a query runs. A worker calls it once, when it is set up."""
    global _current  # noqa: PLW0603 - one process has one cap
    if sys.platform.startswith("linux"):
        _current = ProcessMemory()


def current() -> ProcessMemory | None:
    """This process's cap; None where it has none."""
    return _current
