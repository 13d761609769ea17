"""Every duration takes the same forms in a settings file, on the command line and in pytest's ini file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer

from assay.cli.app import app, run_command_line
from assay.errors import CaseFileError
from assay.settings import declarations, read_run_file
from assay.settings.setting import DURATION, Setting
from many_cases import each

DURATIONS = {trail: setting for trail, setting in declarations() if setting.is_duration}
OTHERS = {"--timeout": ("doctor",), "--idle": ("view", "RUN"), "--seconds": ("refute", "SELECT 1", "SELECT 2")}
"""Options that are no settings of a run, each with a verb that has it."""
READ = {"2": 2.0, ".5": 0.5, "1e2": 100.0, "500ms": 0.5, "2s": 2.0, "2 m": 120.0, "3min": 180.0, "1h": 3600.0}
UNREAD = ("2x", "-1s", "-1", "", "nan", "inf", "1e400s", "1 2s", "1h30m", "\u0663s", "s", "1S", "true")


def _read(folder: Path, trail: tuple[str, ...], text: str) -> Any:
    value: object = f"'{text}'"
    for name in reversed(trail):
        value = f"{{{name}: {value}}}"
    path = folder / "eval.yaml"
    path.write_text("cases: c.jsonl\ndb: sqlite:///x.sqlite\n" + str(value)[1:-1] + "\n", encoding="utf-8")
    found: Any = read_run_file(path)
    for name in trail:
        found = getattr(found, name)
    return found


def test_every_setting_in_seconds_is_a_duration() -> None:
    names = {trail for trail, _ in declarations() if trail[-1].endswith("_s")}
    assert names <= DURATIONS.keys()


def _options(command: Any) -> list[Any]:
    inner = getattr(command, "commands", {})
    return [one for name in inner for one in _options(inner[name])] if inner else list(command.params)


def test_no_option_takes_seconds_in_another_form() -> None:
    options = _options(typer.main.get_command(app))
    assert not [one.opts for one in options if one.metavar in ("S", "SECONDS")]
    assert {name for one in options if one.metavar == DURATION for name in one.opts} >= {
        *OTHERS,
        *(setting.option for setting in DURATIONS.values()),
    }


@each("trail", list(DURATIONS), ids=".".join)
def test_a_duration_is_read_from_a_file(trail: tuple[str, ...], tmp_path: Path) -> None:
    assert {text: _read(tmp_path, trail, text) for text in READ} == READ
    for text in UNREAD:
        with pytest.raises(
            CaseFileError, match=rf"{trail[-1]} is .*, and a time from .* 500ms, 2s, 10m or 1h\) is expec"
        ):
            _read(tmp_path, trail, text)


@each("option", [*(setting.option for setting in DURATIONS.values()), *OTHERS])
def test_a_bad_duration_has_one_message_on_the_command_line(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    for text in UNREAD:
        assert run_command_line([*OTHERS.get(option, ("run", "c.jsonl")), f"{option}={text}"]) == 2
        printed = capsys.readouterr().err
        assert printed.startswith(f"assay: error: {option} is {text!r}: write a time from ")
        assert "seconds (for example 30, 500ms, 2s, 10m or 1h): see  assay " in printed


def test_a_duration_is_a_number_within_its_bounds() -> None:
    setting = Setting("--t", "", "", DURATION, least=0.5, most=60)
    numbers = {0.5: 0.5, 60: 60.0, 0.4: None, 61: None, "2m": None, True: None, None: None}
    assert {given: setting.seconds(given) for given in numbers} == numbers
