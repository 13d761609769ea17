"""ClickHouse: URLs, errors and values without a server, and all else on the real engine in a server of the launcher."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import duckdb
import pytest

from assay.comparison.compare import compare
from assay.engines.clickhouse import ClickhouseEngine, ClickhouseSecureEngine, catalogue
from assay.engines.clickhouse.catalogue import beyond_reading
from assay.engines.clickhouse.errors import explain
from assay.engines.clickhouse.url import read_address
from assay.engines.clickhouse.values import converter, has_nanoseconds
from assay.errors import DatabaseError
from assay.model import DatabaseUrl, Execution, Limits, Result
from assay.model.results.cells import MapEntries, map_of
from assay.model.results.times import Interval, interval_of, moment_of

LIMITS = Limits(timeout_s=60.0, max_memory_bytes=1024 * 1024 * 1024)
ENDLESS = "SELECT count() FROM numbers(1000000000000) WHERE sin(number) > 2"
FORM = ClickhouseEngine.form
FLOAT_32 = 0.10000000149011612
"""The exact value of 0.1 in 32 bits."""


# Without a server.


def address(text: str) -> Any:
    return read_address(DatabaseUrl.parse(text), form=FORM)


def test_a_url_becomes_the_drivers_arguments() -> None:
    found = address("clickhouse://me:p%40s@db.example:8124/shop?verify=false&connect_timeout=3&allow=f")
    assert (found.host, found.port, found.user, found.database) == ("db.example", 8124, "me", "shop")
    server = {"host": "db.example", "port": 8124, "interface": "http"}
    assert found.arguments == {**server, "username": "me", "password": "p@s", "verify": False, "connect_timeout": 3}


@pytest.mark.parametrize(
    ("text", "interface", "port"),
    [
        ("clickhouse://h", "http", 8123),
        ("clickhouse://h?secure=true", "https", 8443),
        ("clickhouse://h:8443", "https", 8443),
        ("clickhouse://h:8443?secure=false", "http", 8443),
        ("clickhouses://h/shop", "https", 8443),
        ("clickhouses://h:9000", "https", 9000),
        ("clickhousedb://h", "http", 8123),
    ],
)
def test_a_url_says_whether_the_connection_is_encrypted(text: str, interface: str, port: int) -> None:
    found = address(text)
    assert (found.arguments["interface"], found.arguments["port"]) == (interface, port)
    assert found.database == ("shop" if "shop" in text else "default")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("clickhouse://h:port/d", "the port is not a number from 1 to 65535"),
        ("clickhouse://h/a/b", "one database was expected in the path: write clickhouse://USER:PASSWORD@HOST"),
        ("clickhouse://h/d?secur=true", r"unknown parameter 'secur' \(did you mean 'secure'\?\)"),
        ("clickhouse://h/d?secure=maybe", "the parameter secure is 'maybe': write secure= and true or false"),
        (
            "clickhouse://h/d?connect_timeout=soon",
            "connect_timeout is 'soon': write connect_timeout= and a whole number",
        ),
    ],
)
def test_a_wrong_url_is_said_before_anything_is_sent(text: str, message: str) -> None:
    with pytest.raises(DatabaseError, match=message):
        address(text)


@pytest.mark.parametrize(
    ("connecting", "code", "text", "kind", "shown"),
    [
        (True, 516, "me: Authentication failed: password is incorrect.", "unreadable_database", "rejects the user"),
        (True, 81, "Database `d` does not exist.", "unreadable_database", "the database 'd' does not exist on h:8123"),
        (False, 81, "Database `e` does not exist.", "error", "Database `e` does not exist."),
        (False, 60, "Table d.t does not exist.", "error", "Table d.t does not exist."),
        (False, 159, "Timeout exceeded: elapsed 1.5 seconds.", "timeout", "Timeout exceeded"),
        (False, 241, "Memory limit (for query) exceeded.", "out_of_memory", "Memory limit"),
        (False, 164, "me: Cannot execute query in readonly mode.", "writes", "refused: it writes or reaches outside"),
        (False, 164, "Cannot modify 'max_threads' setting.", "refused", "refused: a query may not change settings"),
        (False, 202, "Too many simultaneous queries.", "unreadable_database", "Too many simultaneous queries."),
        (False, 394, "Query was cancelled.", "unreadable_database", "Query was cancelled."),
        (False, 999, "Coordination::Exception: session expired.", "unreadable_database", "session expired"),
    ],
)
def test_an_error_says_what_is_wrong(connecting: bool, code: int, text: str, kind: str, shown: str) -> None:
    exceptions = pytest.importorskip("clickhouse_connect.driver.exceptions")
    message = (
        f"Received ClickHouse exception, code: {code}, server response: Code: {code}. DB::Exception: {text} "
        "(version 26.9.2.1 (official build)) (for url http://h:8123)"
    )
    error = exceptions.DatabaseError(message, code=code)
    problem = explain(error, address("clickhouse://me@h/d"), connecting=connecting)
    is_lost = kind == "unreadable_database" and not connecting
    assert (problem.kind, problem.lost) == (kind, is_lost)
    assert shown in problem.message
    assert "version" not in problem.message
    assert "\n" not in problem.message
    assert explain(ValueError("x"), address("clickhouse://h"), connecting=False) is None


def test_rights_beyond_reading_are_read_from_the_grants() -> None:
    lines = [
        "GRANT SELECT, SHOW TABLES ON shop.* TO me",
        "GRANT SELECT(a, b), dictGet ON shop.t TO me",
        "GRANT INSERT(a, b), ALTER UPDATE ON shop.t TO me WITH GRANT OPTION",
        "GRANT URL ON *.* TO me",
        "GRANT analysts TO me",
    ]
    assert beyond_reading(lines) == ["ALTER UPDATE", "INSERT", "URL"]
    assert beyond_reading(lines[:2]) == []


def test_zoneless_times_show_the_servers_clock_and_others_their_zone() -> None:
    berlin, tokyo = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Tokyo")
    naive = datetime(2024, 7, 1, 12, 0)  # noqa: DTZ001
    assert converter("DateTime", berlin, None)([naive, None]) == [datetime(2024, 7, 1, 14, 0), None]  # noqa: DTZ001
    (found,) = converter("Nullable(DateTime)", berlin, tokyo)([naive])
    assert found == naive.replace(tzinfo=UTC)
    assert found.utcoffset() == timedelta(hours=9)  # type: ignore[attr-defined]
    nested = converter("Array(Tuple(DateTime, String))", berlin, None)
    assert nested([[(naive, b"x")]]) == [[(datetime(2024, 7, 1, 14, 0), "x")]]  # noqa: DTZ001


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
def test_an_hour_that_comes_twice_is_told_apart(zone: str) -> None:
    own = ZoneInfo(zone)
    times = converter(f"DateTime('{zone}')", UTC, own)
    hours = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=30 * step) for step in range(2 * 24 * 366)]
    aware = times([moment.astimezone(own) for moment in hours])
    plain = times([moment.replace(tzinfo=None) for moment in hours])
    for found in (aware, plain):
        cells = [row[0] for row in Result.of([(cell,) for cell in found]).rows]
        assert len(set(cells)) == len(hours)
        assert cells == hours


@pytest.mark.parametrize(
    ("kind", "value", "cell"),
    [
        ("Map(String, UInt8)", [(b"a", 1), (b"a", 2)], MapEntries([("a", 1), ("a", 2)])),
        ("Array(Map(String, UInt8))", [[(b"a", 1)], []], [{"a": 1}, {}]),
        ("Tuple(m Map(String, UInt8), n UInt8)", {"m": [(b"a", 1)], "n": 2}, {"m": {"a": 1}, "n": 2}),
        ("Map(Array(UInt8), Map(String, UInt8))", [([1], [(b"a", 1)])], {(1,): {"a": 1}}),
        ("Nested(m Map(String, UInt8))", [{"m": [(b"a", 1)]}], [{"m": {"a": 1}}]),
        ("SimpleAggregateFunction(any, Map(String, UInt8))", [(b"a", 1)], {"a": 1}),
        ("JSON(`a.m` Map(String, UInt8))", {"a": {"m": [(b"x", 1)]}, "b": b"y"}, {"a": {"m": {"x": 1}}, "b": "y"}),
        ("Array(FixedString(4))", [b"ab\0\0", None], ["ab", None]),
        ("Array(IntervalDay)", [2], [timedelta(days=2)]),
        ("Dynamic", [(b"a", 1)], [("a", 1)]),
        ("Array(Float32)", [FLOAT_32, None], [FLOAT_32, None]),
        ("Tuple(Float32, Int8)", (FLOAT_32, 1), (FLOAT_32, 1)),
        ("Map(String, Float32)", [("a", FLOAT_32)], {"a": FLOAT_32}),
    ],
)
def test_a_value_is_read_by_its_type_wherever_it_stands(kind: str, value: object, cell: object) -> None:
    (found,) = converter(kind, UTC, None)([value])
    assert (type(found), found) == (type(cell), cell)


def test_a_json_that_the_driver_has_shortened_is_not_a_cell() -> None:
    read = converter("JSON(`a.b` Int8)", UTC, None)
    with pytest.raises(ValueError, match="a path of the JSON has a value and is the beginning of another one"):
        read([{"a": 2}])


def test_a_time_zone_is_found_in_a_type() -> None:
    found = catalogue.zones(
        ["String", "Nullable(DateTime('Asia/Tokyo'))", "DateTime64(3, 'Europe/Berlin')", "DateTime"]
    )
    assert {index: str(zone) for index, zone in found.items()} == {1: "Asia/Tokyo", 2: "Europe/Berlin"}


# On a server.

SCRIPT = """
CREATE TABLE customer (id UInt32, name String, city LowCardinality(String), since Date, note Nullable(String))
ENGINE = MergeTree PRIMARY KEY id ORDER BY (id, since);
INSERT INTO customer VALUES (1, 'Ada', 'Porto', '2023-01-05', NULL), (2, 'Bo', 'Lisboa', '2023-06-30', 'vip'),
(3, 'Cy', 'Porto', '2024-02-29', NULL), (4, 'Dee', 'Faro', '2024-12-31', '');
CREATE TABLE orders (id UInt32, customer UInt32, placed DateTime('Europe/Lisbon'), amount Decimal(10, 2),
tags Array(String), detail String, status Enum8('open' = 1, 'paid' = 2, 'lost' = 3)) ENGINE = MergeTree ORDER BY id;
INSERT INTO orders VALUES
(1, 1, '2024-03-30 23:30:00', 10.50, ['a', 'b'], '{"items": [1, 2], "price": 2.50}', 'paid'),
(2, 1, '2024-03-31 03:00:00', 20.00, ['b'], '{"items": [], "price": 1}', 'paid'),
(3, 2, '2024-07-01 12:00:00', 5.25, [], '{"items": [7], "gift": true}', 'open'),
(4, 2, '2024-07-01 12:00:00', 4.75, ['a', 'c', 'a'], '{}', 'lost'),
(5, 3, '2024-12-31 23:59:59', 100.00, ['c'], '{"items": [3, 4, 5], "price": 9.99}', 'paid'),
(6, 9, '2025-01-01 00:00:00', 1.00, ['b', 'c'], '{"price": 0.10}', 'open');
CREATE TABLE reading (sensor String, at DateTime('UTC'), value Nullable(Float64))
ENGINE = MergeTree ORDER BY (sensor, at);
INSERT INTO reading VALUES ('x', '2024-01-01 00:00:00', 1.5), ('x', '2024-01-01 01:00:00', NULL),
('x', '2024-01-01 02:00:00', 4), ('y', '2024-01-01 00:00:00', -2), ('y', '2024-01-02 00:00:00', 0);
CREATE VIEW paid AS SELECT id, customer, amount FROM orders WHERE status = 'paid'
"""


@pytest.fixture(scope="module")
def client(clickhouse: Any) -> Any:
    import clickhouse_connect

    return clickhouse_connect.get_client(
        host="127.0.0.1", port=clickhouse.port, autogenerate_session_id=False, compress=False
    )


@pytest.fixture(scope="module")
def url(clickhouse: Any, client: Any) -> str:
    name = f"shop_{uuid.uuid4().hex[:12]}"
    client.command(f"CREATE DATABASE {name}")
    client.database = name
    for statement in SCRIPT.split(";\n"):
        client.command(statement)
    return f"clickhouse://writer:writer@127.0.0.1:{clickhouse.port}/{name}"


@pytest.fixture
def open_engine(url: str) -> Iterator[Callable[..., ClickhouseEngine]]:
    opened = []

    def open_it(text: str = url, limits: Limits = LIMITS) -> ClickhouseEngine:
        opened.append(ClickhouseEngine.open(DatabaseUrl.parse(text), limits))
        return opened[-1]

    yield open_it
    for engine in opened:
        engine.close()


@pytest.fixture
def engine(open_engine: Callable[..., ClickhouseEngine]) -> ClickhouseEngine:
    return open_engine()


def rows(execution: Execution) -> list[tuple[object, ...]]:
    assert execution.result is not None, execution.failure
    return list(execution.result.rows)


def failure(execution: Execution) -> tuple[str, str, str]:
    return execution.status, execution.failure.kind, execution.failure.message


VALUES: list[tuple[str, str, object]] = [
    ("Bool", "true", True),
    ("Float64", "nan", float("nan")),
    ("Float64", "-inf", float("-inf")),
    ("Float64", "0.1", 0.1),
    ("Float32", "0.1", 0.10000000149011612),
    ("Float32", "16777216", 16777216.0),
    ("Decimal(76, 38)", "'1.' || repeat('0', 37) || '1'", Decimal("1." + "0" * 37 + "1")),
    ("Decimal(9, 4)", "-0.5000", Decimal("-0.5")),
    ("String", "'é😀\\\\'", "é😀\\"),
    ("String", "''", ""),
    ("String", "unhex('00ff')", b"\x00\xff"),
    ("FixedString(5)", "'ab'", "ab"),
    ("FixedString(2)", "unhex('ff01')", b"\xff\x01"),
    ("LowCardinality(String)", "'x'", "x"),
    ("Enum8('low' = -1, 'high' = 1)", "'low'", "low"),
    ("Enum16('a' = 1000)", "'a'", "a"),
    ("UUID", "'00000000-0000-0000-0000-00000000ffff'", UUID(int=0xFFFF)),
    ("IPv4", "'127.0.0.1'", "127.0.0.1"),
    ("IPv6", "'2001:db8::1'", "2001:db8::1"),
    ("Date", "'2149-06-06'", date(2149, 6, 6)),
    ("Date32", "'1900-01-01'", date(1900, 1, 1)),
    ("DateTime", "'2106-02-07 06:28:15'", datetime(2106, 2, 7, 6, 28, 15)),  # noqa: DTZ001
    ("DateTime('UTC')", "'2024-02-29 12:00:00'", datetime(2024, 2, 29, 12, tzinfo=UTC)),
    ("DateTime('America/New_York')", "'2024-07-01 12:00:00'", datetime(2024, 7, 1, 16, tzinfo=UTC)),
    ("DateTime64(6)", "'1969-12-31 23:59:59.999999'", datetime(1969, 12, 31, 23, 59, 59, 999999)),  # noqa: DTZ001
    (
        "DateTime64(9, 'Asia/Tokyo')",
        "'2024-02-29 12:34:56.123456789'",
        moment_of("2024-02-29 03:34:56.123456789+00:00"),
    ),
    ("Array(Nullable(Int8))", "[1, NULL]", [1, None]),
    ("Array(Array(String))", "[['a'], []]", [["a"], []]),
    ("Tuple(Int8, String)", "(1, 'a')", (1, "a")),
    ("Tuple(a Int8, b Array(String))", "(1, ['x'])", {"a": 1, "b": ["x"]}),
    ("Map(String, Array(UInt8))", "map('k', [1, 2])", {"k": [1, 2]}),
    ("Map(LowCardinality(String), Float64)", "map('k', 0.5)", {"k": 0.5}),
    ("Array(IPv4)", "['1.2.3.4']", ["1.2.3.4"]),
    ("Variant(String, UInt8)", "'x'", "x"),
    ("Dynamic", "'x'", "x"),
    (
        "JSON",
        """'{"a": {"b": 2.5, "c": ["x", "y"]}, "n": 12345678901234567890}'""",
        {"a": {"b": 2.5, "c": ["x", "y"]}, "n": 12345678901234567890},
    ),
    ("Point", "(1, 2)", (1.0, 2.0)),
    ("IntervalDay", "3", timedelta(days=3)),
    ("IntervalMonth", "2", Interval(months=2)),
    ("IntervalHour", "-1", timedelta(hours=-1)),
]
NO_NULLS = ("Array", "Tuple", "Map", "Variant", "Dynamic", "JSON", "LowCardinality", "Point", "Interval")


def same_cell(found: object, expected: object) -> bool:
    if isinstance(expected, float):
        return repr(found) == repr(expected)
    return (type(found), found) == (type(expected), expected)


@pytest.mark.parametrize(("kind", "literal", "expected"), VALUES, ids=lambda value: str(value)[:40])
def test_a_value_of_each_type_is_a_plain_cell(
    engine: ClickhouseEngine, kind: str, literal: str, expected: object
) -> None:
    value = f"CAST({literal}, '{quoted(kind)}')"
    ((found,),) = rows(engine.execute(f"SELECT {value} AS v"))
    assert same_cell(found, expected), found
    if not kind.startswith(NO_NULLS):
        nullable = f"SELECT CAST({literal}, 'Nullable({quoted(kind)})') AS v UNION ALL SELECT NULL"
        cells = [row[0] for row in rows(engine.execute(nullable))]
        assert sum(cell is None for cell in cells) == 1
        assert any(same_cell(cell, expected) for cell in cells)
    empty = engine.execute(f"SELECT {value} AS v, 1 AS n WHERE 0")
    assert (empty.status, empty.columns) == ("empty", ("v", "n"))


def generated() -> Iterator[tuple[str, list[str], list[object]]]:
    """Literals of each numeric and temporal type with the values that the driver documents for them."""
    pick = random.Random(34)
    for bits in (8, 16, 32, 64, 128, 256):
        for sign in ("", "U"):
            low, high = (0, 2**bits - 1) if sign else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
            integers = [low, high, 0, *(pick.randint(low, high) for _ in range(20))]
            yield f"{sign}Int{bits}", [f"'{number}'" for number in integers], [*integers]
    for digits, scale in ((9, 2), (18, 18), (38, 10), (76, 76)):
        units = [pick.randint(-(10**digits) + 1, 10**digits - 1) for _ in range(20)]
        with_scale = [Decimal((int(unit < 0), tuple(map(int, str(abs(unit)))), -scale)) for unit in units]
        yield f"Decimal({digits}, {scale})", [f"'{number:f}'" for number in with_scale], [*with_scale]
    floats = [pick.uniform(-1, 1) * 10.0 ** pick.randint(-300, 300) for _ in range(20)]
    yield "Float64", [f"'{number!r}'" for number in floats], [*floats]
    days = [date(1900, 1, 1) + timedelta(days=pick.randint(0, 146_000)) for _ in range(20)]
    yield "Date32", [f"'{day}'" for day in days], [*days]
    moments = [
        datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=pick.randint(0, 4 * 10**15)) for _ in range(20)
    ]
    for zone in ("UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns"):
        local = [moment.astimezone(ZoneInfo(zone)) for moment in moments]
        literals = [f"'{moment.replace(tzinfo=None)}'" for moment in moments]
        yield (
            f"DateTime64(6, '{zone}')",
            [f"toTimeZone(toDateTime64({text}, 6, 'UTC'), '{zone}')" for text in literals],
            [*local],
        )
    texts = ["".join(chr(pick.choice([*range(1, 0xD800), 0x1F600])) for _ in range(12)) for _ in range(20)]
    yield "String", [f"unhex('{text.encode().hex()}')" for text in texts], [*texts]


@pytest.mark.parametrize(("kind", "literals", "expected"), list(generated()), ids=lambda value: str(value)[:30])
def test_generated_values_come_back_exactly(
    engine: ClickhouseEngine, kind: str, literals: list[str], expected: list[object]
) -> None:
    casts = [f"CAST({literal}, '{quoted(kind)}')" for literal in literals]
    (row,) = rows(engine.execute(f"SELECT {', '.join(f'{cast} AS c{index}' for index, cast in enumerate(casts))}"))
    assert not [(a, b) for a, b in zip(row, expected, strict=True) if not same_cell(a, b)]
    assert rows(engine.execute(f"SELECT [{', '.join(casts)}]")) == [(expected,)]


KEYS = {
    "String": ["'a'", "'b'", "''"],
    "Int8": ["1", "2", "-1"],
    "Float64": ["0.5", "nan", "inf"],
    "Array(UInt8)": ["[1]", "[]", "[1, 2]"],
    "Tuple(UInt8, String)": ["(1, 'a')", "(1, 'b')", "(2, 'a')"],
    "Tuple(x UInt8, y Array(UInt8))": ["(1, [])", "(1, [1])", "(2, [])"],
    "Map(String, UInt8)": ["map('a', 1)", "map('a', 1, 'a', 2)", "map()"],
    "DateTime('Europe/Berlin')": [
        "toDateTime(1729989000, 'Europe/Berlin')",
        "toDateTime(1729992600, 'Europe/Berlin')",
        "toDateTime(0, 'Europe/Berlin')",
    ],
    "LowCardinality(String)": ["'a'", "'b'", "'c'"],
}
SHELLS = {
    "{}": "{}",
    "[{}]": "Array({})",
    "tuple({}, 1)": "Tuple({}, UInt8)",
    "map('k', {}, 'l', {})": "Map(String, {})",
    "{} ": "Variant({}, Array(Tuple(UInt8, UInt8)))",
}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("shell", SHELLS)
def test_generated_maps_are_equal_as_cells_where_their_keys_have_equal_values(
    engine: ClickhouseEngine, key: str, shell: str
) -> None:
    pick = random.Random(f"{key} {shell}")
    entries = [[(pick.randrange(3), pick.randrange(2)) for _ in range(pick.randrange(5))] for _ in range(15)]
    entries += [[(0, 1), (0, 0)], [(0, 0)], [(0, 0), (1, 1)], [(1, 1), (0, 0)], [(0, 0), (0, 1)]]

    def literal(pairs: list[tuple[int, int]]) -> str:
        keys = ", ".join(f"CAST({KEYS[key][index]}, '{quoted(key)}')" for index, _ in pairs)
        values = ", ".join(str(value) for _, value in pairs)
        kind = quoted(f"Map({key}, UInt8)")
        made = f"CAST(([{keys}], [{values}]), '{kind}')" if pairs else f"CAST(map(), '{kind}')"
        return f"CAST({shell.replace('{}', made)}, '{quoted(SHELLS[shell].replace('{}', f'Map({key}, UInt8)'))}')"

    (row,) = rows(
        engine.execute("SELECT " + ", ".join(f"{literal(pairs)} AS m{place}" for place, pairs in enumerate(entries)))
    )
    results = [Result.of([(cell,)]) for cell in row]

    def values(pairs: list[tuple[int, int]]) -> dict[int, list[int]]:
        return {index: [value for other, value in pairs if other == index] for index, _ in pairs}

    for one, ours in zip(entries, results, strict=True):
        for two, theirs in zip(entries, results, strict=True):
            assert compare(ours, theirs).equal == (values(one) == values(two)), (one, two, ours.rows, theirs.rows)


def quoted(kind: str) -> str:
    return kind.replace("'", "\\'")


def test_a_variant_tells_a_map_from_an_array_of_pairs_and_a_dynamic_loses_none(engine: ClickhouseEngine) -> None:
    variant = "Variant(Map(String, UInt8), Array(Tuple(String, UInt8)))"
    query = f"SELECT arrayJoin([CAST(map('a', 1, 'a', 2), '{variant}'), CAST([('a', 1), ('a', 2)], '{variant}')])"
    assert rows(engine.execute(query)) == [(map_of([("a", 1), ("a", 2)]),), ([("a", 1), ("a", 2)],)]
    assert [type(row[0]) for row in rows(engine.execute(query))] == [MapEntries, list]
    ((found,),) = rows(engine.execute("SELECT CAST(map('a', 1, 'a', 2), 'Dynamic')"))
    assert found == [("a", 1), ("a", 2)]
    ((found,),) = rows(engine.execute("""SELECT '{"m": {"a": 1, "a": 2}}'::JSON(m Map(String, UInt8))"""))
    assert found == {"m": MapEntries([("a", 1), ("a", 2)])}


@pytest.mark.parametrize(
    ("query", "column"),
    [
        ("""SELECT 1 AS a, '{"a":1,"a.b":2}'::JSON AS doc""", "'doc' (JSON)"),
        ("""SELECT '{"a.b":1,"a":2}'::JSON(a.b Int8) AS doc, 1 AS a""", "'doc' (JSON(`a.b` Int8))"),
    ],
)
def test_a_column_that_cannot_be_read_is_named_with_its_type(engine: ClickhouseEngine, query: str, column: str) -> None:
    status, kind, message = failure(engine.execute(query))
    assert (status, kind) == ("error", "unreadable_value")
    assert f"a value of the column {column} cannot be read (" in message


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ';' AS a; -- done",
        "SELECT ';' AS a -- done;",
        "SELECT ';' AS a /* ; */ ;  /* x */",
        "SELECT ';' AS a # x",
        "SELECT ';' AS a WHERE 0; -- x",
    ],
)
def test_comments_and_a_last_semicolon_end_a_query(engine: ClickhouseEngine, text: str) -> None:
    execution = engine.execute(text)
    assert execution.columns == ("a",)
    assert rows(execution) == ([] if "WHERE" in text else [(";",)])


def test_aggregate_states_are_not_values(engine: ClickhouseEngine) -> None:
    status, kind, message = failure(engine.execute("SELECT sumState(number) FROM numbers(3)"))
    assert (status, kind) == ("error", "unreadable_value")
    assert "AggregateFunction(sum, UInt64)" in message
    assert rows(engine.execute("SELECT 1")) == [(1,)]


def test_a_query_at_its_time_limit_is_killed_on_the_server(
    open_engine: Callable[..., ClickhouseEngine], client: Any
) -> None:
    engine = open_engine(limits=Limits(timeout_s=0.5))
    for query in (ENDLESS, f"SELECT * FROM ({ENDLESS}) UNION ALL ({ENDLESS})"):
        status, kind, message = failure(engine.execute(query))
        assert (status, kind, message) == ("timeout", "timeout", "no result within the limit of 0.5 s")
        assert _running(client) == 0
    assert rows(engine.execute("SELECT 1")) == [(1,)]


def _running(client: Any) -> int:
    """How many queries of Assay's are still running, after those that were killed had time to end."""
    end = time.monotonic() + 60
    query = "SELECT count() FROM system.processes WHERE Settings['log_comment'] = 'assay'"
    while (count := client.query(query).result_rows[0][0]) and time.monotonic() < end:
        time.sleep(0.05)
    return int(count)


