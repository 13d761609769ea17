"""PostgreSQL, on a real server: each test talks to it as a role that may only read, unless it says otherwise."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay import Case, evaluate
from assay.engines.postgres.guard import LONGEST_QUERY, refusal
from assay.errors import DatabaseError
from assay.model import DatabaseUrl, Execution, Limits
from assay.model.results.cells import MapEntries
from assay.model.results.times import Interval, clock_of, moment_of
from assay.sql.lexing import pieces
from many_cases import each

MIB = 1024 * 1024
REPEATED = MapEntries([("a", 1), ("b", MapEntries([("c", 1), ("c", 2)])), ("a", 2)])
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
LIMITS = Limits(timeout_s=30.0, max_rows=20_000, max_result_bytes=16 * MIB, max_memory_bytes=256 * MIB)
HASTY = replace(LIMITS, timeout_s=0.5)
SCRIPT = """
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE TABLE orders(id INTEGER PRIMARY KEY, total NUMERIC(10, 2), day DATE, paid BOOLEAN, feeling mood);
INSERT INTO orders VALUES (1, 9.50, '2024-01-31', true, 'good'), (2, 20, NULL, false, 'bad');
CREATE SEQUENCE numbers;
CREATE FUNCTION sly() RETURNS INTEGER LANGUAGE plpgsql AS $$ BEGIN DELETE FROM orders; RETURN 1; END $$;
CREATE FUNCTION leaving() RETURNS INTEGER LANGUAGE plpgsql AS $$ BEGIN COMMIT; DELETE FROM orders; RETURN 1; END $$;
CREATE FUNCTION lifting() RETURNS TEXT LANGUAGE sql AS $$ SELECT set_config('transaction_read_only', 'off', false) $$;
CREATE FUNCTION resetting() RETURNS TEXT LANGUAGE sql AS $$
  SELECT set_config('statement_timeout', '0', false) || pg_sleep(3) || pg_advisory_lock(7) $$;
CREATE FUNCTION locking() RETURNS INTEGER LANGUAGE sql AS $$ SELECT 1 FROM (SELECT pg_advisory_lock(7)) x $$;
CREATE FUNCTION searching() RETURNS TEXT LANGUAGE sql AS $$ SELECT set_config('search_path', 'pg_catalog', false) $$;
CREATE FUNCTION napping() RETURNS INTEGER LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.5); RETURN 3; END $$;
CREATE FUNCTION stubborn() RETURNS INTEGER LANGUAGE plpgsql SET client_connection_check_interval = 0
  SET statement_timeout = 0 AS $$ BEGIN
  LOOP BEGIN LOOP PERFORM pg_sleep(0.01); END LOOP; EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END $$;
