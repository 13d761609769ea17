"""The first Ctrl-C while a live system is asked: every question in flight gets its answer, which is kept."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import assay
from assay.model import Case
from assay.runs.execution.asking import ask
from assay.runs.progress import Progress
from assay.runs.store.journal import ANSWERS
from many_cases import each
from running import LiveSystem, sqlite_url

CASES = [Case(id=str(n), question=f"q{n}", golds=("SELECT 1",)) for n in range(60)]


class Interrupted(LiveSystem):
    """Answers after Ctrl-C alone once ``concurrency`` questions are in flight and ``quick`` were answered."""

    def __init__(self, *, quick: int, concurrency: int) -> None:
        super().__init__(self._answered)
        self.asked: list[str] = []
        self._quick, self._concurrency = quick, concurrency
        self._lock = threading.Lock()
        self.stopped = threading.Event()

    def _answered(self, case: Case) -> str:
        with self._lock:
            self.asked.append(case.id)
            number = len(self.asked)
        if number > self._quick:
            if number == self._quick + self._concurrency:
                os.kill(os.getpid(), signal.SIGINT)
            assert self.stopped.wait(300)
        return "SELECT 1"


def _by_ask(system: Interrupted, folder: Path, concurrency: int, on_progress: Callable[[Progress], None]) -> None:
    ask(system, CASES, concurrency=concurrency, folder=folder, on_progress=on_progress)


def _by_evaluate(system: Interrupted, folder: Path, concurrency: int, on_progress: Callable[[Progress], None]) -> None:
    database = sqlite_url(folder.parent / "t.sqlite", "CREATE TABLE t (a)")
    given = {"metrics": ["match"], "workers": 1, "concurrency": concurrency, "on_progress": on_progress}
    assay.evaluate(CASES, system, databases=database, output=folder, **given)


@each("run", [_by_ask, _by_evaluate])
@each(("quick", "concurrency"), [(0, 1), (0, 4), (5, 4), (17, 20)])
def test_every_question_in_flight_is_finished(
    run: Callable[[Interrupted, Path, int, Callable[[Progress], None]], None],
    quick: int,
    concurrency: int,
    tmp_path: Path,
) -> None:
    system = Interrupted(quick=quick, concurrency=concurrency)
    in_flight: list[int] = []

    def on_progress(state: Progress) -> None:
        if state.ending:
            in_flight.append(state.in_flight)
            system.stopped.set()

    with pytest.raises(KeyboardInterrupt):
        run(system, tmp_path / "run", concurrency, on_progress)
    assert len(system.asked) == quick + concurrency
    assert in_flight[0] >= concurrency
    kept = (tmp_path / "run" / ANSWERS).read_text(encoding="utf-8").splitlines()
    assert len(kept) == len(system.asked)
