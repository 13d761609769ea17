"""What may be sent to an engine, and what a worker may hold: by structure, on real servers, without false alarms."""

from __future__ import annotations

import csv
import json
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from assay.engines.duckdb.engine import DuckdbEngine
from assay.engines.duckdb.guard import called, calls_only_usual, effectful_functions
from assay.engines.mysql.guard import read_mysql
from assay.engines.pool.pool import Task, TaskDone, WorkerPool
from assay.engines.postgres.guard import refusal
from assay.model import DatabaseUrl, Limits

MIB = 1024 * 1024
LIMITS = Limits(timeout_s=20.0, max_result_bytes=16 * MIB, max_memory_bytes=128 * MIB)
ENGINES = {
    "sqlite": "assay.engines.sqlite.engine:SqliteEngine",
    "duckdb": "assay.engines.duckdb.engine:DuckdbEngine",
    "postgresql": "assay.engines.postgres.engine:PostgresEngine",
}


@pytest.fixture(scope="module")
def effectful() -> frozenset[str]:
    with duckdb.connect() as connection:
        return effectful_functions(connection)


@pytest.fixture
def pool(tasks_on_path: None) -> Iterator[WorkerPool]:
    argument = {"engines": ENGINES, "limits": LIMITS}
    with WorkerPool(workers=1, setup="pool_tasks:execute", argument=argument, memory_limit_bytes=4096 * MIB) as made:
        made.wait_until_ready()
        yield made


def run(pool: WorkerPool, url: str, *queries: str) -> list[Any]:
    tasks = [Task(id=number, payload=(url, query)) for number, query in enumerate(queries)]
    outcomes = {done.task_id: done.outcome for done in pool.run([tasks]) if isinstance(done, TaskDone)}
    return [outcomes[number] for number in range(len(queries))]


def public_queries(folder: Path) -> list[str]:
    """Gold of Spider, BIRD and Defog, those with alternatives one by one."""
    found = [json.loads(line)["gold_sql"] for line in (folder / "spider-dev" / "dev.jsonl").read_text().splitlines()]
    gold = folder / "bird-mini-dev" / "mini_dev_sqlite_gold.sql"
    found += [line.rpartition("\t")[0] for line in gold.read_text().splitlines() if "\t" in line]
    for file in sorted((folder / "defog-postgres").glob("*.csv")):
        with file.open(newline="") as lines:
            for row in csv.DictReader(lines):
                text = re.sub(r"\{([^,}]*)[^}]*\}", r"\1", row["query"].replace("{}", "1"))
                found += [one for one in text.split(";") if one.strip()]
    return found


def test_no_public_gold_is_refused(shared_data: Path, effectful: frozenset[str]) -> None:
    queries = public_queries(shared_data)
    assert len(queries) > 2000
    assert [query for query in queries if read_mysql(query).does != "query"] == []
    assert [query for query in queries if refusal(query) is not None] == []
    assert [query for query in queries if called(query, effectful) is not None] == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM enable_profiling()",
        "SELECT * FROM ENABLE_logging ('QueryLog')",
        "FROM \"read_text\"/* a /* b */ */('x')",
        "FROM\u00a0read_text('x')",
        "FROM t, glob\u2003('x')",
        "SELECT 1a$x$ FROM glob('x')--$x$",
        "SELECT E'\\'' FROM glob('x')",
        "SELECT 1 WHERE setseed(0.5) IS NULL",
        "SELECT [sleep_ms(x) FOR x IN [1]]",
        "SELECT '\\', glob -- " + "x" * 400 + "\n('x')",
        "FROM query('SELECT 1')",
    ],
)
def test_a_call_with_effects_is_seen_in_any_spelling(query: str, effectful: frozenset[str]) -> None:
    assert called(query, effectful) is not None
    assert not calls_only_usual(query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 'glob(x)', \"query\", checkpoint FROM t -- glob(x)",
        "SELECT query FROM t WHERE a ~ '\\d+' ORDER BY query",
        "SELECT random(), uuid(), count(*) FROM range(3), generate_series(1, 2), unnest([1])",
        "SELECT * FROM duckdb_tables(), json_each('[1]')",
        "SELECT mode(a), quantile_cont(a, 0.5), list_transform([1], x -> x + 1), strptime('1', '%d') FROM t",
    ],
)
def test_what_only_looks_like_such_a_call_passes(query: str, effectful: frozenset[str]) -> None:
    assert called(query, effectful) is None


