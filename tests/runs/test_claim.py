"""Holding a run's folder: whoever comes meanwhile is told so, and a kill at any step loses nothing finished."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import killed_claims
from assay import load_run
from assay.errors import RunError
from assay.runs.store import claim
from killed_claims import EARLIER, NEW, System, ask

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no locks of files that others see")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cases.yaml").write_text(killed_claims.CASES, encoding="utf-8")
    return tmp_path / "run"


@pytest.mark.parametrize("new", ["answers", "comes to nothing", "from a file"])
@pytest.mark.parametrize("earlier", ["finished", "from a file", "none"])
def test_who_comes_at_any_step_is_told_that_another_writes_there(
    folder: Path, earlier: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    EARLIER[earlier](folder)
    refused = 0
    for name in ("replace", "unlink", "ftruncate"):
        real: Callable[..., Any] = getattr(os, name)

        def step(*given: Any, real: Callable[..., Any] = real, **named: Any) -> Any:
            nonlocal refused
            if isinstance(given[0], int) or Path(given[0]).is_relative_to(folder):
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(claim, "_settle", pytest.fail)  # it would change what is not its own
                    with pytest.raises(RunError, match="another process is writing this run"):
                        ask(folder, System("second"), overwrite=refused % 2 == 0)
                refused += 1
            return real(*given, **named)

        monkeypatch.setattr(os, name, step)
    NEW[new](folder)
    assert refused >= 3
    monkeypatch.undo()
    if new == "comes to nothing" and earlier == "none":
        assert not folder.exists()
    else:
        raws = {str(one.prediction.turns[0].raw) for one in load_run(folder).evidence}
        assert raws == ({"earlier"} if new == "comes to nothing" else {"new"})


def test_a_folder_that_its_maker_removes_is_made_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = claim._make
    times = 0

    def made_and_removed(path: Path) -> list[Path]:
        nonlocal times
        times += 1
        found = make(path)
        if times < 4:
            path.rmdir()
        return found

    monkeypatch.setattr(claim, "_make", made_and_removed)
    ask(folder, System("new"))
    assert (times, len(load_run(folder).evidence)) == (4, 2)


def test_a_folder_that_never_stays_is_one_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = claim._make
    monkeypatch.setattr(claim, "_make", lambda path: (make(path), path.rmdir())[0])
    with pytest.raises(RunError, match="the run cannot be written there"):
        ask(folder, System("new"))


@pytest.mark.parametrize("names", [[""], [".lock", "thesis.txt"]], ids=["in its place", "in the folder"])
def test_what_somebody_else_locks_and_keeps_is_left_alone(folder: Path, names: list[str]) -> None:
    if names[0]:
        folder.mkdir()
    for name in names:
        (folder / name).write_text("years of work", encoding="utf-8")
    for overwrite in (False, True):
        with pytest.raises(RunError, match="exists and contains no run"):
            ask(folder, System("new"), overwrite=overwrite)
    assert {(folder / name).read_text(encoding="utf-8") for name in names} == {"years of work"}


def test_a_run_with_a_report_beside_it_can_be_overwritten(folder: Path) -> None:
    for says in ("one", "two"):
        ask(folder, {"one": says, "two": says}, overwrite=True)
        (folder / "report.html").write_text(says, encoding="utf-8")
    assert load_run(folder).evidence[0].prediction.turns[0].raw == "two"


def test_a_file_that_cannot_be_set_aside_leaves_the_run_as_it_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(folder, System("earlier"))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    replace = os.replace

    def refuses(source: Path, target: Path) -> None:
        if target.name == ".before-run.json":
            raise PermissionError(13, "Permission denied")
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuses)
    with pytest.raises(RunError, match=r"the run cannot be written there \(Permission denied\)"):
        ask(folder, System("new"), overwrite=True)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("earlier", "new"),
    [
        ("finished", "answers"),
        ("unfinished", "comes to nothing"),
        ("from a file", "from a file"),
        ("none", "comes to nothing"),
    ],
)
def test_a_kill_at_any_step_loses_nothing_that_was_finished(tmp_path: Path, earlier: str, new: str) -> None:
    program = Path(killed_claims.__file__)
    done = subprocess.run(
        [sys.executable, program, tmp_path, earlier, new], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20
