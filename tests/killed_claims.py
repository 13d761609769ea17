"""Kill a process at each single step by which it changes a run's folder, and see what the next command finds there.

    python tests/killed_claims.py FOLDER EARLIER NEW

Prints at how many steps it was killed. Each command is a process of its own, at the price of a fork.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from assay import evaluate_selections
from assay.errors import RunError, SystemUnusable
from assay.model import Case, Failure, Prediction, TurnAnswer

CASES = """
- {id: one, conversation: [{role: user, content: 1?, target: {indicator_selection: []}}]}
- {id: two, conversation: [{role: user, content: 2?, target: {indicator_selection: []}}]}
"""
_STEPS = frozenset({"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate"})
_KILLED = 99


class System:
    """Answers by its name, and is gone after so many answers, or fails at each question alone."""

    name = "any"

    def __init__(self, says: str, *, answers: int = 2, fails: bool = False) -> None:
        self._says, self._left, self._fails = says, answers, fails

    def describe(self) -> str:
        return "any:1"

    def answer(self, case: Case) -> Prediction:
        if self._fails:
            failure = Failure(stage="ask", kind="ask_failed", blame="system", message=self._says)
            return Prediction(case_id=case.id, failure=failure)
        self._left -= 1
        if self._left < 0:
            raise SystemUnusable("gone")
        return Prediction(case_id=case.id, turns=(TurnAnswer(raw=self._says),))

    def close(self) -> None:
        """Nothing is open."""


def ask(folder: Path, system: System | dict[str, str], *, overwrite: bool = False) -> None:
    """One command that asks and judges, or judges answers from a file. What ends it is no trouble of the folder's."""
    cases = folder.parent / "cases.yaml"
    try:
        evaluate_selections(cases, system, output=folder, overwrite=overwrite, concurrency=1)
    except SystemUnusable:
        return
    except RunError as error:
        if "contains a run with other settings" not in str(error):
            raise


def _file(says: str) -> dict[str, str]:
    return {"one": says, "two": says}


def _with_report(folder: Path) -> None:
    ask(folder, System("earlier"))
    (folder / "report.html").write_text("a report beside it", encoding="utf-8")


EARLIER: dict[str, Callable[[Path], None]] = {
    "finished": _with_report,
    "unfinished": lambda folder: ask(folder, System("earlier", answers=1)),
    "from a file": lambda folder: ask(folder, _file("earlier")),
    "none": lambda folder: None,
}
NEW: dict[str, Callable[[Path], None]] = {
    "answers": lambda folder: ask(folder, System("new"), overwrite=True),
    "comes to nothing": lambda folder: ask(folder, System("new", answers=0), overwrite=True),
    "fails": lambda folder: ask(folder, System("new", fails=True), overwrite=True),
    "from a file": lambda folder: ask(folder, _file("new"), overwrite=True),
}
NEXT: dict[str, Callable[[Path], None]] = {
    "goes on": lambda folder: ask(folder, System("next", answers=0)),
    "overwrites and comes to nothing": lambda folder: ask(folder, System("next", answers=0), overwrite=True),
    "overwrites": lambda folder: ask(folder, System("next"), overwrite=True),
}


def in_a_process(command: Callable[[Path], None], folder: Path, *, kill_at: int | None = None) -> bool:
    """Run a command; ``kill_at``: it is killed before this step of its own. Whether it came to its end."""
    if child := os.fork():
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, _KILLED), f"the command ended with {status}"
        return status == 0
    try:
        if kill_at is not None:
            _kill_at(kill_at, str(folder))
        command(folder)
    except BaseException:  # noqa: BLE001 - whatever it is, the child must end here
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _kill_at(step: int, folder: str) -> None:
    count = 0

    def hook(event: str, given: tuple[Any, ...]) -> None:
        nonlocal count
        if event == "open":
            if not given[2] & (os.O_WRONLY | os.O_RDWR):
                return
        elif event not in _STEPS:
            return
        if isinstance(given[0], int) or os.fspath(given[0]).startswith(folder):
            if count == step:
                os._exit(_KILLED)
            count += 1

    sys.addaudithook(hook)


def _lines(folder: Path, name: str) -> list[bytes]:
    path = folder / name
    return path.read_bytes().splitlines(keepends=True) if path.exists() else []


def _content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def _finished(folder: Path) -> dict[str, list[bytes]]:
    """What the new run had finished when it was killed: cases judged, and answers that are not asked for again."""
    answers = [line for line in _lines(folder, "answers.jsonl") if b"ask_failed" not in line]
    found = {"answers.jsonl": answers, "journal.jsonl": _lines(folder, "journal.jsonl")}
    return {name: [line for line in lines if b'"new"' in line] for name, lines in found.items()}


def check(folder: Path, earlier: dict[str, bytes], finished: dict[str, list[bytes]], then: str) -> None:
    """Whatever the next command was: nothing finished was lost, and nothing is left aside."""
    found = _content(folder)
    assert not [name for name in found if name.startswith(".")], sorted(found)
    if then == "overwrites":
        assert [b'"next"' in line for line in _lines(folder, "answers.jsonl")] == [True, True]
    elif any(finished.values()):
        for name, lines in finished.items():
            assert [line for line in _lines(folder, name) if line in lines] == lines, name
    else:
        for name in earlier.keys() - {"run.json", *(("results.parquet",) if then == "goes on" else ())}:
            assert found.get(name) == earlier[name], (name, sorted(found))
        assert found.get("run.json") == earlier.get("run.json") or then == "goes on"


def _import_all(folder: Path) -> None:
    """Import what a command imports, once for all."""
    names = folder / "modules"

    def first(run: Path) -> None:
        EARLIER["finished"](run)
        names.write_text("\n".join(sys.modules), encoding="utf-8")

    assert in_a_process(first, folder / "first")
    for name in names.read_text(encoding="utf-8").splitlines():
        if name not in sys.modules:
            with suppress(ImportError):  # some are made, not imported
                importlib.import_module(name)


def main(folder: Path, earlier: str, new: str) -> int:
    """Kill ``new`` upon ``earlier`` before each of its steps, then go on in each way. Returns how many steps it has."""
    (folder / "cases.yaml").write_text(CASES, encoding="utf-8")
    _import_all(folder)
    before, killed, run = folder / "before", folder / "killed", folder / "run"
    assert in_a_process(EARLIER[earlier], before)
    step = 0
    while True:
        if before.exists():
            shutil.copytree(before, killed)
        if in_a_process(NEW[new], killed, kill_at=step):
            return step
        for then, command in NEXT.items():
            if then == "overwrites" and new != "answers":
                continue  # what is there is set aside as it was before
            if killed.exists():
                shutil.copytree(killed, run)
            try:
                assert in_a_process(command, run)
                check(run, _content(before), _finished(killed), then)
            except AssertionError as error:
                raise AssertionError(f"killed before step {step}, then it {then}: {error}") from error
            shutil.rmtree(run, ignore_errors=True)
        shutil.rmtree(killed, ignore_errors=True)
        step += 1


if __name__ == "__main__":
    print(main(Path(sys.argv[1]), *sys.argv[2:]))
