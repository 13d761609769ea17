"""FLOAT columns of MariaDB and MySQL keep their values, and all other columns are read as in the text protocol."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from assay.engines.mysql.binary import shortest
from assay.engines.mysql.engine import MysqlEngine
from assay.model import DatabaseUrl, Execution, Limits

OTHERS = {
    "u32": ("INT UNSIGNED ZEROFILL", ("4294967295", "0")),
    "u64": ("BIGINT UNSIGNED", ("18446744073709551615", "0")),
    "i64": ("BIGINT", ("-9223372036854775808", "9223372036854775807")),
    "i24": ("MEDIUMINT", ("-8388608", "8388607")),
    "i16": ("SMALLINT", ("-32768", "32767")),
    "i8": ("TINYINT", ("-128", "127")),
    "year_": ("YEAR", ("1901", "0")),
    "double_": ("DOUBLE", ("1.7976931348623157e308", "-4.9e-324")),
    "fixed": ("DOUBLE(20,3)", ("12345678901234.567", "-0.001")),
    "decimal_": ("DECIMAL(65,30)", ("-12345678901234567890123456789012345.123456789012345678901234567891", "0")),
    "day": ("DATE", ("'9999-12-31'", "'0000-00-00'")),
    "moment": ("DATETIME(6)", ("'9999-12-31 23:59:59.999999'", "'0000-00-00'")),
    "tenths": ("DATETIME(1)", ("'2024-02-29 00:00:00.1'", "'2024-02-00'")),
    "stamp": ("TIMESTAMP NULL", ("'2024-02-29 12:34:56'", "'0000-00-00'")),
    "span": ("TIME(6)", ("'-838:59:59.999999'", "'838:59:59'")),
    "seconds": ("TIME", ("'-00:00:01'", "'00:00:00'")),
    "bits": ("BIT(64)", ("b'1'", "18446744073709551615")),
    "flag": ("BOOLEAN", ("true", "false")),
    "latin": ("TEXT CHARACTER SET latin1", ("'h\u00e9'", "''")),
    "text_": ("VARCHAR(20) CHARACTER SET utf8mb4", ("'\U0001f600'", "'x '")),
    "long_": ("LONGTEXT", ("REPEAT('x', 70000)", "'y'")),
    "blob_": ("BLOB", ("x'00ff27'", "x''")),
    "json_": ("JSON", ("'{\"a\": 1}'", "'[]'")),
    "place": ("POINT", ("POINT(1, 2)", "POINT(0, 0)")),
    "choice": ("ENUM('a', 'b')", ("'b'", "'a'")),
    "choices": ("SET('a', 'b')", ("'a,b'", "''")),
    "address": ("INET6", ("'::1'", "'1.2.3.4'")),
    "key_": ("UUID", ("'01234567-89ab-cdef-0123-456789abcdef'", "'00000000-0000-0000-0000-000000000000'")),
}


@pytest.fixture(scope="module")
def floats() -> list[float]:
    """The least, the largest, integers beyond six digits, and values of any bits."""
    random_source = random.Random(7)
    bits = [random_source.randrange(2**31) for _ in range(500)] + [1, 2, 0x007FFFFF, 0x00800000, 0x7F7FFFFF]
    numbers = [struct.unpack("<f", struct.pack("<I", item))[0] for item in bits]
    numbers = [number for number in numbers if math.isfinite(number)]
    return [*numbers, *(-number for number in numbers[:50]), 16777216.0, 16777210.0, 1234567.0, 0.1, 0.01, 0.0]


@pytest.fixture(scope="module")
def engine(mariadb: Any, floats: list[float]) -> Iterator[MysqlEngine]:
    with closing(mariadb.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE floating CHARACTER SET utf8mb4")
        cursor.execute("USE floating")
        cursor.execute("SET sql_mode = ''")
        cursor.execute("CREATE TABLE numbers (id INT PRIMARY KEY, f FLOAT, d DOUBLE)")
        cursor.executemany(
            "INSERT INTO numbers VALUES (%s, %s, %s)", [(index, item, item) for index, item in enumerate(floats)]
        )
        columns = ", ".join(f"{name} {kind}" for name, (kind, _) in OTHERS.items())
        cursor.execute(f"CREATE TABLE kinds (f FLOAT, fd FLOAT(10,2), fu FLOAT UNSIGNED, {columns})")
        for index in (0, 1):
            cells = ", ".join(cells[index] for _, cells in OTHERS.values())
            cursor.execute(f"INSERT INTO kinds VALUES (16777216, 1234567.89, 16777210, {cells})")
        cursor.execute("INSERT INTO kinds () VALUES ()")
        connection.commit()
    opened = MysqlEngine.open(
        DatabaseUrl(text=f"mysql://root@{mariadb.host}:{mariadb.port}/floating"), Limits(timeout_s=20)
    )
    with closing(opened):
        yield opened
    with closing(mariadb.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("DROP DATABASE floating")


def _rows(execution: Execution) -> list[tuple[object, ...]]:
    assert execution.result is not None, execution.failure
    return [tuple(row) for row in execution.result.rows]


def test_a_float_is_the_shortest_decimal_that_identifies_it(engine: MysqlEngine, floats: list[float]) -> None:
    np = pytest.importorskip("numpy")
    cells = [row[0] for row in _rows(engine.execute("SELECT f FROM numbers ORDER BY id"))]
    assert cells == [float(str(np.float32(item))) for item in floats]
    assert len(set(cells)) == len(set(floats)), "two values became one"


def test_the_shortest_decimal_of_any_bits() -> None:
    np = pytest.importorskip("numpy")
    random_source = random.Random(11)
    for _ in range(20_000):
        number = struct.unpack("<f", struct.pack("<I", random_source.randrange(2**32)))[0]
        if not math.isnan(number):
            assert shortest(number) == float(str(np.float32(number))), number.hex()


@pytest.mark.parametrize("name", OTHERS)
def test_the_other_columns_do_not_depend_on_a_float_beside_them(engine: MysqlEngine, name: str) -> None:
    (without, beside) = (_rows(engine.execute(f"SELECT {columns} FROM kinds")) for columns in (name, f"{name}, f"))
    assert [row[0] for row in beside] == [row[0] for row in without]
    assert [type(row[0]) for row in beside] == [type(row[0]) for row in without]
    assert without[-1] == (None,)


def test_all_columns_of_a_row(engine: MysqlEngine) -> None:
    """The bitmap of NULLs has several bytes."""
    texts = [_rows(engine.execute(f"SELECT {name} FROM kinds")) for name in OTHERS]
    rows = _rows(engine.execute("SELECT * FROM kinds"))
    assert [row[3:] for row in rows] == [tuple(cells[index][0] for cells in texts) for index in range(3)]
    assert [row[:3] for row in rows] == [(16777216.0, 1234567.9, 16777210.0)] * 2 + [(None, None, None)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("SELECT f, f FROM kinds", (16777216.0, 16777216.0)),
        ("SELECT MAX(f), MIN(fu) FROM kinds", (16777216.0, 16777210.0)),
        ("SELECT f FROM kinds UNION ALL SELECT fu FROM kinds ORDER BY f DESC LIMIT 1", (16777216.0,)),
        ("WITH x AS (SELECT f AS a FROM kinds) SELECT * FROM x ORDER BY a DESC LIMIT 1", (16777216.0,)),
        ("SELECT IF(i8, fd, f) FROM kinds;", (1234567.9,)),
        ("SELECT '?%s' AS `a?`, f FROM kinds -- ?", ("?%s", 16777216.0)),
        ("SELECT f FROM kinds WHERE f = 16777216 GROUP BY f HAVING COUNT(*) = 2", (16777216.0,)),
        ("SELECT f FROM kinds WHERE false", None),
        ("SHOW TABLES", ("kinds",)),
    ],
)
def test_any_form_of_query(engine: MysqlEngine, query: str, first: tuple[object, ...] | None) -> None:
    assert next(iter(_rows(engine.execute(query))), None) == first


@pytest.mark.parametrize(
    "query",
    [
        *("SELECT bits FROM kinds", "SELECT DISTINCT bits FROM kinds", "SELECT bits FROM kinds GROUP BY bits"),
        "SELECT bits FROM kinds UNION SELECT bits FROM kinds",
        "WITH x AS (SELECT bits FROM kinds) SELECT bits FROM x",
        *("SELECT MAX(bits) FROM kinds", "SELECT NULLIF(bits, 0) FROM kinds", "SELECT bits + 0 FROM kinds"),
        "SELECT (SELECT bits FROM kinds LIMIT 1)",
        *("SELECT CASE WHEN 1 THEN bits END FROM kinds", "SELECT FIRST_VALUE(bits) OVER (ORDER BY bits) FROM kinds"),
        "SELECT m FROM (SELECT MAX(bits) AS m FROM kinds) AS x",
    ],
)
def test_a_bit_is_its_number_or_cannot_be_read(engine: MysqlEngine, query: str) -> None:
    """The digits of 3 are the bits of 51."""
    done = engine.execute(query)
    if done.failure is not None:
        assert done.failure.kind == "unreadable_value"
        assert any(part in query for part in ("MAX(", "NULLIF", "(SELECT bits", "CASE", "OVER"))
    else:
        assert set(_rows(done)) <= {(1,), (2**64 - 1,), (None,)}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT f, ? FROM kinds",
        "SELECT f, missing FROM kinds",
        "SELECT f FROM missing",
        "SELECT f FROM numbers WHERE id = (SELECT 1 UNION SELECT 2)",
        "SELECT f, (SELECT f FROM numbers) FROM kinds",
        "SELECT f FROM numbers WHERE",
    ],
)
def test_a_query_fails_as_it_does_as_text(engine: MysqlEngine, mariadb: Any, query: str) -> None:
    with closing(mariadb.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("USE floating")
        with pytest.raises(Exception) as raised:  # noqa: PT011 - any class of the driver's
            cursor.execute(query)
    done = engine.execute(query)
    assert (done.failure.kind, done.failure.message) == ("error", raised.value.args[1])
    assert _rows(engine.execute("SELECT MAX(f) FROM kinds")) == [(16777216.0,)], "the connection still works"


def test_limits_hold_for_a_float(engine: MysqlEngine, mariadb: Any) -> None:
    url = DatabaseUrl(text=f"mysql://root@{mariadb.host}:{mariadb.port}/floating")
    endless = "SELECT COUNT(*), MAX(a.f) FROM numbers a, numbers b, numbers c, numbers d, numbers e"
    with closing(MysqlEngine.open(url, Limits(timeout_s=0.5, max_rows=10))) as limited:
        assert limited.execute("SELECT f FROM numbers").status == "truncated"
        assert limited.execute(endless).status == "timeout"
        assert limited.execute("SELECT f FROM kinds").status == "rows"
