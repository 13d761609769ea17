"""Cap a worker process's memory while one query runs, so that a memory bomb only fails that query.

An engine's own limit only counts its buffers. A function that makes one text of two gigabytes calls the allocator
directly, and a driver copies it. So the process itself is capped while a query runs: a larger allocation fails, which
engines and Python turn into an error of that query. Linux only; on other systems, and outside of workers, the calls do
nothing.

Memory that a query leaves allocated reduces what the next one may use. So allocators are configured to return it
(`environment`), and a process that still holds much is replaced after its task (`ProcessMemory.rest`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from time import monotonic

from assay.platform import safeguards as protections

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

SLACK_BYTES = 300 * 1024 * 1024
"""What a worker may hold besides the engine's memory and one result: interpreter, libraries, driver's copies."""
_LEAST_SLACK_BYTES = 64 * 1024 * 1024
_LATER_BYTES = 96 * 1024 * 1024
"""The part of libraries that is loaded only while queries run; the limit on data does not count it."""
_MOST_LEFT_BYTES = 64 * 1024 * 1024
"""How much memory a process may hold from finished tasks, besides results, without being replaced."""
_C_ARENAS = "MALLOC_ARENA_MAX"
_ARENA_MAX = -8
"""The same parameters in `mallopt`."""
_DUCKDB_ALLOCATOR = "DUCKDB_JE_MALLOC_CONF"
_GIVE_BACK = "retain:false"
_MOMENT_S = 0.005
_RESIDENT, _DATA = 1, 5
"""Columns of /proc/self/statm."""


def environment() -> dict[str, str]:
    """The environment for workers: this process's, with settings that make allocators return free memory.

    Otherwise DuckDB's allocator (jemalloc) holds all addresses that it ever held, and the C library's makes one arena
    after another if memory is short. A limit on memory must count both, as they can be filled again, so each bomb would
    reduce what later queries may use.
    """
    found = dict(os.environ)
    found[_C_ARENAS] = "1"
    given = found.get(_DUCKDB_ALLOCATOR)
    found[_DUCKDB_ALLOCATOR] = f"{given},{_GIVE_BACK}" if given else _GIVE_BACK
    return found


def take_environment() -> None:
    """Apply to this process what `environment` gives to new ones. Called before it imports DuckDB or has threads."""
    import ctypes

    os.environ.update(environment())
    with contextlib.suppress(OSError, AttributeError):  # a C library other than GNU's
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def give_back() -> None:
    """Return freed memory to the system, if the C library can: it holds whatever lies below memory in use."""
    if os.name != "posix":
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):  # a C library other than GNU's
        ctypes.CDLL(None).malloc_trim(0)


class ProcessMemory:
    """The cap of this process. Created once the process has finished its imports."""

    __slots__ = ("_descriptor", "_first", "_page", "_seen", "_seen_at", "_slack", "_start", "_usual", "at_rest")

    def __init__(self) -> None:
        self.at_rest: Callable[[], object] | None = None
        """Called by `rest`: a function that knows what is still needed, and calls `settle` if much is held."""
        self._descriptor = os.open(protections.STATISTICS, os.O_RDONLY)
        self._page = resource.getpagesize()
        self._usual = resource.getrlimit(resource.RLIMIT_DATA)
        self._first = self._start = self._seen = self._read(_DATA)
        self._seen_at = monotonic()
        self._slack = max(_LEAST_SLACK_BYTES, SLACK_BYTES - self._read(_RESIDENT) - _LATER_BYTES)

    def grown(self) -> int:
        """Bytes that were allocated since the start, or since `settle`, as of a moment ago.

        Asking the system takes as long as a short query, and little memory can be filled within that moment.
        """
        now = monotonic()
        if now - self._seen_at > _MOMENT_S:
            self._seen, self._seen_at = self._read(_DATA), now
        return self._seen - self._start

    def is_cramped(self, held: int) -> bool:
        """Whether leftovers besides ``held`` bytes of results leave a query less memory than it may use."""
        return self.grown() > held + self._slack // 2

    def settle(self, held: int) -> None:
        """Return freed memory, and count what remains besides ``held`` bytes of results as the new start.

        So no query fails because of memory that an earlier query of its task left; after the task, see `rest`.
        """
        give_back()
        self._seen, self._seen_at = self._read(_DATA), monotonic()
        self._start = max(self._start, self._seen - held)

    def rest(self) -> bool:
        """A task is over: whether the process holds so much memory that a new process should do the next task."""
        if self.at_rest is not None:
            self.at_rest()
        return self._start - self._first > _MOST_LEFT_BYTES

    def begin(self, budget: int) -> None:
        """From now on the process may hold ``budget`` bytes more than at the start, plus the slack."""
        wanted = self._start + budget + self._slack
        usual, hard = self._usual
        if usual != resource.RLIM_INFINITY:
            wanted = min(wanted, usual)
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))

    def end(self) -> None:
        """Restore the cap of the whole process."""
        resource.setrlimit(resource.RLIMIT_DATA, self._usual)

    def _read(self, column: int) -> int:
        return int(os.pread(self._descriptor, 256, 0).split()[column]) * self._page


_current: ProcessMemory | None = None


def install() -> None:
    """Cap this process from now on while a query runs. A worker calls it once, when it is set up."""
    global _current  # noqa: PLW0603 - one process has one cap
    if protections.caps_memory():
        _current = ProcessMemory()


def current() -> ProcessMemory | None:
    """This process's cap, or None."""
    return _current
