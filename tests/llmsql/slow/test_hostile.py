"""A hostile completion harms nothing, costs its time limit only, and is an error with a reason."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_benchmark import GOLDS, Benchmark

LIMIT_S = 1.0
ENDLESS = "SELECT * FROM (WITH RECURSIVE n(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM n) SELECT max(x) FROM n)"
WIDE = ", ".join(['"Table"'] * 40)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("completion", "reason"),
    [
        (ENDLESS, "no result within the limit of 1 s"),
        (f"SELECT count(*) FROM {WIDE}".replace('FROM "Table"', 'FROM "1-1000181-1" a, "1-1000181-1"'), ""),
        ("SELECT length(hex(zeroblob(900000000)))", ""),
        ("SELECT load_extension('/tmp/evil.so')", "load_extension"),
        ("SELECT writefile('owned', 'x')", "no such function: writefile"),
        ("SELECT 1 FROM pragma_journal_mode('wal')", ""),
        ("ATTACH 'owned.db' AS x; SELECT * FROM x.t", "no such table: x.t"),
        ('SELECT 1 UNION DROP TABLE "1-1000181-1"', "syntax error"),
        ("SELECT " + "(" * 5_000 + "1" + ")" * 5_000, ""),
        ("SELECT '\x00'", ""),
        ("SELECT '\ud800'", "surrogate"),
    ],
)
def test_it_is_an_error_with_a_reason_and_the_next_is_judged(
    benchmark: Benchmark, evaluated: Callable[..., dict[str, Any]], tmp_path: Path, completion: str, reason: str
) -> None:
    before = _digest(benchmark.database)
    outputs = [{"question_id": 1, "completion": completion}, {"question_id": 2, "completion": GOLDS[2][1]}]
    for limit_s in (LIMIT_S, 8 * LIMIT_S, 64 * LIMIT_S):  # until the next one does not meet it, too
        report = evaluated(outputs, timeout_s=limit_s, save_report="report.json")
        reason = reason.replace(f"{LIMIT_S:g} s", f"{limit_s:g} s")
        if report["matches"]:
            break
    assert report["matches"] == 1
    assert report["sql_errors"] >= 1
    (mismatch,) = report["mismatches"]
    assert mismatch["prediction_results"] is None
    assert any(reason in error for error in mismatch["prediction_errors"]), mismatch["prediction_errors"]
    assert _digest(benchmark.database) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bench", "report.json"]
    assert sorted(path.name for path in benchmark.database.parent.iterdir()) == ["questions.jsonl", "sqlite_tables.db"]


def test_the_queries_of_a_completion_share_the_time_limit(evaluated: Callable[..., dict[str, Any]]) -> None:
    bombs = "; ".join(ENDLESS.replace("max(x)", f"max(x+{number})") for number in range(5))
    report = evaluated([{"question_id": 1, "completion": bombs}], timeout_s=LIMIT_S)
    errors = report["mismatches"][0]["prediction_errors"]
    assert len(errors) == report["sql_errors"] == 10
    assert errors[0] == "no result within the limit of 1 s"
    assert errors[-1] == "not run: the queries before it used up the limit of 1 s"


def test_a_dead_worker_costs_one_output(benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.engines.pool import spawn
    from assay.llmsql import evaluate

    monkeypatch.chdir(tmp_path)
    # The worker of this test dies at a query of this text, as it would of a fault within SQLite.
    deadly = (
        "import os, assay.engines.sqlite.engine as s; old = s.SqliteEngine.execute; "
        "s.SqliteEngine.execute = lambda self, query: os.abort() if 'deadly' in query else old(self, query); "
    )
    monkeypatch.setattr(spawn, "_BOOTSTRAP", spawn._BOOTSTRAP.replace("from assay", deadly + "from assay"))
    outputs = [
        {"question_id": number, "completion": "SELECT 'deadly'" if number == 3 else GOLDS[number][1]}
        for number in (1, 2, 3, 4, 6)
    ]
    report = evaluate(outputs, **benchmark.arguments(), workers=1)
    assert report["matches"] == 4
    (mismatch,) = report["mismatches"]
    assert mismatch["question_id"] == 3
    assert "ended its process" in mismatch["prediction_errors"][0]


def test_the_queries_of_a_completion_share_the_bytes_of_one_result(benchmark: Benchmark, tmp_path: Path) -> None:
    from assay import evaluate
    from assay.api.inputs import FileOptions
    from assay.model import Limits

    megabyte = "; ".join(f"SELECT zeroblob({260_000 + number}) FROM Table" for number in range(9))
    run = evaluate(
        benchmark.questions,
        {str(number): f"{megabyte}; {GOLDS[1][1]}" if number == 1 else GOLDS[number][1] for number in GOLDS},
        databases=f"sqlite:///{benchmark.database}",
        metrics=["llmsql_ex"],
        files=FileOptions(case_format="llmsql"),
        limits=Limits(max_result_bytes=4 * 1024 * 1024),
        workers=1,
    )
    first = run.evidence[0]
    assert [one.succeeded for one in first.candidates] == [True] * 4 + [False] * 5
    last = first.candidates[-1].failure
    assert last.message == "not run: the queries before it used up the 4 MiB that results may have"
    assert [score.value for score in first.scores] == [0.0]
    assert run.rate("llmsql_ex").n == 6  # type: ignore[union-attr]
