"""The tolerances of numbers, from flags and run files: recorded with the run, and part of what it is."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pytest
from processes import assay

QUERIES = {
    "far": ("SELECT 1000.0", "SELECT 1000.001"),
    "nought": ("SELECT 0.0", "SELECT 1e-7"),
    "exact": ("SELECT 1000", "SELECT 1001"),
}
"""Gold and prediction: a relative difference of 1e-6, one beside 0, and one of integers, which compare exactly."""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Three cases that read no table."""
    connection = sqlite3.connect(tmp_path / "t.sqlite")
    connection.execute("CREATE TABLE t (a)")
    connection.close()
    cases = [{"id": name, "question": name, "gold_sql": gold} for name, (gold, _) in QUERIES.items()]
    answers = [{"id": name, "predicted_sql": query} for name, (_, query) in QUERIES.items()]
    for name, rows in (("cases", cases), ("answers", answers)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "eval.yaml").write_text(
        "cases: cases.jsonl\npredictions: answers.jsonl\ndb: sqlite:///t.sqlite\nmetrics: [match]\noutput: run\n"
        "workers: 1\nrelative_tolerance: 1e-5\nabsolute_tolerance: 1.0e-6\n",
        encoding="utf-8",
    )
    return tmp_path


def _flags(*given: str) -> list[str]:
    command = ["run", "cases.jsonl", "-p", "answers.jsonl", "--db", "sqlite:///t.sqlite", "--metrics", "match"]
    return [*command, "--workers", "1", "-o", "run", *given]


def _right(folder: Path) -> set[str]:
    lines = (folder / "run" / "journal.jsonl").read_text("utf-8").splitlines()
    items = [one.get("evidence", one) for one in map(json.loads, lines)]
    return {item["case"]["id"] for item in items if item.get("verdict", {}).get("outcome") == "correct"}


def _recorded(folder: Path) -> tuple[float, float]:
    settings = json.loads((folder / "run" / "run.json").read_bytes())["settings"]
    return settings["relative_tolerance"], settings["absolute_tolerance"]


@pytest.mark.parametrize(
    ("flags", "right", "recorded"),
    [
        ((), set(), (1e-12, 1e-12)),
        (("--relative-tolerance", "1e-5"), {"far"}, (1e-5, 1e-12)),
        (("--absolute-tolerance", "1e-6"), {"nought"}, (1e-12, 1e-6)),
        (("--relative-tolerance", "0", "--absolute-tolerance", "0"), set(), (0.0, 0.0)),
    ],
)
def test_a_flag_decides_what_is_equal_and_the_run_keeps_it(
    files: Path, flags: tuple[str, ...], right: set[str], recorded: tuple[float, float]
) -> None:
    done = assay(*_flags(*flags), cwd=files)
    assert done.returncode == 0, done.stderr
    assert (_right(files), _recorded(files)) == (right, recorded)


def test_a_run_file_sets_them_a_flag_weighs_more_and_the_run_goes_on_with_the_same_alone(files: Path) -> None:
    assert assay("run", "eval.yaml", cwd=files).returncode == 0
    assert (_right(files), _recorded(files)) == ({"far", "nought"}, (1e-5, 1e-6))
    other = assay("run", "eval.yaml", "--relative-tolerance", "1e-4", cwd=files)
    assert other.returncode == 2
    assert "relative_tolerance was 1e-05, now 0.0001" in other.stderr
    journal = (files / "run" / "journal.jsonl").read_bytes()
    assert assay("run", "eval.yaml", cwd=files).returncode == 0
    assert (files / "run" / "journal.jsonl").read_bytes() == journal


@pytest.mark.parametrize("name", ["relative_tolerance", "absolute_tolerance"])
@pytest.mark.parametrize("value", ["-1e-9", "nan", "inf"])
def test_what_is_out_of_range_is_told_of_flags_and_files_before_anything_is_written(
    files: Path, name: str, value: str
) -> None:
    option = "--" + name.replace("_", "-")
    flagged = assay(*_flags(f"{option}={value}"), cwd=files)
    text = (files / "eval.yaml").read_text(encoding="utf-8").splitlines()
    kept = [line for line in text if not line.startswith(name)]
    shown = value if value.startswith("-") else f".{value}"
    (files / "eval.yaml").write_text("\n".join([*kept, f"{name}: {shown}"]), encoding="utf-8")
    filed = assay("run", "eval.yaml", cwd=files)
    for done in (flagged, filed):
        assert done.returncode == 2
        assert re.search(rf"{re.sub('[-_]', '[-_]', name)} is '?{re.escape(value)}", done.stderr.replace("e-09", "e-9"))
        assert "a number from 0 up" in done.stderr
    assert not (files / "run").exists()


def test_a_relative_tolerance_of_all_and_a_text_are_refused(files: Path) -> None:
    whole = assay(*_flags("--relative-tolerance", "1"), cwd=files)
    assert "relative_tolerance is 1.0: give a number from 0 up, and below 1" in whole.stderr
    text = (files / "eval.yaml").read_text(encoding="utf-8").replace("1e-5", "small")
    (files / "eval.yaml").write_text(text, encoding="utf-8")
    done = assay("run", "eval.yaml", cwd=files)
    assert done.returncode == 2
    assert "relative_tolerance" in done.stderr
