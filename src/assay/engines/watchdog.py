"""Interrupts queries that take too long, for drivers without a timeout of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

_LATER_S = 4.0
_running: set[Watchdog] = set()


def interrupt_all() -> None:
    """Interrupt all running queries once, for a process that is about to end: its server may not notice the end.

    Waits a few seconds for interruptions that run in their own thread because the server is slow.
    """
    before = set(threading.enumerate())
    for watchdog in tuple(_running):
        watchdog.bark()
    end = time.monotonic() + _LATER_S
    for thread in set(threading.enumerate()) - before:
        thread.join(max(0.0, end - time.monotonic()))


class Watchdog:
    """Calls ``interrupt`` from its own thread when the time given to `start` elapses before `stop`.

    The thread is made at the first `start` and sleeps between queries; starting and stopping cost about a microsecond.
    """

    def __init__(self, interrupt: Callable[[], None]) -> None:
        self.fired: bool = False
        """Whether the current or last run was interrupted."""
        self._interrupt = interrupt
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._deadline: float | None = None
        self._closed = False
        self._thread: threading.Thread | None = None

    def start(self, seconds: float) -> None:
        """A run begins and may take ``seconds``."""
        with self._lock:
            self.fired = False
            self._deadline = time.monotonic() + seconds
        _running.add(self)
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="assay-watchdog", daemon=True)
            self._thread.start()
        self._wake.set()

    def stop(self) -> None:
        """The run is over. No interrupt follows after this returns."""
        _running.discard(self)
        with self._lock:
            self._deadline = None

    def bark(self) -> None:
        """Interrupt the current run, if any, unless an interrupt has been under way for more than a second."""
        if self._lock.acquire(timeout=1.0):
            try:
                if self._deadline is not None:
                    self._interrupt()
            finally:
                self._lock.release()

    def close(self) -> None:
        """End the thread. Closing twice is harmless."""
        self._closed = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _watch(self) -> None:
        while not self._closed:
            with self._lock:
                deadline = self._deadline
                if deadline is None:
                    self._wake.clear()
                elif time.monotonic() >= deadline:
                    self.fired = True
                    self._interrupt()
            if deadline is None:
                self._wake.wait()
            elif self.fired:
                time.sleep(0.02)  # once may not be enough: a query that has just begun misses it
            else:
                # Sleep until a deadline, which later runs only push back. Closing must not wait for it.
                seconds = max(0.0, deadline - time.monotonic())
                end = time.monotonic() + seconds
                while not self._closed and (left := end - time.monotonic()) > 0:
                    time.sleep(min(left, 0.05))
