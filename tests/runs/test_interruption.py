"""Ctrl-C once and twice, and how long a run says that it will still take."""

from __future__ import annotations

import signal
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.runs.execution.interruption import is_stopping
from assay.runs.progress import TimeLeft


def test_the_first_ctrl_c_winds_up_and_the_second_ends() -> None:
    begun: list[bool] = []
    with is_stopping(lambda: begun.append(True)) as interruption:
        interruption.end_here()
        signal.raise_signal(signal.SIGINT)
        assert begun == [True]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert begun == [True]
        with pytest.raises(KeyboardInterrupt):
            interruption.end_here()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_outside_the_main_thread_and_beside_other_handlers_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[object] = []

    def look() -> None:
        with is_stopping(lambda: None):
            said.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert said == [signal.default_int_handler]
    own = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        look()
        assert said[-1] is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, own)


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_slow_database_that_comes_last_is_in_the_estimate() -> None:
    clock = Clock()
    left = TimeLeft(["fast"] * 100 + ["slow"] * 40, 2, clock=clock)
    assert left.seconds() is None, "nothing is known"
    for _ in range(50):
        clock.now += 0.001 / 2
        left.done("fast", 0.001)
    clock.now += 1.0
    assert left.seconds() == pytest.approx(90 * 0.001 / 2)
    for _ in range(4):
        left.done("slow", 0.25)
    clock.now += 0.25
    assert left.seconds() == pytest.approx((50 * 0.001 + 36 * 0.25) / 2)


@pytest.mark.parametrize("busy", [1.0, 0.6])
def test_the_estimate_is_right_also_where_workers_wait_for_their_tasks(busy: float) -> None:
    """Four workers, each at work for a part of the time: what is said is what it takes, a tenth more or less."""
    clock, done = Clock(), 0
    left = TimeLeft(["slow"] * 400, 4, clock=clock)
    while done < 400:
        clock.now += 0.1 / 4 / busy
        left.done("slow", 0.1)
        done += 1
        said, truly = left.seconds(), (400 - done) * 0.1 / 4 / busy
        if 150 < done < 390:
            assert said == pytest.approx(truly, rel=0.1, abs=0.5)


@given(
    works=st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 10)), min_size=1, max_size=60),
    workers=st.integers(1, 8),
)
def test_at_the_end_nothing_is_left_and_before_it_never_less_than_nothing(
    works: list[tuple[str, float]], workers: int
) -> None:
    clock = iter(range(1_000))
    left = TimeLeft([name for name, _ in works], workers, clock=lambda: float(next(clock)))
    for name, took_s in works:
        left.done(name, took_s)
        assert (left.seconds() or 0.0) >= 0.0
    assert left.seconds() in (None, 0.0)
