"""A worker holds no more than it may, whatever ran before; one that keeps too much is replaced without blame."""

from __future__ import annotations

import bisect
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from msgspec.structs import replace

from assay import registry
from assay.api.workers import make_pool
from assay.engines.pool import memory
from assay.engines.pool.pool import Task, TaskDone, TaskLost, WorkerPool
from assay.model import Case, ComparisonOptions, DatabaseUrl, Execution, Limits, Prediction
from assay.runs.plan import Work

pytestmark = [
    pytest.mark.usefixtures("tasks_on_path"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the cap of a process is Linux's"),
]
MIB = 1024 * 1024
LIMITS = Limits(timeout_s=60.0, max_result_bytes=16 * MIB, max_memory_bytes=128 * MIB)
ENGINES = {
    "hoard": "hoarding:HoardingEngine",
    "sqlite": "assay.engines.sqlite.engine:SqliteEngine",
    "duckdb": "assay.engines.duckdb.engine:DuckdbEngine",
}
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
BOMBS = {
    "duckdb": [
        "SELECT printf('%1500000000d', 1)",
        "SELECT list(repeat('x', 1000000) || i) FROM range(100000) r(i)",
        "SELECT repeat('x', 20000000 + i) FROM range(100) r(i)",
        "SELECT string_agg(repeat('y', 100000) || i, ',') FROM range(100000) r(i)",
        "SELECT string_split(repeat('x,', 50000000), ',')",
        "SELECT length(repeat('x', 60000000) || repeat('y', 60000000 + i)) FROM range(10) r(i)",
    ],
    "sqlite": [
        f"{ENDLESS} SELECT group_concat(hex(zeroblob(1000000)) || i) FROM n",
        f"{ENDLESS} SELECT hex(zeroblob(500000)) || i FROM n",
        f"{ENDLESS} SELECT i, hex(zeroblob(100)) FROM n ORDER BY 2, 1",
        "SELECT hex(zeroblob(400000000))",
    ],
}


def new_pool(setup: str, limits: Limits = LIMITS, *, workers: int = 1) -> WorkerPool:
    argument = {"engines": ENGINES, "limits": limits}
    return WorkerPool(workers=workers, setup=setup, argument=argument, memory_limit_bytes=4096 * MIB)


def run(pool: WorkerPool, *batches: Sequence[object]) -> list[Any]:
    """What the tasks gave, in order. Each comes out once, and none is lost."""
    tasks: list[list[Task]] = []
    for batch in batches:
        start = sum(map(len, tasks))
        tasks.append([Task(id=start + number, payload=payload) for number, payload in enumerate(batch)])
    outcomes: list[TaskDone | TaskLost] = sorted(pool.run(tasks), key=lambda outcome: outcome.task_id)
    assert [outcome.task_id for outcome in outcomes] == list(range(sum(map(len, tasks))))
    assert all(isinstance(outcome, TaskDone) for outcome in outcomes), outcomes
    return [outcome.outcome for outcome in outcomes if isinstance(outcome, TaskDone)]


def kind(execution: Execution) -> str:
    return execution.failure.kind if execution.failure is not None else execution.status


def test_a_worker_that_keeps_too_much_is_replaced_and_its_tasks_go_on() -> None:
    with new_pool("hoarding:keeping") as pool:
        pool.wait_until_ready()
        first = pool.pids
        # How much was kept before, in the process that did the task: a fresh one begins at one.
        assert run(pool, [1, 1, 100, 1, 1, 100], [100, 1]) == [1, 2, 3, 1, 2, 3, 1, 1]
        assert (pool.renewals, pool.restarts) == (3, 0)
        assert set(pool.pids).isdisjoint(first)


def test_replacing_every_worker_after_every_task_loses_none() -> None:
    with new_pool("hoarding:keeping", workers=2) as pool:
        assert run(pool, *[[100] * 3] * 3) == [1] * 9
        # In new processes. One of them may do both tasks before the other has started.
        assert sorted(run(pool, [1], [1])) in ([1, 1], [1, 2])
        assert pool.renewals == 9
        assert pool.restarts == 0


def test_what_a_query_keeps_costs_no_later_one_its_answer() -> None:
    queries = [f"SELECT 'leak {100 + number}'" for number in range(4)] + ["SELECT 'use 120'"]
    with new_pool("pool_tasks:execute") as pool:
        found = run(pool, [("hoard://a", query) for query in queries])
        assert [kind(execution) for execution in found] == ["rows"] * 5
        assert pool.renewals == 4
        assert pool.restarts == 0
    with new_pool("hoarding:several") as pool:  # within one task
        [(found, _)] = run(pool, [("hoard://a", queries)])
        assert [kind(execution) for execution in found] == ["rows"] * 5
        assert pool.restarts == 0


def test_what_another_connection_holds_costs_no_query_its_answer() -> None:
    """Less than what closes connections before any query, and more than what a query could do without."""
    limits = replace(LIMITS, max_memory_bytes=512 * MIB)
    with new_pool("pool_tasks:execute", limits) as pool:

        def use(size: int) -> str:
            return kind(run(pool, [("hoard://a", f"SELECT 'use {size}' -- {next(unique)}")])[0])

        unique = itertools.count()
        most = 512 + bisect.bisect_left(range(512, 1024, 4), True, key=lambda size: use(size) != "rows") * 4 - 8
        assert use(most) == "rows"
        assert kind(run(pool, [("hoard://b", "SELECT 'hold 200'")])[0]) == "rows"
        assert use(most) == "rows"
        assert kind(run(pool, [("hoard://b", "SELECT 'hold 200' -- again")])[0]) == "rows"
        assert use(2000) == "out_of_memory"
        assert pool.renewals == pool.restarts == 0


@pytest.mark.parametrize("scheme", list(BOMBS))
def test_a_series_of_bombs_leaves_nothing_that_raises_the_cap(scheme: str, tmp_path: Path) -> None:
    url = "sqlite:///:memory:"
    if scheme == "duckdb":
        duckdb.connect(str(tmp_path / "x.duckdb")).close()
        url = f"duckdb:///{tmp_path / 'x.duckdb'}"
    queries = [f"{query} -- {number}" for number in range(2) for query in BOMBS[scheme]]
    with new_pool("hoarding:several", replace(LIMITS, timeout_s=5.0)) as pool:
        [(found, most), (after, _)] = run(pool, [(url, queries), (url, ["SELECT 1"])])
        assert pool.restarts == 0
    assert {kind(execution) for execution in found} <= {"out_of_memory", "error", "truncated", "timeout"}
    assert "out_of_memory" in {kind(execution) for execution in found}
    assert kind(after[0]) == "rows"
    assert most <= LIMITS.max_memory_bytes + LIMITS.max_result_bytes + memory.SLACK_BYTES


def test_cases_of_a_run_are_all_scored_while_workers_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    references = registry.engine_references() | {"hoard": ENGINES["hoard"]}
    monkeypatch.setattr(registry, "engine_references", lambda: references)
    cases = [Case(id=str(number), question="q", golds=(f"SELECT 'leak {50 + number}'",)) for number in range(4)]
    url = DatabaseUrl.parse("hoard://a")
    tasks = [
        Work(case=case, prediction=Prediction(case_id=case.id, query=f"{case.golds[0]} AS n"), url=url)
        for case in cases
    ]
    limits = Limits(max_memory_bytes=64 * MIB, max_result_bytes=16 * MIB)
    with make_pool(ComparisonOptions(), limits, ["match"], 1) as pool:
        done = run(pool, tasks[:3], tasks[3:])
        assert pool.renewals >= 3
        assert pool.restarts == 0
    assert [b'"outcome":"correct"' in line for line, _, _ in done] == [True] * 4


def test_what_is_said_to_an_allocator_already_stays_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUCKDB_JE_MALLOC_CONF", "narenas:2,retain:true")
    monkeypatch.setenv("OTHER", "x")
    found = memory.environment()
    assert found["DUCKDB_JE_MALLOC_CONF"] == "narenas:2,retain:true,retain:false", "of two the last one counts"
    assert found["OTHER"] == "x"
