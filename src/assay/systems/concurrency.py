"""Ask a live system many questions, several at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic

from msgspec import Struct
from msgspec.structs import replace

from assay.errors import SystemUnusable, UsageError
from assay.model import Case, Failure, Prediction
from assay.model.cases.measures import with_read_measures
from assay.model.failure import has_no_answer
from assay.model.rejections import Rejections
from assay.ports import System
from assay.systems.predictions import failed, spoken, timed

_LAST_ANSWERS_S = 10.0
"""How long to wait for pending answers when the system proves unusable."""
_POLL_S = 0.5  # on Windows an endless wait would not notice Ctrl-C


class _Answer(Struct, frozen=True, kw_only=True):
    """An answer that arrived. Its thread continues once it is handed over: a killed process then loses few answers."""

    prediction: Prediction
    case: Case
    """The question as it was asked."""
    begun: int
    """The number of predictions that `Rejections` had seen when the question was sent."""
    handed_over: Event


class _Control(Struct, frozen=True, kw_only=True):
    """What the system now returns for the control question."""

    prediction: Prediction
    begun: int


class Talk(Struct, frozen=True, kw_only=True):
    """A conversation to hold: its turns in their order, each with its existing answer, if any."""

    turns: tuple[tuple[Case, Prediction | None], ...]
    repeat: int = 0
    """The index of the repeat, for its answers."""


class Sayings:
    """What a system answered in a conversation so far."""

    def __init__(self) -> None:
        self._answers: dict[int, str | None] = {}
        self._failed: tuple[int, Failure] | None = None

    def before(self, case: Case) -> Case | Prediction:
        """The case with the answers before it; if one of these turns could not be asked, the failure of this one."""
        if self._failed is not None:
            turn, failure = self._failed
            message = f"not asked, since the earlier turn {turn} failed: {failure.message}"
            return Prediction(case_id=case.id, failure=replace(failure, message=message))
        return self.told(case)

    def told(self, case: Case) -> Case:
        """The case with the available answers before it."""
        history = tuple(
            replace(one, answer=self._answers.get(turn, one.answer)) for turn, one in enumerate(case.history, start=1)
        )
        return replace(case, history=history)

    def note(self, case: Case, prediction: Prediction) -> None:
        """The answer to a turn."""
        failure = prediction.failure
        if failure is not None and has_no_answer(failure) and self._failed is None:
            self._failed = case.turn or 0, failure
        if case.turn is not None:
            self._answers[case.turn] = spoken(prediction)


class _End:
    """Among the arrivals: the receiver wants no more of them."""


class _Nothing:
    """Nothing has arrived when asking was stopped."""


_END = _End()
_NOTHING = _Nothing()


class Asker:
    """Asks every case once, ``concurrency`` at a time, in threads. While ``room`` is not set, no question is begun.

    The turns of a `Talk` are asked one after the other, each with the system's earlier answers.

    Rejections (the failure `rejected`) are held back until `Rejections` knows their cause, and end the run
    if they apply to every question. ``answered`` is a question that the system has answered in an earlier run. Raises
    UsageError for a concurrency below 1.
    """

    def __init__(
        self,
        system: System,
        cases: Sequence[Case | Talk],
        *,
        concurrency: int,
        room: Event | None = None,
        answered: Case | None = None,
    ) -> None:
        if concurrency < 1:
            raise UsageError(f"concurrency={concurrency} asks nothing: use 1 or more")
        self._system = system
        self._waiting = iter(cases)
        self._running = min(concurrency, len(cases))
        self._room = room
        self._lock = Lock()
        self._stopped = False
        self._asking = 0
        self._arrived: SimpleQueue[_Answer | _Control | BaseException | _End | None] = SimpleQueue()
        self._rejections = Rejections[Case, Prediction](answered=answered)
        self._is_controlling = False
        self._without_result = 0
        """The number of questions that were sent and are not sifted yet."""
        self._handed_over: list[Event] = []

    @property
    def in_flight(self) -> int:
        """The number of pending questions."""
        return self._asking

    def run(self, on_answer: Callable[[Prediction], None], *, on_stop: Callable[[], None] | None = None) -> None:
        """Ask, and hand each answer to ``on_answer`` as it arrives, in the caller's thread only.

        A question that fails arrives as a Prediction with a Failure. Raises SystemUnusable as soon as the system
        proves unusable, also if it has rejected every question, and passes on KeyboardInterrupt and the exceptions of
        ``on_answer``. In each case, and after `end`, no further question is asked; answers that have arrived are handed
        over first, unless ``on_answer`` raised. Questions in flight are waited for only if the system proves
        unusable, and only for some seconds. After `stop`, ``on_stop`` is called once, and the questions in flight are
        waited for.
        """
        told = on_stop is None
        for number in range(self._running):
            # Daemon threads: a user who interrupts need not wait for an answer that takes minutes.
            Thread(target=self._work, name=f"assay-ask-{number}", daemon=True).start()
        try:
            while self._running:
                arrived = self._next_arrival(until_stopped=not told)
                if on_stop is not None and not told and self._stopped:
                    told = True
                    on_stop()
                if isinstance(arrived, _Nothing):
                    continue
                if arrived is None:
                    self._running -= 1
                elif isinstance(arrived, BaseException):
                    self._hand_over_rest(on_answer, wait_s=_LAST_ANSWERS_S)
                    raise arrived
                elif isinstance(arrived, _End):
                    self._hand_over_rest(on_answer)
                    return
                else:
                    for prediction in self._sifted(arrived):
                        on_answer(prediction)
                self._ask_control(at_end=not self._running)
                self._go_on()
            for prediction in () if self._stopped else self._rejections.rest():
                on_answer(prediction)
        except SystemUnusable:
            self._hand_over_rest(on_answer, wait_s=_LAST_ANSWERS_S)
            raise
        except KeyboardInterrupt:
            self._hand_over_rest(on_answer)
            raise
        finally:
            self._stopped = True

    def stop(self) -> None:
        """Ask nothing more; pending answers still arrive. Safe to call anywhere, also in a signal handler."""
        self._stopped = True

    def end(self) -> None:
        """Ask nothing more, and have `run` return without waiting for pending answers. As safe as `stop`."""
        self._stopped = True
        self._arrived.put(_END)

    def _sifted(self, arrived: _Answer | _Control) -> Iterator[Prediction]:
        """The predictions to continue with after this arrival. Raises SystemUnusable."""
        if isinstance(arrived, _Control):
            self._is_controlling = False
            yield from self._rejections.controlled(arrived.prediction.failure, begun=arrived.begun)
        else:
            prediction = arrived.prediction
            yield from self._rejections.sift(arrived.case, prediction, prediction.failure, begun=arrived.begun)
            self._handed_over.append(arrived.handed_over)
            with self._lock:
                self._without_result -= 1
                is_last = not self._without_result
            if is_last and self._rejections.unusable is not None:
                raise self._rejections.unusable

    def _go_on(self) -> None:
        """Let the threads whose answers were handed over continue, unless it is open whether the system can answer."""
        if not self._is_controlling and self._rejections.unusable is None:
            for event in self._handed_over:
                event.set()
            self._handed_over.clear()

    def _ask_control(self, *, at_end: bool) -> None:
        """Ask the control question in a separate thread, if it decides on rejections that are held back."""
        case = self._rejections.control
        if case is None or self._is_controlling or self._stopped or not self._rejections.needs_control(at_end=at_end):
            return

        begun = self._rejections.seen
        question = replace(case, turns=case.turns[:1])  # of a conversation, one question is enough

        def ask() -> None:
            try:
                self._arrived.put(_Control(prediction=self._asked(question), begun=begun))
            except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
                self._arrived.put(error)
            finally:
                self._arrived.put(None)

        self._is_controlling = True
        self._running += 1
        Thread(target=ask, name="assay-ask-control", daemon=True).start()

    def _work(self) -> None:
        """Ask until no case is left or asking is stopped. Puts None among the arrivals at the end."""
        try:
            while (case := self._next_case()) is not None:
                if isinstance(case, Talk):
                    self._hold(case)
                else:
                    begun = self._begin()
                    self._hand_over(self._ask(case), case, begun)
        # Raised in the caller's thread: a thread that ended by a defect must not look like a finished one.
        except BaseException as error:  # noqa: BLE001
            self._stopped = True
            self._arrived.put(error)
        finally:
            self._arrived.put(None)

    def _begin(self) -> int:
        """Count a question that is sent now. Returns the number of results before it."""
        with self._lock:
            self._without_result += 1
            return self._rejections.seen

    def _hand_over(self, prediction: Prediction, case: Case, begun: int) -> None:
        answer = _Answer(prediction=prediction, case=case, begun=begun, handed_over=Event())
        self._arrived.put(answer)
        while not (answer.handed_over.wait(_POLL_S) or self._stopped):
            pass

    def _hold(self, talk: Talk) -> None:
        """Ask the turns of a conversation that have no answer yet. A turn that cannot be asked ends it."""
        said = Sayings()
        for case, held in talk.turns:
            if held is None and not self._may_go_on():
                return
            prediction = held
            if prediction is None:
                begun, asked = self._begin(), said.before(case)
                prediction = replace(asked if isinstance(asked, Prediction) else self._ask(asked), repeat=talk.repeat)
                self._hand_over(prediction, said.told(case), begun)
            said.note(case, prediction)

    def _may_go_on(self) -> bool:
        while self._room is not None and not self._stopped and not self._room.wait(_POLL_S):
            pass
        return not self._stopped

    def _next_case(self) -> Case | Talk | None:
        if not self._may_go_on():
            return None
        with self._lock:
            return None if self._stopped else next(self._waiting, None)

    def _ask(self, case: Case) -> Prediction:
        with self._lock:
            self._asking += 1
        try:
            return self._asked(case)
        finally:
            with self._lock:
                self._asking -= 1

    def _asked(self, case: Case) -> Prediction:
        started = monotonic()
        try:
            prediction = self._system.answer(case)
        except SystemUnusable:
            raise
        # The per-case boundary: any exception in a system's own code is the failure of one question. Other
        # BaseExceptions are caught, too: they would end the thread. Ctrl-C raises in the main thread only.
        except BaseException as error:  # noqa: BLE001
            return failed(case, f"asking raised {type(error).__name__}: {error}", code=type(error).__name__)
        if not isinstance(prediction, Prediction):
            return failed(case, f"the system returned {type(prediction).__name__} instead of a Prediction")
        prediction = timed(with_read_measures(prediction), monotonic() - started)
        return prediction if prediction.case_id == case.id else replace(prediction, case_id=case.id)

    def _next_arrival(self, *, until_stopped: bool) -> _Answer | _Control | BaseException | _End | _Nothing | None:
        """Wait for the next answer; None means that one thread has ended."""
        while True:
            try:
                return self._arrived.get(timeout=_POLL_S)
            except Empty:
                if until_stopped and self._stopped:
                    return _NOTHING

    def _hand_over_rest(self, on_answer: Callable[[Prediction], None], *, wait_s: float = 0.0) -> None:
        """Ask nothing more, and hand over the answers that have arrived, and those that arrive within ``wait_s``."""
        self._stopped = True
        for event in self._handed_over:  # its thread waits for that
            event.set()
        for prediction in self._arriving(wait_s):
            # Rejections are not answers: the same command asks these questions again.
            if prediction.failure is None or prediction.failure.kind != "rejected":
                on_answer(prediction)

    def _arriving(self, wait_s: float) -> Iterator[Prediction]:
        until = monotonic() + wait_s
        while True:
            left = max(0.0, until - monotonic()) if self._running else 0.0
            try:
                arrived = self._arrived.get(timeout=min(left, _POLL_S))
            except Empty:
                if not left:
                    return
                continue
            if arrived is None:
                self._running -= 1
            elif isinstance(arrived, _End):
                until = monotonic()
            elif isinstance(arrived, _Answer):
                yield arrived.prediction
                arrived.handed_over.set()
