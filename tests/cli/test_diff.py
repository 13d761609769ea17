"""`assay diff` as a process: what it prints and writes, and with which status it ends."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from processes import json_lines, sqlite_file, succeeds

import assay as package
from assay.cli.app import run_command_line

CASES = 24


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs ``weak`` (8 of 24 right), ``strong`` (20) and ``equal`` (20, others)."""
    folder = tmp_path_factory.mktemp("runs")
    sqlite_file(folder / "numbers.sqlite")
    cases = [
        {"id": f"q{n}", "question": f"What is {n}?", "sql": f"SELECT {n}", "tags": ["smoke"] if n < 4 else []}
        for n in range(CASES)
    ]
    json_lines(folder / "cases.jsonl", cases)
    for name, right in (("weak", range(8)), ("strong", range(20)), ("equal", range(4, 24))):
        answers = [{"id": f"q{n}", "sql": f"SELECT {n if n in right else -1}"} for n in range(CASES)]
        files = folder / "cases.jsonl", json_lines(folder / f"{name}.jsonl", answers)
        given = {"databases": f"sqlite:///{folder / 'numbers.sqlite'}", "metrics": ["match", "bird_ex"], "workers": 1}
        package.evaluate(*files, **given, output=folder / name, name=name)
    return folder


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Done]


@pytest.fixture
def here(capfd: pytest.CaptureFixture[str]) -> Command:
    """The command in this process, which is much faster than one of its own."""

    def run(*arguments: object) -> Done:
        status = run_command_line([str(one) for one in arguments])
        printed = capfd.readouterr()
        return Done(returncode=status, stdout=printed.out, stderr=printed.err)

    return run


def test_two_runs_are_compared_in_plain_lines_where_nobody_watches(runs: Path) -> None:
    done = succeeds("diff", runs / "weak", runs / "strong", "--full")
    first, second, third, *_ = done.stdout.splitlines()
    assert first == "strong against weak"
    assert second.startswith("Better: match rose by 50.0 points [")
    assert "from 33.3 % to 83.3 % over 24 cases; p < 0.001" in second
    assert third == "12 fixed, 8 still right, 4 still wrong in the same way"
    assert "for a pull request: assay diff" in done.stdout


def test_two_runs_are_compared_on_one_screen(runs: Path) -> None:
    done = succeeds("diff", runs / "weak", runs / "strong")
    lines = done.stdout.splitlines()
    assert lines[0] == "Better: match rose by 50.0 points [+29.2, +70.8], from 33.3 % to 83.3 % over 24"
    assert lines[-2:] == lines[:2]
    assert len(lines) <= 40
    assert "12 fixed, 8 still right, 4 still wrong in the same way" in lines


def test_the_order_of_the_runs_is_the_direction(here: Command, runs: Path) -> None:
    done = here("diff", runs / "strong", runs / "weak", "--max-cases", "1", "--full")
    assert "Worse: match fell by 50.0 points [" in done.stdout
    assert "Broken: 12" in done.stdout
    assert "  and q9, q10, " in done.stdout


def test_a_missed_gate_ends_with_status_1_after_everything_is_shown(here: Command, runs: Path) -> None:
    done = here("diff", runs / "strong", runs / "weak", "--fail-on-regression", "--must-pass", "tag:smoke")
    assert done.returncode == 1
    assert "Gates: 1 of 2 passed" in done.stdout
    assert "Worse:" in done.stdout
    assert "gates: 1 of 2 passed; missed: fail-on-regression" in done.stderr


def test_gates_that_are_reached_end_with_status_0(here: Command, runs: Path) -> None:
    done = here("diff", runs / "weak", runs / "strong", "--min", "match=80%", "--max-drop", "match=1%")
    assert done.returncode == 0, done.stderr
    assert "Gates: 2 of 2 passed" in done.stdout


def test_markdown_goes_to_standard_output_alone_and_gates_beside_it(here: Command, runs: Path) -> None:
    done = here("diff", runs / "strong", runs / "weak", "--md", "-", "--min", "match=80%")
    assert done.returncode == 1
    assert done.stdout.startswith("## `weak` against `strong`\n\n🔴 **Worse**: match fell by")
    assert "| **`min match=0.8`** | ❌ **missed** |" in done.stdout
    assert "wrote" not in done.stdout


def test_files_are_written_and_named(here: Command, runs: Path, tmp_path: Path) -> None:
    page, numbers = tmp_path / "new" / "diff.md", tmp_path / "diff.json"
    done = here("diff", runs / "weak", runs / "strong", "--md", page, "--json", numbers)
    assert done.returncode == 0, done.stderr
    assert "match" in done.stdout.splitlines()[0], "the verdict is on the screen, too"
    assert done.stdout.splitlines()[-2:] == [f"wrote {page}", f"wrote {numbers}"]
    document = json.loads(numbers.read_bytes())
    assert document["counts"] == {"fixed": 12, "still_right": 8, "still_wrong": 4}
    assert document["baseline"]["label"] == "weak"
    assert "Better" in page.read_text(encoding="utf-8")


def test_three_runs_are_ranked(here: Command, runs: Path) -> None:
    done = here("diff", runs / "weak", runs / "strong", runs / "equal", "--metric", "bird_ex")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("No single best run: ")
    assert "do not differ significantly" in " ".join(done.stdout.split())
    printed = here("diff", runs / "weak", runs / "strong", runs / "equal", "--json", "-")
    document = json.loads(printed.stdout)
    assert [standing["run"]["label"] for standing in document["standings"]][-1] == "weak"


def test_a_copy_of_a_run_is_noted(here: Command, runs: Path, tmp_path: Path) -> None:
    done = here("diff", runs / "weak", shutil.copytree(runs / "weak", tmp_path / "copy"), "--full")
    assert done.returncode == 0, done.stderr
    assert "match is 33.3 % in both, and no case changed" in done.stdout
    assert "note: " in done.stdout


def test_a_damaged_run_is_named(here: Command, runs: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(runs / "strong", broken)
    journal = broken / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:3], b'{"case": nothing}\n', *lines[4:]]))
    done = here("diff", runs / "weak", broken)
    assert done.returncode == 2
    assert str(broken) in done.stderr


def test_the_level_of_a_comparison_needs_no_gate(here: Command, runs: Path) -> None:
    done = here("diff", runs / "weak", runs / "strong", "--alpha", "0.001", "--full")
    assert done.returncode == 0, done.stderr
    assert "at α = 0.001" in done.stdout
    assert here("diff", runs / "weak", runs / "strong", runs / "equal", "--alpha", "0.001").returncode == 0


def test_a_gate_on_any_metric_names_the_cases_that_lost(here: Command, runs: Path) -> None:
    for metric in ("match", "bird_ex"):
        done = here("diff", runs / "strong", runs / "weak", "--max-drop", f"{metric}=0", "--full")
        assert done.returncode == 1
        [line] = [line for line in done.stdout.splitlines() if line.startswith("  max-drop")]
        assert "missed by 50.0 points; cases: q8, q9, q10, q11, q12, +7" in line
