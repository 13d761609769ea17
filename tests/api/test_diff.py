"""Comparisons through the Python API, on runs of real databases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import assay
from assay.errors import UsageError
from assay.model import Evidence

CASES = [
    {"id": "1", "question": "all?", "gold_sql": "SELECT a FROM t", "difficulty": "easy"},
    {"id": "2", "question": "ones?", "gold_sql": "SELECT a FROM t WHERE a = 1", "difficulty": "hard"},
    {"id": "3", "question": "twos?", "gold_sql": "SELECT a FROM t WHERE a = 2", "difficulty": "hard"},
]
OLD = {"1": "SELECT a FROM t", "2": "SELECT 7", "3": "SELECT a FROM nowhere"}
NEW = {"1": "SELECT 9", "2": "SELECT a FROM t WHERE a < 2", "3": "SELECT 8"}


@pytest.fixture
def database(make_sqlite: Callable[..., Path]) -> str:
    return f"sqlite:///{make_sqlite('CREATE TABLE t(a INTEGER); INSERT INTO t VALUES (1), (2);')}"


def test_runs_are_compared_from_memory_and_from_folders_alike(database: str, tmp_path: Path) -> None:
    old = assay.evaluate(CASES, OLD, databases=database, name="old", output=tmp_path / "old")
    new = assay.evaluate(CASES, NEW, databases=database, name="new", output=tmp_path / "new")
    diff = assay.diff(old, new)
    assert [change.candidate.case_id for change in diff.fixed] == ["2"]
    assert [change.candidate.case_id for change in diff.broken] == ["1"]
    (still,) = (change for change in diff.changes if change.kind == "still_wrong")
    assert (still.candidate.case_id, still.otherwise) == ("3", True)
    assert still.candidate.query == "SELECT 8"
    assert "nowhere" in still.baseline.reason
    match = diff.metric()
    assert (match.metric, match.gained, match.lost, match.p_value) == ("match", 1, 1, 1.0)
    assert diff.metric("nonsense") is None
    assert repr(diff) == "<assay.RunDiff of 3 cases, old to new: 1 fixed, 1 broken>"
    assert assay.diff(old.record, str(tmp_path / "new")).changes == diff.changes


def test_folders_are_compared_without_building_their_evidence(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, answers in (("old", OLD), ("new", NEW)):
        assay.evaluate(CASES, answers, databases=database, output=tmp_path / name)

    def built(self: Evidence, **fields: object) -> None:
        raise AssertionError("a whole Evidence was built")

    monkeypatch.setattr(Evidence, "__init__", built)
    assert assay.diff(tmp_path / "old", tmp_path / "new").matching.paired == 3


def test_several_runs_are_ranked(database: str, tmp_path: Path) -> None:
    runs = [assay.evaluate(CASES, answers, databases=database, name=name) for name, answers in (("o", OLD), ("n", NEW))]
    gold = {str(case["id"]): str(case["gold_sql"]) for case in CASES}
    board = assay.leaderboard([*runs, assay.evaluate(CASES, gold, databases=database, name="gold")])
    assert (board.metric, board.cases) == ("match", 3)
    assert [(one.run.label, one.rank) for one in board.standings] == [("gold", 1), ("o", 2), ("n", 2)]
    assert len(board.pairs) == 3
    other = assay.leaderboard(runs, metric="bird_soft_f1")
    assert other.metric == "bird_soft_f1"


def test_settings_and_runs_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="alpha is 5"):
        assay.diff(tmp_path, tmp_path, alpha=5)
    with pytest.raises(UsageError, match="resamples is 0"):
        assay.leaderboard([tmp_path, tmp_path], resamples=0)
    with pytest.raises(UsageError, match="a run is given as int"):
        assay.diff(1, 2)  # type: ignore[arg-type]
