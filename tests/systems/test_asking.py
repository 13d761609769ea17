"""Many questions at once."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterable

import pytest

from answering import ask_all
from assay.errors import SystemUnusable, UsageError
from assay.model import Case, Prediction, Secret
from assay.ports import System
from assay.systems.concurrency import Asker
from assay.systems.denodo import DenodoSystem
from assay.systems.options import SystemOptions
from assay.systems.python import PythonSystem
from assay.testing import DenodoEmulator, Fault
from many_cases import each

Quick = Callable[..., SystemOptions]


def _cases(count: int) -> list[Case]:
    return [Case(id=str(number), question=f"question {number}") for number in range(count)]


def _answers(cases: Iterable[Case]) -> dict[str, str]:
    return {case.question: f"SELECT {case.id}" for case in cases}


def test_every_question_is_asked_once_and_several_at_a_time(
    quick: Quick, answers_when_waiting: Callable[..., None]
) -> None:
    cases = _cases(24)
    got: list[Prediction] = []
    threads: set[int] = set()

    def keep(prediction: Prediction) -> None:
        threads.add(threading.get_ident())
        got.append(prediction)

    with DenodoEmulator(answers=_answers(cases), faults=[Fault(kind="slow", seconds=600)]) as server:
        system = DenodoSystem.open(f"denodo:{server.api_url}", quick())
        answers_when_waiting(server, 8)
        ask_all(system, cases, concurrency=8, on_answer=keep)
        system.close()
        assert set(server.asked.values()) == {1}
        assert server.peak_concurrency == 8
    assert {prediction.case_id: prediction.query for prediction in got} == {
        case.id: f"SELECT {case.id}" for case in cases
    }
    assert len(got) == len(cases)
    assert threads == {threading.get_ident()}


def test_answers_come_as_they_arrive(quick: Quick) -> None:
    cases = _cases(4)
    got: list[str] = []
    slow = Fault(kind="slow", seconds=600, question="question 0")
    with DenodoEmulator(answers=_answers(cases), faults=[slow]) as server:
        system = DenodoSystem.open(f"denodo:{server.api_url}", quick())

        def keep(prediction: Prediction) -> None:
            got.append(prediction.case_id)
            if len(got) == 3:
                server.faults.clear()

        ask_all(system, cases, concurrency=2, on_answer=keep)
        system.close()
    assert got == ["1", "2", "3", "0"]


def test_wrong_credentials_stop_all_with_one_message(quick: Quick) -> None:
    cases = _cases(50)
    got: list[Prediction] = []
    with DenodoEmulator(answers=_answers(cases), user="ana", password="right") as server:
        system = DenodoSystem.open(f"denodo:{server.api_url}", quick(user="ana", password=Secret("wrong")))
        with pytest.raises(SystemUnusable, match="refuses the credentials"):
            ask_all(system, cases, concurrency=4, on_answer=got.append)
        system.close()
        assert sum(server.asked.values()) <= 8
    assert got == []


def test_credentials_that_expire_keep_what_was_answered(quick: Quick) -> None:
    cases = _cases(30)
    got: list[Prediction] = []
    with DenodoEmulator(answers=_answers(cases), faults=[Fault(kind="unauthorised", after=10)]) as server:
        system = DenodoSystem.open(f"denodo:{server.api_url}", quick(token=Secret("tok-123")))
        with pytest.raises(SystemUnusable, match="no longer accepts"):
            ask_all(system, cases, concurrency=1, on_answer=got.append)
        system.close()
        assert sum(server.asked.values()) == 11
    assert [prediction.case_id for prediction in got] == [str(number) for number in range(10)]


def test_answers_that_are_on_their_way_when_a_system_proves_unusable_are_kept() -> None:
    got: list[str] = []
    begun, refused = threading.Barrier(4), threading.Event()

    def ask(case: Case) -> Prediction:
        if case.id in "4567":
            begun.wait(60)
        if case.id == "4":
            refused.set()
            raise SystemUnusable("401")
        if case.id in "567":
            refused.wait(60)
            time.sleep(0.1)
        return Prediction(case_id=case.id, query="q")

    with pytest.raises(SystemUnusable, match="401"):
        ask_all(_Odd(ask), _cases(8), concurrency=4, on_answer=lambda prediction: got.append(prediction.case_id))
    assert sorted(got) == ["0", "1", "2", "3", "5", "6", "7"]


class _Odd:
    """A system that breaks its port's promises."""

    name = "odd"

    def __init__(self, answer: Callable[[Case], object]) -> None:
        self._answer = answer

    def describe(self) -> str:
        return "odd"

    def answer(self, case: Case) -> Prediction:
        return self._answer(case)  # type: ignore[return-value]

    def close(self) -> None:
        """Nothing to close."""


def _leave(case: Case) -> object:
    sys.exit(1)


class _Own(BaseException):
    """What is not an Exception."""