@pytest.mark.parametrize("limits", [Limits(max_rows=1000), Limits(max_result_bytes=1_000_000)], ids=["rows", "bytes"])
def test_a_result_beyond_a_cap_is_cut_and_its_query_killed(
    open_engine: Callable[..., ClickhouseEngine], client: Any, limits: Limits
) -> None:
    engine = open_engine(limits=limits)
    execution = engine.execute("SELECT number, toString(number) FROM numbers(1000000000000)")
    assert execution.status == "truncated"
    assert rows(execution)[:2] == [(0, "0"), (1, "1")]
    assert _running(client) == 0
    assert rows(engine.execute("SELECT 1")) == [(1,)]


def test_a_subquery_beyond_the_cap_is_not_cut(open_engine: Callable[..., ClickhouseEngine]) -> None:
    engine = open_engine(limits=Limits(max_rows=10))
    assert rows(engine.execute("SELECT count() FROM (SELECT number FROM numbers(100000) ORDER BY number)")) == [
        (100000,)
    ]


def test_memory_is_limited(open_engine: Callable[..., ClickhouseEngine]) -> None:
    engine = open_engine(limits=Limits(timeout_s=60.0, max_memory_bytes=50_000_000))
    status, kind, _ = failure(engine.execute("SELECT length(groupArray(number)) FROM numbers(1000000000)"))
    assert (status, kind) == ("error", "out_of_memory")


