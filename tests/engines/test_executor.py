from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from assay.engines import outcomes
from assay.engines.pool.cache import ByteCache
from assay.engines.pool.executor import Executor, label_of
from assay.engines.pool.pool import Task, TaskDone, WorkerPool
from assay.engines.sqlite.engine import SqliteEngine
from assay.errors import PluginError, UsageError
from assay.model import DatabaseUrl, Execution, Limits

ENGINES = {"sqlite": "assay.engines.sqlite.engine:SqliteEngine", "duckdb": "assay.engines.duckdb.engine:DuckdbEngine"}
LIMITS = Limits(timeout_s=30.0)

# One step of SQLite's machine that takes long: the progress handler is never asked.
STUCK = "SELECT instr(hex(zeroblob(30000000)), hex(zeroblob(100000)) || '1')"


@pytest.fixture
def executor() -> Iterator[Executor]:
    executor = Executor(engines=ENGINES, limits=LIMITS, cache=ByteCache(100_000))
    yield executor
    executor.close()


@pytest.fixture
def url(shop: Path) -> DatabaseUrl:
    return DatabaseUrl.parse(f"sqlite:///{shop}")


def test_the_same_query_runs_once(executor: Executor, url: DatabaseUrl) -> None:
    first = executor.execute(url, "SELECT id FROM orders")
    assert executor.execute(url, "SELECT id FROM orders") is first
    assert executor.execute(url, "SELECT nothing") is executor.execute(url, "SELECT nothing")
    assert (executor.runs, executor.reruns) == (2, 0)


def test_results_beyond_the_budget_run_again_and_are_counted(executor: Executor, url: DatabaseUrl) -> None:
    queries = [f"SELECT hex(zeroblob(20000)) AS c{n}" for n in range(4)]
    results = [executor.execute(url, query).result for query in queries]
    assert executor.runs == 4
    assert executor.execute(url, queries[0]).result == results[0]
    assert (executor.runs, executor.reruns) == (5, 1)
    assert executor.execute(url, queries[3]).result == results[3]
    assert executor.runs == 5


def test_a_result_larger_than_the_whole_budget_is_still_returned(executor: Executor, url: DatabaseUrl) -> None:
    query = "SELECT hex(zeroblob(200000))"
    assert executor.execute(url, query).status == "rows"
    assert executor.execute(url, query).status == "rows"
    assert (executor.runs, executor.reruns) == (2, 1)


def test_more_databases_than_connections_are_kept_apart(executor: Executor, tmp_path: Path) -> None:
    urls = []
    for number in range(12):
        connection = sqlite3.connect(tmp_path / f"{number}.sqlite")
        connection.execute(f"CREATE TABLE t AS SELECT {number} AS n")
        connection.close()
        urls.append(DatabaseUrl.parse(f"sqlite:///{tmp_path}/{number}.sqlite"))
    for _ in range(2):
        for number, url in enumerate(urls):
            result = executor.execute(url, f"SELECT n, {_} FROM t").result
            assert result.rows == ((number, _),)


def test_a_database_that_cannot_be_opened_is_the_executions_failure(executor: Executor, shop: Path) -> None:
    url = DatabaseUrl.parse(f"sqlite:///{shop}x")
    execution = executor.execute(url, "SELECT 1")
    assert (execution.status, execution.failure.kind) == ("error", "unreadable_database")
    assert "did you mean" in execution.failure.message


def test_engines_differ_in_dialect_and_boolean_type(executor: Executor, url: DatabaseUrl) -> None:
    duck = DatabaseUrl.parse("duckdb://")
    assert (executor.dialect(url), executor.has_boolean_type(url)) == ("sqlite", False)
    assert (executor.dialect(duck), executor.has_boolean_type(duck)) == ("duckdb", True)
    assert executor.execute(duck, "SELECT true").status == "rows"
    assert executor.siblings(url) == ()


def test_a_scheme_without_an_engine_is_named_with_those_there_are(executor: Executor) -> None:
    with pytest.raises(UsageError, match=r"'oracle'.*duckdb, sqlite"):
        executor.execute(DatabaseUrl.parse("oracle://host/x"), "SELECT 1")
    with pytest.raises(PluginError, match="nowhere:Engine"):
        Executor(engines={"x": "nowhere:Engine"}, limits=LIMITS).dialect(DatabaseUrl.parse("x://"))


def test_labels_tell_databases_and_queries_apart() -> None:
    a, b = DatabaseUrl.parse("sqlite:///a"), DatabaseUrl.parse("sqlite:///b")
    labels = {label_of(a, "SELECT 1"), label_of(b, "SELECT 1"), label_of(a, "SELECT '\udcff'")}
    assert len(labels) == 3
    assert {len(label) for label in labels} == {16}


