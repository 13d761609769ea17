"""`assay llmsql OUTPUTS`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_benchmark import Benchmark, write_lines

from assay.cli.app import run_command_line

OUTPUTS = [
    {"question_id": 1, "completion": "SELECT Name FROM Table WHERE Age > 20"},
    {"question_id": 2, "completion": "SELECT Absent FROM Table"},
    {"question_id": 3, "completion": "SELECT 0"},
]


@pytest.fixture
def command(benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command for these outputs, and their folder the current one."""
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "outputs.jsonl", OUTPUTS)
    return ["llmsql", "outputs.jsonl", "--questions", str(benchmark.questions), "--db", str(benchmark.database), "-q"]


def test_it_prints_accuracy_with_its_interval_counts_reasons_and_mismatches(
    command: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run_command_line([*command, "--max-mismatches", "1"]) == 0
    printed = capsys.readouterr().out
    assert "LLMSQL 2.0 · outputs.jsonl\naccuracy: 33.3 % [6.1, 79.2] (1 of 3)\n" in printed
    assert "note: 3 questions of 6 got no output" in printed
    assert printed.count("mismatch: question") == 1
    assert "output gives: no result: no such column: Absent" in printed
    assert "gold gives:   4 rows: 30.0; NULL; 41.5; 7.0" in printed
    assert "       1  no such column" in printed
    assert "--save-report FILE" in printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bench", "outputs.jsonl"]


def test_json_has_the_whole_report_and_the_interval(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line([*command, "--json", "--save-report", "report.json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["total"], report["matches"], report["unanswered"], report["version"]) == (3, 1, 3, "2.0")
    assert report["accuracy_interval"] == pytest.approx([0.0615, 0.7923], abs=1e-4)
    saved = json.loads(Path("report.json").read_text(encoding="utf-8"))
    assert saved["mismatches"] == report["mismatches"]
    assert [one["question_id"] for one in saved["mismatches"]] == [2, 3]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--version", "9"], "version is '9'"),
        (["--db", "absent.db"], "there is no SQLite database at"),
        (["--save-report", "no/report.json"], "there is no folder no"),
        (["--timeout", "0"], "--timeout"),
    ],
)
def test_unusable_input_ends_with_2(
    command: list[str], more: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line([*command, *more]) == 2
    assert said in capsys.readouterr().err
