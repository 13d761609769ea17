"""The command line as its users have it, and an emulated Denodo for them to talk to."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import commands
from assay.testing import DenodoEmulator, example
from assay.testing.answers import Answers

PASSWORD = "s3cret+Kennwort/äöü"
_OURS = ("ASSAY_USER", "ASSAY_PASSWORD", "ASSAY_TOKEN")


def environment(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without settings of Assay's or the Data Catalog's, and with ``given``."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in _OURS and not name.startswith(("DATA_CATALOG_", "DATA_MARKETPLACE_", "AI_SDK_"))
    }
    if "PYTHONPATH" in kept:
        # Relative ones would mean something else to a command that runs in another folder.
        kept["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, kept["PYTHONPATH"].split(os.pathsep)))
    return {**kept, **(given or {})}


def assay(*arguments: object, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Any:
    """Run the command to its end: in a process of its own if it is given what only a new interpreter reads."""
    run = commands.run if any(name.startswith("PYTHON") for name in env or ()) else commands.here
    return run([str(one) for one in arguments], env=environment(env), cwd=cwd)


def succeeds(*arguments: object, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Any:
    """Run the command to its end, with status 0."""
    done = assay(*arguments, env=env, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def refused(*arguments: object, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> str:
    """Run a command that ends with status 2, and give what it says."""
    done = assay(*arguments, env=env, cwd=cwd)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return str(done.stderr)


def plain(*arguments: object, cwd: Path) -> Any:
    """Run the command to its end, without colours, and with lines of 200 columns."""
    return assay(*arguments, env={"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200"}, cwd=cwd)


def json_lines(path: Path, rows: Iterable[object]) -> Path:
    """Write a file of JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def sqlite_file(path: Path, script: str = "CREATE TABLE t (a)") -> Path:
    """Make a database by SQL."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


def until(condition: Callable[[], bool], *, what: str, within_s: float = 300.0) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end, f"did not happen within {within_s:g} s: {what}"
        time.sleep(0.02)


def lines(path: Path) -> int:
    """How many whole lines a journal has."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def started(arguments: Sequence[object], *, env: Mapping[str, str] | None = None) -> Any:
    """Begin the command, in a process group of its own."""
    return commands.start([str(one) for one in arguments], env=environment(env))


def end_group(process: Any, number: signal.Signals) -> tuple[str, str]:
    """Send a signal to the process and all of its children, as a terminal does; give what it printed."""
    os.killpg(process.pid, number)
    out, errors = process.communicate(timeout=300)
    return str(out), str(errors)


def sheet(path: Path, name: str) -> list[dict[str, Any]]:
    """A sheet's rows by the names of its columns, up to the first blank row."""
    from python_calamine import CalamineWorkbook

    with CalamineWorkbook.from_path(path) as workbook:
        head, *rows = workbook.get_sheet_by_name(name).to_python()
    end = next((number for number, row in enumerate(rows) if not any(cell != "" for cell in row)), len(rows))
    return [dict(zip(head, row, strict=True)) for row in rows[:end]]


def emulator(**settings: Any) -> DenodoEmulator:
    """The bundled example behind a user and a password, its failing question answered too."""
    given: dict[str, Any] = {
        "answers": Answers.read(example.answers_path()).by_question,
        "tables": example.tables_folder(),
        "user": "demo",
        "password": PASSWORD,
        **settings,
    }
    return DenodoEmulator(**given)