CREATE FUNCTION dying() RETURNS BOOLEAN LANGUAGE sql AS $$ SELECT pg_terminate_backend(pg_backend_pid()) $$;
"""


@pytest.fixture(scope="module")
def url(postgres: Any) -> Iterator[str]:
    name = f"assay_{secrets.token_hex(4)}"
    yield postgres.create(name, SCRIPT)
    postgres.drop(name)


@pytest.fixture
def open_engine(url: str) -> Iterator[Callable[..., Any]]:
    from assay.engines.postgres.engine import PostgresEngine

    opened = []

    def open_it(text: str = url, limits: Limits = LIMITS) -> PostgresEngine:
        opened.append(PostgresEngine.open(DatabaseUrl.parse(text), limits))
        return opened[-1]

    yield open_it
    for engine in opened:
        engine.close()


@pytest.fixture
def engine(open_engine: Callable[..., Any]) -> Any:
    return open_engine()


@pytest.fixture
def boss(postgres: Any, url: str) -> Iterator[Any]:
    """A superuser's connection to the same database, to look at it from outside."""
    import psycopg

    with psycopg.connect(postgres.database(url.rpartition("/")[2]), autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def writer_url(postgres: Any, url: str) -> Iterator[str]:
    """The same database, as a role that could write all of it and make objects: the engine must hold it back."""
    import psycopg

    database = url.rpartition("/")[2]
    name = f"{database}_writer"
    with psycopg.connect(postgres.database(database), autocommit=True) as connection:
        connection.execute(
            f"CREATE ROLE {name} LOGIN PASSWORD 'w'; GRANT ALL ON ALL TABLES IN SCHEMA public TO {name};"
            f"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {name}; GRANT ALL ON SCHEMA public TO {name}"
        )
    yield postgres.database(database, user=name, password="w")
    with psycopg.connect(postgres.database(database), autocommit=True) as connection:
        connection.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")


def rows(execution: Execution) -> tuple[Any, ...]:
    assert execution.result is not None, execution.failure
    return execution.result.rows


def kind(execution: Execution) -> str:
    return execution.failure.kind if execution.failure is not None else execution.status


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_the_drivers_of_sqlalchemy_keep_the_entries_of_json_too(url: str, driver: str) -> None:
    pytest.importorskip(driver, reason=f"{driver} is not installed")
    from assay.engines.sqlalchemy import engine as module

    engine_class = module.__getattr__("Engine_postgresql")
    engine = engine_class.open(DatabaseUrl.parse(url.replace("postgresql:", f"postgresql+{driver}:")), LIMITS)
    query = """SELECT '{"a": 1, "a": 2, "b": 0.10}'::json, '[1.10]'::jsonb, 1 AS n"""
    try:
        ((found, listed, number),) = rows(engine.execute(query))
    finally:
        engine.close()
    assert found == MapEntries([("a", 1), ("a", 2), ("b", Decimal("0.10"))])
    assert (repr(listed), number) == ("[Decimal('1.10')]", 1)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"])
def test_the_hours_around_a_change_of_clocks_are_told_apart_in_the_zone_of_the_session(
    url: str, open_engine: Callable[..., Any], boss: Any, zone: str
) -> None:
    database = url.rpartition("/")[2]
    boss.execute(f"ALTER DATABASE {database} SET timezone TO '{zone}'")
    try:
        engine = open_engine()
        for change in ("2024-10-27 01:00", "2024-11-03 06:00", "2024-04-06 15:00", "2024-03-31 01:00"):
            moments = (
                f"SELECT TIMESTAMPTZ '{change}+00' + n * INTERVAL '30 minutes' AS m, "
                f"ARRAY[TIMESTAMPTZ '{change}+00' + n * INTERVAL '30 minutes'] AS n FROM generate_series(-4, 4) AS n"
            )
            expected = [datetime.fromisoformat(f"{change}+00:00") + timedelta(minutes=30 * n) for n in range(-4, 5)]
            assert [row[0] for row in rows(engine.execute(f"{moments} ORDER BY n"))] == expected
            assert len({row[0] for row in rows(engine.execute(moments))}) == len(expected)
            assert [row[1][0] for row in rows(engine.execute(f"{moments} ORDER BY n"))] == expected
    finally:
        boss.execute(f"ALTER DATABASE {database} RESET timezone")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1.50::numeric", Decimal("1.50")),
        ("'Infinity'::numeric", Decimal("Infinity")),
        ("1e400::numeric(401)", Decimal("1e400")),
        ("'inf'::float8", float("inf")),
        ("0.1::float4::float8", 0.10000000149011612),
        ("9223372036854775807", 9223372036854775807),
        (r"'\xdead00'::bytea", b"\xde\xad\x00"),
        ("'00000000-0000-0000-0000-00000000000a'::uuid", UUID(int=10)),
        ("DATE 'infinity'", moment_of("infinity")),
        ("DATE '0044-03-15 BC'", moment_of("0044-03-15 BC")),
        ("TIMESTAMP '2024-02-29 12:30:00.25'", datetime(2024, 2, 29, 12, 30, 0, 250_000)),  # noqa: DTZ001
        ("TIMESTAMP '-infinity'", moment_of("-infinity")),
        ("TIMESTAMPTZ '2024-01-01 02:00+02'", datetime(2024, 1, 1, tzinfo=UTC)),
        ("TIMESTAMPTZ 'infinity'", moment_of("infinity")),
        ("TIME '10:00'", clock(10)),
        ("TIME '24:00'", clock_of("24:00:00")),
        ("TIMETZ '10:00+03'", clock_of("10:00:00+03")),
        ("INTERVAL '14 mons -3 days +04:05:06.789'", Interval(months=14, days=-3, nanoseconds=14_706_789_000_000)),
        ("INTERVAL '-1 mon -00:00:01.5'", Interval(months=-1, nanoseconds=-1_500_000_000)),
        ("INTERVAL '178000000 years'", Interval(months=2_136_000_000)),
        ("ARRAY[1, 2, NULL]", [1, 2, None]),
        ("'[2:3]={1,2}'::int[]", [1, 2]),
        ("ARRAY[['a', 'b'], ['c', NULL]]", [["a", "b"], ["c", None]]),
        ("ARRAY[DATE 'infinity', '2024-01-01']", [moment_of("infinity"), date(2024, 1, 1)]),
        ("""'{"b": [1, 2.50, null], "a": "x"}'::jsonb""", {"a": "x", "b": [1, Decimal("2.50"), None]}),
        ("""'{"a": 1, "b": {"c": 1, "c": 2}, "a": 2}'::jsonb""", {"a": 2, "b": {"c": 2}}),
        ("""'{"a": 1, "b": {"c": 1, "c": 2}, "a": 2}'::json""", REPEATED),
        ("""'"text"'::json""", "text"),
        ("('[' || repeat('9', 5000) || ']')::json", "[" + "9" * 5000 + "]"),
        ("int4range(1, 5)", "[1,5)"),
        ("'{[1,3),[5,7)}'::int4multirange", "{[1,3),[5,7)}"),
        ("INET '10.0.0.1/8'", "10.0.0.1/8"),
        ("ROW(1, 'a')", "(1,a)"),
        ("'good'::mood", "good"),
        ("B'101'", "101"),
        ("'ab'::char(4)", "ab  "),
        ("'%s %(a)s' || 5 % 3", "%s %(a)s2"),
        ("'\U0001f600 é'", "\U0001f600 é"),
    ],
)
def test_a_value_is_exact(engine: Any, expression: str, value: object) -> None:
    ((found,),) = rows(engine.execute(f"SELECT {expression}"))
    assert found == value
    assert type(found) is type(value)


