"""The clock over scoring steps: it ends a late one, and does not run beside what surely ends at once."""

from __future__ import annotations

import gc
import importlib
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.ports import Loss
from assay.scoring import time_limit as timekeeping
from assay.scoring.time_limit import OutOfTimeError, TimeLimit

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the timer is POSIX")


class Worker:
    """A pulse like a worker's, which counts."""

    def __init__(self) -> None:
        self.begun = self.ended = 0

    def begin(self, label: bytes, seconds: float) -> None:
        self.begun += 1

    def end(self) -> None:
        self.ended += 1

    def lost(self, label: bytes) -> Loss | None:
        return None


@pytest.fixture
def timer(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The seconds that the system's timer was set to, in a process whose signal no other code has."""
    before = signal.signal(signal.SIGALRM, signal.SIG_DFL)
    monkeypatch.setattr(timekeeping, "_timer", timekeeping._Timer())
    set_to: list[float] = []
    real = signal.setitimer

    def noted(which: int, seconds: float, *more: float) -> tuple[float, float]:
        set_to.append(seconds)
        return real(which, seconds, *more)

    monkeypatch.setattr(signal, "setitimer", noted)
    yield set_to
    real(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def spin() -> None:
    while True:
        pass


def test_the_timer_is_off_between_steps(timer: list[float]) -> None:
    worker = Worker()
    keeper = TimeLimit(60.0, worker)
    for number in range(5):
        assert keeper.run(("step", number), lambda number=number: number) == number
        # A signal in between could interrupt a driver in the middle of a query.
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert worker.begun == worker.ended == 5
    assert timer == [pytest.approx(60.0, abs=1.0), 0] * 5


@pytest.mark.parametrize("limit_s", [0.01, 0.6])
def test_a_late_step_is_ended_after_any_number_of_short_ones(timer: list[float], limit_s: float) -> None:
    patient, keeper = TimeLimit(60.0, Worker()), TimeLimit(limit_s, Worker())
    for number in range(20):
        patient.run(("short", number), int)
    with pytest.raises(OutOfTimeError, match=f"longer than {limit_s:g} s"):
        keeper.run(("late",), spin)
    assert patient.run(("short again",), int) == 0
    assert timer


def test_an_alarm_while_memory_is_tidied_waits_for_the_next_and_prints_nothing(
    timer: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal that arrives while the collector runs is heard in what other code has it call, such as Hypothesis."""
    lost: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lost.append)
    heard: list[str] = []

    def called(phase: str, info: dict[str, int]) -> None:
        signal.raise_signal(signal.SIGALRM)
        heard.append(phase)

    def step() -> None:
        gc.callbacks.append(called)
        try:
            gc.collect()
        finally:
            gc.callbacks.remove(called)
        signal.raise_signal(signal.SIGALRM)  # as the timer does again

    with pytest.raises(OutOfTimeError):
        TimeLimit(600.0, Worker()).run(("late",), step)
    assert heard[:2] == ["start", "stop"]
    assert lost == []


def test_a_step_that_catches_the_alarm_gets_it_again(timer: list[float]) -> None:
    caught = 0

    def stubborn() -> None:
        nonlocal caught
        while True:
            try:
                spin()
            except BaseException:
                caught += 1
                if caught > 2:
                    raise

    with pytest.raises(OutOfTimeError):
        TimeLimit(0.02, Worker()).run(("stubborn",), stubborn)
    assert (caught, bool(timer)) == (3, True)


def test_the_clock_stands_still_while_it_is_paused(timer: list[float]) -> None:
    keeper = TimeLimit(0.3, Worker())

    def step() -> str:
        with keeper.paused():
            waited = signal.sigtimedwait([signal.SIGUSR1], 0.6)  # what has a limit of its own
        return f"done, {waited}"

    assert keeper.run(("paused",), step) == "done, None"
    assert timer


def test_a_step_inside_another_is_not_timed_and_memory_is_told_apart(timer: list[float]) -> None:
    worker = Worker()
    keeper = TimeLimit(60.0, worker)
    assert keeper.run(("outside",), lambda: keeper.run(("inside",), lambda: worker.begun)) == 1
    assert len(timer) == 2  # set and cleared once

    def bomb() -> None:
        raise MemoryError

    for action in (bomb, lambda: keeper.run(("inside",), bomb)):
        with pytest.raises(OutOfTimeError) as caught:
            keeper.run(("outside",), action)
        assert caught.value.kind == "out_of_memory"
        assert not keeper.is_running


@pytest.mark.parametrize("levels", [1, 3])
def test_a_module_is_imported_whole_even_where_the_time_ends_meanwhile(
    timer: list[float], levels: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"assay_slow_module_{levels}_{level}" for level in range(levels)]
    for level, name in enumerate(names):
        after = f"import {names[level + 1]}\n" if level + 1 < levels else ""
        code = f"{after}import time\nend = time.monotonic() + 0.4\nwhile time.monotonic() < end: pass\nwhole = True\n"
        (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))

    def step() -> None:
        importlib.import_module(names[0])
        spin()

    with pytest.raises(OutOfTimeError):
        TimeLimit(0.05, Worker()).run(("import",), step)
    assert [sys.modules[name].whole for name in names] == [True] * levels