@pytest.mark.parametrize("part", ["a(", "glob(", "'glob('", "/*", "glob /* ", "a --", "glob \\", '"', "glob\\ -- "])
def test_a_text_of_any_shape_is_looked_at_in_time(part: str, effectful: frozenset[str]) -> None:
    text = "SELECT " + part * (1_000_000 // len(part))
    started = time.process_time()
    called(text, effectful)
    calls_only_usual(text)
    assert time.process_time() - started < 20


def test_nothing_of_this_program_is_a_table_and_no_seed_stays(tmp_path: Path) -> None:
    engine = DuckdbEngine.open(DatabaseUrl.parse("duckdb:///:memory:"), LIMITS)
    mine = [{"a": 1}]
    with closing(engine):
        assert engine.execute("SELECT * FROM mine").status == "error", mine
        for query in ("SELECT setseed(0.5)", f"FROM enable_logging('QueryLog', storage_path = '{tmp_path}/evil')"):
            refused = engine.execute(query)
            assert refused.failure.kind == "refused"
        assert engine.execute("SELECT count(*) FROM information_schema.tables").status == "rows"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT printf('%2000000000d', 1)",
        "SELECT length(printf('%1000000000d', 1))",
        "SELECT md5(repeat('x', 2000000000))",
        "SELECT length(repeat('x', 900000000) || repeat('y', 900000000))",
        "SELECT list_resize([1], 300000000)",
        "SELECT damerau_levenshtein(repeat('a', 40000), repeat('b', 40000))",
        "SELECT string_agg(repeat('x', 10000), '') FROM range(200000)",
    ],
)
def test_a_memory_bomb_costs_its_query_and_not_its_worker(pool: WorkerPool, query: str) -> None:
    worker = pool.pids
    bomb, after = run(pool, "duckdb:///:memory:", query, "SELECT sum(i) FROM range(1000000) r(i)")
    assert bomb.failure.kind == "out_of_memory", bomb.failure
    assert after.result.rows == ((499999500000,),)
    assert pool.pids == worker
    status = Path(f"/proc/{worker[0]}/status")
    if status.exists():
        peak = next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if "VmHWM" in line)
        assert peak <= LIMITS.max_memory_bytes + LIMITS.max_result_bytes + 300 * MIB


def test_what_is_within_its_limits_runs_again_and_again_whatever_was_held_before(pool: WorkerPool) -> None:
    worker = pool.pids
    large = [f"SELECT repeat('x', 1000000) || {number} AS a FROM range(10)" for number in range(30)]
    sorts = [
        f"SELECT count(*) FROM (SELECT DISTINCT i % {400_000 + number} FROM range(500000) r(i))" for number in range(9)
    ]
    done = run(pool, "duckdb:///:memory:", *large, *sorts, "SELECT printf('%2000000000d', 1)", *large[:3])
    assert [one.failure.kind for one in done if one.failure is not None] == ["out_of_memory"]
    assert pool.pids == worker


@pytest.fixture(scope="module")
def postgres_url(postgres: Any) -> Iterator[str]:
    name = f"assay_{secrets.token_hex(4)}"
    script = """
    CREATE TABLE big AS SELECT i AS a FROM generate_series(1, 1000) i;
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE EXTENSION IF NOT EXISTS isn;
    CREATE FUNCTION seeding() RETURNS TEXT LANGUAGE sql AS $$ SELECT setseed(0.5)::text $$;
    """
    yield postgres.create(name, script)
    postgres.drop(name)


def test_a_function_is_refused_on_the_servers_own_word(postgres_url: str, open_postgres: Callable[[str], Any]) -> None:
    engine = open_postgres(postgres_url)
    for query in ("SELECT set_limit(0.5)", "SELECT (0.5::real).set_limit", "SELECT pg_xact_status('3')"):
        refused = engine.execute(query)
        assert (refused.failure.kind, "according to the server" in refused.failure.message) == ("refused", True)
    for query in (
        "SELECT random(), clock_timestamp(), gen_random_uuid(), similarity('a', 'b')",
        "SELECT system, bernoulli FROM (SELECT 1 AS system, 2 AS bernoulli) x",
        "SELECT pg_total_relation_size('big') > 0, 'set_limit(0.5)'",
    ):
        assert engine.execute(query).status == "rows"


def test_the_name_of_an_extensions_function_is_a_column_where_it_cannot_be_a_call(
    postgres_url: str, open_postgres: Callable[[str], Any]
) -> None:
    engine = open_postgres(postgres_url)
    made = "FROM (SELECT 0.5::real AS set_limit, true AS isn_weak) x"
    columns = [
        f"SELECT set_limit, isn_weak {made} WHERE set_limit > 0 ORDER BY set_limit",
        f'SELECT "set_limit" + 1 AS isn_weak {made}',
    ]
    assert [query for query in columns if engine.execute(query).status != "rows"] == []
    calls = [
        "SELECT (0.5::real).set_limit",
        'SELECT x . /* a */ "set_limit" FROM (SELECT 0.5::real AS a) x',
        "SELECT set_limit -- a\n (0.5)",
        "SELECT isn_weak(true)",
        "SELECT (true).isn_weak",
        "SELECT (ARRAY[true])[1].isn_weak",
    ]
    assert [query for query in calls if engine.execute(query).failure.kind != "refused"] == []
    assert engine.execute("SELECT '1234567891'::isbn").status == "error"


