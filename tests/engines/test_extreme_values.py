"""No value that an engine returns makes a query fail, whatever its driver can convert.

Each engine that runs here evaluates extreme values of each of its types. Each is read, or its case is unscored with a
message that names the column and the type. A query that the server fails is a failed query, also if the server finds
out after thousands of rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

import assay
from assay.engines.reading import CONVERSION_ERRORS, UnreadableValue, reading
from assay.engines.warehouse.base import Answer, Problem, Warehouse
from assay.model import DatabaseUrl, Execution, Limits, Row
from assay.ports import Engine
from assay.registry import engine_class

LIMITS = Limits(timeout_s=30.0, max_result_bytes=300_000_000, max_memory_bytes=4 << 30)


class Values(Struct, frozen=True, kw_only=True):
    """What an engine is asked for."""

    expressions: tuple[str, ...]
    shells: tuple[str, ...] = ("{}",)
    """Types that contain others, around each expression."""
    unreadable: tuple[str, ...] = ()
    """Expressions that the driver cannot convert today: the list is checked, so that it does not grow stale."""
    failing: tuple[str, ...] = ()
    """Queries that the server fails, at once or after many rows."""


DUCKDB = Values(
    expressions=(
        *(f"'{text}'::date" for text in ("infinity", "-infinity", "5877642-06-25 (BC)", "5881580-07-10")),
        *(
            f"'{text}'::{kind}"
            for kind in ("timestamp", "timestamptz")
            for text in ("infinity", "-infinity", "290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54.775806")
        ),
        *(f"'infinity'::{kind}" for kind in ("timestamp_s", "timestamp_ms", "timestamp_ns")),
        "'1677-09-22 00:12:43.145225001'::timestamp_ns",
        "'0001-01-01 00:00:00+14'::timestamptz",
        "'24:00:00'::time",
        "'24:00:00+15:59:59'::timetz",
        "'00:00:00-15:59:59'::timetz",
        "interval '100000000 years'",
        "interval '-178956970 years'",
        "interval '-2147483648 days'",
        "interval '9223372036854775807 microseconds'",
        "interval '2147483647 days' + interval '9223372036854775807 microseconds'",
        "170141183460469231731687303715884105727::hugeint",
        "340282366920938463463374607431768211455::uhugeint",
        "99999999999999999999999999999999999999::decimal(38,0)",
        *(f"'{text}'::{kind}" for kind in ("double", "float") for text in ("nan", "inf", "-inf")),
        "'\\xFF\\x00'::blob",
        "chr(0)",
        "chr(1114111)",
        "repeat('10', 5000)::bit",
        "repeat('9', 5000)::bignum",
        "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid",
        "'{\"a\": 1e999}'::json",
        "'a'::enum('a')",
        "map([[1]], [2])",
        "map([union_value(a := 1)], [2])",
        "NULL",
    ),
    shells=("{}", "[{}]", "{{'a': {}}}", "union_value(a := {})", "map([1], [{}])"),
    failing=(
        "SELECT 'x'::int",
        "SELECT 1::tinyint + 127::tinyint",
        "SELECT CASE WHEN range > 9000 THEN error('late') ELSE 'x' END FROM range(10000)",
        "SELECT (range - 9000)::utinyint FROM range(10000) WHERE range < 3 OR range > 9999 - range",
    ),
)
POSTGRES = Values(
    expressions=(
        *(f"'{text}'::date" for text in ("infinity", "-infinity", "4713-01-01 BC", "5874897-12-31")),
        *(
            f"'{text}'::{kind}"
            for kind in ("timestamp", "timestamptz")
            for text in ("infinity", "-infinity", "4713-01-01 BC", "294276-12-31 23:59:59.999999")
        ),
        "'24:00:00'::time",
        "'24:00:00-15:59:59'::timetz",
        "'00:00:00+15:59:59'::timetz",
        "'178000000 years'::interval",
        "'-178000000 years'::interval",
        "'2147483647 days 2562047788:00:54.775807'::interval",
        *(f"'{text}'::{kind}" for kind in ("numeric", "float8", "float4") for text in ("NaN", "Infinity", "-Infinity")),
        "repeat('9', 131072)::numeric",
        "('0.' || repeat('9', 16383))::numeric",
        "'\\xff00'::bytea",
        "'{}'::int[]",
        "'[-5:-4][2:3]={{1,2},{3,4}}'::int[]",
        "ROW(1, 'infinity'::date, NULL)",
        "'[2024-01-01,infinity)'::daterange",
        "'empty'::int4range",
        "'-92233720368547758.08'::money",
        "'<(1,2),3>'::circle",
        "'::1/64'::inet",
        "B''::varbit",
        "'<a/>'::xml",
        "('{\"a\":' || repeat('9', 5000) || '}')::jsonb",
        "'{\"a\":1e1000000}'::json",
        "(repeat('[', 6000) || repeat(']', 6000))::json",
        "'\"\\ud800\"'::json",
        "18446744073709551615::text::xid8",
        "4294967295::oid",
        '1::"char"',
        "'1 2'::oidvector",
        "NULL",
    ),
    shells=("{}", "ARRAY[{}]", "ROW({})"),
    failing=(
        "SELECT 1/0",
        "SELECT 1/(g - 9000) FROM generate_series(1, 10000) g",
        "SELECT ('x' || g)::int FROM generate_series(1, 2) g",
        "SELECT ('2024-01-' || g)::date FROM generate_series(10, 40) g",
    ),
)
MARIADB = Values(
    expressions=(
        "CAST('0000-00-00' AS DATE)",
        "STR_TO_DATE('00/00/0000', '%d/%m/%Y')",
        "DATE '9999-12-31'",
        "TIMESTAMP '9999-12-31 23:59:59.999999'",
        "TIMESTAMP '0001-01-01 00:00:00'",
        "TIME '838:59:59.999999'",
        "TIME '-838:59:59'",
        "SEC_TO_TIME(1e10)",
        "CAST(REPEAT('9', 65) AS DECIMAL(65,0))",
        "CAST('1e-38' AS DECIMAL(38,38))",
        "1.7976931348623157e308",
        "CAST(3.4028235e38 AS FLOAT)",
        "18446744073709551615",
        "-9223372036854775808",
        "x'ff'",
        "b'1'",
        "_latin1 x'e9'",
        "_utf8mb4 x'f09f9880'",
        "_ucs2 x'd800'",
        "CONVERT(x'ff' USING utf8mb4)",
        "CAST('::1' AS INET6)",
        "POINT(1, 2)",
        "JSON_OBJECT('a', 1)",
        "REPEAT('x', 15000000)",
        "NULL",
    ),
    shells=("{}", "CAST(1 AS FLOAT) AS f, {}"),
    unreadable=("_ucs2 x'd800'",),
    failing=(
        "SELECT EXP(1000)",
        "SELECT EXP(seq) FROM seq_1_to_9000",
        "SELECT EXP(seq), CAST(1 AS FLOAT) FROM seq_1_to_9000",
        "SELECT (SELECT 1 UNION SELECT 2)",
    ),
)
CLICKHOUSE = Values(
    expressions=(
        "toDate32('1900-01-01')",
        "toDate32('2299-12-31')",
        "toDateTime(4294967295)",
        "toDateTime64('2299-12-31 23:59:59.99999999', 8)",
        "toDateTime64('2262-04-11 23:47:16.854775807', 9)",
        "fromUnixTimestamp64Milli(toInt64(-9223372036854775808))",
        "fromUnixTimestamp64Micro(toInt64(9223372036854775807))",
        "reinterpret(toInt64(9223372036854775807), 'DateTime64(0)')",
        "reinterpret(toInt64(9223372036854775807), 'DateTime64(3, \\'Asia/Tokyo\\')')",
        "reinterpret(toInt64(-9223372036854775808), 'DateTime64(9)')",
        "toInt256('-57896044618658097711785492504343953926634992332820282019728792003956564819968')",
        "toUInt256('115792089237316195423570985008687907853269984665640564039457584007913129639935')",
        "toDecimal256('5789604461865809771178549250434395392663499233282028201972879200395656481996', 0)",
        "toDecimal256('0.1', 76)",
        *("nan", "inf", "-inf", "toFloat32(3.4028235e38)", "toBFloat16(1.5)"),
        "unhex('ff')",
        "toFixedString(unhex('ff00'), 2)",
        "toIPv6('::ffff:1.2.3.4')",
        "CAST('a', 'Enum8(\\'a\\' = -128)')",
        *(
            f"toInterval{unit}(9223372036854775807)"
            for unit in ("Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour", "Day", "Week", "Month")
        ),
        "toIntervalYear(-9223372036854775808)",
        "map([1], 2)",
        "CAST('{\"a\": 1}', 'JSON')",
        "toTime64('999:59:59.999999999', 9)",
        "sumState(1)",
        "NULL",
    ),
    shells=("{}", "[{}]", "tuple({})", "map('a', {})"),
    unreadable=("sumState(1)",),
    failing=("SELECT toInt8('x')", "SELECT intDiv(1, number - 150000) FROM numbers(300000)"),
)
SQLITE = Values(
    expressions=(
        *(f"CAST(x'{text}' AS text)" for text in ("ff", "eda080", "00ff00", "c3", "f4908080")),
        "char(55296)",
        "char(0)",
        "char(1114111)",
        "zeroblob(5000000)",
        "9223372036854775807",
        "-9223372036854775808",
        "1e999",
        "-1e999",
        "1e999 - 1e999",
        "x''",
        "NULL",
    ),
    failing=(
        "SELECT abs(-9223372036854775807 - 1)",
        "SELECT json('x')",
        "SELECT iif(a > 9000, abs(-9223372036854775807 - 1), 'x') FROM late",
    ),
)
SNOWFLAKE = Values(
    expressions=(
        *("'9999-12-31'::date", "'0001-01-01'::date", "'9999-12-31 23:59:59'::timestamp_ntz"),
        *("9223372036854775807::number(19,0)", "'nan'::float", "'inf'::float", "NULL"),
    ),
)
BIGQUERY = Values(
    expressions=(
        *("DATE '9999-12-31'", "DATE '0001-01-01'", "TIMESTAMP '9999-12-31 23:59:59+00'", "CAST('nan' AS FLOAT64)"),
        *("CAST('inf' AS FLOAT64)", "9223372036854775807", "FROM_BASE64('/w==')", "NULL"),
    ),
    failing=("SELECT CAST('x' AS INT64)",),
)
SPARK = Values(
    expressions=(
        *("DATE '9999-12-31'", "DATE '0001-01-01'", "DATE '-5877641-06-23'", "DATE '5881580-07-11'"),
        *("TIMESTAMP '294247-01-10 04:00:54.775807Z'", "TIMESTAMP '-290308-12-21 19:59:05.224192Z'"),
        *("INTERVAL '106751991' DAY", "INTERVAL '178956970' YEAR", "make_interval(1, 2, 3, 4, 5, 6, 7)"),
        *("double('nan')", "double('infinity')", "float('-infinity')", "x'ff'", "NULL"),
        "99999999999999999999999999999999999999BD",
        "parse_json('{\"a\": 1.5}')",
    ),
    shells=("{}", "array({})", "named_struct('a', {})"),
    failing=("SELECT int('x')", "SELECT 1 / (id - 9000) FROM range(10000)"),
)
ENGINES: dict[str, Values] = {
    "duckdb": DUCKDB,
    "sqlite": SQLITE,
    "sqlite+pysqlite": SQLITE,
    "postgresql": POSTGRES,
    "postgresql+psycopg": POSTGRES,
    "mariadb": MARIADB,
    "clickhouse": CLICKHOUSE,
    "snowflake": SNOWFLAKE,
    "bigquery": BIGQUERY,
    "spark": SPARK,
}
_SERVERS = {"postgresql+psycopg": "postgres"} | dict.fromkeys(("postgresql",), "postgres")
_LOCAL = ("duckdb", "sqlite", "sqlite+pysqlite")


def _url(name: str, request: pytest.FixtureRequest, folder: Path, stack: ExitStack) -> str:
    match name:
        case "duckdb":
            return "duckdb:///:memory:"
        case "sqlite" | "sqlite+pysqlite":
            if name != "sqlite":
                pytest.importorskip("sqlalchemy", reason="needs the extra sqlalchemy")
            with closing(sqlite3.connect(folder / "values.sqlite")) as connection:
                connection.execute("CREATE TABLE late (a)")
                connection.executemany("INSERT INTO late VALUES (?)", [(index,) for index in range(10_000)])
                connection.commit()
            return f"{name}:///{folder / 'values.sqlite'}"
        case "postgresql" | "postgresql+psycopg":
            url: str = request.getfixturevalue("postgres").url
            return url.replace("postgresql://", f"{name}://", 1)
        case "mariadb":
            server = request.getfixturevalue("mariadb")
            return f"mariadb://root@{server.host}:{server.port}/information_schema"
        case "clickhouse":
            return str(request.getfixturevalue("clickhouse").url)
        case "snowflake":
            return str(request.getfixturevalue("snowflake_emulator").url)
    from assay.testing.servers import ServerUnavailable, running

    try:
        return str(stack.enter_context(running(name)).url)
    except ServerUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=() if name in _LOCAL else pytest.mark.server) for name in ENGINES],
)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Engine]]:
    name: str = request.param
    with ExitStack() as stack:
        url = DatabaseUrl.parse(_url(name, request, tmp_path_factory.mktemp("extremes"), stack))
        opened = stack.enter_context(closing(engine_class(url).open(url, LIMITS)))
        yield name, opened


def test_a_value_is_read_or_its_case_is_unscored(engine: tuple[str, Engine]) -> None:
    name, opened = engine
    values = ENGINES[name]
    wrong = []
    for expression in values.expressions:
        for shell in values.shells:
            query = f"SELECT 1 AS readable, {shell.format(expression)} AS extreme"
            done = opened.execute(query)
            if done.status == "rows":
                continue
            assert done.failure is not None
            if done.failure.kind != "unreadable_value" or "'extreme'" not in done.failure.message:
                wrong.append((query, done.failure.kind, done.failure.message))

    assert not wrong


def test_the_list_of_what_cannot_be_read_is_true(engine: tuple[str, Engine]) -> None:
    name, opened = engine
    for expression in ENGINES[name].unreadable:
        done = opened.execute(f"SELECT {expression} AS extreme")
        assert done.failure is not None, expression
        assert (done.failure.kind, done.failure.blame) == ("unreadable_value", "assay")


def test_a_query_that_the_server_fails_has_failed(engine: tuple[str, Engine]) -> None:
    name, opened = engine
    for query in ENGINES[name].failing:
        done = opened.execute(query)
        assert done.failure is not None, query
        assert (done.failure.kind, done.failure.blame) == ("error", "system"), (query, done.failure)


def test_the_engine_works_after_a_value_that_cannot_be_read(engine: tuple[str, Engine]) -> None:
    name, opened = engine
    for expression in (*ENGINES[name].unreadable, *ENGINES[name].expressions[-2:]):
        opened.execute(f"SELECT {expression} AS extreme")
        done = opened.execute("SELECT 1 AS a")
        assert done.result is not None, done.failure
        assert [tuple(row) for row in done.result.rows] == [(1,)]


@pytest.mark.parametrize("side", ["predicted", "gold"])
def test_neither_the_prediction_nor_the_gold_query_is_at_fault(side: str, tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy", reason="needs the extra sqlalchemy")
    path = tmp_path / "values.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (a)")
    extreme, plain = "SELECT CAST(x'ff' AS text) AS extreme", "SELECT 1"
    queries = (extreme, plain) if side == "predicted" else (plain, extreme)
    verdict = assay.check(*queries, database=f"sqlite+pysqlite:///{path}")
    assert (verdict.outcome, verdict.failure.kind, verdict.failure.blame) == ("unscored", "unreadable_value", "assay")
    assert "'extreme'" in verdict.failure.message
    both = assay.check(extreme, extreme, database=f"sqlite+pysqlite:///{path}")
    assert both.outcome == "unscored"


class DriverError(Exception):
    """What a driver raises for an error of its server."""


class _Scripted(Warehouse):
    """A service whose second chunk of rows raises something."""

    name = dialect = "duckdb"
    raised: Exception

    @classmethod
    def require(cls) -> None:
        """It needs no driver."""

    def _connect(self) -> Any:
        return object()

    def _submit(self, query: str) -> Answer:
        chunks: Iterator[list[Row]] = iter([[("a", "b")]])

        def fetch(count: int) -> list[Row]:
            chunk = next(chunks, None)
            if chunk is None:
                raise self.raised
            return chunk

        return Answer(columns=("n", "extreme"), types=("BIGINT", "SPAN"), fetch=fetch)

    def _explain(self, error: BaseException) -> Problem | None:
        return Problem(kind="timeout", message=str(error)) if isinstance(error, TimeoutError) else None


def _executed(raised: Exception) -> Execution:
    engine = _Scripted(DatabaseUrl(text="duckdb:///:memory:"), Limits())
    engine.raised = raised
    with closing(engine):
        return engine.execute("SELECT 1")


@pytest.mark.parametrize("error", [*CONVERSION_ERRORS, OverflowError, ZeroDivisionError])
def test_what_python_raises_for_a_value_is_not_the_querys_error(error: type[Exception]) -> None:
    failure = _executed(error("it does not fit\nin detail")).failure
    assert (failure.kind, failure.blame) == ("unreadable_value", "assay")
    assert "the column 'extreme' (SPAN)" in failure.message
    assert "it does not fit" in failure.message
    assert "in detail" not in failure.message


@pytest.mark.parametrize(
    ("error", "kind"), [(DriverError("division by zero"), "error"), (TimeoutError("late"), "timeout")]
)
def test_what_the_driver_raises_is(error: Exception, kind: str) -> None:
    failure = _executed(error).failure
    assert (failure.kind, failure.blame) == (kind, "system")


def test_an_error_of_the_network_may_be_a_value_error_and_is_none_of_a_value() -> None:
    class BrokenBody(OSError, ValueError):
        pass

    with pytest.raises(BrokenBody), reading(lambda: [("a", "text")]):
        raise BrokenBody("no JSON")


def test_columns_that_cannot_be_the_cause_are_not_named() -> None:
    columns = [("n", "INTEGER"), ("f", "Float64"), *((f"t{index}", "TEXT") for index in range(6))]
    with pytest.raises(UnreadableValue) as raised, reading(lambda: columns):
        raise OverflowError
    assert str(raised.value) == (
        "a value of the column 't0' (TEXT) or 't1' (TEXT) or 't2' (TEXT) or 't3' (TEXT), or of 2 more cannot be read "
        "(OverflowError): cast it to text in the query"
    )