def run(pool: WorkerPool, url: DatabaseUrl, queries: list[str]) -> list[Execution]:
    tasks = [Task(id=number, payload=(url.text, query)) for number, query in enumerate(queries)]
    executions: dict[int, Execution] = {}
    for outcome in pool.run([tasks]):
        assert isinstance(outcome, TaskDone), outcome
        assert isinstance(outcome.outcome, Execution)
        executions[outcome.task_id] = outcome.outcome
    return [executions[number] for number in range(len(queries))]


@pytest.mark.usefixtures("tasks_on_path")
def test_a_query_that_nothing_interrupts_costs_itself_alone(url: DatabaseUrl) -> None:
    for timeout_s in (0.5, 5.0, 50.0):  # until nothing meets it but what never ends
        argument = {"engines": ENGINES, "limits": Limits(timeout_s=timeout_s)}
        with WorkerPool(workers=1, setup="pool_tasks:execute", argument=argument, grace_s=0.2) as pool:
            run(pool, url, ["SELECT 1"])
            before, stuck, after, again = run(pool, url, ["SELECT 2", STUCK, "SELECT 3", STUCK])
            if "timeout" not in (before.status, after.status):
                break
    assert pool.restarts == 1
    assert (before.status, after.status) == ("rows", "rows")
    assert stuck.status == again.status == "timeout"
    assert stuck.failure.kind == "timeout"
    assert "could not be interrupted" in stuck.failure.message


@pytest.mark.usefixtures("tasks_on_path")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the memory limit is Linux's")
def test_results_that_fill_the_worker_are_out_of_memory(url: DatabaseUrl) -> None:
    limits = Limits(timeout_s=10, max_result_bytes=10**12)
    argument = {"engines": ENGINES, "limits": limits}
    with WorkerPool(
        workers=1, setup="pool_tasks:execute", argument=argument, memory_limit_bytes=200 * 1024 * 1024
    ) as pool:
        bomb, after = run(
            pool,
            url,
            [
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT hex(zeroblob(500000)) FROM n",
                "SELECT 1",
            ],
        )
        assert pool.restarts == 0
    assert (bomb.status, bomb.failure.kind) == ("error", "out_of_memory")
    assert after.status == "rows"


class BusySqlite(SqliteEngine):
    """On a machine so busy that nothing ends within a second."""

    __slots__ = ("_seconds",)

    @classmethod
    def open(cls, url: DatabaseUrl, limits: Limits) -> Self:
        engine = super().open(url, limits)
        engine._seconds = limits.timeout_s
        return engine

    def execute(self, query: str) -> Execution:
        done = super().execute(query)
        return done if self._seconds >= 1 else outcomes.timed_out(query, Limits(timeout_s=self._seconds), self._seconds)


def test_a_busy_machine_is_no_lost_server_so_that_no_query_leaves_the_rate_by_it(url: DatabaseUrl) -> None:
    executor = Executor(engines=ENGINES, limits=Limits(timeout_s=0.1))
    executor._classes["sqlite"] = BusySqlite
    failure = executor.execute(url, "SELECT count(*) FROM orders").failure
    executor.close()
    assert (failure.kind, failure.blame) == ("timeout", "system")


class BusyServer(BusySqlite):
    """The same behind a URL that names a host."""

    __slots__ = ()

    @classmethod
    def open(cls, url: DatabaseUrl, limits: Limits) -> Self:
        return super().open(DatabaseUrl.parse(f"sqlite:///{url.text.partition('/host/')[2]}"), limits)


@pytest.mark.parametrize("limit_s", [0.05, 0.3, 0.9])
def test_however_short_the_limit_a_query_that_saturates_its_server_is_to_blame(
    url: DatabaseUrl, limit_s: float
) -> None:
    executor = Executor(engines=ENGINES, limits=Limits(timeout_s=limit_s), patience_s=0.0)
    executor._classes["busy"] = BusyServer
    path = url.text.removeprefix("sqlite:///")
    failure = executor.execute(DatabaseUrl.parse(f"busy://host/{path}"), "SELECT count(*) FROM orders").failure
    executor.close()
    assert (failure.kind, failure.blame) == ("timeout", "system")


def test_a_cache_holds_no_more_than_its_number_of_values_however_small_they_are() -> None:
    cache = ByteCache(10**9, most_values=3)
    dropped = [cache.put(number, None) for number in range(5)]
    assert dropped == [[], [], [], [0], [1]]
    assert len(cache) == 3
    cache.get(2)
    assert cache.put(5, None) == [3], "the least recently used"
