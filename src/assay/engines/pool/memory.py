"""What a worker process may hold while one query runs, so that a bomb hits that query and nothing else.

An engine's own limit counts what goes through its buffers. A function that makes one text of two
gigabytes asks the allocator, and a driver makes a copy of it. So the process itself is capped while a
query runs: what asks for more is told that there is no memory, which engines and Python turn
into an error of that query. Linux only; elsewhere, and outside of workers, the calls do nothing.

What a query leaves behind takes from the next one's room. So allocators are told to give it back
(`environment`), and a process that keeps much all the same is replaced after its task (`ProcessMemory.rest`).
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from time import monotonic

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

SLACK_BYTES = 300 * 1024 * 1024
"""What a worker may hold beside the engine's memory and one result: interpreter, libraries, the driver's copies."""
_LEAST_SLACK_BYTES = 64 * 1024 * 1024
_LATER_BYTES = 96 * 1024 * 1024
"""Of libraries, what is read into memory only while queries run; the limit on data does not count it."""
_MOST_LEFT_BYTES = 64 * 1024 * 1024
"""What a process may keep of finished tasks, beside results, without being replaced."""
_C_ARENAS = "MALLOC_ARENA_MAX"
_DUCKDB_ALLOCATOR = "DUCKDB_JE_MALLOC_CONF"
_GIVE_BACK = "retain:false"
_MOMENT_S = 0.005
_RESIDENT, _DATA = 1, 5
"""Columns of /proc/self/statm."""


def environment() -> dict[str, str]:
    """This process's environment as workers get it: what their allocators hold free they give back to the system.

    DuckDB's (jemalloc) else keeps the addresses of all that it ever held, and the C library's makes one arena after
    another where memory is short. A limit on memory has to count both, as they can be filled again, so that each
    bomb would take from what the queries after it may have.
    """
    found = dict(os.environ)
    found[_C_ARENAS] = "1"
    given = found.get(_DUCKDB_ALLOCATOR)
    found[_DUCKDB_ALLOCATOR] = f"{given},{_GIVE_BACK}" if given else _GIVE_BACK
    return found


class ProcessMemory:
    """The cap of this process. Made once the process has imported what it needs."""

    __slots__ = ("_descriptor", "_first", "_page", "_seen", "_seen_at", "_slack", "_start", "_usual", "at_rest")

    def __init__(self) -> None:
        self.at_rest: Callable[[], object] | None = None
        """Called by `rest`, for whoever knows what is still needed: it calls `settle` where much is held."""
        self._descriptor = os.open("/proc/self/statm", os.O_RDONLY)
        self._page = resource.getpagesize()
        self._usual = resource.getrlimit(resource.RLIMIT_DATA)
        self._first = self._start = self._seen = self._read(_DATA)
        self._seen_at = monotonic()
        self._slack = max(_LEAST_SLACK_BYTES, SLACK_BYTES - self._read(_RESIDENT) - _LATER_BYTES)

    def grown(self) -> int:
        """Bytes that were allocated since the start, or since `settle`, as of a moment ago.

        To ask the system takes as long as many a query, and what takes no longer cannot fill much.
        """
        now = monotonic()
        if now - self._seen_at > _MOMENT_S:
            self._seen, self._seen_at = self._read(_DATA), now
        return self._seen - self._start

    def is_cramped(self, held: int) -> bool:
        """Whether so much is left, beside ``held`` bytes of results, that a query has less room than it may have."""
        return self.grown() > held + self._slack // 2

    def settle(self, held: int) -> None:
        """Give freed memory back, and take what is left beside ``held`` bytes of results for the new start.

        No query fails for want of what an earlier one of its task left behind; after the task, see `rest`.
        """
        import ctypes

        with contextlib.suppress(OSError, AttributeError):  # another C library than GNU's
            ctypes.CDLL(None).malloc_trim(0)
        self._seen, self._seen_at = self._read(_DATA), monotonic()
        self._start = max(self._start, self._seen - held)

    def rest(self) -> bool:
        """A task is over: whether the process keeps so much of it that a fresh one should do the next."""
        if self.at_rest is not None:
            self.at_rest()
        return self._start - self._first > _MOST_LEFT_BYTES

    def begin(self, budget: int) -> None:
        """From now on the process may hold so many bytes more than at the start, and the slack."""
        self._limit(self._start + budget + self._slack)

    def end(self) -> None:
        """The cap of the whole process counts again."""
        resource.setrlimit(resource.RLIMIT_DATA, self._usual)

    def _limit(self, wanted: int) -> None:
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
