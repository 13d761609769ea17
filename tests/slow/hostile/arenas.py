"""A database of each kind with what a statement could harm around it, and how to see whether it did."""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import tempfile
import threading
import time
from contextlib import ExitStack, closing, nullcontext, suppress
from pathlib import Path
from typing import Any

import clickhouse_statements
import duckdb
import mariadb_statements
import postgres_statements
import pytest
from msgspec.structs import replace

from assay.engines.pool.pool import Task, TaskDone, TaskLost, WorkerPool
from assay.model import Execution, Limits

TIMEOUT_S = 0.5
PATIENT_S = 60.0
LIMITS = Limits(
    timeout_s=TIMEOUT_S, max_rows=50_000, max_result_bytes=32 * 1024 * 1024, max_memory_bytes=256 * 1024 * 1024
)
WORKER_MEMORY_BYTES = 2 * 1024 * 1024 * 1024
"""The cap of a worker between two queries, as wide as a real run's."""
MOST_MEMORY_BYTES = LIMITS.max_memory_bytes + LIMITS.max_result_bytes + 300 * 1024 * 1024
"""What a worker may hold at any time: its memory, one result and 300 MiB."""
ENGINES = {
    "sqlite": "assay.engines.sqlite.engine:SqliteEngine",
    "duckdb": "assay.engines.duckdb.engine:DuckdbEngine",
    "postgresql": "assay.engines.postgres.engine:PostgresEngine",
    "mysql": "assay.engines.mysql.engine:MysqlEngine",
    "clickhouse": "assay.engines.clickhouse.engine:ClickhouseEngine",
}


def _pool(limits: Limits) -> WorkerPool:
    return WorkerPool(
        workers=1,
        setup="pool_tasks:execute",
        argument={"engines": ENGINES, "limits": limits},
        grace_s=0.2,
        memory_limit_bytes=WORKER_MEMORY_BYTES,
    )


class Arena:
    """A worker in a folder of its own. A subclass adds the database."""

    probe = "SELECT count(*), sum(a), '{name}' FROM t"

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        """Where statements are told to write."""
        self.cwd = folder / "cwd"
        self.temporary = folder / "temporary"
        for made in (self.cwd, self.temporary):
            made.mkdir()
        self.pool = _pool(LIMITS)
        self.peaks = Peaks(self.pool)
        self.before = self.snapshot()
        self.healthy = self.state("nothing")

    def run(self, *queries: str) -> list[Execution]:
        if self.pool.closed:  # the test before ended in the middle of a run: that failure is its own
            self.pool = _pool(LIMITS)
            self.peaks = Peaks(self.pool)
        return self._run(self.pool, *queries)

    def run_patiently(self, query: str) -> Execution:
        """Run it in a worker of its own that has time: what becomes of it where the clock does not come first."""
        with closing(_pool(replace(LIMITS, timeout_s=PATIENT_S))) as pool:
            return self._run(pool, query)[0]

    def _run(self, pool: WorkerPool, *queries: str) -> list[Execution]:
        tasks = [Task(id=number, payload=(self.url, query)) for number, query in enumerate(queries)]
        executions: dict[int, Execution] = {}
        with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
            # Where workers start, and where they and the pool put what is temporary.
            patch.chdir(self.cwd)
            patch.setenv("TMPDIR", str(self.temporary))
            patch.setattr(tempfile, "tempdir", str(self.temporary))
            watched = self.peaks if pool is self.pool else nullcontext()
            stack.enter_context(watched)
            outcomes = list(pool.run([tasks]))  # to the end: a pool that is left early is closed
        for outcome in outcomes:
            if isinstance(outcome, TaskLost) and pool is self.pool:
                # A busy machine may let a worker miss its deadline again and again. With time, it must not.
                executions[outcome.task_id] = self.run_patiently(queries[outcome.task_id])
                continue
            assert isinstance(outcome, TaskDone), outcome
            assert isinstance(outcome.outcome, Execution)
            executions[outcome.task_id] = outcome.outcome
        return [executions[number] for number in range(len(queries))]

    def state(self, name: str) -> tuple[object, ...]:
        """What the next query sees of the data and of its session. Another text each time, so that it is run."""
        for attempt in range(40):  # on a busy machine even this may meet the time limit
            (after,) = self.run(self.probe.replace("{name}", f"{name} {attempt}".replace("'", "")))
            if after.status != "timeout":
                break
        assert after.result is not None, after.failure
        return after.result.rows[0][:2] + after.result.rows[0][3:]

    def snapshot(self) -> dict[str, str]:
        """The files around the database, and what is in them; on a server, a checksum of each table, too."""
        folders = (self.cwd, self.temporary)
        files = [file for folder in folders for file in folder.rglob("*")]
        return {str(file): _digest(file) for file in files}

    def at_work(self) -> int:
        """How many statements the server is still busy with, or how many locks are held."""
        return 0

    def close(self) -> None:
        self.pool.close()