def test_a_result_that_breaks_off_is_an_error(engine: ClickhouseEngine) -> None:
    status, kind, message = failure(engine.execute("SELECT throwIf(number = 900000) FROM numbers(1000000)"))
    assert (status, kind) == ("error", "error")
    assert "throwIf" in message


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO customer (id) VALUES (9)",
        "ALTER TABLE customer DELETE WHERE 1",
        "DROP TABLE customer",
        "TRUNCATE TABLE customer",
        "OPTIMIZE TABLE customer FINAL",
        "SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a String')",
        "SELECT * FROM file('/etc/passwd', 'LineAsString', 'a String')",
        "SELECT 1 SETTINGS readonly = 0",
        "SELECT 1; DROP TABLE customer",
        "SET readonly = 0",
        "KILL QUERY WHERE 1",
        "SYSTEM FLUSH LOGS",
        "SELECT 1 INTO OUTFILE '/tmp/out.csv'",
        "GRANT ALL ON *.* TO writer",
    ],
)
def test_what_does_more_than_read_is_refused_for_a_user_who_may(engine: ClickhouseEngine, text: str) -> None:
    execution = engine.execute(text)
    assert execution.status in ("refused", "error"), execution
    assert rows(engine.execute("SELECT count() FROM customer")) == [(4,)]


