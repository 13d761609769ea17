"""How long one pair of queries may still take."""

from __future__ import annotations

import time


class Clock:
    """Whether this thread has computed for long enough. Waiting does not count: a busy machine finds no less."""

    __slots__ = ("_ends", "_look_at")

    def __init__(self, seconds: float) -> None:
        self._ends = time.thread_time() + seconds
        self._look_at = time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        now = time.monotonic()
        if now < self._look_at:  # no thread computes for longer than time passes, and asking takes milliseconds
            return False
        left = self._ends - time.thread_time()
        self._look_at = now + left
        return left <= 0
