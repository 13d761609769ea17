"""A run survives being killed, and goes on: nothing finished is lost, nothing finished is done again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assay import Run, evaluate, load_run
from assay.errors import RunError
from process_tree import descendants

SCRIPT = """
CREATE TABLE t(a INTEGER, b TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) INSERT INTO t SELECT i, 'x' || i FROM n;
"""


def _job(make_sqlite: Callable[..., Path], tmp_path: Path, count: int) -> dict[str, Path]:
    database = make_sqlite(SCRIPT, "data.sqlite")
    slow = "(SELECT count(*) FROM t x, t y) > 0"
    golds = {f"c{i}": f"SELECT a, b FROM t WHERE a <= {i}" for i in range(count)}
    answers = {f"c{i}": f"SELECT b, a FROM t WHERE a < {i + i % 2} AND {slow}" for i in range(count)}
    cases = [{"id": name, "question": f"q{name[1:]}", "gold_sql": gold} for name, gold in golds.items()]
    predictions = [{"id": name, "predicted_sql": query} for name, query in answers.items()]
    for name, rows in (("cases", cases), ("answers", predictions)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return {"folder": tmp_path, "database": database, "run": tmp_path / "run"}


@pytest.fixture
def job(make_sqlite: Callable[..., Path], tmp_path: Path) -> dict[str, Path]:
    """30 cases, each different, some right, some wrong."""
    return _job(make_sqlite, tmp_path, 30)


@pytest.fixture
def slow_job(make_sqlite: Callable[..., Path], tmp_path: Path) -> dict[str, Path]:
    """150 of them, of which every other query takes so long that the run is caught in the middle."""
    job = _job(make_sqlite, tmp_path, 150)
    answers = job["folder"] / "answers.jsonl"
    lines = answers.read_text(encoding="utf-8").splitlines(keepends=True)
    # The right ones: of a wrong one that is slow, repairs would be tried for a second.
    lines[1::2] = [line.replace("t x, t y)", "t x, t y, t z WHERE z.a <= 20)") for line in lines[1::2]]
    answers.write_text("".join(lines), encoding="utf-8")
    return job


def _command(job: dict[str, Path]) -> list[str]:
    folder = job["folder"]
    return [
        *(sys.executable, "-m", "assay", "run", str(folder / "cases.jsonl"), "-p", str(folder / "answers.jsonl")),
        *("--db", f"sqlite:///{job['database']}", "-o", str(job["run"]), "--metrics", "match", "--workers", "2"),
    ]


def _start(job: dict[str, Path]) -> subprocess.Popen[str]:
    return subprocess.Popen(_command(job), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _lines(job: dict[str, Path]) -> list[bytes]:
    journal = job["run"] / "journal.jsonl"
    return journal.read_bytes().splitlines(keepends=True) if journal.exists() else []


def _wait_for_lines(job: dict[str, Path], count: int) -> None:
    until = time.monotonic() + 300
    while len(_lines(job)) < count:
        assert time.monotonic() < until, "the run wrote nothing for 300 s"
        time.sleep(0.01)


def _evaluate(job: dict[str, Path], **changes: Any) -> Run:
    usual = {"databases": f"sqlite:///{job['database']}", "metrics": ["match"], "output": job["run"], "workers": 2}
    return evaluate(job["folder"] / "cases.jsonl", job["folder"] / "answers.jsonl", **usual | changes)


def test_a_run_killed_again_and_again_loses_nothing_and_repeats_nothing(slow_job: dict[str, Path]) -> None:
    chance = random.Random(5)
    before: list[bytes] = []
    for _ in range(4):
        process = _start(slow_job)
        _wait_for_lines(slow_job, min(len(before) + chance.randrange(1, 30), 149))
        process.kill()
        process.communicate()
        whole = [line for line in _lines(slow_job) if line.endswith(b"\n")]
        assert whole[: len(before)] == before, "what was finished stays as it was"
        before = whole
    assert 0 < len(before) < 150
    done = subprocess.run(_command(slow_job), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{len(before)} of 150 cases were finished before and are kept" in done.stderr
    lines = _lines(slow_job)
    assert lines[: len(before)] == before
    assert len({json.loads(line)["digest"] for line in lines}) == len(lines) == 150
    resumed, whole_run = load_run(slow_job["run"]), _evaluate(slow_job, output=None)
    # Only what the queries took is another measurement.
    assert replace(resumed.aggregates, times=()) == replace(whole_run.aggregates, times=())
    assert [(spread.name, spread.n) for spread in resumed.aggregates.times][:1] == [("gold query", 150)]
    assert [item.verdict for item in resumed.evidence] == [item.verdict for item in whole_run.evidence]


def test_ctrl_c_exits_with_3_says_how_to_go_on_and_leaves_no_process(slow_job: dict[str, Path]) -> None:
    process = _start(slow_job)
    _wait_for_lines(slow_job, 2)
    children = descendants(process.pid)
    if not children:
        pytest.skip("the processes of a run cannot be listed on this system")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 3, errors
    assert "same command" in errors
    assert "Traceback" not in errors
    until = time.monotonic() + 300
    while any(_is_alive(child) for child in children) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(_is_alive(child) for child in children)
    assert len(_evaluate(slow_job).evidence) == 150


def _is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
        return Path(f"/proc/{process_id}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_a_finished_run_is_not_done_again(job: dict[str, Path]) -> None:
    first = _evaluate(job)
    before = _lines(job)
    second = _evaluate(job)
    assert _lines(job) == before
    assert second.evidence == first.evidence
    assert second.provenance == first.provenance


@pytest.mark.parametrize(
    ("old", "differs", "in_memory"),
    [
        ('"c7", "predicted_sql": "SELECT b, a', "1 prediction of 30 cases differs", False),
        ("SELECT b, a", "30 predictions of 30 cases differ", True),
    ],
)
def test_a_finished_run_is_not_replaced_by_one_of_other_content(
    job: dict[str, Path], old: str, differs: str, *, in_memory: bool
) -> None:
    def evaluated(*, overwrite: bool = False) -> Run:
        sides: list[Any] = [job["folder"] / f"{name}.jsonl" for name in ("cases", "answers")]
        if in_memory:
            sides = [[json.loads(line) for line in path.read_text().splitlines()] for path in sides]
        return evaluate(
            *sides, databases=f"sqlite:///{job['database']}", output=job["run"], workers=1, overwrite=overwrite
        )

    evaluated()
    before = _lines(job)
    path = job["folder"] / "answers.jsonl"
    path.write_text(path.read_text().replace(old, old.replace("b, a", "a")))
    with pytest.raises(RunError, match=rf"run contains a finished run of other predictions: {differs}.*overwrite=True"):
        evaluated()
    assert _lines(job) == before
    assert len(load_run(job["run"]).evidence) == 30
    assert len(evaluated(overwrite=True).evidence) == 30


def test_a_corrected_gold_query_is_scored_with_the_same_predictions(job: dict[str, Path]) -> None:
    _evaluate(job)
    cases = job["folder"] / "cases.jsonl"
    cases.write_text(cases.read_text().replace("WHERE a <= 7", "WHERE a <= 8"))
    assert len(_evaluate(job).evidence) == 30
    assert len(_lines(job)) == 31


@pytest.mark.journey
def test_predictions_that_were_missing_are_added_to_a_finished_run(job: dict[str, Path]) -> None:
    answers = job["folder"] / "answers.jsonl"
    whole = answers.read_text()
    answers.write_text("".join(whole.splitlines(keepends=True)[:20]))
    _evaluate(job)
    answers.write_text(whole)
    assert len(_evaluate(job).evidence) == 30
    assert len(_lines(job)) == 40


def test_a_changed_database_is_judged_anew(job: dict[str, Path], make_sqlite: Callable[..., Path]) -> None:
    first = _evaluate(job)
    make_sqlite("DELETE FROM t WHERE a % 2 = 0;", "data.sqlite")
    second = _evaluate(job)
    assert len(_lines(job)) == 60
    assert [item.comparison for item in second.evidence] != [item.comparison for item in first.evidence]


@pytest.mark.journey
def test_a_torn_last_line_is_judged_again_and_a_damaged_one_is_named(job: dict[str, Path]) -> None:
    _evaluate(job)
    journal = job["run"] / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    assert len(_evaluate(job).evidence) == 30
    lines = _lines(job)
    journal.write_bytes(b"".join([*lines[:3], b"nonsense\n", *lines[4:]]))
    with pytest.raises(RunError, match=r"journal\.jsonl, line 4: damaged"):
        _evaluate(job)


def test_other_settings_are_another_run(job: dict[str, Path]) -> None:
    _evaluate(job)
    with pytest.raises(RunError, match=r"columns was 'any', now 'strict'.*overwrite=True"):
        _evaluate(job, columns="strict")
    assert _evaluate(job, columns="strict", overwrite=True).settings.columns == "strict"
