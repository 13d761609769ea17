"""The remaining time for one pair of queries."""

from __future__ import annotations

import time

_WAITED = 10


class Clock:
    """Whether this thread has reached its limit of computing time. Waiting does not count: a busy machine finds no
    less.

    Waiting for ten times the limit also ends it: some engines compute in threads of their own.
    """

    __slots__ = ("_ends", "_ends_at_last", "_look_at")

    def __init__(self, seconds: float) -> None:
        self._ends = time.thread_time() + seconds
        self._look_at = time.monotonic() + seconds
        self._ends_at_last = time.monotonic() + _WAITED * seconds

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        now = time.monotonic()
        if now < self._look_at:  # computing time is at most the elapsed time, and reading it takes milliseconds
            return False
        if now >= self._ends_at_last:
            return True
        left = self._ends - time.thread_time()
        self._look_at = min(now + left, self._ends_at_last)
        return left <= 0