def test_a_user_whose_profile_is_read_only_is_served(open_engine: Callable[..., ClickhouseEngine], url: str) -> None:
    engine = open_engine(url.replace("writer:writer", "reader:reader"))
    assert rows(engine.execute("SELECT count() FROM customer")) == [(4,)]
    status, kind, _ = failure(open_engine(engine._url.reveal(), Limits(timeout_s=0.5)).execute(ENDLESS))
    assert (status, kind) == ("timeout", "timeout")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("writer:writer", "writer:wr0ng"), "the server rejects the user 'writer' or the password"),
        (("/shop_", "/nowhere_"), "the database 'nowhere_"),
        (("127.0.0.1", "nowhere.invalid"), "the host 'nowhere.invalid' is unknown"),
        (("clickhouse://", "clickhouses://"), "TLS fails at 127.0.0.1"),
    ],
)
def test_a_wrong_part_of_the_url_is_named(url: str, change: tuple[str, str], message: str) -> None:
    wrong = DatabaseUrl.parse(url.replace(*change))
    with pytest.raises(DatabaseError, match=message) as caught:
        ClickhouseEngine.check(wrong)
    assert "wr0ng" not in str(caught.value)


def test_digits_beyond_the_microsecond_are_kept() -> None:
    nanoseconds = 1_704_067_200_123_456_789
    berlin = ZoneInfo("Europe/Berlin")
    for kind, ticks, cell in (
        ("DateTime64(9)", nanoseconds, moment_of("2024-01-01 01:00:00.123456789")),
        ("DateTime64(9)", nanoseconds - 789, datetime(2024, 1, 1, 1, 0, 0, 123456)),  # noqa: DTZ001
        ("DateTime64(9, 'America/Lima')", nanoseconds, moment_of("2024-01-01 00:00:00.123456789+00:00")),
        ("DateTime64(9, 'UTC')", nanoseconds - 789, datetime(2024, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)),
        ("DateTime64(7)", -1, moment_of("1970-01-01 00:59:59.999999900")),
        ("Nullable(DateTime64(8))", None, None),
        ("Array(DateTime64(9))", [nanoseconds + 1], [moment_of("2024-01-01 01:00:00.123456790")]),
        ("Map(String, Time64(9))", [("a", 45_000_000_000_001)], {"a": interval_of("12:30:00.000000001")}),
        ("Time64(9)", -45_000_000_000_001, interval_of("-12:30:00.000000001")),
        ("Time64(9)", -45_000_000_001_000, -timedelta(hours=12, minutes=30, microseconds=1)),
        ("Tuple(Time64(7), DateTime64(3))", (1, 1_704_067_200_500), None),
    ):
        assert has_nanoseconds(kind)
        found = converter(kind, berlin, None, in_ticks=True)
        if "Tuple" in kind:
            cell = (interval_of("00:00:00.000000100"), datetime(2024, 1, 1, 1, 0, 0, 500_000))  # noqa: DTZ001, PLW2901
        assert found([ticks]) == [cell], kind
    assert not any(map(has_nanoseconds, ("DateTime64(6)", "Time64(3)", "Dynamic", "JSON(a DateTime64(9))")))


