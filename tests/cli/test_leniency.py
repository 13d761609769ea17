"""Leniency by flags, by a run file and by a case: the verdict goes by it, and the printed number says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from processes import assay, json_lines, sqlite_file, succeeds

GOLDS = {"wide": "SELECT a FROM t", "twice": "SELECT DISTINCT a FROM t", "case": "SELECT 'x'", "near": "SELECT 1.5"}
ANSWERS = {"wide": "SELECT b, a FROM t", "twice": "SELECT a FROM t", "case": "SELECT 'X'", "near": "SELECT 1.500001"}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    sqlite_file(tmp_path / "t.sqlite", "CREATE TABLE t (a, b); INSERT INTO t VALUES ('Ab', 1), ('Ab', 2)")
    json_lines(tmp_path / "cases.jsonl", [{"id": one, "question": one, "gold_sql": sql} for one, sql in GOLDS.items()])
    json_lines(tmp_path / "answers.jsonl", [{"id": one, "predicted_sql": sql} for one, sql in ANSWERS.items()])
    return tmp_path


def _right(folder: Path, *flags: str) -> tuple[set[str], str]:
    """Which cases are right, and the second printed line."""
    done = succeeds(
        *("run", "cases.jsonl", "--predictions", "answers.jsonl", "--db", "sqlite:///t.sqlite", "--metrics", "match"),
        *("--workers", "1", "-o", "run", "--overwrite", "--full", *flags),
        cwd=folder,
    )
    lines = (folder / "run" / "journal.jsonl").read_text("utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    items = [one.get("evidence", one) for one in found]
    right = {item["case"]["id"] for item in items if item.get("verdict", {}).get("outcome") == "correct"}
    return right, done.stdout.splitlines()[1]


@pytest.mark.parametrize(
    ("flags", "right", "said"),
    [
        ((), set(), ""),
        (("--extra-columns", "allowed"), {"wide"}, " · lenient: extra columns allowed"),
        (("--duplicates", "ignored"), {"twice"}, " · lenient: duplicates ignored"),
        (("--case", "ignored"), {"case"}, " · lenient: letter case ignored"),
        (("--tolerance", "1e-5"), {"near"}, " · lenient: tolerance 1e-05"),
    ],
)
def test_each_flag_lets_its_own_kind_pass_and_the_number_says_so(
    files: Path, flags: tuple[str, ...], right: set[str], said: str
) -> None:
    found, line = _right(files, *flags)
    assert found == right
    assert line.endswith(f"0 unscored{said}")


def test_a_run_file_declares_it_and_a_diff_with_a_strict_run_says_so(files: Path) -> None:
    _right(files)
    (files / "run.yaml").write_text(
        "cases: cases.jsonl\npredictions: answers.jsonl\ndb: sqlite:///t.sqlite\nmetrics: [match]\noutput: lenient\n"
        "extra_columns: allowed\nduplicates: ignored\ncase: ignored\ntolerance: 1.0e-5\n"
    )
    done = assay("run", "run.yaml", "--full", cwd=files)
    assert "100.0 %" in done.stdout.splitlines()[1]
    said = "extra columns allowed, duplicates ignored, letter case ignored, tolerance 1e-05"
    assert said in done.stdout.splitlines()[1]
    assert f"leniency was 'none', now '{said}'" in assay("diff", "run", "lenient", "--full", cwd=files).stdout
