"""A report replaces neither what a run needs nor what the command reads, whatever writes it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import assay
from assay.cli.app import run_command_line
from assay.demo import sdmx_path
from assay.errors import UsageError
from assay.runs.store.folder import RUN_FILES
from many_cases import each

CASES = [{"id": str(number), "question": f"q{number}", "gold_sql": f"SELECT {number}"} for number in range(3)]
PREDICTIONS = [{"id": str(number), "predicted_sql": f"SELECT {number}"} for number in range(3)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs and their inputs, as JSON so that a report may have their suffix."""
    monkeypatch.chdir(tmp_path)
    Path("cases.json").write_text(json.dumps(CASES), encoding="utf-8")
    Path("predictions.json").write_text(json.dumps(PREDICTIONS), encoding="utf-8")
    for name in ("one", "two"):
        assay.evaluate("cases.json", "predictions.json", databases="sqlite://", output=name, metrics=["match"])
    for name in ("cases.yaml", "predictions.jsonl", "structures.xml"):
        shutil.copyfile(sdmx_path(name), f"sdmx-{name}")
    return tmp_path


def _content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


_RUN = ("run", "cases.json", "-p", "predictions.json", "--db", "sqlite://", "-q")


@each(
    "command",
    [
        ("report", "one", "--json", "one/run.json"),
        ("report", "one", "--json", "./two/../two/run.json"),
        ("explain", "one", "1", "--json", "one/run.json"),
        ("diff", "one", "two", "--json", "two/run.json"),
        ("leaderboard", "one", "two", "--json", "two/run.json"),
        ("runs", ".", "--json", "two/run.json"),
        ("lint", "cases.json", "--db", "sqlite://", "--json", "one/run.json"),
        ("lint", "cases.json", "--db", "sqlite://", "--json", "cases.json"),
        ("lint", "cases.json", "--db", "sqlite://", "--sarif", "cases.json"),
        ("check", "SELECT 1", "SELECT 1", "--db", "sqlite://", "--json", "one/run.json"),
        (*_RUN, "--json", "cases.json"),
        (*_RUN, "--json", "predictions.json"),
        (*_RUN, "--json", "one/run.json"),
        (*_RUN, "-o", "three", "--json", "three/run.json"),
        (*_RUN, "-o", "three", "--json", "three/lint.json"),
        ("sdmx", "sdmx-cases.yaml", "-p", "sdmx-predictions.jsonl", "--json", "one/run.json"),
        ("sdmx", "sdmx-cases.yaml", "-p", "sdmx-predictions.jsonl", "-o", "three", "--json", "three/run.json"),
    ],
)
def test_nothing_that_is_needed_is_replaced(
    folder: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    before = _content(folder)
    assert run_command_line(list(command)) == 2
    assert "would replace" in capsys.readouterr().err
    assert _content(folder) == before


@each("name", [*(f"one/{name}" for name in RUN_FILES), "cases.json", "predictions.json"])
def test_nor_from_python(folder: Path, name: str) -> None:
    run = assay.load_run("two")
    (folder / "one" / "lint.json").write_text("{}", encoding="utf-8")
    before = _content(folder)
    with pytest.raises(UsageError, match="give the report another name"):
        run.report(name, format="json")
    assert _content(folder) == before


def test_an_earlier_report_is_replaced(folder: Path) -> None:
    for target in ("report.json", "one/report.json"):
        assert run_command_line(["report", "one", "--json", target]) == 0
        assert run_command_line(["report", "two", "--json", target]) == 0


@each("verb", [("run", "cases.json", "--db", "sqlite://", "-q"), ("sdmx", "sdmx-cases.yaml", "-q")])
@each(
    "given",
    [
        ("-p", "a.json", "-p", "b.json"),
        ("--predictions", "a.json", "-p", "b.json"),
        ("-p", "a.json", "--predictions=b.json"),
    ],
)
def test_of_two_files_of_predictions_none_is_left_out_without_a_word(
    folder: Path, capsys: pytest.CaptureFixture[str], verb: tuple[str, ...], given: tuple[str, ...]
) -> None:
    assert run_command_line([*verb, *given]) == 2
    assert "--predictions is given twice: a.json and b.json." in capsys.readouterr().err


def test_the_same_file_twice_is_one(folder: Path) -> None:
    assert run_command_line([*_RUN, "-p", "predictions.json"]) == 0


@each("given", ["one", "one/run.json", "one/report.json", "lint.json", "."])
@each("role", ["run", "lint", "predictions"])
def test_what_assay_wrote_itself_is_no_input(
    folder: Path, capsys: pytest.CaptureFixture[str], given: str, role: str
) -> None:
    if not Path("lint.json").exists():  # made by the first case
        assert run_command_line(["report", "one", "--json", "one/report.json"]) == 0
        assert run_command_line(["lint", "cases.json", "--db", "sqlite://", "--json", "lint.json", "-q"]) == 0
    capsys.readouterr()
    command = {
        "run": ("run", given, "-p", "predictions.json", "--db", "sqlite://"),
        "lint": ("lint", given, "--db", "sqlite://"),
        "predictions": ("run", "cases.json", "-p", given, "--db", "sqlite://"),
    }[role]
    assert run_command_line(list(command)) == 2
    assert "not a file of questions or predictions: name the one that the run was made from" in capsys.readouterr().err