def test_no_table_of_the_server_gives_a_password_away(
    postgres: Any, postgres_url: str, open_postgres: Callable[[str], Any]
) -> None:
    import psycopg

    engine = open_postgres(postgres_url)
    with psycopg.connect(postgres.database(postgres_url.rpartition("/")[2]), autocommit=True) as boss:
        names = [f"assay_{secrets.token_hex(4)}" for _ in range(5)]
        for name in names:
            boss.execute(f"CREATE ROLE {name} PASSWORD 'a secret'")
        try:
            boss.execute("ANALYZE pg_authid")
            hashes = "SELECT rolpassword FROM pg_authid WHERE rolname = ANY (%s)"
            parts = [row[0].rpartition(":")[2] for row in boss.execute(hashes, (names,))]
            tables = boss.execute(
                "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'v', 't') AND relnamespace IN "
                "('pg_catalog'::regnamespace, 'information_schema'::regnamespace, 'pg_toast'::regnamespace)"
            ).fetchall()
            seen = {table: engine.execute(f"TABLE {table}") for (table,) in tables}
        finally:
            for name in names:
                boss.execute(f"DROP ROLE {name}")
    read = {table: str(done.result.rows) for table, done in seen.items() if done.result is not None}
    assert len(read) > 100
    assert [table for table, text in read.items() if any(part in text for part in parts)] == []
    told = {"pg_authid", "pg_shadow", "pg_stats", "pg_statistic", "pg_toast.pg_toast_2619"}
    assert {table for table in told if seen[table].failure.kind == "refused"} == told


def test_a_seed_that_a_function_set_does_not_reach_the_next_query(
    postgres_url: str, open_postgres: Callable[[str], Any]
) -> None:
    engine = open_postgres(postgres_url)
    drawn = set()
    for number in range(3):
        assert engine.execute("SELECT seeding()").status == "rows"
        drawn.add(engine.execute(f"SELECT random() AS r{number}").result.rows)
    assert len(drawn) == 3


_WORKER = """
import sys
from assay.engines.postgres import PostgresEngine
from assay.model import DatabaseUrl, Limits
PostgresEngine.open(DatabaseUrl.parse(sys.argv[1]), Limits(timeout_s=600.0)).execute(sys.argv[2])
"""


@pytest.mark.parametrize("tables", ["big", "information_schema.columns"])
def test_a_server_gives_up_the_query_of_a_worker_that_was_killed(postgres: Any, postgres_url: str, tables: str) -> None:
    import psycopg

    name = postgres_url.rpartition("/")[2]
    # What has been running for a while is no statement of the engine's own.
    busy = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND state = 'active' AND pid <> pg_backend_pid()"
    busy += " AND clock_timestamp() - query_start > interval '0.5 s'"
    crossed = "SELECT count(*) FROM " + ", ".join(
        f"{tables} a{number}" for number in range(60 if tables == "big" else 20)
    )
    with psycopg.connect(postgres.database(name), autocommit=True) as boss:
        found: list[Any] = []

        def at_work() -> bool:
            found.extend(boss.execute(busy, (name,)).fetchall())
            return bool(found)

        worker = subprocess.Popen([sys.executable, "-c", _WORKER, postgres_url, crossed])
        try:
            assert _until(at_work)
        finally:
            worker.kill()
            worker.wait()
        victim = found[0][0]
        still = "SELECT 1 FROM pg_stat_activity WHERE pid = %s"
        assert _until(lambda: boss.execute(still, (victim,)).fetchall() == [])


