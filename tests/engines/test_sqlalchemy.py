from __future__ import annotations

import datetime
import gc
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from many_cases import each

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed (pip install 'assay[sqlalchemy]')")

from assay.engines.loading import ANY_SCHEME, load_engine
from assay.engines.mysql.engine import MysqlEngine
from assay.engines.pool.executor import Executor
from assay.engines.sqlalchemy.engine import FAMILIES, engine_for_scheme
from assay.errors import DatabaseError, InputError, MissingDependency, UsageError
from assay.model import DatabaseUrl, Execution, Limits
from assay.registry import engine_class, engine_references

if TYPE_CHECKING:
    from mariadb_server import MariadbServer

LIMITS = Limits(timeout_s=30.0, max_rows=50_000, max_result_bytes=32 * 1024 * 1024, max_memory_bytes=64 * 1024 * 1024)
HASTY = replace(LIMITS, timeout_s=0.8)
SCHEMA = (
    "CREATE TABLE t (a int PRIMARY KEY, b varchar(20))",
    "INSERT INTO t VALUES (1, 'one'), (2, 'two')",
    "CREATE TABLE m (a int) ENGINE = MyISAM",
    "INSERT INTO m VALUES (1)",
    "CREATE TABLE d (d int)",
    "INSERT INTO d VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
    "CREATE SEQUENCE numbers",
    "CREATE FUNCTION writes_t() RETURNS int BEGIN DELETE FROM t; RETURN 1; END",
    "CREATE FUNCTION writes_m() RETURNS int BEGIN INSERT INTO m VALUES (2); RETURN 1; END",
    "CREATE FUNCTION takes_lock() RETURNS int RETURN GET_LOCK('held', 0)",
    "CREATE FUNCTION lifts_limit() RETURNS int BEGIN SET SESSION max_statement_time = 0; RETURN 1; END",
    "CREATE FUNCTION makes_table() RETURNS int BEGIN CREATE TEMPORARY TABLE evil (a int); RETURN 1; END",
    "CREATE VIEW a_view AS SELECT writes_t() AS a",
    (
        "CREATE TABLE kinds (n bigint unsigned, e decimal(30, 10), b boolean, bits bit(9), at datetime(6), "
        "zero datetime, day date, tm time(3), j json, bl blob, y year, f float, db double, en enum('x', 'ü'), "
        "latin varchar(9) CHARACTER SET latin1, vb varbinary(9), ts timestamp NULL)"
    ),
    "SET sql_mode = ''",
    (
        "INSERT INTO kinds VALUES (18446744073709551615, 12345678901234567890.0123456789, true, b'100000001', "
        "'2024-02-29 12:34:56.789012', '0000-00-00', '0000-00-00', '-30:00:01.5', '{\"a\": 1}', x'00ff27', 2024, "
        "0.1, 0.1, 'ü', 'é', x'c328', '2024-02-29 12:34:56')"
    ),
)


