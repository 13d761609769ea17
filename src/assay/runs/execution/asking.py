"""Ask a live system, keep every answer, and never ask a question more often than requested."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic
from types import TracebackType
from typing import TypeAlias

from msgspec.structs import replace

from assay.errors import RunError
from assay.model import Case, Failure, Prediction
from assay.model.failure import has_no_answer
from assay.ports import System
from assay.runs.execution.interruption import is_stopping
from assay.runs.progress import Progress, counted
from assay.runs.store.codec import decode_value, encode_value, identity_of, within_size
from assay.runs.store.journal import ANSWERS, Journal, damaged
from assay.systems.concurrency import Asker, Talk

OnProgress: TypeAlias = Callable[[Progress], None]
_Key: TypeAlias = tuple[str, int]
"""A case's id, and which of the answers to it."""
WAITING_PER_WORKER = 32
"""How many answers may wait to be scored, for each worker, before no further question is asked."""


def ask(
    system: System,
    cases: Sequence[Case],
    *,
    concurrency: int,
    repeats: int = 1,
    folder: Path | None = None,
    on_progress: OnProgress | None = None,
) -> tuple[Prediction, ...]:
    """The system's answers in the cases' order; answers that ``folder`` already contains are not asked for again.

    Each question is asked ``repeats`` times, every question once before any is repeated; its answers are
    consecutive in the result, and ``Prediction.repeat`` numbers them as they arrived. An answer is written as it
    arrives. A question whose asking failed (``ask_failed``, ``rejected``) has no answer: the failure is written, too,
    but the question is asked again when the same command runs again. Raises SystemUnusable if the system
    can answer nothing at all.
    """
    with ResponseStream(system, cases, concurrency=concurrency, repeats=repeats, folder=folder) as answers:

        def say() -> None:
            if on_progress is not None:
                on_progress(
                    Progress(
                        stage="asking",
                        total=len(answers),
                        finished=answers.count,
                        resumed=len(answers.held),
                        noun=counted(repeats),
                        ending=interruption.asked,
                        in_flight=answers.in_flight if interruption.asked else 0,
                    )
                )

        with is_stopping(answers.stop) as interruption:
            say()
            answers.gather(say, on_stop=say)
            interruption.end_here()
        return answers.all