class FileArena(Arena):
    def __init__(self, scheme: str, folder: Path) -> None:
        self.database = folder / "data" / f"shop.{scheme}"
        self.database.parent.mkdir(parents=True)
        (_make_sqlite if scheme == "sqlite" else _make_duckdb)(self.database)
        super().__init__(f"{scheme}:///{self.database}", folder)

    def snapshot(self) -> dict[str, str]:
        return super().snapshot() | {str(file): _digest(file) for file in self.database.parent.rglob("*")}


class PostgresArena(Arena):
    """A superuser's connection: the worst case."""

    probe = (
        "SELECT count(*), sum(a), '{name}', current_user, current_setting('statement_timeout'), "
        "current_setting('search_path'), current_setting('transaction_read_only') FROM t"
    )

    def __init__(self, server: Any, folder: Path) -> None:
        import psycopg

        self.server = server
        self.name = f"assay_{secrets.token_hex(4)}"
        self.reader_url = server.create(self.name, postgres_statements.SCRIPT)
        self.boss = psycopg.connect(server.database(self.name), autocommit=True)
        folder.chmod(0o777)
        super().__init__(server.database(self.name), folder)

    def snapshot(self) -> dict[str, str]:
        found = super().snapshot() | _evil(self.folder, self.server.folder)
        for name in ("t", "big", "pg_proc", "pg_largeobject", "pg_authid", "pg_db_role_setting"):
            query = f"SELECT md5(string_agg(x::text, ',' ORDER BY x::text)) FROM {name} x"
            found[name] = str(self.boss.execute(query.encode()).fetchone())
        found["numbers"] = str(self.boss.execute("SELECT last_value, is_called FROM numbers").fetchone())
        classes = "SELECT md5(string_agg(oid::text || relname, ',' ORDER BY oid)) FROM pg_class"
        found["pg_class"] = str(self.boss.execute(classes).fetchone())
        return found

    def at_work(self) -> int:
        busy = (
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE state <> 'idle' AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        return sum(int(self.boss.execute(query).fetchone()[0]) for query in (busy, locks))  # type: ignore[index]

    def close(self) -> None:
        super().close()
        self.boss.close()
        self.server.drop(self.name)


class MariadbArena(Arena):
    """The administrator's connection: the worst case."""

    probe = (
        "SELECT COUNT(*), SUM(a), '{name}', @a, LAST_INSERT_ID(), @@max_statement_time, @@sql_mode, @@autocommit, "
        "DATABASE(), CURRENT_USER() FROM t"
    )
    name = "hostile_corpus"

    def __init__(self, server: Any, folder: Path) -> None:
        self.server = server
        with closing(server.connect()) as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {self.name} CHARACTER SET utf8mb4")
            cursor.execute(f"USE {self.name}")
            for statement in mariadb_statements.SCHEMA:
                cursor.execute(statement)
        self.boss = server.connect(database=self.name)
        super().__init__(f"mysql://root@{server.host}:{server.port}/{self.name}", folder)
        self.folder = server.folder  # the only one that it may write to

    def ask(self, query: str) -> Any:
        with self.boss.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()

    def snapshot(self) -> dict[str, str]:
        found = super().snapshot() | _evil(self.server.folder)
        found["tables"] = str(self.ask("SHOW FULL TABLES"))
        found["sums"] = str(
            self.ask("CHECKSUM TABLE t, m, d, mysql.global_priv, mysql.proc, mysql.event, mysql.servers")
        )
        found["sequence"] = str(self.ask("SELECT next_not_cached_value FROM numbers"))
        return found

    def at_work(self) -> int:
        busy = "SELECT COUNT(*) FROM information_schema.processlist WHERE command = 'Query' AND id <> CONNECTION_ID()"
        return int(self.ask(busy)[0][0]) + int(not self.ask("SELECT IS_FREE_LOCK('held')")[0][0])

    def close(self) -> None:
        super().close()
        import pymysql

        with suppress(pymysql.err.Error):  # a server that ends now takes its databases along
            self.ask(f"DROP DATABASE {self.name}")
            self.boss.close()


class ClickhouseArena(Arena):
    """A user who may do everything: the worst case."""

    probe = "SELECT count(), sum(a), '{name}', currentDatabase(), currentUser() FROM t"

    def __init__(self, server: Any, folder: Path) -> None:
        import clickhouse_connect

        self.server_folder = server.folder
        self.name = f"assay_{secrets.token_hex(4)}"
        self.boss = clickhouse_connect.get_client(host="127.0.0.1", port=server.port, autogenerate_session_id=False)
        self.boss.command(f"CREATE DATABASE {self.name}")
        self.boss.database = self.name
        for statement in clickhouse_statements.SCHEMA:
            self.boss.command(statement)
        super().__init__(f"clickhouse://writer:writer@127.0.0.1:{server.port}/{self.name}", folder)

    def snapshot(self) -> dict[str, str]:
        found = super().snapshot() | _evil(self.folder, self.server_folder)
        for query in (
            "SELECT name FROM system.databases ORDER BY name",
            "SELECT database, name, create_table_query FROM system.tables WHERE database <> 'system' ORDER BY ALL",
            "SELECT count(), sum(cityHash64(*)) FROM t",
            "SELECT count(), sum(cityHash64(*)) FROM big",
            "SELECT name, create_query FROM system.functions WHERE origin <> 'System' ORDER BY name",
            "SELECT table, is_done FROM system.mutations WHERE database = currentDatabase()",
            "SELECT name FROM system.named_collections",
            "SHOW GRANTS",
        ):
            found[query] = str(self.boss.query(query).result_rows)
        return found

    def at_work(self) -> int:
        query = "SELECT count() FROM system.processes WHERE Settings['log_comment'] = 'assay'"
        return int(self.boss.query(query).result_rows[0][0])

    def close(self) -> None:
        super().close()
        self.boss.command(f"DROP DATABASE {self.name}")
        self.boss.close()


def wait_until_idle(arena: Arena, seconds: float = 300.0) -> bool:
    """Whether the server has nothing left to do for the worker within so many seconds.

    Some: PostgreSQL writes out one large value to its end before it looks whether its client is gone.
    """
    end = time.monotonic() + seconds
    while arena.at_work():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def processes_of(pid: int) -> set[int]:
    """The processes that a process started, and those that they did (Linux; elsewhere none is seen)."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            parents[int(folder.name)] = int(fields[1])
    found: set[int] = set()
    while more := {child for child, parent in parents.items() if parent in found | {pid}} - found:
        found |= more
    return found


class Peaks:
    """The most bytes that workers of a pool have held at once, those that were replaced among them (Linux only).

    Entered while statements run. A worker's own mark of it is set back first, so that it is theirs alone.
    """

    _WATCH_S = 0.01

    def __init__(self, pool: WorkerPool) -> None:
        self.most = 0
        self._pool = pool
        self._over = threading.Event()
        self._watch = threading.Thread()

    def __enter__(self) -> Peaks:
        for pid in self._pool.pids:
            with suppress(OSError):
                Path(f"/proc/{pid}/clear_refs").write_text("5")
        self._over.clear()
        self._watch = threading.Thread(target=self._look_on, daemon=True)
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watch.join()

    def _look_on(self) -> None:
        while True:
            over = self._over.wait(self._WATCH_S)  # one that ends takes its mark with it, so it is read all the time
            self.most = max(self.most, *map(_most_memory, self._pool.pids), 0)
            if over:
                return

    def take(self) -> int:
        """The most since it was asked last."""
        most, self.most = self.most, 0
        return most


def _most_memory(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0)


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "folder"


def _evil(*folders: Path | None) -> dict[str, str]:
    """What a statement left on a server's disk: each of them names its files so. Sorting leaves pgsql_tmp files."""
    found: dict[str, str] = {}
    for folder in folders:
        for root, _, names in os.walk(folder) if folder is not None else ():
            found |= {f"{root}/{name}": "made" for name in names if "evil" in name or name.startswith("pgsql_tmp")}
    return found


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