@pytest.fixture(scope="module")
def database(mariadb: MariadbServer) -> Iterator[str]:
    """The administrator's URL: whoever may do anything is the hardest to hold."""
    with closing(mariadb.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE hostile CHARACTER SET utf8mb4")
        cursor.execute("USE hostile")
        for statement in SCHEMA:
            cursor.execute(statement)
        cursor.execute("CREATE USER reader@'%' IDENTIFIED BY 'p@ss:w/d'")
        cursor.execute("GRANT SELECT ON hostile.* TO reader@'%'")
    yield f"mysql://root@{mariadb.host}:{mariadb.port}/hostile"
    with closing(mariadb.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("DROP DATABASE hostile")


@pytest.fixture
def engine(database: str) -> Iterator[MysqlEngine]:
    engine = open_engine(database)
    yield engine
    engine.close()


def open_engine(url: str, limits: Limits = LIMITS) -> MysqlEngine:
    return MysqlEngine.open(DatabaseUrl.parse(url), limits)


def rows_of(execution: Execution) -> tuple[tuple[object, ...], ...]:
    assert execution.result is not None, execution.failure
    return execution.result.rows


def kind_of(execution: Execution) -> str:
    return execution.failure.kind if execution.failure is not None else "rows"


def as_admin(server: MariadbServer, query: str) -> Any:
    with closing(server.connect(database="hostile")) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchall()


def running(server: MariadbServer) -> int:
    """How many sessions beside this one are at work."""
    return int(
        as_admin(
            server,
            "SELECT COUNT(*) FROM information_schema.processlist WHERE command = 'Query' AND id <> CONNECTION_ID()",
        )[0][0]
    )


def wait_until_idle(server: MariadbServer) -> None:
    end = time.monotonic() + 300
    while running(server) and time.monotonic() < end:
        time.sleep(0.05)
    assert running(server) == 0


@pytest.fixture(scope="module", autouse=True)
def nothing_unraisable() -> Iterator[None]:
    """A driver's object that fails when it is thrown away shows up in this module, not in another's."""
    yield
    gc.collect()


@each("scheme", [*FAMILIES, "mysql+mysqlconnector", "mariadb+mariadbconnector", "oracle+oracledb"])
def test_whoever_loads_the_engine_of_a_scheme_by_its_reference_finds_it(scheme: str) -> None:
    reference = engine_for_scheme(scheme)
    assert reference is not None
    assert load_engine(reference).name == scheme.partition("+")[0]


def test_values_are_exact(engine: MysqlEngine) -> None:
    done = engine.execute("SELECT * FROM kinds")
    assert rows_of(done) == (
        (
            18446744073709551615,
            Decimal("12345678901234567890.0123456789"),
            1,
            257,
            datetime.datetime(2024, 2, 29, 12, 34, 56, 789012),  # noqa: DTZ001
            "0000-00-00 00:00:00",
            "0000-00-00",
            -datetime.timedelta(hours=30, seconds=1, milliseconds=500),
            '{"a": 1}',
            b"\x00\xff'",
            2024,
            0.1,
            0.1,
            "ü",
            "é",
            b"\xc3(",
            datetime.datetime(2024, 2, 29, 12, 34, 56),  # noqa: DTZ001
        ),
    )
    assert rows_of(engine.execute("SELECT 1/3, 10 % 3, NULL, 'a' = 'A', b'1' + 0")) == (
        (Decimal("0.3333"), 1, None, 1, 1),
    )


def test_a_reader_without_rights_gets_clear_errors(database: str, mariadb: MariadbServer) -> None:
    engine = open_engine(f"mysql://reader:p%40ss%3Aw%2Fd@{mariadb.host}:{mariadb.port}/hostile")
    denied = engine.execute("SELECT * FROM another.t")
    assert kind_of(denied) == "error"
    assert "denied" in denied.failure.message
    assert rows_of(engine.execute("SELECT COUNT(*) FROM t")) == ((2,),)
    engine.close()


class Unlimited(MysqlEngine):
    """Its server knows no limit: only the second connection ends what takes too long."""

    __slots__ = ()

    def _session(self) -> str:
        return "SET NAMES utf8mb4"


def test_a_second_connection_kills_what_the_server_does_not_end(
    database: str, mariadb: MariadbServer, settled: Callable[..., Any]
) -> None:
    engine = Unlimited.open(DatabaseUrl.parse(database), HASTY)
    assert settled(engine, "SELECT 1").status == "rows"
    for _ in range(2):
        execution = engine.execute("SELECT COUNT(*) FROM d a, d b, d c, d e, d f, d g, d h, d i, d j, d k, d l")
        assert execution.status == "timeout"
        assert rows_of(settled(engine, "SELECT COUNT(*) FROM t")) == ((2,),)
    engine.close()
    wait_until_idle(mariadb)


def test_a_server_too_busy_to_let_the_killer_in_at_once_is_asked_again(
    database: str, mariadb: MariadbServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.engines.mysql.engine._KILL_TIMEOUT_S", 1e-6)
    engine = Unlimited.open(DatabaseUrl.parse(database), HASTY)
    for _ in range(5):  # where the machine is busy, the limit may come before the query
        execution = engine.execute("SELECT COUNT(*) FROM d a, d b, d c, d e, d f, d g, d h, d i, d j, d k, d l")
        if running(mariadb):
            break
    assert execution.status == "timeout"
    engine.close()
    wait_until_idle(mariadb)


def test_a_cut_result_is_not_read_to_its_end_and_leaves_no_query_behind(database: str, mariadb: MariadbServer) -> None:
    engine = open_engine(database, Limits(timeout_s=60, max_rows=10))
    for _ in range(3):
        execution = engine.execute("SELECT seq FROM seq_1_to_1000000000")
        assert (execution.status, execution.row_count) == ("truncated", 10)
    assert rows_of(engine.execute("SELECT seq FROM seq_1_to_10")) == tuple((n,) for n in range(1, 11))
    engine.close()
    wait_until_idle(mariadb)


def test_what_one_query_leaves_in_its_session_the_next_does_not_find(
    engine: MysqlEngine, mariadb: MariadbServer
) -> None:
    assert rows_of(engine.execute("SELECT takes_lock(), @x := 7")) == ((1, 7),)
    assert rows_of(engine.execute("SELECT @x, CONNECTION_ID() > 0")) == ((None, 1),)
    assert as_admin(mariadb, "SELECT IS_FREE_LOCK('held')") == ((1,),)


@each("mode", ["ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES", "ORACLE", ""])
def test_the_text_is_read_by_the_sessions_own_rules_for_quotes(
    database: str, mariadb: MariadbServer, mode: str
) -> None:
    old = as_admin(mariadb, "SELECT @@GLOBAL.sql_mode")[0][0]
    as_admin(mariadb, f"SET GLOBAL sql_mode = '{mode}'")
    try:
        engine = open_engine(database, replace(LIMITS, timeout_s=8))  # less than what would sleep
        for query in (
            "SELECT 'a\\' INTO OUTFILE '/tmp/evil' -- '",
            'SELECT "a\\" , sleep(9) , "b" FROM t -- "',
            "SELECT 'a\\', sleep(9), '",
        ):
            execution = engine.execute(query)
            assert kind_of(execution) in ("rows", "error", "refused", "writes"), (mode, query)
        (seen,) = rows_of(engine.execute("SELECT @@sql_mode"))[0]
        assert all(part in seen for part in mode.split(","))
        assert engine.execute("SELECT 1").status == "rows"
        engine.close()
    finally:
        as_admin(mariadb, f"SET GLOBAL sql_mode = '{old}'")


def test_a_connection_that_was_cut_is_made_anew(engine: MysqlEngine, mariadb: MariadbServer) -> None:
    ((thread,),) = rows_of(engine.execute("SELECT CONNECTION_ID()"))
    as_admin(mariadb, f"KILL {thread}")
    assert rows_of(engine.execute("SELECT COUNT(*) FROM t")) == ((2,),)
    ((thread,),) = rows_of(engine.execute("SELECT CONNECTION_ID()"))

    def kill() -> None:
        at_work = f"SELECT 1 FROM information_schema.processlist WHERE id = {thread} AND info LIKE '%d l%'"
        while not (as_admin(mariadb, at_work) or over.wait(0.01)):
            pass
        if not over.is_set():
            as_admin(mariadb, f"KILL {thread}")

    over = threading.Event()
    killer = threading.Thread(target=kill)
    killer.start()
    cut = engine.execute("SELECT COUNT(*) FROM d a, d b, d c, d e, d f, d g, d h, d i, d j, d k, d l")
    over.set()
    killer.join()
    assert (cut.failure.kind, cut.failure.blame) == ("unreadable_database", "engine")
    assert rows_of(engine.execute("SELECT COUNT(*) FROM t")) == ((2,),)


def test_a_server_that_is_away_is_said_and_found_again(database: str, mariadb: MariadbServer) -> None:
    references = {"mysql": "assay.engines.mysql.engine:MysqlEngine"}
    with closing(Executor(engines=references, limits=LIMITS)) as executor:
        url = DatabaseUrl.parse(database)
        assert executor.execute(url, "SELECT 1").status == "rows"
        mariadb.kill()
        try:
            away = executor.execute(url, "SELECT COUNT(*) FROM t")
            with pytest.raises(DatabaseError, match="cannot be used"):
                MysqlEngine.check(url)
            with pytest.raises(DatabaseError, match="cannot be read"):
                MysqlEngine.fingerprint(url)
        finally:
            mariadb.start()
        assert (away.failure.kind, away.failure.blame) == ("unreadable_database", "engine")
        while (back := executor.execute(url, "SELECT COUNT(*) FROM t")).status != "rows":
            time.sleep(0.1)  # for a while after it was looked for in vain it is left alone
        assert rows_of(back) == ((2,),)


def test_a_server_that_falls_silent_costs_the_time_limit(
    database: str, mariadb: MariadbServer, settled: Callable[..., Any]
) -> None:
    engine = open_engine(database, HASTY)
    assert settled(engine, "SELECT 1").status == "rows"
    mariadb.stand_still()
    try:
        silent = engine.execute("SELECT 2")
    finally:
        mariadb.go_on()
    assert silent.status == "timeout", silent.failure
    assert rows_of(settled(engine, "SELECT COUNT(*) FROM t")) == ((2,),)
    engine.close()


def test_the_password_is_never_shown(database: str, mariadb: MariadbServer) -> None:
    url = DatabaseUrl.parse(f"mysql://reader:hid%40den@{mariadb.host}:{mariadb.port}/hostile")
    with pytest.raises(DatabaseError, match="Access denied") as caught:
        MysqlEngine.check(url)
    engine = open_engine(url.reveal())
    failed = engine.execute("SELECT 1")
    engine.close()
    assert kind_of(failed) == "unreadable_database"
    for text in (str(caught.value), repr(caught.value), repr(failed), str(url)):
        assert "hid" not in text
    with pytest.raises(DatabaseError) as caught:
        MysqlEngine.open(DatabaseUrl.parse("mysql://u:hidden@host:port/x"), LIMITS)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "module", "command"),
    [
        ("oracle://u:p@h/d", "cx_Oracle", "python -m pip install oracledb"),
        ("mssql+pyodbc://u:p@h/d", "pyodbc", "python -m pip install pyodbc"),
    ],
)
def test_a_missing_driver_names_the_command_that_installs_it(url: str, module: str, command: str) -> None:
    from importlib.util import find_spec

    if find_spec(module) is not None:
        pytest.skip(f"{module} is installed")
    found = DatabaseUrl.parse(url)
    with pytest.raises(MissingDependency) as caught:
        engine_class(found).open(found, LIMITS)
    assert str(caught.value).endswith(f"run  {command}")


def test_a_missing_extra_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymysql", None)
    with pytest.raises(MissingDependency, match=r"pip install 'pymysql>=\S+' 'sqlalchemy>="):
        open_engine("mysql://u:p@h/d")


def test_a_scheme_that_only_sqlalchemy_knows_is_its_own(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    url = DatabaseUrl.parse(f"sqlite+pysqlite:///{path}")
    with closing(Executor(engines=engine_references(), limits=LIMITS)) as executor:
        assert rows_of(executor.execute(url, "SELECT * FROM t")) == ((1,),)
        assert kind_of(executor.execute(url, "ATTACH DATABASE 'evil' AS e")) == "refused"
        assert (executor.dialect(url), executor.has_boolean_type(url)) == ("sqlite", False)
        with pytest.raises(UsageError, match="no engine is registered for 'nosuch'"):
            executor.execute(DatabaseUrl.parse("nosuch://x"), "SELECT 1")
    assert engine_class(DatabaseUrl.parse("oracle+oracledb://h/d")).dialect == "oracle"
    assert engine_class(DatabaseUrl.parse("mssql+pyodbc://h/d")).dialect == "tsql"


def test_a_scheme_that_nothing_knows_is_an_error_with_the_closest_name() -> None:
    with pytest.raises(InputError, match="did you mean 'sqlite'"):
        engine_class(DatabaseUrl.parse("sqlit://x"))
    with pytest.raises(InputError, match="unknown engine 'nosuch'") as caught:
        engine_class(DatabaseUrl.parse("nosuch://x"))
    assert ANY_SCHEME not in str(caught.value)


def test_a_file_that_is_absent_is_not_made(tmp_path: Path) -> None:
    url = DatabaseUrl.parse(f"sqlite+pysqlite:///{tmp_path}/absent.sqlite")
    with pytest.raises(DatabaseError, match="there is no SQLite database"):
        engine_class(url).check(url)
    engine = engine_class(url).open(url, LIMITS)
    assert kind_of(engine.execute("SELECT 1")) == "unreadable_database"
    engine.close()
    assert not list(tmp_path.iterdir())