def test_not_a_number_stays_one(engine: Any) -> None:
    ((numeric, double),) = rows(engine.execute("SELECT 'NaN'::numeric, 'NaN'::float8"))
    assert isinstance(numeric, Decimal)
    assert numeric.is_nan()
    assert double != double  # noqa: PLR0124


def test_an_interval_of_months_equals_what_the_server_says_it_equals(engine: Any) -> None:
    query = "SELECT i, j, i = j FROM (VALUES (INTERVAL '1 mon', INTERVAL '30 days'), ('1 year', '365 days')) v(i, j)"
    assert [(i == j) is equal for i, j, equal in rows(engine.execute(query))] == [True, True]


def test_text_without_an_encoding_keeps_its_bytes(postgres: Any, open_engine: Callable[..., Any]) -> None:
    import psycopg

    name = f"assay_{secrets.token_hex(4)}"
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    with psycopg.connect(postgres.database(name), autocommit=True) as connection:
        connection.execute(b"CREATE TABLE t AS SELECT convert_from('\\x43ff', 'SQL_ASCII') AS a")
    try:
        engine = open_engine(postgres.database(name))
        execution = engine.execute("SELECT a FROM t")
        assert rows(execution) == (("C\udcff",),)
        assert execution.undecodable_text
        assert not engine.execute("SELECT 'C'").undecodable_text
        engine.close()
    finally:
        postgres.drop(name)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("INSERT INTO orders VALUES (3)", "writes"),
        ("WITH gone AS (DELETE FROM orders RETURNING 1) SELECT * FROM gone", "writes"),
        ("WITH x AS (SELECT 3 AS id) INSERT INTO orders(id) SELECT id FROM x", "writes"),
        ("SELECT * INTO copied FROM orders", "writes"),
        ("SELECT * INTO TEMP copied FROM orders", "writes"),
        ("SELECT * FROM orders FOR UPDATE", "writes"),
        ("SELECT nextval('numbers')", "writes"),
        ("SELECT setval('numbers', 7)", "writes"),
        ("SELECT sly()", "writes"),
        ("SELECT leaving()", "error"),
        ("SELECT lifting()", "error"),
        ("EXPLAIN ANALYZE DELETE FROM orders", "writes"),
        ("COPY orders TO PROGRAM 'cat > /tmp/evil'", "writes"),
        ("/* SELECT */ TRUNCATE orders", "writes"),
        ("COMMIT", "refused"),
        ("SET statement_timeout = 0", "refused"),
        ("DO $$ BEGIN DELETE FROM orders; END $$", "refused"),
        ("PREPARE p AS DELETE FROM orders", "refused"),
        ("LISTEN channel", "refused"),
        ("SELECT 1; DROP TABLE orders", "several_statements"),
        ("SELECT 1; COMMIT; DROP TABLE orders; --", "several_statements"),
        ("SELECT E'\\'' ; DELETE FROM orders; --'", "several_statements"),
        ("SELECT $x$ ; $x$; DELETE FROM orders", "several_statements"),
        (" ;; -- nothing\n/* at /* all */ */", "no_query"),
        ("SELECT $1", "error"),
        ("SELECT 1 -- " + "x" * LONGEST_QUERY, "error"),
        ("SELECT pg_sleep(30)", "refused"),
        (f"{ENDLESS} SELECT count(*) FROM n", "timeout"),
        (f"{ENDLESS} SELECT i FROM n", "truncated"),
        (f"{ENDLESS} SELECT repeat('x', 9999) FROM n", "truncated"),
    ],
    ids=lambda text: text[:40] if len(text) < 10_000 else "long",
)
def test_what_is_not_one_query_that_ends_harms_nothing(
    open_engine: Callable[..., Any], settled: Callable[..., Any], writer_url: str, boss: Any, query: str, expected: str
) -> None:
    engine = open_engine(writer_url, HASTY if expected == "timeout" else LIMITS)
    execution = engine.execute(query)
    assert kind(execution) == expected, execution.failure
    assert "\n" not in execution.failure.message
    assert rows(settled(engine, "SELECT count(*), sum(id) FROM public.orders")) == ((2, 3),)
    assert boss.execute("SELECT last_value, is_called FROM numbers").fetchall() == [(1, False)]


