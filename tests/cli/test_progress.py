"""What a person sees while a run goes on, on a terminal and in a log."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import assay
from assay import registry
from assay.cli.output import write_reports
from assay.cli.progress import progress
from assay.model import Run
from assay.runs.progress import Progress


class Terminal(io.StringIO):
    """A standard error that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def asking(finished: int, judged: int, **more: object) -> Progress:
    return Progress(stage="asking", total=9, finished=finished, judged=judged, left_s=30.0, **more)  # type: ignore[arg-type]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_plain_lines_show_what_is_answered_and_what_is_judged(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress(quiet=False) as tell:
        tell(asking(1, 0))
        clock[0] += 11
        tell(asking(5, 3))
        tell(asking(6, 3))
        tell(Progress(stage="scoring", total=9, finished=8, left_s=2.0))
        clock[0] += 11
        tell(Progress(stage="scoring", total=9, finished=9, left_s=0.0))
    assert capsys.readouterr().err.splitlines() == [
        "asking: 5 of 9 cases, 3 scored, about 30 s left",
        "scoring: 9 of 9 cases, about 0 s left",
    ]


@pytest.mark.parametrize(("count", "said"), [(1, "1 case"), (7, "7 cases")])
def test_a_line_says_once_what_the_first_ctrl_c_does(
    count: int, said: str, clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress(quiet=False) as tell:
        tell(asking(5, 3))
        tell(asking(5, 3, ending=True, in_flight=count))
        tell(asking(6, 4, ending=True, in_flight=count - 1))
    assert capsys.readouterr().err.splitlines() == [
        f"interrupted: finishing what is in flight ({said}); press Ctrl-C again to stop now"
    ]


def test_on_a_terminal_both_are_shown_and_the_line_of_a_ctrl_c_stands_once(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "60")  # narrower than the line
    with progress(quiet=False) as tell:
        tell(asking(5, 3, resumed=2))
        tell(asking(6, 4, resumed=2, ending=True, in_flight=3))
        tell(Progress(stage="scoring", total=9, finished=8, left_s=2.0, ending=True, in_flight=1))
    written = terminal.getvalue()
    assert written.count("interrupted: finishing what is in flight (3 cases); press Ctrl-C again to stop now") == 1
    assert "asking" in written
    assert "scoring" in written


def test_a_quiet_run_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(quiet=True) as tell:
        tell(asking(5, 3, ending=True, in_flight=1))
    assert capsys.readouterr() == ("", "")


def test_writing_reports_is_a_stage_of_its_own_unless_it_is_quiet(
    clock: list[float], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = registry.pieces

    def slowly(name: str, run: Run, *, drawn: Callable[[int], None]) -> Any:
        clock[0] += 11
        return pieces(name, run, drawn=drawn)

    monkeypatch.setattr(registry, "pieces", slowly)
    case = {"id": "1", "question": "?", "gold_sql": "SELECT 1"}
    run = assay.evaluate([case], {"1": "SELECT 1"}, databases="sqlite://", workers=1)
    written = write_reports(run, [("html", tmp_path / "a.html"), ("json", None)])
    assert written == {"html": tmp_path / "a.html"}
    assert capsys.readouterr().err.splitlines() == ["writing: 0 of 1 cases, about 11 s left"]
    write_reports(run, [("html", tmp_path / "a.html")], quiet=True)
    assert capsys.readouterr().err == ""
