"""Ask a live system many questions, several at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread

from msgspec import Struct
from msgspec.structs import replace

from assay.errors import SystemLost, SystemUnusable, UsageError
from assay.model import Case, Failure, Prediction
from assay.model.blame import has_no_answer
from assay.model.measures import with_read_measures
from assay.ports import System
from assay.systems.predictions import failed, spoken

_MOST_ALIKE = 3
"""Rejections alike after which a system without any answer counts as unusable."""
_MOST_REJECTIONS = 10
"""Rejections of any kind after which it does: the first questions may be those that no answer is given to."""
_IN_A_ROW = 3
"""Rejections in a row after which a system that has answered is asked a control question."""
_MOST_IN_A_ROW = 24
"""How many they become: each control question that is answered doubles them."""
_POLL_S = 0.5  # on Windows an endless wait would not notice Ctrl-C


def ask_all(
    system: System,
    cases: Sequence[Case | Talk],
    *,
    concurrency: int,
    on_answer: Callable[[Prediction], None],
    answered: Case | None = None,
) -> None:
    """Ask every case once, ``concurrency`` at a time; each answer goes to ``on_answer`` as it arrives.

    See `Asker.run`, which this calls.
    """
    Asker(system, cases, concurrency=concurrency, answered=answered).run(on_answer)


class _Answer(Struct, frozen=True, kw_only=True):
    """An answer that arrived. Its thread asks on once it is handed over: a killed process then loses few answers."""

    prediction: Prediction
    case: Case
    """The question as it was asked."""
    begun: int
    """How many predictions `Rejections` had seen when the question was sent."""
    handed_over: Event


class _Control(Struct, frozen=True, kw_only=True):
    """What the system now returns for the control question."""

    prediction: Prediction
    begun: int


class Talk(Struct, frozen=True, kw_only=True):
    """A conversation to be held: its turns in their order, each with the answer that there is already."""

    turns: tuple[tuple[Case, Prediction | None], ...]
    repeat: int = 0
    """Which of several times it is held, for its answers."""


class Sayings:
    """What a system answered in a conversation so far."""

    def __init__(self) -> None:
        self._answers: dict[int, str | None] = {}
        self._failed: tuple[int, Failure] | None = None

    def before(self, case: Case) -> Case | Prediction:
        """The case with the answers before it; where one of these turns could not be asked, the failure of this one."""
        if self._failed is not None:
            turn, failure = self._failed
            message = f"not asked, since turn {turn} before it failed: {failure.message}"
            return Prediction(case_id=case.id, failure=replace(failure, message=message))
        return self.told(case)

    def told(self, case: Case) -> Case:
        """The case with the answers before it, as far as there are any."""
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


class Rejections:
    """Holds back rejections until it is known whether they are about the question or about every question.

    A system that has not answered any question is unusable if it rejects the first ones: three alike, ten different
    ones, or fewer if they are all there is.

    A system that has answered may reject a question, and it may also break for good: its path, its credentials or its
    form of answer changes. The texts of the two do not differ reliably, so a control question decides: after some
    rejections in a row, and for rejections at the end, a question that was answered is asked again. If it has an
    answer, the rejections are about their questions; if it fails now, the system is lost, and its rejections are
    asked again by the next run. The answer to any question that was sent after a rejection releases it, too.

        answer, 422, 422, answer                the two questions are rejected
        answer, 422, 422, 422, control: answer  the three questions are rejected
        answer, 404, 404, 404, control: 404     the system is lost; three questions have no answer
    """

    def __init__(self, *, answered: Case | None = None) -> None:
        self._held: list[tuple[int, Prediction]] = []
        """Rejections with their numbers among all predictions."""
        self.seen = 0
        """How many predictions there were so far."""
        self._others = False
        self.control: Case | None = answered
        """A question that the system has answered, as it was asked; None before the first answer."""
        self._in_a_row = _IN_A_ROW

    def sift(self, prediction: Prediction, case: Case, *, begun: int) -> tuple[Prediction, ...]:
        """The predictions to continue with. ``begun`` is `seen` when the question was sent. Raises SystemUnusable."""
        self.seen += 1
        failure = prediction.failure
        if failure is None or not has_no_answer(failure):
            self.control = replace(case, turns=case.turns[:1])
            return (*self._released(begun), prediction)
        if failure.kind != "rejected":
            self._others = True
            return (prediction,)
        self._held.append((self.seen, prediction))
        if self.control is None:
            alike = sum(held.failure == failure for _, held in self._held)
            if alike >= _MOST_ALIKE or len(self._held) >= _MOST_REJECTIONS:
                raise self._unusable()
        return ()

    def needs_control(self, *, at_end: bool = False) -> bool:
        """Whether the control question decides on what is held."""
        return self.control is not None and len(self._held) >= (1 if at_end else self._in_a_row)

    def controlled(self, prediction: Prediction, *, begun: int) -> tuple[Prediction, ...]:
        """The predictions to continue with, by the answer to the control question. Raises SystemLost."""
        if self._held and has_no_answer(prediction.failure):
            raise self._lost()
        self._in_a_row = min(2 * self._in_a_row, _MOST_IN_A_ROW)
        return self._released(begun)

    def rest(self) -> tuple[Prediction, ...]:
        """Those that are still held when all are asked. Raises SystemUnusable if every question was rejected."""
        if self._held and self.control is None and not self._others:
            raise self._unusable()
        return self._released(self.seen)

    def _released(self, begun: int) -> tuple[Prediction, ...]:
        """Those that arrived before a question with an answer was sent."""
        released = tuple(held for number, held in self._held if number <= begun)
        self._held = [(number, held) for number, held in self._held if number > begun]
        return released

    def _unusable(self) -> SystemUnusable:
        number, message = self._most_common()
        what = "the first question" if number == 1 else f"the first {number} questions"
        return SystemUnusable(f"{what} failed, and so would any other: {message}")

    def _lost(self) -> SystemLost:
        number, message = self._most_common()
        what = "the last question" if number == 1 else f"the last {number} questions"
        return SystemLost(
            f"{what} failed, and so does one that was answered before: {message}. Answers are kept: once the system "
            "answers, the same command goes on from there"
        )

    def _most_common(self) -> tuple[int, str]:
        """The number of rejections, and the most common message."""
        messages = Counter(held.failure.message for held in self._released(self.seen) if held.failure is not None)
        ((message, _),) = messages.most_common(1)
        return messages.total(), message


class _End:
    """Among the arrivals: the receiver wants no more of them."""


class _Nothing:
    """Nothing has arrived when asking was stopped."""


_END = _End()
_NOTHING = _Nothing()


class Asker:
    """Asks every case once, ``concurrency`` at a time, in threads. While ``room`` is not set, no question is begun.

    The turns of a `Talk` are asked one after the other, each with what the system answered before.

    Rejections (the failure `rejected`) are held back until `Rejections` knows what they are about, and end the asking
    if they are about every question. ``answered`` is a question that the system has answered in an earlier run. Raises
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
            raise UsageError(f"concurrency={concurrency} asks nothing: give 1 or more")
        self._system = system
        self._waiting = iter(cases)
        self._running = min(concurrency, len(cases))
        self._room = room
        self._lock = Lock()
        self._stopped = False
        self._asking = 0
        self._arrived: SimpleQueue[_Answer | _Control | SystemUnusable | _End | None] = SimpleQueue()
        self._rejections = Rejections(answered=answered)
        self._is_controlling = False
        self._handed_over: list[Event] = []

    @property
    def in_flight(self) -> int:
        """How many questions are being asked now."""
        return self._asking

    def run(self, on_answer: Callable[[Prediction], None], *, on_stop: Callable[[], None] | None = None) -> None:
        """Ask, and hand each answer to ``on_answer`` as it arrives, in the caller's thread alone.

        Trouble of one question arrives as a Prediction with a Failure. Raises SystemUnusable as soon as the system
        proves unusable, also if it has rejected every question, and passes on KeyboardInterrupt and the exceptions of
        ``on_answer``. In each case, and after `end`, no further question is asked, and questions in flight are not
        waited for; answers that have arrived are handed over first, unless ``on_answer`` raised. After `stop`,
        ``on_stop`` is called once, and the questions in flight are waited for.
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
                elif isinstance(arrived, SystemUnusable):
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
        except (SystemUnusable, KeyboardInterrupt):
            self._hand_over_rest(on_answer)
            raise
        finally:
            self._stopped = True

    def stop(self) -> None:
        """Ask nothing more; what is in flight still arrives. Safe to call anywhere, also in a signal handler."""
        self._stopped = True

    def end(self) -> None:
        """Ask nothing more, and have `run` return without waiting for what is in flight. As safe as `stop`."""
        self._stopped = True
        self._arrived.put(_END)

    def _sifted(self, arrived: _Answer | _Control) -> Iterator[Prediction]:
        """The predictions to continue with after this arrival. Raises SystemUnusable."""
        if isinstance(arrived, _Control):
            self._is_controlling = False
            yield from self._rejections.controlled(arrived.prediction, begun=arrived.begun)
        else:
            yield from self._rejections.sift(arrived.prediction, arrived.case, begun=arrived.begun)
            self._handed_over.append(arrived.handed_over)

    def _go_on(self) -> None:
        """Let the threads whose answers were handed over ask on, unless a control question is being asked."""
        if not self._is_controlling:
            for event in self._handed_over:
                event.set()
            self._handed_over.clear()

    def _ask_control(self, *, at_end: bool) -> None:
        """Ask the control question in a thread of its own, if it decides on rejections that are held back."""
        case = self._rejections.control
        if case is None or self._is_controlling or self._stopped or not self._rejections.needs_control(at_end=at_end):
            return

        begun = self._rejections.seen

        def ask() -> None:
            try:
                self._arrived.put(_Control(prediction=self._asked(case), begun=begun))
            except SystemUnusable as error:
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
                    begun = self._rejections.seen
                    self._hand_over(self._ask(case), case, begun)
        except SystemUnusable as error:
            self._stopped = True
            self._arrived.put(error)
        finally:
            self._arrived.put(None)

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
                begun, asked = self._rejections.seen, said.before(case)
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
        try:
            prediction = self._system.answer(case)
        except SystemUnusable:
            raise
        # The per-case boundary: any exception of a system's own code is the trouble of one question. SystemExit belongs
        # here, too: it would silently end the thread.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            return failed(case, f"asking raised {type(error).__name__}: {error}", code=type(error).__name__)
        if not isinstance(prediction, Prediction):
            return failed(case, f"the system answered {type(prediction).__name__} in place of a Prediction")
        prediction = with_read_measures(prediction)
        return prediction if prediction.case_id == case.id else replace(prediction, case_id=case.id)

    def _next_arrival(self, *, until_stopped: bool) -> _Answer | _Control | SystemUnusable | _End | _Nothing | None:
        """Wait for the next answer; None means that one thread has ended."""
        while True:
            try:
                return self._arrived.get(timeout=_POLL_S)
            except Empty:
                if until_stopped and self._stopped:
                    return _NOTHING

    def _hand_over_rest(self, on_answer: Callable[[Prediction], None]) -> None:
        """Ask nothing more, and hand over the answers that have arrived."""
        self._stopped = True
        for prediction in self._arrived_by_now():
            # Rejections are not answers: the same command asks these questions again.
            if prediction.failure is None or prediction.failure.kind != "rejected":
                on_answer(prediction)

    def _arrived_by_now(self) -> Iterator[Prediction]:
        while True:
            try:
                arrived = self._arrived.get_nowait()
            except Empty:
                return
            if isinstance(arrived, _Answer):
                yield arrived.prediction
