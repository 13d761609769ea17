"""The exit status of a run, by what its gates and its unscored cases make of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from processes import json_lines, sqlite_file

import assay
from answering import Answering
from assay.cli.app import run_command_line
from assay.model import Gates

CASES = 10
LOOSE, TIGHT = "--max-unscored=30%", "--max-unscored=0.1"
REACHED, MISSED = "--min=match=50%", "--min=match=100%"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    sqlite_file(tmp_path / "shop.sqlite", "CREATE TABLE t(a INTEGER)")
    rows = ({"id": f"q{n}", "question": f"number {n}?", "gold_sql": f"SELECT {n}"} for n in range(CASES))
    json_lines(tmp_path / "cases.jsonl", rows)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(here: Path, *options: str, down: int, folder: str = "run") -> int:
    """Ask a system that answers the last question wrongly and cannot answer the first ``down`` ones."""
    answers = {f"number {n}?": f"SELECT {n if n < CASES - 1 else -1}" for n in range(CASES)}
    with Answering(answers) as server:
        server.down = frozenset(list(answers)[:down])
        system = ["--system", f"http:{server.url}", "--body", '{"q": "{question}"}', "--query-path", "sql"]
        files = ["run", "cases.jsonl", *system, "--db", "sqlite:///shop.sqlite", "-o", folder, "--retries", "0"]
        return run_command_line([*files, "--metrics", "match", "--workers", "1", "-q", *options])


# Of ten cases ``down`` cannot be asked, and of the others one is wrong.
TABLE = [
    (0, (), 0),
    (0, (REACHED,), 0),
    (0, (MISSED,), 1),
    (0, (TIGHT,), 0),
    (0, (TIGHT, MISSED), 1),
    (2, (), 3),
    (2, (REACHED,), 3),
    (2, (MISSED,), 1),
    (2, (LOOSE,), 0),
    (2, (LOOSE, REACHED), 0),
    (2, (LOOSE, MISSED), 1),
    (2, (TIGHT,), 1),
    (2, (TIGHT, REACHED), 1),
    (10, (), 3),
    (10, (REACHED,), 1),
    (10, (LOOSE,), 1),
    (10, ("--max-unscored=100%",), 0),
]


@pytest.mark.parametrize(("down", "gates", "status"), TABLE)
def test_the_status_follows_from_gates_and_unscored_cases(
    here: Path, down: int, gates: tuple[str, ...], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(here, *gates, down=down) == status
    errors = capsys.readouterr().err
    assert ("unfinished" in errors) == (down > 0)
    assert ("gates:" in errors) == bool(gates)
    # Everything is stored whatever the status, so that it can be the baseline of the next run.
    assert len(assay.load_run(here / "run").evidence) == CASES


def test_a_transient_failure_fails_a_build_only_above_the_share(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(here, LOOSE, down=2) == 0
    assert "gates: 1 of 1 passed" in capsys.readouterr().err
    assert run_command_line(["report", "run", "--full", "--max-unscored", "10%"]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "max-unscored 0.1" in told
    assert "10.0 points (1 case too many)" in told


def test_an_unfinished_run_is_a_baseline(here: Path) -> None:
    assert run(here, down=2, folder="main") == 3
    assert run(here, "--baseline", "main", "--max-drop", "match=1%", down=0, folder="now") == 0
    (gate,) = assay.load_run(here / "now").record.gates
    assert ", 8 cases, " in gate.found


@pytest.mark.parametrize(
    ("share", "most"), [("5%", 0.05), ("0.05", 0.05), ("0", 0.0), ("100 %", 1.0), ("1", 1.0), ("12.5%", 0.125)]
)
def test_a_share_is_read_in_every_place(here: Path, share: str, most: float) -> None:
    from assay.cli.options.gates import GateFlags
    from assay.settings import GateSettings

    assert GateFlags(max_unscored=share).gathered().max_unscored == most
    assert GateFlags().gathered(GateSettings(max_unscored=share)).max_unscored == most
    assert GateFlags(max_unscored=share).gathered(GateSettings(max_unscored="77%")).max_unscored == most
    assert Gates(max_unscored=most).any


@pytest.mark.parametrize("share", ["much", "nan", "-1%", "101%", "1.5", "5", "", "5%%"])
def test_a_share_that_is_none_is_refused(here: Path, share: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(here, f"--max-unscored={share}", down=0) == 2
    errors = capsys.readouterr().err
    assert "--max-unscored" in errors
    assert share in errors
    assert "5%" in errors or "0% to 100%" in errors
    assert not (here / "run").exists()
    (here / "eval.yaml").write_text(
        f"cases: cases.jsonl\npredictions: p.jsonl\ndb: sqlite:///shop.sqlite\ngates: {{max_unscored: '{share}'}}\n"
    )
    assert run_command_line(["run", "eval.yaml"]) == 2
    assert "eval.yaml, line 4" in capsys.readouterr().err


def test_a_share_out_of_range_is_refused_in_python(here: Path) -> None:
    run(here, down=0)
    with pytest.raises(assay.errors.UsageError, match="max-unscored is 5: give a share from 0 to 1"):
        assay.load_run(here / "run").check(Gates(max_unscored=5))