@each(
    "query",
    [
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT pg_catalog.pg_read_file ('/etc/passwd')",
        "SELECT \"pg_read_file\"('/etc/passwd')",
        "SELECT PG_READ_BINARY_FILE/* a */('/etc/passwd')",
        "SELECT U&\"pg\\005fread_file\"('/etc/passwd')",
        "SELECT pg_ls_dir('/')",
        "SELECT lo_import('/etc/passwd'), lo_export(1, '/tmp/evil')",
        "SELECT lo_create(0)",
        "SELECT dblink('dbname=postgres', 'SELECT 1')",
        "SELECT query_to_xml('SELECT pg_cancel_backend(1)', true, true, '')",
        "SELECT pg_terminate_backend(1)",
        "SELECT pg_advisory_lock(1)",
        "SELECT pg_notify('a', 'b')",
        "SELECT set_config('statement_timeout', '0', false)",
        "SELECT pg_reload_conf()",
        "SELECT E'a'\n'\\'' , pg_terminate_backend(1) , ''",
        "SELECT (pid).pg_terminate_backend FROM pg_stat_activity",
        'SELECT (1::bigint)."pg_advisory_lock"',
        "SELECT t.PG_SLEEP FROM (SELECT 1::float8) t",
        "SELECT 1a$x$ , pg_sleep(9) --$x$",
        "SELECT table_to_xml('pg_authid', true, true, '')",
        "SELECT aws_lambda.invoke('x', '{}')",
        "SELECT setseed(0.5)",
        "SELECT * FROM crosstab('SELECT set_config(''role'', ''none'', false), 1, 1') AS x(a text, b int)",
        "SELECT * FROM crosstab_hash('SELECT 1', 'SELECT 2')",
        "SELECT * FROM connectby('t', 'a', 'b', '1', 0) AS y(a int, b text, c int)",
        "TABLE pg_authid",
        'SELECT rolpassword FROM pg_catalog."pg_authid" x',
        "SELECT passwd FROM pg_shadow",
    ],
)
def test_what_no_rollback_takes_back_runs_a_text_or_shows_passwords_is_not_sent(query: str) -> None:
    assert kind(refusal(query)) == "refused"