@pytest.mark.parametrize(
    ("query", "least", "most"),
    [
        ("SELECT repeat('x', 100000 + number % 3) FROM numbers(900)", 16, 400),
        ("SELECT number, repeat('x', 90000 + number % 3) FROM numbers(3000)", 16, 400),
        ("SELECT range(3000000 + number) FROM numbers(4)", 1, 1),
        ("SELECT repeat('x', 100 + number % 3) FROM numbers(10)", 10, 10),
    ],
)
def test_a_result_of_long_rows_is_cut_at_the_limit_of_bytes(url: str, query: str, least: int, most: int) -> None:
    limits = Limits(timeout_s=30, max_rows=1000, max_result_bytes=20_000_000)
    with closing(ClickhouseEngine.open(DatabaseUrl.parse(url), limits)) as engine:
        done = engine.execute(query)
        assert done.status == ("rows" if least == most == 10 else "truncated"), done.failure
        assert least <= done.row_count <= most
        assert done.columns
        assert engine.execute("SELECT 1").status == "rows"


def test_what_is_read_ends_with_the_querys_time() -> None:
    from assay.engines.clickhouse.engine import _PoolOfQuery

    class Response:
        def stream(self, _: int) -> Iterator[bytes]:
            yield from [b"a", b"b", b"c"]

    class Pool:
        size = 3

        def request(self, _: str) -> Response:
            return Response()

    checks = iter([None, TimeoutError("interrupted")])

    def check_clock() -> None:
        if (error := next(checks)) is not None:
            raise error

    pool = _PoolOfQuery(Pool(), check_clock)
    chunks = pool.request("GET").stream(1)
    assert next(chunks) == b"a"
    with pytest.raises(TimeoutError, match="interrupted"):
        next(chunks)
    assert pool.size == 3


