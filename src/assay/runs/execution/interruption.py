"""Ctrl-C while cases are scored: once, what is in flight is finished and kept; twice, all ends now."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from msgspec import Struct


class Interruption(Struct, kw_only=True):
    """Whether the user asked to stop."""

    asked: bool = False

    def end_here(self) -> None:
        """Raise KeyboardInterrupt if the user asked to stop: everything in flight is finished."""
        if self.asked:
            raise KeyboardInterrupt


@contextmanager
def is_stopping(begin: Callable[[], None]) -> Iterator[Interruption]:
    """Within this context the first Ctrl-C calls ``begin``; the second raises KeyboardInterrupt as usual.

    Nothing changes outside the main thread, or if a program handles Ctrl-C in a way of its own.
    """
    interruption = Interruption()
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield interruption
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if interruption.asked:
            signal.default_int_handler(number, frame)
        interruption.asked = True
        begin()

    signal.signal(signal.SIGINT, handle)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
