"""What a warehouse bills: told before a run, bounded per query, and added up over the cases."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import assay
from assay.errors import Notice
from assay.model import Cost, Limits
from assay.registry import render
from assay.testing import BigqueryFake, FakeQuery

pytest.importorskip("google.cloud.bigquery", reason="needs the extra bigquery")

NUMBER = ({"name": "n", "type": "INTEGER", "mode": "NULLABLE"},)
GOLD, RIGHT, COSTLY = "SELECT n FROM t", "SELECT n FROM t WHERE TRUE", "SELECT n FROM t, u"
QUERIES = {
    GOLD: FakeQuery(fields=NUMBER, rows=(("1",), ("2",)), bytes_billed=1000),
    RIGHT: FakeQuery(fields=NUMBER, rows=(("1",), ("2",)), bytes_billed=200),
    COSTLY: FakeQuery(fields=NUMBER, rows=(("1",),), bytes_billed=5_000_000),
}
CASES = [
    {"id": "a", "question": "Which numbers?", "gold": GOLD},
    {"id": "b", "question": "Which numbers are there?", "gold": GOLD},
]


def test_costs_are_added_up_per_case_and_in_total(tmp_path: Path) -> None:
    with BigqueryFake(QUERIES) as fake:
        with pytest.warns(Notice, match=r"bill about 4\.77 MiB by 3 queries"):
            run = assay.evaluate(
                CASES, {"a": RIGHT, "b": COSTLY}, databases=fake.url, workers=1, output=tmp_path / "run", overwrite=True
            )
        jobs = len(fake.jobs)
    first, second = (item.cost for item in run.evidence)
    assert first == Cost(queries=2, bytes_billed=1200)
    assert second is not None
    assert second.bytes_billed is not None
    assert second.bytes_billed >= 5_000_000
    total = run.aggregates.billed
    assert total == first.plus(second)
    assert total.queries <= jobs
    stored = assay.load_run(tmp_path / "run")
    assert stored.aggregates.billed == total
    assert b"bytes billed" in render("md", stored.record)


def test_a_query_beyond_the_bound_fails_and_the_run_goes_on() -> None:
    with BigqueryFake(QUERIES) as fake, warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        run = assay.evaluate(
            CASES,
            {"a": COSTLY, "b": RIGHT},
            databases=fake.url,
            workers=1,
            limits=Limits(max_bytes_billed=1_000_000),
        )
    assert [item.outcome for item in run.evidence] == ["incorrect", "correct"]
    failure = run.evidence[0].predicted_execution
    assert failure is not None
    assert failure.failure is not None
    assert failure.failure.kind == "billing_limit"
    assert "5000000 or higher required" in failure.failure.message


def test_nothing_is_said_of_cost_where_no_service_tells(recwarn: pytest.WarningsRecorder) -> None:
    run = assay.evaluate([{"id": "a", "question": "?", "gold": "SELECT 1"}], {"a": "SELECT 1"}, databases="duckdb://")
    assert run.aggregates.billed is None
    assert b"illed" not in render("md", run.record)
    assert not [one for one in recwarn if issubclass(one.category, Notice)]


def test_the_command_line_takes_the_bound_and_says_the_cost_first(tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text(f'id,question,gold,predicted\na,Which?,"{GOLD}","{COSTLY}"\n')
    with BigqueryFake(QUERIES) as fake:
        command = [sys.executable, "-m", "assay", "run", "cases.csv", "--db", fake.url, "--max-bytes-billed", "1000000"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "assay: this run will bill about 4.769 MiB by 2 queries" in done.stderr
    assert "match: 0.0 %" in done.stdout
