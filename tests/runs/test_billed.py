"""What a warehouse bills: told before a run, bounded per query, and added up over the cases."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import assay
from assay import registry
from assay.errors import DatabaseError, Notice
from assay.model import Cost, DatabaseUrl, Limits
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
    assert second.bytes_billed >= 5_000_000
    total = run.aggregates.billed
    assert total == first.plus(second)
    assert total.queries <= jobs
    stored = assay.load_run(tmp_path / "run")
    assert stored.aggregates.billed == total
    assert b"bytes billed" in render("md", stored.record)


@pytest.mark.parametrize(("workers", "told"), [(1, "1.172 KiB by 2 queries"), (2, "2.344 KiB by 4 queries")])
def test_a_text_is_counted_as_often_as_workers_execute_it(workers: int, told: str) -> None:
    predictions, cases = {"a": RIGHT, "b": GOLD}, [CASES[0], {**CASES[1], "gold": RIGHT}]
    with BigqueryFake(QUERIES) as fake:
        with pytest.warns(Notice, match=f"bill about {told}, according to dry runs"):
            run = assay.evaluate(cases, predictions, databases=fake.url, workers=workers, metrics=["match"])
        assert {item.outcome for item in run.evidence} == {"correct"}
        if workers == 1:
            assert run.aggregates.billed == Cost(queries=2, bytes_billed=1200)
        limits = Limits(gold_timeout_s=60.0)  # then gold's executions are apart
        with pytest.warns(Notice, match=r"bill about 2\.344 KiB by 4 queries"):
            run = assay.evaluate(cases, predictions, databases=fake.url, workers=1, metrics=["match"], limits=limits)
        assert run.aggregates.billed == Cost(queries=4, bytes_billed=2400)


def test_a_query_within_words_is_counted(tmp_path: Path) -> None:
    with BigqueryFake(QUERIES) as fake, pytest.warns(Notice, match=r"bill about 1\.172 KiB by 2 queries"):
        assay.evaluate(CASES[:1], {"a": f"Here:\n```sql\n{RIGHT}\n```"}, databases=fake.url, workers=1)


def test_the_probe_of_a_connection_has_a_bound() -> None:
    with BigqueryFake({"SELECT 1": FakeQuery(bytes_billed=11_000_000)}) as fake:
        url = DatabaseUrl.parse(fake.url)
        with pytest.raises(DatabaseError, match="would exceed the limit for billed bytes"):
            registry.engine_class(url).check(url)


def test_a_bound_where_nothing_is_billed_by_bytes_is_said_to_have_no_effect() -> None:
    case, limits = [{"id": "a", "question": "?", "gold": "SELECT 1"}], Limits(max_bytes_billed=1)
    with pytest.warns(UserWarning, match=r"max_bytes_billed has no effect on duckdb: only BigQuery"):
        assay.evaluate(case, {"a": "SELECT 1"}, databases="duckdb://", limits=limits)
    with pytest.warns(UserWarning, match="has no effect on duckdb"):
        assay.check("SELECT 1", "SELECT 1", database="duckdb://", limits=limits)
    with BigqueryFake(QUERIES) as fake, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", Notice)
        databases = {"bigquery": fake.url, "sqlite": "sqlite://"}
        cases = [{**CASES[0], "db_id": "bigquery"}, {"id": "c", "question": "?", "gold": "SELECT 1", "db_id": "sqlite"}]
        assay.evaluate(cases, {"a": GOLD, "c": "SELECT 1"}, databases=databases, limits=Limits(max_bytes_billed=10**9))


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
    # The costly query is beyond the bound, and so bills nothing.
    assert "assay: this run will bill about 1,000 bytes by 2 queries" in done.stderr
    assert done.stdout.startswith("Accuracy 0.0 % ")
