"""Hostile statements, run as a real run would: through worker processes, on real database files."""

from __future__ import annotations

import hashlib
import importlib.util
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pytest

from assay.engines.pool import Task, TaskDone, WorkerPool
from assay.model import Execution, Limits

TIMEOUT_S = 0.4
LIMITS = Limits(
    timeout_s=TIMEOUT_S, max_rows=50_000, max_result_bytes=32 * 1024 * 1024, max_memory_bytes=256 * 1024 * 1024
)
ENGINES = {"sqlite": "assay.engines.sqlite:SqliteEngine", "duckdb": "assay.engines.duckdb:DuckdbEngine"}


def _statements() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hostile_statements", Path(__file__).with_name("statements.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


STATEMENTS = _statements()


class Arena:
    """One database file in a folder of its own, a worker in another, and a record of what the folders hold."""

    def __init__(self, scheme: str, folder: Path) -> None:
        self.database = folder / "data" / f"shop.{scheme}"
        self.database.parent.mkdir(parents=True)
        self.cwd = folder / "cwd"
        self.cwd.mkdir()
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self.url = f"{scheme}:///{self.database}"
        (_make_sqlite if scheme == "sqlite" else _make_duckdb)(self.database)
        self.before = self.snapshot()
        self.pool = WorkerPool(
            workers=1,
            setup="pool_tasks:execute",
            argument={"engines": ENGINES, "limits": LIMITS},
            grace_s=0.2,
            memory_limit_bytes=1024 * 1024 * 1024,
        )
        self.run("SELECT 0")

    def snapshot(self) -> dict[str, str]:
        folders = (self.database.parent, self.cwd, self.temporary)
        files = [file for folder in folders for file in folder.iterdir()]
        return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

    def run(self, *queries: str) -> list[Execution]:
        tasks = [Task(id=number, payload=(self.url, query)) for number, query in enumerate(queries)]
        executions: dict[int, Execution] = {}
        with pytest.MonkeyPatch.context() as patch:
            # Where workers start, and where they and the pool put what is temporary.
            patch.chdir(self.cwd)
            patch.setenv("TMPDIR", str(self.temporary))
            patch.setattr(tempfile, "tempdir", str(self.temporary))
            for outcome in self.pool.run([tasks]):
                assert isinstance(outcome, TaskDone), outcome
                assert isinstance(outcome.outcome, Execution)
                executions[outcome.task_id] = outcome.outcome
        return [executions[number] for number in range(len(queries))]


def _make_sqlite(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT)")
    connection.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'y')")
    connection.execute("CREATE INDEX t_b ON t(b)")
    connection.execute("CREATE TABLE big(a INTEGER)")
    connection.executemany("INSERT INTO big VALUES (?)", [(number,) for number in range(1000)])
    connection.commit()
    connection.close()


def _make_duckdb(path: Path) -> None:
    connection = duckdb.connect(str(path))
    connection.execute("CREATE TABLE t AS SELECT * FROM (VALUES (1, 'x'), (2, 'y'), (3, 'y')) v(a, b)")
    connection.execute("CREATE TABLE big AS SELECT i::INTEGER AS a FROM range(1000) r(i)")
    connection.execute("CREATE SEQUENCE numbers")
    connection.close()


@pytest.fixture(scope="module")
def arenas(tables_on_path: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Arena]]:
    arenas = {scheme: Arena(scheme, tmp_path_factory.mktemp(scheme)) for scheme in ("sqlite", "duckdb")}
    yield arenas
    for arena in arenas.values():
        arena.pool.close()


def _cases() -> list[Any]:
    cases = []
    for scheme, table in (("sqlite", STATEMENTS.SQLITE), ("duckdb", STATEMENTS.DUCKDB)):
        for hostile in table:
            cases.append(pytest.param(scheme, hostile, id=f"{scheme}: {hostile.name}"))
    return cases


@pytest.mark.parametrize(("scheme", "hostile"), _cases())
def test_a_hostile_statement_harms_nothing(arenas: dict[str, Arena], scheme: str, hostile: Any) -> None:
    arena = arenas[scheme]
    # Another text each time, so that it is run and not remembered.
    after_query = f"SELECT count(*), sum(a), '{hostile.name}' FROM t"
    started = time.monotonic()
    execution, after = arena.run(hostile.sql, after_query)
    elapsed = time.monotonic() - started

    kind = execution.failure.kind if execution.failure is not None else execution.status
    assert kind in hostile.kinds, execution.failure
    assert execution.query == hostile.sql
    if execution.failure is not None:
        assert execution.failure.message
        assert "\n" not in execution.failure.message
        assert len(execution.failure.message) < 1000
    assert elapsed <= TIMEOUT_S + 1
    assert after.result is not None, after.failure
    assert after.result.rows == ((3, 6, hostile.name),)
    assert arena.snapshot() == arena.before


def test_there_are_enough_statements_and_none_twice() -> None:
    for table in (STATEMENTS.SQLITE, STATEMENTS.DUCKDB):
        names = [hostile.name for hostile in table]
        assert len(names) >= 60
        assert len(set(names)) == len(names)