@pytest.mark.parametrize(
    ("engine_class", "scheme", "port"),
    [
        (ClickhouseEngine, "clickhouse", "HTTP port is 8123"),
        (ClickhouseSecureEngine, "clickhouses", "HTTPS port is 8443"),
    ],
)
def test_a_server_that_is_not_there_is_named(engine_class: Any, scheme: str, port: str) -> None:
    pytest.importorskip("clickhouse_connect")
    with pytest.raises(DatabaseError, match=rf"no server responds at 127\.0\.0\.1:1: its {port}"):
        engine_class.check(DatabaseUrl.parse(f"{scheme}://127.0.0.1:1"))


def test_the_schema_has_tables_and_views_and_states_no_key(engine: ClickhouseEngine) -> None:
    tables = {table.name: table for table in engine.schema().tables}
    assert list(tables) == ["customer", "orders", "paid", "reading"]
    assert tables["paid"].kind == "view"
    customer = tables["customer"]
    assert [(column.name, column.type, column.not_null) for column in customer.columns] == [
        ("id", "UInt32", True),
        ("name", "String", True),
        ("city", "LowCardinality(String)", True),
        ("since", "Date", True),
        ("note", "Nullable(String)", False),
    ]
    assert (customer.primary_key, customer.unique) == ((), ()), "a sorting key is not unique"
    assert customer.columns[1].values == ("'Ada'", "'Bo'", "'Cy'")
    assert "PRIMARY KEY" not in customer.ddl


