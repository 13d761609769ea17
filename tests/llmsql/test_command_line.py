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
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "outputs.jsonl", OUTPUTS)
    return ["llmsql", "outputs.jsonl", "--questions", str(benchmark.questions), "--db", str(benchmark.database), "-q"]


def test_it_prints_what_was_found(command: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run_command_line([*command, "--max-mismatches", "1"]) == 0
    printed = capsys.readouterr().out
    assert "LLMSQL 2.0 · outputs.jsonl\naccuracy: 33.3 % [6.1, 79.2] (1 of 3)\n" in printed
    assert "note: 3 questions of 6 have no output" in printed
    assert printed.count("mismatch: question") == 1
    assert "output gives: no result: no such column: Absent" in printed
    assert "gold gives:   4 rows: 30.0; NULL; 41.5; 7.0" in printed
    assert "       1  no such column" in printed
    assert "--save-report FILE" in printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bench", "outputs.jsonl"]


def test_it_is_a_run_like_any_other(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    reports = ["--html", "report.html", "--md", "report.md", "--xlsx", "report.xlsx", "--junit", "report.xml"]
    assert run_command_line([*command, "-o", "run", *reports, "--json", "--save-report", "report.json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    rates = {one["metric"]: one["rate"] for one in shown["aggregates"]["overall"]["metrics"]}
    assert [(rate["n"], rate["numerator"]) for rate in rates.values()] == [(3, 1.0)] * 2
    assert rates["llmsql_ex"]["low"] == pytest.approx(0.0615, abs=1e-4)
    assert shown["aggregates"]["cases"] == 3
    saved = json.loads(Path("report.json").read_text(encoding="utf-8"))
    assert (saved["total"], saved["matches"], saved["sql_errors"]) == (3, 1, 1)
    assert [one["question_id"] for one in saved["mismatches"]] == [2, 3]
    assert run_command_line([*command, "--save-report", "report.json"]) == 0
    assert "Nothing is stored" not in capsys.readouterr().out
    assert run_command_line([*command, "--min", "llmsql_ex=0.5"]) == 1
    assert run_command_line([*command, "--must-pass", "id:1"]) == 0
    assert all(Path(name).stat().st_size for name in reports[1::2])
    assert "llmsql_ex" in Path("report.md").read_text(encoding="utf-8")
    capsys.readouterr()
    assert run_command_line(["report", "run"]) == 0
    assert "llmsql_ex" in capsys.readouterr().out


def test_what_a_folder_holds_is_not_judged_again(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    command.remove("-q")
    write_lines(Path("outputs.jsonl"), OUTPUTS[:2])
    assert run_command_line([*command, "-o", "run"]) == 0
    journal = Path("run", "journal.jsonl")
    before = journal.read_bytes()
    assert run_command_line([*command, "-o", "run"]) == 0
    assert "2 of 2 cases were finished before" in capsys.readouterr().err
    assert journal.read_bytes() == before
    write_lines(Path("outputs.jsonl"), OUTPUTS)
    assert run_command_line([*command, "-o", "run", "--save-report", "report.json"]) == 0
    assert "2 of 3 cases were finished before" in capsys.readouterr().err
    saved = json.loads(Path("report.json").read_text(encoding="utf-8"))
    assert [one["prediction_errors"] for one in saved["mismatches"]] == [["no such column: Absent"], []]
    assert saved["mismatches"][0]["gold_results"] == [[30.0], [None], [41.5], [7.0]]


def test_unusable_input_ends_with_2(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for more, said in ((["--db", "absent.db"], "there is no SQLite database at"), (["--timeout", "0"], "--timeout")):
        assert run_command_line([*command, *more]) == 2
        assert said in capsys.readouterr().err


def test_the_packages_own_options_are_understood(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    verb, outputs, *options = command
    renamed = {"--questions": "--questions-path", "--db": "--db-path"}
    theirs = [verb, "--outputs", outputs, *(renamed.get(option, option) for option in options)]
    heads = []
    for one in (command, theirs):
        assert run_command_line([*one, "--full"]) == 0
        head, latency, _ = capsys.readouterr().out.partition("Latency")
        assert latency
        heads.append(head)
    assert heads[0] == heads[1]
    for more, printed in (["--show-mismatches"], 2), (["--max-mismatches", "1"], 1), (["--no-show-mismatches"], 0):
        assert run_command_line([*theirs, *more]) == 0
        assert capsys.readouterr().out.count("mismatch: question") == printed
    assert run_command_line([verb, "evaluate", *theirs[1:]]) == 2
    assert "is 'assay llmsql', without evaluate" in capsys.readouterr().err
    for wrong in ([*theirs, outputs], [verb, *options]):
        assert run_command_line(wrong) == 2
        assert "name the file of outputs, once" in capsys.readouterr().err