def _raise(error: BaseException) -> Callable[[Case], object]:
    def answer(case: Case) -> object:
        raise error

    return answer


@each(
    ("answer", "message"),
    [
        (lambda case: 1 / 0, "asking raised ZeroDivisionError: division by zero"),
        (_leave, "asking raised SystemExit: 1"),
        (_raise(asyncio.CancelledError("x")), "asking raised CancelledError: x"),
        (_raise(KeyboardInterrupt()), "asking raised KeyboardInterrupt:"),
        (_raise(_Own("x")), "asking raised _Own: x"),
        (lambda case: "SELECT 1", "the system returned str instead of a Prediction"),
    ],
)
def test_whatever_a_system_does_is_the_failure_of_one_question(answer: Callable[[Case], object], message: str) -> None:
    got: list[Prediction] = []
    system: System = _Odd(answer)
    ask_all(system, _cases(3), concurrency=2, on_answer=got.append)
    assert len(got) == 3
    for prediction in got:
        assert (prediction.failure.kind, prediction.failure.message) == ("ask_failed", message)


@pytest.mark.parametrize("error", [ValueError("a defect"), _Own("a defect")])
def test_a_thread_that_ends_by_a_defect_ends_the_asking_with_its_error(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    got: list[Prediction] = []
    read = Asker._next_case

    def next_case(asker: Asker) -> object:
        case = read(asker)
        if isinstance(case, Case) and case.id == "2":
            raise error
        return case

    monkeypatch.setattr(Asker, "_next_case", next_case)
    system = _Odd(lambda case: Prediction(case_id=case.id, query="q"))
    with pytest.raises(type(error), match="a defect"):
        ask_all(system, _cases(9), concurrency=1, on_answer=got.append)
    assert [prediction.case_id for prediction in got] == ["0", "1"]


def test_an_answer_belongs_to_the_case_that_was_asked() -> None:
    got: list[Prediction] = []
    ask_all(_Odd(lambda case: Prediction(case_id="x", query="q")), _cases(1), concurrency=1, on_answer=got.append)
    assert [(one.case_id, one.query) for one in got] == [("0", "q")]


def test_what_the_receiver_raises_stops_the_asking(quick: Quick) -> None:
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        time.sleep(0.02)
        return "SELECT 1"

    def full(prediction: Prediction) -> None:
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        ask_all(PythonSystem(ask, quick()), _cases(200), concurrency=2, on_answer=full)
    time.sleep(0.2)
    assert len(asked) < 20


def test_no_more_is_asked_than_can_be_in_flight_while_answers_wait_to_be_kept() -> None:
    """Who is killed while writing an answer loses those in flight, and none that arrived before."""
    asked: list[str] = []
    ahead: list[int] = []

    def ask(case: Case) -> Prediction:
        asked.append(case.id)
        return Prediction(case_id=case.id, query="SELECT 1")

    def keep_slowly(prediction: Prediction) -> None:
        time.sleep(0.01)
        ahead.append(len(asked) - len(ahead))

    ask_all(_Odd(ask), _cases(20), concurrency=3, on_answer=keep_slowly)
    assert len(ahead) == 20
    assert max(ahead) <= 3


def test_no_case_and_no_concurrency() -> None:
    ask_all(_Odd(lambda case: None), [], concurrency=4, on_answer=pytest.fail)
    with pytest.raises(UsageError, match="concurrency=0"):
        ask_all(_Odd(lambda case: None), _cases(1), concurrency=0, on_answer=pytest.fail)


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent as a POSIX signal")
def test_an_interrupt_stops_quickly_and_asks_nothing_more() -> None:
    script = """
        import threading, time
        from assay.testing import DenodoEmulator, Fault
        from assay.systems.denodo import DenodoSystem
        from assay.systems.options import SystemOptions
        from assay.systems.concurrency import Asker
        from assay.model import Case
        cases = [Case(id=str(n), question=f"q{n}") for n in range(100)]
        quick = {case.question: "SELECT 1" for case in cases}
        faults = [Fault(kind="slow", seconds=600, after=5)]
        with DenodoEmulator(answers=quick, faults=faults) as server:
            system = DenodoSystem.open("denodo:" + server.api_url, SystemOptions())
            got = []
            def keep(prediction):
                got.append(prediction)
                if len(got) == 5:
                    threading.Thread(target=tell, daemon=True).start()
            def tell():
                while sum(server.asked.values()) < 9:
                    time.sleep(0.01)
                print("9 are asked", flush=True)
            try:
                Asker(system, cases, concurrency=4).run(keep)
            except KeyboardInterrupt:
                print("interrupted", len(got), sum(server.asked.values()), flush=True)
        system.close()
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "9 are asked\n"
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=300)  # less than what the answers would take
    assert out == "interrupted 5 9\n", errors
    assert process.returncode == 0, errors
