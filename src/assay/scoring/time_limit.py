"""Put scoring steps under a time limit, as queries are: comparisons, and metrics that never look at a clock.

Two things end a step that takes too long. A timer raises an exception in the middle of Python code. If that code is
inside one call that never returns, the pool ends the worker, and the worker that does the case again skips the step
that ended the first one (`assay.ports.Pulse`). Outside a worker only the timer works, and only in the main thread.
"""

from __future__ import annotations

import gc
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from types import FrameType
from typing import TypeVar

from assay.platform.safeguards import has_timer
from assay.ports import LABEL_BYTES, Loss, LossKind, Pulse

_T = TypeVar("_T")
_AGAIN_S = 0.25
"""Seconds until the timer goes off again, if code has caught its exception."""
_BRIEFLY_S = 1.0
_IMPORTING = "<frozen importlib._bootstrap>"
"""The file of the functions that import a module."""
_GRACE_S = 2.0
"""Seconds after the timer until the pool may end the worker."""


class OutOfTimeError(Exception):
    """A step did not end in time. The message is a clause, for example ``took longer than 60 s``."""

    def __init__(self, message: str, *, kind: LossKind = "timeout") -> None:
        self.kind: LossKind = kind
        super().__init__(message)


class _Alarm(BaseException):
    """Raised by the timer in the middle of any code: a BaseException, so that no ``except Exception`` catches it."""


class _Silent:
    """The pulse outside a worker: it does nothing."""

    def begin(self, label: bytes, seconds: float) -> None:
        """Do nothing: no process waits."""

    def end(self) -> None:
        """Do nothing: no process waits."""

    def lost(self, label: bytes) -> Loss | None:  # noqa: ARG002 - the port's
        """None: no worker was lost."""
        return None


NO_HEARTBEAT = _Silent()


class TimeLimit:
    """Limits one step at a time to ``limit_s`` seconds. While `paused`, the clock stands still."""

    def __init__(self, limit_s: float, pulse: Pulse = NO_HEARTBEAT) -> None:
        self.limit_s = limit_s
        self._pulse = pulse
        self._label = b""  # of the step that is running
        self._brief = False
        self._deadline = 0.0

    def run(self, what: tuple[object, ...], action: Callable[[], _T]) -> _T:
        """Run ``action`` and return its result. ``what`` names the step, equally each time it is done.

        Raises OutOfTimeError if it takes too long or too much memory, or if it ended an earlier worker.
        """
        if not self.is_running:
            return self._run(what, action, self.limit_s)
        try:  # inside a step that is timed already
            return action()
        except MemoryError:
            raise out_of_memory() from None

    def run_short(self, what: tuple[object, ...], action: Callable[[], _T]) -> _T:
        """As `run`, for many steps at once that nearly always take milliseconds: timing each would take as long again.

        Raises OutOfTimeError after a short limit. The caller then runs each step by itself, under its whole limit.
        """
        return self._run(what, action, min(_BRIEFLY_S, self.limit_s))

    def _run(self, what: tuple[object, ...], action: Callable[[], _T], limit_s: float) -> _T:
        text = "\0".join(map(str, what)).encode("utf-8", "surrogatepass")
        label = blake2b(text, digest_size=LABEL_BYTES, person=b"judging").digest()
        loss = self._pulse.lost(label)
        if loss is not None and loss.kind == "timeout":
            raise OutOfTimeError(f"took longer than {self.limit_s:g} s, and could only be ended with its process")
        if loss is not None:
            raise OutOfTimeError(f"brought its process down, which {loss.message}", kind=loss.kind)
        try:
            self._label, self._brief = label, limit_s < self.limit_s
            self._deadline = time.monotonic() + limit_s
            self._start()
            try:
                return action()
            except MemoryError:
                raise out_of_memory() from None
            finally:
                self._stop()
        except _Alarm:
            self._stop()  # the alarm may have interrupted the first _stop
            raise OutOfTimeError(f"took longer than {limit_s:g} s") from None
        finally:
            self._label, self._brief = b"", False

    @property
    def is_running(self) -> bool:
        """Whether a step is running now."""
        return self._label != b""

    def soft_deadline(self) -> float | None:
        """The moment by which the running step should end by itself: a little before its limit.

        None under a short limit: a step that takes longer is done again with its whole limit.
        """
        return None if self._brief or not self.is_running else self._deadline - self.limit_s / 4

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock during work that has a limit of its own."""
        if not self.is_running:
            yield
            return
        self._stop()
        left = self._deadline - time.monotonic()
        try:
            yield
        finally:
            self._deadline = time.monotonic() + left
            self._start()

    def _start(self) -> None:
        left = max(self._deadline - time.monotonic(), 0.001)
        # A step under a short limit does not end its process sooner: a long call that does return may be done again.
        self._pulse.begin(self._label, (self.limit_s if self._brief else left) + _GRACE_S)
        _timer.start(left, alone=self._pulse is not NO_HEARTBEAT)

    def _stop(self) -> None:
        _timer.stop()
        self._pulse.end()


class _Timer:
    """Raises _Alarm in the main thread. It never does elsewhere, on Windows, or if other code uses the signal.

    Once it has the signal it keeps it, unless other code takes it: handing it back each time takes longer than most
    steps.
    """

    def __init__(self) -> None:
        self._armed = False
        self._has_signal = False

    def start(self, seconds: float, *, alone: bool) -> None:
        """Start the timer. ``alone``: in a worker, if no other code takes the signal, which saves a slow check."""
        if not (alone and self._has_signal) and not self._takes_signal():
            return
        self._armed = True
        signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_S)

    def _takes_signal(self) -> bool:
        if not has_timer() or threading.current_thread() is not threading.main_thread():
            return False
        handler = signal.getsignal(signal.SIGALRM)
        if handler == signal.SIG_DFL:
            signal.signal(signal.SIGALRM, self._raise)
        elif handler != self._raise:
            return False
        self._has_signal = True
        return True

    def stop(self) -> None:
        if not self._armed:
            return
        self._armed = False  # first, so that an alarm on its way has no effect
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _raise(self, _number: int, frame: FrameType | None) -> None:
        if self._armed and not _must_go_on(frame):  # then the timer goes off again
            raise _Alarm


_timer = _Timer()


def _must_go_on(frame: FrameType | None) -> bool:
    """Whether the step is in code in which an exception would be lost, or would do harm.

    In what the collector of garbage calls for other code it would be printed and lost. It would leave a module that is
    being imported by halves, for every later step.
    """
    called = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while frame is not None and frame.f_code is not TimeLimit._run.__code__:
        if frame.f_code in called or frame.f_code.co_filename == _IMPORTING:
            return True
        frame = frame.f_back
    return False


def out_of_memory() -> OutOfTimeError:
    """The error of a step that raised MemoryError."""
    return OutOfTimeError("needed more memory than its process may have", kind="out_of_memory")