@each(
    "query",
    [
        "SELECT 'pg_read_file(1)', lo_revenue, crosstab FROM (SELECT 1 AS lo_revenue, 2 AS crosstab) dblink",
        "-- DROP TABLE x;\nSELECT ';'",
        "((SELECT 1))",
        ";SELECT 1;;",
        "SELECT $$ pg_sleep(1); $$, $a$ $$ $a$",
        "SELECT E'it\\'s; fine', 'it''s;'",
        "TABLE orders",
        "VALUES (1)",
        "SELECT 1 /* ; /* ; */ ; */",
    ],
)
def test_what_only_looks_dangerous_is_let_through(query: str) -> None:
    assert refusal(query) is None


@pytest.mark.parametrize("part", ["(", "a(", "E'\\'' ", "$a$", "/*", "$x ", "E''\n", '""', "- -", "é;"])
def test_a_text_of_any_shape_is_looked_at_in_time(part: str) -> None:
    text = "SELECT " + part * (LONGEST_QUERY // len(part) - 10)
    started = time.process_time()
    refusal(text)
    assert time.process_time() - started < 10


@given(st.text(alphabet="eEuU&'\"$a;/*-(\\\n \u00a0\u00e9", max_size=40))
def test_pieces_follow_each_other_and_leave_out_only_blanks_and_comments(text: str) -> None:
    place = 0
    for piece in pieces(text):
        assert text[piece.start : piece.end] == piece.text
        assert place <= piece.start < piece.end
        left_out = text[place : piece.start]
        assert not left_out.strip(" \t\n\r\f\v") or left_out.strip(" \t\n\r\f\v").startswith(("--", "/*"))
        place = piece.end
    assert text[place:].strip(" \t\n\r\f\v")[:2] in ("", "--", "/*")


def test_the_driver_is_loaded_when_needed_and_its_absence_names_the_extra() -> None:
    script = """
import sys
from assay.engines.postgres import PostgresEngine
from assay.model import DatabaseUrl, Limits
assert "psycopg" not in sys.modules
sys.modules["psycopg"] = None
try:
    PostgresEngine.open(DatabaseUrl.parse("postgresql:///shop"), Limits())
except Exception as error:
    print(type(error).__name__, error)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment)
    assert done.stdout.startswith("MissingDependency "), done.stderr
    assert "python -m pip install 'psycopg[binary]>=" in done.stdout


def test_nothing_of_a_query_stays_for_the_next(
    open_engine: Callable[..., Any], settled: Callable[..., Any], boss: Any
) -> None:
    engine = open_engine(limits=HASTY)
    assert settled(engine, "SELECT searching()").status == "rows"
    assert rows(settled(engine, "SELECT count(*) FROM orders")) == ((2,),)
    assert settled(engine, "SELECT locking()").status == "rows"
    assert boss.execute("SELECT pg_try_advisory_lock(7)").fetchone() == (True,)
    assert boss.execute("SELECT pg_advisory_unlock(7)").fetchone() == (True,)
    assert kind(engine.execute("SELECT resetting()")) == "timeout"
    assert kind(engine.execute(f"{ENDLESS} SELECT count(*) FROM n")) == "timeout"
    busy = f"SELECT count(*) {OTHERS} AND state <> 'idle'".encode()
    end = time.monotonic() + 300
    while boss.execute(busy).fetchone() != (0,):
        assert time.monotonic() < end


@pytest.mark.parametrize("query", ["SELECT stubborn()", "SELECT length(format('%300000000s', 'x'))"])
def test_a_query_that_ignores_cancellation_is_ended_with_its_process_and_the_next_has_another(
    query: str, open_engine: Callable[..., Any], settled: Callable[..., Any], boss: Any
) -> None:
    engine = open_engine(limits=HASTY)
    before = rows(settled(engine, "SELECT pg_backend_pid()"))[0][0]
    assert kind(engine.execute(query)) == "timeout"
    assert rows(settled(engine, "SELECT pg_backend_pid()"))[0][0] != before
    end = time.monotonic() + 300
    while boss.execute("SELECT count(*) FROM pg_stat_activity WHERE pid = %s", (before,)).fetchone() != (0,):
        assert time.monotonic() < end


def test_a_lock_of_somebody_else_is_waited_for_until_the_limit(
    open_engine: Callable[..., Any], settled: Callable[..., Any], boss: Any
) -> None:
    engine = open_engine(limits=HASTY)
    with boss.transaction():
        boss.execute("LOCK TABLE orders")
        execution = engine.execute("SELECT * FROM orders")
    assert kind(execution) == "timeout"
    assert settled(engine, "SELECT * FROM orders").status == "rows"


def test_a_connection_that_is_cut_is_made_anew_and_its_query_run_again(engine: Any, boss: Any) -> None:
    assert engine.execute("SELECT 1").status == "rows"
    others = f"SELECT pg_terminate_backend(pid) {OTHERS}"
    boss.execute(others.encode())
    assert engine.execute("SELECT 2").status == "rows"

    def cut() -> None:
        while not (done.is_set() or boss.execute(f"{others} AND query LIKE '%napping%'".encode()).fetchall()):
            pass

    done = threading.Event()
    thread = threading.Thread(target=cut)
    thread.start()
    execution = engine.execute("SELECT napping()")
    done.set()
    thread.join()
    assert rows(execution) == ((3,),)


def test_a_query_that_ends_its_own_connection_is_no_answer_and_the_next_runs(engine: Any) -> None:
    execution = engine.execute("SELECT dying()")
    assert kind(execution) == "unreadable_database"
    assert "twice" in execution.failure.message
    assert engine.execute("SELECT 1").status == "rows"


def test_a_restarted_server_is_found_again_and_one_that_is_down_is_named(
    postgres: Any, open_engine: Callable[..., Any], settled: Callable[..., Any], url: str
) -> None:
    from assay.engines.postgres.engine import PostgresEngine

    if postgres.folder is None:
        pytest.skip("the server is not ours to restart")
    engine = open_engine(limits=HASTY)
    assert settled(engine, "SELECT 1").status == "rows"
    postgres.restart()
    assert settled(engine, "SELECT 2").status == "rows"
    postgres.stop()
    try:
        execution = settled(engine, "SELECT 3")
        assert kind(execution) == "unreadable_database"
        with pytest.raises(DatabaseError, match=r"cannot be used: .*[Cc]onnection") as raised:
            PostgresEngine.check(DatabaseUrl.parse(url))
        for message in (str(raised.value), execution.failure.message):
            assert url.split(":")[2].split("@", maxsplit=1)[0] not in message
    finally:
        postgres.start()
    assert settled(engine, "SELECT 4").status == "rows"


def test_a_wrong_password_database_or_url_is_an_error_without_the_password(url: str) -> None:
    from assay.engines.postgres.engine import PostgresEngine

    password = url.split(":")[2].split("@", maxsplit=1)[0]
    for wrong in (url.replace(password, "s3cret/ä"), url + "_gone", url.replace("127.0.0.1:", "127.0.0.1:port")):
        with pytest.raises(DatabaseError) as raised:
            PostgresEngine.check(DatabaseUrl.parse(wrong))
        assert "s3cret" not in str(raised.value)
        assert password not in str(raised.value)


def test_the_fingerprint_follows_content_and_not_row_order(boss: Any, url: str) -> None:
    from assay.engines.postgres.engine import PostgresEngine

    parsed = DatabaseUrl.parse(url)
    before = PostgresEngine.fingerprint(parsed)
    assert before.startswith("content-")
    boss.execute("UPDATE orders SET total = total WHERE id = 1")  # now it is stored behind the other
    assert PostgresEngine.fingerprint(parsed) == before
    boss.execute("UPDATE orders SET total = 21 WHERE id = 2")
    assert PostgresEngine.fingerprint(parsed) != before
    boss.execute("UPDATE orders SET total = 20 WHERE id = 2")
    assert PostgresEngine.fingerprint(parsed) == before
    boss.execute("CREATE TABLE more(a TEXT)")
    assert PostgresEngine.fingerprint(parsed) != before
    boss.execute("DROP TABLE more")


def test_a_role_that_can_do_more_than_read_is_warned_of(postgres: Any, boss: Any, url: str) -> None:
    from assay.engines.postgres.engine import PostgresEngine

    name = url.rpartition("/")[2]
    assert PostgresEngine.warnings(DatabaseUrl.parse(url)) == ()
    boss.execute(f"GRANT INSERT ON orders TO {name}; GRANT CREATE ON SCHEMA public TO {name}")
    (warning,) = PostgresEngine.warnings(DatabaseUrl.parse(url))
    boss.execute(f"REVOKE INSERT ON orders FROM {name}; REVOKE CREATE ON SCHEMA public FROM {name}")
    assert "write to a table; create objects in public" in warning
    (warning,) = PostgresEngine.warnings(DatabaseUrl.parse(postgres.database(name)))
    assert "is a superuser" in warning
    assert postgres.url.split(":")[2].split("@")[0] not in warning


def test_even_a_superuser_reaches_no_file_through_a_query(
    postgres: Any, boss: Any, url: str, open_engine: Callable[..., Any]
) -> None:
    boss.execute("CREATE FUNCTION reading() RETURNS TEXT LANGUAGE sql AS $$ SELECT pg_read_file('PG_VERSION') $$")
    try:
        execution = open_engine(postgres.database(url.rpartition("/")[2])).execute("SELECT reading()")
    finally:
        boss.execute("DROP FUNCTION reading()")
    assert kind(execution) == "error"
    assert "permission denied" in execution.failure.message


def test_a_run_judges_on_it(url: str) -> None:
    pairs = {
        "same": (("SELECT sum(total) FROM orders",), "SELECT 29.5", "correct", 0),
        "second gold": (("SELECT max(id) FROM orders", "SELECT 29.5"), "SELECT sum(total) FROM orders", "correct", 1),
        "other": (("SELECT id FROM orders",), "DELETE FROM orders", "incorrect", None),
        "document": (
            ("SELECT '{\"a\": [1.5]}'::jsonb, ARRAY[day] FROM orders",),
            *("SELECT '{\"a\":[1.5]}'::json, ARRAY[day] FROM orders ORDER BY id DESC", "correct", 0),
        ),
        "broken": (("SELECT nothing FROM orders",), "SELECT 1", "unscored", None),
    }
    cases = [Case(id=name, question="", golds=golds) for name, (golds, *_) in pairs.items()]
    run = evaluate(cases, {name: query for name, (_, query, *_) in pairs.items()}, databases=url, workers=1)
    verdicts = {one.case.id: (one.verdict.outcome, one.verdict.gold_index) for one in run.evidence}
    assert verdicts == {name: tuple(verdict) for name, (_, _, *verdict) in pairs.items()}
    assert url.split(":")[2].split("@", maxsplit=1)[0] not in repr(run)