@pytest.mark.parametrize("most", [catalogue.CONTENT_BYTES, 0], ids=["content", "parts"])
def test_the_fingerprint_changes_with_the_content(
    url: str, client: Any, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(catalogue, "CONTENT_BYTES", most)
    parsed = DatabaseUrl.parse(url)
    client.command("CREATE TABLE extra (a Nullable(Int32)) ENGINE = MergeTree ORDER BY tuple()")
    try:
        client.command("INSERT INTO extra VALUES (1)")
        first = ClickhouseEngine.fingerprint(parsed)
        assert first.startswith("parts-" if most == 0 else "content-")
        assert ClickhouseEngine.fingerprint(parsed) == first
        client.command("ALTER TABLE extra UPDATE a = 2 WHERE 1", settings={"mutations_sync": 1})
        assert ClickhouseEngine.fingerprint(parsed) != first
    finally:
        client.command("DROP TABLE extra")


def test_doctor_tells_rights_and_how_to_make_a_reader(url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "assay", "doctor", url], capture_output=True, text=True, check=False, timeout=300
    )
    assert "the user 'default' may do more than read" in " ".join(done.stdout.split())
    assert "GRANT SELECT ON `shop_" in done.stdout
    assert "writer:writer" not in done.stdout + done.stderr


def test_a_server_that_went_away_is_said_and_used_again() -> None:
    from assay.testing.servers import ServerUnavailable, start

    pytest.importorskip("clickhouse_connect")
    try:
        server = start("clickhouse")
    except ServerUnavailable as reason:
        pytest.skip(str(reason))
    with closing(ClickhouseEngine.open(DatabaseUrl.parse(server.url), LIMITS)) as engine:
        with server:
            assert rows(engine.execute("SELECT 1")) == [(1,)]
        status, kind, message = failure(engine.execute("SELECT 1"))
        assert (status, kind) == ("error", "unreadable_database")
        assert f"127.0.0.1:{server.port}" in message
        with start("clickhouse", port=server.port):
            assert rows(engine.execute("SELECT 1")) == [(1,)]


def test_forty_queries_have_the_results_that_were_derived_by_hand(url: str, tmp_path: Path) -> None:
    """Each case is a query on SCRIPT, and its gold result was derived by hand."""
    cases = Path(__file__).with_name("clickhouse_queries.jsonl")
    queries = {case["id"]: case["question"] for case in map(json.loads, cases.read_text().splitlines())}
    assert len(queries) == 40
    predictions = tmp_path / "predictions.jsonl"
    predictions.write_text("".join(json.dumps({"id": id, "prediction": sql}) + "\n" for id, sql in queries.items()))
    command = [sys.executable, "-m", "assay", "run", str(cases), "--predictions", str(predictions), "--db", url]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "run")], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    wrong = duckdb.sql(
        f"SELECT case_id, outcome, reason FROM '{tmp_path}/run/results.parquet' WHERE outcome <> 'correct'"
    ).fetchall()
    assert not wrong