class ResponseStream:
    """A live system's answers by their places: each case's are consecutive, in the cases' order. A context manager.

    ``held`` are the answers that ``folder`` already holds. `gather` asks for the others in the caller's thread; `begin`
    does so in a thread of its own, while the caller scores those that are there. Then ``arrived`` is called in that
    thread for each answer and at the end, and `take` gives what has arrived, each kept in the folder already. No
    question is begun while ``most_waiting`` answers wait: those that arrived and are not said to be `acknowledge`.
    Leaving the context asks nothing more and keeps what has arrived.
    """

    def __init__(
        self,
        system: System,
        cases: Sequence[Case],
        *,
        concurrency: int,
        most_waiting: int | None = None,
        repeats: int = 1,
        folder: Path | None = None,
    ) -> None:
        self._cases, self._repeats = cases, repeats
        self._places = {key: place for place, key in enumerate(_wanted(cases, repeats))}
        self._digests = _digests(system, cases, repeats)
        self._told_apart = {case.id for case in cases if case.conversation is not None}
        """The cases whose answers say themselves which of several they are."""
        self.failure: BaseException | None = None
        """Why asking ended before its end: the system proved unusable, or answers cannot be kept."""
        self._most_waiting = most_waiting
        self._room = Event()
        self._room.set()
        self._journal: Journal | None = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self._journal = Journal(folder, name=ANSWERS)
        try:
            known = {} if self._journal is None else _held(self._journal, self._digests)
            self.held = {self._places[key]: one for key, one in known.items() if not has_no_answer(one.failure)}
            self._found = dict(self.held)
            self._asker = Asker(
                system, self._questions(), concurrency=concurrency, room=self._room, answered=self._answered()
            )
        except BaseException:
            self._close()
            raise
        # The system is not told the repeat's number: the next answer to arrive takes the next free place.
        self._free = {
            case.id: [n for n in reversed(range(repeats)) if self._places[case.id, n] not in self.held]
            for case in cases
        }
        self._arrived: SimpleQueue[tuple[int, Prediction]] = SimpleQueue()
        self._lock = Lock()
        self._waiting = 0
        self._ended = self._is_whole
        self._thread: Thread | None = None
        self._began = 0.0

    def __len__(self) -> int:
        """How many answers there will be."""
        return len(self._places)

    @property
    def count(self) -> int:
        """How many answers there are."""
        return len(self._found)

    @property
    def all(self) -> tuple[Prediction, ...]:
        """The answers in the order of their places, once there are all."""
        return tuple(self._found[place] for place in range(len(self)))

    @property
    def over(self) -> bool:
        """Whether none will arrive any more, and all that arrived were taken."""
        return self._ended and self._arrived.empty()

    def begin(self, arrived: Callable[[], None]) -> None:
        """Begin to ask in a thread of its own. If that ends early, ``failure`` says why."""
        if not self._ended:
            self._began = monotonic()
            self._thread = Thread(target=self._ask, args=(arrived,), name="assay-answers", daemon=True)
            self._thread.start()

    def gather(self, arrived: Callable[[], None], *, on_stop: Callable[[], None] | None = None) -> None:
        """Ask in this thread, until all answers are there or after `stop`. Raises as `Asker.run` does."""

        def keep(prediction: Prediction) -> None:
            kept = self._keep(prediction)
            with self._lock:
                self._waiting += 1
                if self._most_waiting is not None and self._waiting >= self._most_waiting:
                    self._room.clear()
            self._arrived.put(kept)
            arrived()

        self._asker.run(keep, on_stop=on_stop)
        if self._journal is not None and self._is_whole:
            self._journal.check_whole()

    def take(self) -> Iterator[tuple[int, Prediction]]:
        """The answers that have arrived since the last call, each with its place."""
        while not self._arrived.empty():
            yield self._arrived.get()

    def acknowledge(self, count: int) -> None:
        """So many of the taken answers do not wait any longer."""
        with self._lock:
            self._waiting -= count
            if self._most_waiting is None or self._waiting < self._most_waiting:
                self._room.set()

    @property
    def in_flight(self) -> int:
        """How many questions are being asked now."""
        return self._asker.in_flight

    def finish(self) -> None:
        """After `stop`: wait until the questions in flight have their answers, and keep them."""
        if self._thread is not None:
            self._thread.join()

    def left_s(self) -> float | None:
        """How long asking will go on at its pace so far; None before an answer has come."""
        found, before = len(self._found), len(self.held)
        if self._ended:
            return 0.0
        return (monotonic() - self._began) / (found - before) * (len(self) - found) if found > before else None

    def stop(self) -> None:
        """Ask nothing more; `finish` waits for what is in flight. Safe to call from a signal handler."""
        self._asker.stop()

    def __enter__(self) -> ResponseStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._asker.end()
        try:
            self.finish()
        finally:
            self._close()

    @property
    def _is_whole(self) -> bool:
        return len(self._found) == len(self._places)

    def _ask(self, arrived: Callable[[], None]) -> None:
        try:
            self.gather(arrived)
        except BaseException as error:  # noqa: BLE001 - it ends the run, in whose thread it is raised
            self.failure = error
        self._ended = True
        arrived()

    def _questions(self) -> list[Case | Talk]:
        """What is still to be asked: every question once before any is repeated.

        The turns of a conversation are together, at the place of the first one.
        """
        talks: dict[str, list[Case]] = {}
        for case in self._cases:
            if case.conversation is not None:
                talks.setdefault(case.conversation, []).append(case)
        asked: list[Case | Talk] = []
        for repeat in range(self._repeats):
            begun: set[str] = set()
            for case in self._cases:
                name = case.conversation
                if name is None:
                    if self._places[case.id, repeat] not in self._found:
                        asked.append(case)
                elif name not in begun:
                    begun.add(name)
                    ordered = sorted(talks[name], key=lambda case: case.turn or 0)
                    turns = tuple((turn, self._found.get(self._places[turn.id, repeat])) for turn in ordered)
                    if any(held is None for _, held in turns):
                        asked.append(Talk(turns=turns, repeat=repeat))
        return asked

    def _answered(self) -> Case | None:
        """A question that has an answer in the folder, as it was asked; preferably one that begins a conversation."""
        cases = [self._cases[place // self._repeats] for place in self.held]
        case = min(cases, key=lambda case: len(case.history), default=None)
        return None if case is None else replace(case, turns=case.turns[:1])

    def _keep(self, prediction: Prediction) -> tuple[int, Prediction]:
        """Keep an answer that has arrived: its place, and the answer as it is kept."""
        free = self._free[prediction.case_id]
        repeat = prediction.repeat
        if prediction.case_id in self._told_apart:
            free.remove(repeat)  # the answers of one conversation belong together
        else:
            repeat = free.pop()
        key = prediction.case_id, repeat
        kept = within_size(_numbered(_of_text(prediction), repeat))
        if self._journal is not None:
            self._journal.append(self._digests[key], encode_value(kept))
        self._found[self._places[key]] = kept
        return self._places[key], kept

    def _close(self) -> None:
        if self._journal is not None:
            self._journal.close()


def answers_held(system: System, cases: Sequence[Case], folder: Path, *, repeats: int = 1) -> tuple[Prediction, ...]:
    """What ``folder`` contains of the system's answers, in the order of `ask`, including failures to answer.

    Nothing is asked. Raises RunError if a question was asked less often than requested.
    """
    wanted = _wanted(cases, repeats)
    held: dict[_Key, Prediction] = {}
    if (folder / ANSWERS).exists():
        with Journal(folder, name=ANSWERS) as journal:
            held = _held(journal, _digests(system, cases, repeats))
    missing = [key for key in wanted if key not in held]
    if missing:
        lacks = f"contains no answer to {len(missing)} of the {len(cases)} questions, for example case"
        if repeats > 1:
            lacks = (
                f"lacks {len(missing)} of the {len(wanted)} answers ({repeats} per question), for example one to case"
            )
        raise RunError(
            f"{folder} {lacks} {missing[0][0]!r}, asked of {system.describe()}: no case was re-scored. "
            "Run without rescoring first"
        )
    return tuple(held[key] for key in wanted)


def _of_text(prediction: Prediction) -> Prediction:
    """The answer, without its query if that is not valid text (half of a surrogate pair), which no file could keep."""
    try:
        (prediction.query or "").encode("utf-8")
    except UnicodeEncodeError as error:
        message = f"the query is not valid text: character {error.start + 1} is a lone surrogate"
        failure = Failure(stage="read", kind="error", blame="system", message=message)
        return replace(prediction, query=None, failure=failure)
    return prediction


def _wanted(cases: Sequence[Case], repeats: int) -> list[_Key]:
    return [(case.id, repeat) for case in cases for repeat in range(repeats)]


def _numbered(prediction: Prediction, repeat: int) -> Prediction:
    return prediction if prediction.repeat == repeat else replace(prediction, repeat=repeat)


def _held(journal: Journal, digests: Mapping[_Key, str]) -> dict[_Key, Prediction]:
    answers = {}
    for key, digest in digests.items():
        if (line := journal.finished.get(digest)) is None:
            continue
        try:
            answers[key] = _numbered(decode_value(journal.content(line), Prediction), key[1])
        except RunError as error:
            raise damaged(journal.path, line.number) from error
    return answers


def _digests(system: System, cases: Sequence[Case], repeats: int) -> dict[_Key, str]:
    """For each answer, a hash of everything in its question's request, and of the repeat's number."""
    digests, described = {}, encode_value(system.describe())
    for case in cases:
        asked = replace(  # what is evaluated is not asked
            case,
            golds=(),
            results=(),
            origin=None,
            difficulty=None,
            tags=(),
            name=None,
            comments=None,
            expects="answer",
            turns=tuple(replace(turn, targets=()) for turn in case.turns),
        )
        first = _digest_of(described, identity_of(asked))
        for repeat in range(repeats):
            # The first answer has the same hash as in a run that asks once.
            digests[case.id, repeat] = first if repeat == 0 else _digest_of(first.encode(), str(repeat).encode())
    return digests


def _digest_of(*parts: bytes) -> str:
    return blake2b(b"".join(parts), digest_size=12).hexdigest()
