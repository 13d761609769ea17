"""How long one pair of queries may still take."""

from __future__ import annotations

import time

_WAITED = 10


class Clock:
    """Whether this thread has computed for long enough. Waiting does not count: a busy machine finds no less.

    Only waiting for ten times as long ends it, too: some engines compute in threads of their own.
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
        if now < self._look_at:  # no thread computes for longer than time passes, and asking takes milliseconds
            return False
        if now >= self._ends_at_last:
            return True
        left = self._ends - time.thread_time()
        self._look_at = min(now + left, self._ends_at_last)
        return left <= 0