def _until(holds: Callable[[], bool], seconds: float = 300.0) -> bool:
    """Whether it holds before the time is over, which is long for a busy machine and short for such a query."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def open_postgres() -> Iterator[Callable[[str], Any]]:
    from assay.engines.postgres.engine import PostgresEngine

    opened: list[PostgresEngine] = []

    def open_it(url: str) -> PostgresEngine:
        opened.append(PostgresEngine.open(DatabaseUrl.parse(url), LIMITS))
        return opened[-1]

    yield open_it
    for engine in opened:
        engine.close()


@pytest.fixture
def mysql_accounts(mariadb: Any) -> Iterator[Callable[[str], str]]:
    with closing(mariadb.connect()) as connection, connection.cursor() as cursor:
        for statement in (
            *("CREATE DATABASE guarded", "CREATE ROLE filer", "GRANT FILE ON *.* TO filer"),
            *(f"CREATE USER {name}@'%'" for name in ("reading", "writing", "filing", "in_a_role")),
            *(f"GRANT SELECT, SHOW VIEW ON guarded.* TO {name}@'%'" for name in ("reading", "filing", "in_a_role")),
            *("GRANT SELECT, INSERT, DELETE ON guarded.* TO writing@'%'", "GRANT FILE, SUPER ON *.* TO filing@'%'"),
            *("GRANT filer TO in_a_role@'%'", "SET DEFAULT ROLE filer FOR in_a_role@'%'"),
        ):
            cursor.execute(statement)
        yield lambda name: f"mysql://{name}@{mariadb.host}:{mariadb.port}/guarded"
        cursor.execute("SET GLOBAL sql_mode = DEFAULT")
        for statement in (
            *("DROP DATABASE guarded", "DROP ROLE filer"),
            *(f"DROP USER {name}@'%'" for name in ("reading", "writing", "filing", "in_a_role")),
        ):
            cursor.execute(statement)


def test_what_an_account_may_do_beyond_reading_is_said(mysql_accounts: Callable[[str], str]) -> None:
    from assay.engines.mysql.engine import MysqlEngine

    said = {
        name: MysqlEngine.warnings(DatabaseUrl.parse(mysql_accounts(name)))
        for name in ("root", "reading", "writing", "filing", "in_a_role")
    }
    assert said["reading"] == ()
    assert "do everything" in said["root"][0]
    assert "(DELETE, INSERT)" in said["writing"][0]
    assert "(FILE)" in said["filing"][0]
    assert "(SUPER)" in said["filing"][0]
    assert "(FILE)" in said["in_a_role"][0]


_DRIVER = """
import sys
import assay
assay.check(sys.argv[2], "SELECT 1", database=sys.argv[1], limits=assay.Limits(timeout_s=600.0))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
@pytest.mark.parametrize("sent", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_mariadb_gives_up_the_query_of_a_run_that_was_ended(
    mysql_accounts: Callable[[str], str], mariadb: Any, sent: str
) -> None:
    with closing(mariadb.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("USE guarded")
        cursor.execute("CREATE TABLE d AS SELECT seq AS a FROM seq_1_to_1000")

        def busy() -> int:
            cursor.execute(
                "SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%%crossed%%' AND id <> %s", me
            )
            return int(cursor.fetchone()[0])

        me = (connection.thread_id(),)
        crossed = "SELECT count(*) AS crossed FROM d a, d b, d c, d e, d f"
        run = subprocess.Popen(
            [sys.executable, "-c", _DRIVER, mysql_accounts("reading"), crossed], stderr=subprocess.DEVNULL
        )
        try:
            assert _until(lambda: busy() == 1)
            run.send_signal(signal.Signals[sent])
        finally:
            if sys.exc_info()[0]:
                run.kill()
            run.wait()
        assert _until(lambda: busy() == 0)


def test_no_question_about_the_server_gives_passwords_or_other_sessions_away(
    mysql_accounts: Callable[[str], str],
) -> None:
    from assay.engines.mysql.engine import MysqlEngine

    engine = MysqlEngine.open(DatabaseUrl.parse(mysql_accounts("root")), LIMITS)
    with closing(engine):
        for query in (
            "SHOW CREATE USER reading",
            "SHOW/**/CREATE -- a\n USER reading@'%'",
            "SHOW CREATE SERVER s",
            "SHOW FULL PROCESSLIST",
            "SHOW full /* a */ ProcessList",
            "EXPLAIN FOR CONNECTION 1",
            "EXPLAIN FORMAT=JSON FOR CONNECTION 1",
            "SHOW EXPLAIN FOR 1",
        ):
            refused = engine.execute(query)
            assert refused.failure is not None, query
            assert refused.failure.kind == "refused", query
        for query in ("SHOW FULL TABLES", "SHOW TABLE STATUS", "SHOW CREATE DATABASE guarded", "SHOW DATABASES"):
            assert engine.execute(query).failure is None, query


def test_the_session_cuts_texts_as_the_reader_does_whatever_the_server_is_set_to_meanwhile(
    mysql_accounts: Callable[[str], str], mariadb: Any
) -> None:
    from assay.engines.mysql.engine import MysqlEngine

    engine = MysqlEngine.open(DatabaseUrl.parse(mysql_accounts("reading")), LIMITS)
    with closing(engine), closing(mariadb.connect()) as connection, connection.cursor() as cursor:
        assert engine.execute("SELECT '\\', 1 -- '").result.rows == (("', 1 -- ",),)
        cursor.execute("SET GLOBAL sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'")
        assert engine.execute("SELECT '\\', 2 -- '").result.rows == (("', 2 -- ",),)
        assert engine.execute('SELECT @@tx_read_only, "text"').result.rows == ((1, "text"),)
