"""Hold scoring to a time limit, as queries are held: a comparison, a metric that never looks at a clock.

Two things end what takes too long. A timer raises in the midst of Python code. Where that code is within one call
that never returns, the pool ends the worker, and the worker that does the case again leaves out what cost the first
one its life (`assay.ports.Pulse`). Outside a worker only the timer works, and only in the main thread.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from types import FrameType
from typing import TypeVar

from assay.ports import LABEL_BYTES, Loss, LossKind, Pulse

_T = TypeVar("_T")
_AGAIN_S = 0.25
"""How soon the timer goes off again, where code has caught what it raised."""
_BRIEFLY_S = 1.0
_GRACE_S = 2.0
"""How much later than the timer the pool may end the worker."""


class OutOfTimeError(Exception):
    """What was held did not come to its end. The message is a clause such as ``took longer than 60 s``."""

    def __init__(self, message: str, *, kind: LossKind = "timeout") -> None:
        self.kind: LossKind = kind
        super().__init__(message)


class _Alarm(BaseException):
    """Raised by the timer, in the midst of anything: no ``except Exception`` may take it for its own."""


class _Silent:
    """The pulse of what is no worker: it reaches nobody."""

    def begin(self, label: bytes, seconds: float) -> None:
        """Nobody waits."""

    def end(self) -> None:
        """Nobody waits."""

    def lost(self, label: bytes) -> Loss | None:  # noqa: ARG002 - the port's
        """Nothing was."""
        return None


SILENT = _Silent()


class Timekeeper:
    """Holds one thing at a time to ``limit_s`` seconds. While `paused`, the clock stands."""

    def __init__(self, limit_s: float, pulse: Pulse = SILENT) -> None:
        self.limit_s = limit_s
        self._pulse = pulse
        self._label: bytes | None = None
        self._brief = False
        self._deadline = 0.0

    def hold(self, what: tuple[object, ...], action: Callable[[], _T]) -> _T:
        """What ``action`` returns. ``what`` names it, the same each time that it is done.

        Raises OutOfTimeError where it takes too long or too much memory, or where it cost an earlier worker its life.
        """
        if self._label is None:
            return self._hold(what, action, self.limit_s)
        try:  # within something that is held already
            return action()
        except MemoryError:
            raise _too_large() from None

    def hold_briefly(self, what: tuple[object, ...], action: Callable[[], _T]) -> _T:
        """As `hold`, for many things in one go that nearly always take milliseconds: what is held within is not
        held by itself, which would take as long again.

        Raises OutOfTimeError soon. Whoever called then has each thing held by itself, to its whole limit.
        """
        return self.hold(what, action) if self.holds else self._hold(what, action, min(_BRIEFLY_S, self.limit_s))

    def _hold(self, what: tuple[object, ...], action: Callable[[], _T], limit_s: float) -> _T:
        label = _label_of(what)
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
                raise _too_large() from None
            finally:
                self._stop()
        except _Alarm:
            self._stop()  # the alarm may have come just before the other one
            raise OutOfTimeError(f"took longer than {limit_s:g} s") from None
        finally:
            self._label, self._brief = None, False

    @property
    def holds(self) -> bool:
        """Whether something is held now."""
        return self._label is not None

    def soon(self) -> float | None:
        """The moment by which what is held should come to an end by itself: a little before its limit.

        None where it is held but briefly: what takes longer is done again, and may then take its time.
        """
        return None if self._label is None or self._brief else self._deadline - self.limit_s / 4

    @contextmanager
    def paused(self) -> Iterator[None]:
        """While something is done that has a limit of its own."""
        if self._label is None:
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
        # The process of what is held briefly does not end sooner: a long call that does end may be done again.
        self._pulse.begin(self._label or b"\0" * LABEL_BYTES, (self.limit_s if self._brief else left) + _GRACE_S)
        _timer.start(left, alone=self._pulse is not SILENT)

    def _stop(self) -> None:
        _timer.stop()
        self._pulse.end()


class _Timer:
    """Raises _Alarm in the main thread. Elsewhere, and on Windows, and where somebody else has the signal: never.

    Once it has the signal it keeps it, unless somebody takes it: to hand it back each time takes longer than most of
    what is held.
    """

    def __init__(self) -> None:
        self._armed = False
        self._has_signal = False

    def start(self, seconds: float, *, alone: bool) -> None:
        """``alone``: in a worker, where nobody else takes the signal. To ask each time who has it takes long."""
        if not (alone and self._has_signal) and not self._takes_signal():
            return
        self._armed = True
        signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_S)

    def _takes_signal(self) -> bool:
        if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
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
        self._armed = False  # first: an alarm that is on its way comes to nothing
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _raise(self, _number: int, _frame: FrameType | None) -> None:
        if self._armed:
            raise _Alarm


_timer = _Timer()


def _too_large() -> OutOfTimeError:
    return OutOfTimeError("needed more memory than its process may have", kind="out_of_memory")


def _label_of(what: tuple[object, ...]) -> bytes:
    text = "\0".join(map(str, what)).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=LABEL_BYTES, person=b"judging").digest()
