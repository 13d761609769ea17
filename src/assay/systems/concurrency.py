"""Ask a live system many questions, several at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread

from assay.errors import SystemUnusable, UsageError
from assay.model import Case, Prediction
from assay.ports import System
from assay.systems.predictions import failed

_POLL_S = 0.5  # on Windows an endless wait would not notice Ctrl-C


def ask_all(
    system: System, cases: Sequence[Case], *, concurrency: int, on_answer: Callable[[Prediction], None]
) -> None:
    """Ask every case once, ``concurrency`` at a time; each answer goes to ``on_answer`` as it arrives.

    ``on_answer`` is called from the caller's thread alone, in the order of arrival. Trouble of one question arrives as
    a Prediction with a Failure. Raises SystemUnusable as soon as the system proves unusable, and passes on
    KeyboardInterrupt and the exceptions of ``on_answer``. In each case no further question is asked, and questions in
    flight are not waited for; answers that have arrived are handed over first, unless ``on_answer`` raised. Raises
    UsageError for a concurrency below 1.
    """
    if concurrency < 1:
        raise UsageError(f"concurrency={concurrency} asks nothing: give 1 or more")
    asking = _Asking(system=system, cases=cases)
    running = min(concurrency, len(cases))
    for number in range(running):
        # Daemon threads: a user who interrupts need not wait for an answer that takes minutes.
        Thread(target=asking.work, name=f"assay-ask-{number}", daemon=True).start()
    try:
        while running:
            arrived = asking.next_arrival()
            if arrived is None:
                running -= 1
            elif isinstance(arrived, SystemUnusable):
                raise arrived
            else:
                on_answer(arrived.prediction)
                arrived.handed_over.set()
    except (SystemUnusable, KeyboardInterrupt):
        asking.stop.set()
        for prediction in asking.arrived_by_now():
            on_answer(prediction)
        raise
    finally:
        asking.stop.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """An answer that arrived. Its thread asks on once it is handed over: a killed process then loses few answers."""

    prediction: Prediction
    handed_over: Event


class _Asking:
    """The state that the asking threads share: the remaining cases, and the answers that have arrived."""

    def __init__(self, *, system: System, cases: Sequence[Case]) -> None:
        self.stop = Event()
        self._system = system
        self._waiting = iter(cases)
        self._lock = Lock()
        self._arrived: SimpleQueue[_Answer | SystemUnusable | None] = SimpleQueue()

    def work(self) -> None:
        """Ask until no case is left or asking is stopped. Puts None among the arrivals at the end."""
        try:
            while not self.stop.is_set():
                with self._lock:
                    case = next(self._waiting, None)
                if case is None:
                    return
                answer = _Answer(prediction=self._ask(case), handed_over=Event())
                self._arrived.put(answer)
                while not (answer.handed_over.wait(_POLL_S) or self.stop.is_set()):
                    pass
        except SystemUnusable as error:
            self.stop.set()
            self._arrived.put(error)
        finally:
            self._arrived.put(None)

    def _ask(self, case: Case) -> Prediction:
        try:
            prediction = self._system.answer(case)
        except SystemUnusable:
            raise
        # The per-case boundary: any exception of a system's own code is the trouble of one question. SystemExit belongs
        # here, too: it would silently end the thread.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            return failed(case, f"asking raised {type(error).__name__}: {error}")
        if not isinstance(prediction, Prediction):
            return failed(case, f"the system answered {type(prediction).__name__} in place of a Prediction")
        return prediction if prediction.case_id == case.id else replace(prediction, case_id=case.id)

    def next_arrival(self) -> _Answer | SystemUnusable | None:
        """Wait for the next answer; None means that one thread has ended."""
        while True:
            try:
                return self._arrived.get(timeout=_POLL_S)
            except Empty:
                continue

    def arrived_by_now(self) -> Iterator[Prediction]:
        """The answers that have arrived, without waiting for more."""
        while True:
            try:
                arrived = self._arrived.get_nowait()
            except Empty:
                return
            if isinstance(arrived, _Answer):
                yield arrived.prediction
