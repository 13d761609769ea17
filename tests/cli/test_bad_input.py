"""Files and settings of a run through the command line. Faults in them: slow/test_input_faults and test_mistakes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import json_lines, refused, succeeds

CASES = [
    {"id": "a", "question": "how many?", "gold_sql": "SELECT count(*) FROM t", "db_id": "shop"},
    {"id": "b", "question": "which?", "gold_sql": "SELECT a FROM t", "db_id": "shop"},
]
ANSWERS = [{"id": "a", "predicted_sql": "SELECT count(*) FROM t"}, {"id": "b", "predicted_sql": "SELECT a FROM t"}]


@pytest.fixture
def folder(tmp_path: Path, make_sqlite: Callable[..., Path]) -> Path:
    """A good question set, answers and a database."""
    make_sqlite("CREATE TABLE t(a INTEGER); INSERT INTO t VALUES (1), (2);", "dbs/shop.sqlite")
    json_lines(tmp_path / "cases.jsonl", CASES)
    json_lines(tmp_path / "answers.jsonl", ANSWERS)
    return tmp_path


def test_unmatched_predictions_can_be_allowed_and_are_kept_in_mind(folder: Path) -> None:
    json_lines(folder / "answers.jsonl", [*ANSWERS, {"id": "zz", "predicted_sql": "SELECT 1"}])
    done = succeeds(
        *("run", "cases.jsonl", "-p", "answers.jsonl", "--db", "sqlite:///dbs/{db_id}.sqlite", "-o", "run"),
        *("--allow-unmatched", "--json"),
        cwd=folder,
    )
    assert json.loads(done.stdout)["format"]
    assert {path.name for path in (folder / "run").iterdir()} == {"run.json", "journal.jsonl", "results.parquet"}
    assert json.loads((folder / "run" / "run.json").read_text())["provenance"]["unmatched_predictions"] == ["zz"]


def test_settings_in_one_file(folder: Path) -> None:
    settings = folder / "eval.yaml"
    text = "cases: cases.jsonl\npredictions: answers.jsonl\ndb: sqlite:///dbs/{db_id}.sqlite\noutput: run\n"
    settings.write_text(f"{text}metrics: [match, bird_ex]\ntimeout_s: 50\n")
    succeeds("run", settings, "--json", cwd=Path("/"))
    run = json.loads((folder / "run" / "run.json").read_text())
    assert (run["settings"]["metrics"], run["settings"]["limits"]["timeout_s"]) == (["match", "bird_ex"], 50)
    for line, said in (("metricks: [match]", ["metricks", "metrics"]), ("timeout_s: soon", ["timeout_s"])):
        settings.write_text(f"{text}{line}\n")
        message = refused("run", settings, "--json")
        assert all(part in message for part in ("eval.yaml", *said)), message
