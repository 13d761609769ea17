"""The tolerances of numbers, from flags and run files: recorded with the run, and part of what it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from processes import json_lines, refused, sqlite_file, succeeds

from many_cases import each

QUERIES = {
    "far": ("SELECT 1000.0", "SELECT 1000.001"),
    "nought": ("SELECT 0.0", "SELECT 1e-7"),
    "exact": ("SELECT 1000", "SELECT 1001"),
}
"""Gold and prediction: a relative difference of 1e-6, one beside 0, and one of integers, which compare exactly."""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Three cases that read no table."""
    sqlite_file(tmp_path / "t.sqlite")
    cases = [{"id": name, "question": name, "gold_sql": gold} for name, (gold, _) in QUERIES.items()]
    json_lines(tmp_path / "cases.jsonl", cases)
    json_lines(tmp_path / "answers.jsonl", [{"id": name, "predicted_sql": sql} for name, (_, sql) in QUERIES.items()])
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
    succeeds(*_flags(*flags), cwd=files)
    assert (_right(files), _recorded(files)) == (right, recorded)


def test_a_run_file_sets_them_a_flag_weighs_more_and_the_run_goes_on_with_the_same_alone(files: Path) -> None:
    succeeds("run", "eval.yaml", cwd=files)
    assert (_right(files), _recorded(files)) == ({"far", "nought"}, (1e-5, 1e-6))
    assert "relative_tolerance was 1e-05, now 0.0001" in refused(
        "run", "eval.yaml", "--relative-tolerance", "1e-4", cwd=files
    )
    journal = (files / "run" / "journal.jsonl").read_bytes()
    succeeds("run", "eval.yaml", cwd=files)
    assert (files / "run" / "journal.jsonl").read_bytes() == journal


@each("value", ["-1e-9", ".nan", ".inf", "small"])
def test_what_is_out_of_range_in_a_run_file_is_told_before_anything_is_written(files: Path, value: str) -> None:
    """`test_mistakes` has the flags."""
    text = (files / "eval.yaml").read_text(encoding="utf-8")
    (files / "wrong.yaml").write_text(text.replace("1e-5", value), encoding="utf-8")
    assert "relative_tolerance" in refused("run", "wrong.yaml", cwd=files)
    assert not (files / "run").exists()
