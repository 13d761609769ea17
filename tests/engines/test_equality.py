"""Where two values of one type are compared, Assay and the engine's own ``=`` agree, but for `EXCEPTIONS`.

An engine is one entry of `ENGINES`: how to open it, and its types with values of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from decimal import Context, Decimal
from itertools import count
from math import isclose
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec import Struct

from assay.comparison.compare import compare
from assay.model import ComparisonOptions, DatabaseUrl, Limits, Result
from assay.registry import engine_class

_ALMOST = 1e-12
_NUMBER = count()
_EXACT = Context(prec=60)
Values = SearchStrategy[str]
"""SQL literals."""


class Typed(Struct, frozen=True, kw_only=True):
    """A type of an engine."""

    type: str
    values: Values
    collation: str = ""


class Kind(Struct, frozen=True, kw_only=True):
    """An engine whose equality is compared with Assay's."""

    url: Callable[[pytest.FixtureRequest, Path], str]
    types: Mapping[str, Typed]
    same: str
    """SQL for whether ``a`` and ``b`` are equal, or both NULL."""
    cast: str = "CAST({value} AS {type}){collation}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _texts(*texts: str) -> Values:
    return st.sampled_from(texts).map(_quoted)


def _or_null(values: Values) -> Values:
    return st.one_of(values, st.just("NULL"))


def _integers(bits: int, *, signed: bool = True) -> Values:
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    numbers = st.one_of(st.sampled_from((least, 0, 1, most - 1, most)), st.integers(least, most))
    return numbers.map(lambda number: f"'{number}'")


def _decimals(digits: int, places: int) -> Values:
    most = 10**digits - 1
    numbers = st.one_of(st.sampled_from((-most, 0, 1, most - 1, most)), st.integers(-most, most))
    return numbers.map(lambda number: f"'{Decimal(number).scaleb(-places, _EXACT):f}'")


_FLOATS = _texts("0", "-0.0", "NaN", "inf", "-inf", "1e-30", "0.1", "16777216", "16777217", "3e38", "1.5", "-1.5")
_WORDS = st.one_of(
    _texts("", " ", "a", "A", "a ", "é", "e\u0301", "1", "infinity"), st.text("ab é", max_size=3).map(_quoted)
)
_DAYS = st.one_of(
    _texts("infinity", "-infinity", "9999-12-31", "0001-01-01", "10000-01-01", "2024-02-29"),
    st.dates().map(lambda day: f"'{day.isoformat()}'"),
)
_CLOCKS = ("00:00:00", "12:00:00", "12:00:00.000001", "23:59:59.999999")
_MOMENTS = st.one_of(
    _texts("infinity", "-infinity", "9999-12-31 23:59:59.999999", "0001-01-01 00:00:00", "10000-01-01 00:00:00"),
    st.builds(lambda day, clock: f"'{day.isoformat()} {clock}'", st.dates(), st.sampled_from(_CLOCKS)),
)
_NEAR = _texts(*(f"2024-01-01 00:00:00.12345678{digit}" for digit in range(4)), "2024-01-01 00:00:00", "infinity")
_ZONED = st.builds(
    lambda clock, zone: f"'2024-10-27 {clock}{zone}'",
    st.sampled_from(_CLOCKS),
    st.sampled_from(("+00", "+02", "-07:30")),
)
_ZONED_CLOCKS = st.builds(
    lambda clock, zone: f"'{clock}{zone}'",
    st.sampled_from((*_CLOCKS, "14:00:00", "10:00:00", "24:00:00")),
    st.sampled_from(("+00", "+02", "-02", "+05:30")),
)
_TIMES = _texts(*_CLOCKS, "24:00:00", "14:00:00")
_LENGTHS = st.one_of(
    _texts("1 month", "30 days", "1 year", "12 months", "360 days", "1 day", "24 hours", "-1 day", "0 days"),
    _texts("1 month -1 day", "29 days", "36 hours", "1 day 12 hours", "0.000001 seconds", "100000000 years"),
    st.builds(
        lambda months, days, hours: f"'{months} months {days} days {hours} hours'",
        *(st.integers(-2, 2), st.integers(-31, 31), st.integers(-25, 25)),
    ),
)
_UUIDS = st.uuids().map(lambda uuid: f"'{uuid}'")


def _list(values: Values, *, brackets: str = "[]") -> Values:
    """A list of literals, as an expression."""
    return st.lists(_or_null(values), max_size=3).map(lambda items: f"{brackets[:-1]}{', '.join(items)}{brackets[-1]}")


def _struct(values: Values) -> Values:
    return st.builds(lambda one, two: f"{{'a': {one}, 'b': [{two}]}}", _or_null(values), _or_null(values))


def _map(keys: Values, values: Values) -> Values:
    entries = st.lists(st.tuples(keys, _or_null(values)), max_size=2, unique_by=lambda entry: entry[0])
    return entries.map(lambda items: f"map {{{', '.join(f'{key}: {value}' for key, value in items)}}}")


_NUMBERS = st.integers(0, 2).map(str)
_DUCKDB = {
    **{
        f"int{bits}": Typed(type=name, values=_integers(bits))
        for bits, name in ((8, "TINYINT"), (16, "SMALLINT"), (32, "INTEGER"), (64, "BIGINT"), (128, "HUGEINT"))
    },
    **{
        f"uint{bits}": Typed(type=name, values=_integers(bits, signed=False))
        for bits, name in ((8, "UTINYINT"), (16, "USMALLINT"), (32, "UINTEGER"), (64, "UBIGINT"), (128, "UHUGEINT"))
    },
    **{
        f"decimal{digits}": Typed(type=f"DECIMAL({digits}, {places})", values=_decimals(digits, places))
        for digits, places in ((4, 1), (9, 2), (18, 4), (38, 10))
    },
    "bignum": Typed(type="BIGNUM", values=_integers(200)),
    "float": Typed(type="FLOAT", values=_FLOATS),
    "double": Typed(type="DOUBLE", values=_FLOATS),
    "varchar": Typed(type="VARCHAR", values=_WORDS),
    "blob": Typed(type="BLOB", values=_texts("", "a", "\\x00", "\\xFF", "ab", "a\\x00")),
    "bit": Typed(type="BIT", values=_texts("0", "1", "01", "001", "10")),
    "boolean": Typed(type="BOOLEAN", values=_texts("true", "false")),
    "date": Typed(type="DATE", values=st.one_of(_DAYS, _texts("0044-03-15 (BC)", "0045-03-15 (BC)"))),
    "time": Typed(type="TIME", values=_TIMES),
    "time_ns": Typed(type="TIME_NS", values=_texts("12:00:00", "12:00:00.000000001", "12:00:00.000000002")),
    "timetz": Typed(type="TIMETZ", values=_ZONED_CLOCKS),
    "timestamp": Typed(type="TIMESTAMP", values=_MOMENTS),
    "timestamp_s": Typed(type="TIMESTAMP_S", values=_MOMENTS),
    "timestamp_ms": Typed(type="TIMESTAMP_MS", values=_MOMENTS),
    "timestamp_ns": Typed(type="TIMESTAMP_NS", values=_NEAR),
    "timestamptz": Typed(type="TIMESTAMPTZ", values=st.one_of(_ZONED, _MOMENTS)),
    "interval": Typed(type="INTERVAL", values=_LENGTHS),
    "uuid": Typed(type="UUID", values=_UUIDS),
    "enum": Typed(type="ENUM('x', 'y', '')", values=_texts("x", "y", "")),
    "json": Typed(type="JSON", values=_texts("1", "1.0", "{}", '{"a": 1}', '{"a":1}', "null")),
    "list": Typed(type="DATE[]", values=_list(_DAYS)),
    "list of moments": Typed(type="TIMESTAMP_NS[]", values=_list(_NEAR)),
    "array": Typed(type="INTERVAL[2]", values=st.builds(lambda a, b: f"[{a}, {b}]", _LENGTHS, _or_null(_LENGTHS))),
    "struct": Typed(
        type="STRUCT(a DATE, b TIMETZ[])",
        values=st.builds(
            lambda day, clock: f"{{'a': {day}, 'b': [{clock}]}}", _or_null(_DAYS), _or_null(_ZONED_CLOCKS)
        ),
    ),
    "map": Typed(type="MAP(INTEGER, DATE)", values=_map(_NUMBERS, _DAYS)),
    "map of lists": Typed(type="MAP(INTEGER[], INTEGER)", values=_map(_list(_NUMBERS), _NUMBERS)),
    "map of structs": Typed(
        type="MAP(STRUCT(a INTEGER, b INTEGER[]), INTERVAL)", values=_map(_struct(_NUMBERS), _LENGTHS)
    ),
    "union": Typed(
        type="UNION(a DATE, b INTEGER)",
        values=st.one_of(
            _DAYS.map(lambda day: f"union_value(a := CAST({day} AS DATE))"),
            _NUMBERS.map(lambda n: f"union_value(b := {n})"),
        ),
    ),
    "nested": Typed(type="STRUCT(a INTEGER, b INTEGER[])[]", values=_list(_struct(_NUMBERS))),
}
_POSTGRES = {
    **{
        f"int{bits}": Typed(type=name, values=_integers(bits))
        for bits, name in ((16, "smallint"), (32, "integer"), (64, "bigint"))
    },
    "numeric": Typed(type="numeric", values=st.one_of(_decimals(30, 5), _texts("NaN", "Infinity", "1.0", "1.00"))),
    "float": Typed(type="real", values=_FLOATS),
    "double": Typed(type="double precision", values=_FLOATS),
    "text": Typed(type="text", values=_WORDS),
    "char": Typed(type="char(3)", values=_texts("a", "a ", "b", "")),
    "bytea": Typed(type="bytea", values=_texts("", "\\x00", "\\x0000", "\\xff")),
    "bit": Typed(type="bit varying", values=_texts("0", "1", "01", "001")),
    "boolean": Typed(type="boolean", values=_texts("true", "false")),
    "date": Typed(type="date", values=st.one_of(_DAYS, _texts("0044-03-15 BC", "0045-03-15 BC"))),
    "time": Typed(type="time", values=_TIMES),
    "timetz": Typed(type="timetz", values=_ZONED_CLOCKS),
    "timestamp": Typed(type="timestamp", values=_MOMENTS),
    "timestamptz": Typed(type="timestamptz", values=st.one_of(_ZONED, _MOMENTS)),
    "interval": Typed(type="interval", values=_LENGTHS),
    "uuid": Typed(type="uuid", values=_UUIDS),
    "jsonb": Typed(type="jsonb", values=_texts("1", "1.0", "{}", '{"a": 1, "b": 2}', '{"b": 2, "a": 1}', "[1]")),
    "list": Typed(type="date[]", values=_list(_DAYS.map(lambda day: f"{day}::date"), brackets="ARRAY[]")),
    "list of lengths": Typed(
        type="interval[]", values=_list(_LENGTHS.map(lambda day: f"{day}::interval"), brackets="ARRAY[]")
    ),
    "range": Typed(type="int4range", values=_texts("[1,3)", "[1,2]", "empty", "(,)")),
    "inet": Typed(type="inet", values=_texts("10.0.0.1", "10.0.0.1/32", "10.0.0.1/8", "::1")),
}
_SQLITE = {
    "integer": Typed(type="INTEGER", values=_integers(64).map(lambda text: text.strip("'"))),
    "real": Typed(type="REAL", values=st.sampled_from(("0.0", "-0.0", "9e999", "-9e999", "0.1", "1e-30", "1.5"))),
    "number": Typed(
        type="NUMERIC", values=st.sampled_from(("1", "1.0", "'1'", "9007199254740993", "9007199254740992.0"))
    ),
    "text": Typed(type="TEXT", values=_WORDS),
    "blob": Typed(type="BLOB", values=st.sampled_from(("x''", "x'00'", "x'61'", "x'ff'"))),
}
_MARIADB = {
    "signed": Typed(type="SIGNED", values=_integers(64)),
    "unsigned": Typed(type="UNSIGNED", values=_integers(64, signed=False)),
    **{
        f"decimal{digits}": Typed(type=f"DECIMAL({digits}, {places})", values=_decimals(digits, places))
        for digits, places in ((4, 1), (18, 4), (65, 30))
    },
    "float": Typed(type="FLOAT", values=_FLOATS),
    "double": Typed(type="DOUBLE", values=_FLOATS),
    "char": Typed(type="CHAR", values=_WORDS),
    "exact char": Typed(type="CHAR", values=_WORDS, collation=" COLLATE utf8mb4_nopad_bin"),
    "binary": Typed(type="BINARY", values=st.sampled_from(("x''", "x'61'", "x'41'", "x'6120'", "x'00'", "x'6100'"))),
    "date": Typed(type="DATE", values=st.one_of(_DAYS, _texts("0000-00-00", "2024-00-00", "2024-02-30"))),
    "time": Typed(
        type="TIME(6)",
        values=st.one_of(_TIMES, _texts("838:59:59", "838:59:59.999999", "-838:59:59", "-00:00:00.5", "00:00:00.5")),
    ),
    "datetime": Typed(type="DATETIME(6)", values=st.one_of(_MOMENTS, _texts("0000-00-00 00:00:00", "2024-00-00"))),
    "uuid": Typed(type="UUID", values=_UUIDS),
    "inet6": Typed(type="INET6", values=_texts("::1", "::ffff:1.2.3.4", "::ffff:102:304", "1:0:0::", "1::")),
}


def _mariadb(request: pytest.FixtureRequest, _: Path) -> str:
    server = request.getfixturevalue("mariadb")
    return f"mariadb://root@{server.host}:{server.port}/information_schema"


ENGINES: Mapping[str, Kind] = {
    "duckdb": Kind(url=lambda *_: "duckdb:///:memory:", types=_DUCKDB, same="a IS NOT DISTINCT FROM b"),
    "sqlite": Kind(url=lambda _, folder: f"sqlite:///{_sqlite(folder)}", types=_SQLITE, same="a IS b"),
    "postgresql": Kind(
        url=lambda request, _: request.getfixturevalue("postgres").create(f"equality_{next(_NUMBER)}"),
        types=_POSTGRES,
        same="a IS NOT DISTINCT FROM b",
    ),
    "mariadb": Kind(url=_mariadb, types=_MARIADB, same="a <=> b"),
}
_SERVERS = {"postgresql": "postgres", "mariadb": "mariadb"}
Exception_ = Callable[[Any, Any], bool]


def _almost(one: Any, two: Any) -> bool:
    return isinstance(one, float) and isinstance(two, float) and isclose(one, two, rel_tol=_ALMOST, abs_tol=_ALMOST)


def _in_one_collation(one: Any, two: Any) -> bool:
    return isinstance(one, str) and isinstance(two, str) and one.casefold().rstrip(" ") == two.casefold().rstrip(" ")


EXCEPTIONS: Mapping[tuple[str, str], Exception_] = {
    # Floats match within a tolerance.
    ("duckdb", "float"): _almost,
    ("duckdb", "double"): _almost,
    ("sqlite", "real"): _almost,
    ("sqlite", "number"): lambda one, two: isinstance(one, float) or isinstance(two, float),
    ("postgresql", "float"): _almost,
    ("postgresql", "double"): _almost,
    ("mariadb", "float"): _almost,
    ("mariadb", "double"): _almost,
    # Texts match exactly; the usual collations of MariaDB ignore case and blanks at the end.
    ("mariadb", "char"): _in_one_collation,
    # Entries of a map may come in any order; DuckDB compares them in theirs.
    **{
        ("duckdb", name): lambda one, two: set(map(repr, one.items())) == set(map(repr, two.items()))
        for name in ("map", "map of lists", "map of structs")
    },
}
"""Where Assay and an engine differ, as documented among the cells: whether a pair is such a case."""
CASES = [
    pytest.param(engine, name, marks=[pytest.mark.server] if engine in _SERVERS else [])
    for engine, kind in ENGINES.items()
    for name in kind.types
]


def _sqlite(folder: Path) -> Path:
    import sqlite3

    path = folder / "equality.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x)")
    return path


@contextmanager
def _opened(url: str) -> Iterator[Any]:
    parsed = DatabaseUrl(text=url)
    engine = engine_class(parsed).open(parsed, Limits())
    try:
        yield engine
    finally:
        engine.close()


@pytest.mark.parametrize(("engine_name", "type_name"), CASES)
def test_assay_and_the_engine_agree_on_equality(
    engine_name: str, type_name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    kind = ENGINES[engine_name]
    typed = kind.types[type_name]
    is_exception = EXCEPTIONS.get((engine_name, type_name), lambda *_: False)

    with _opened(kind.url(request, tmp_path)) as engine:
        options = ComparisonOptions(boolean_is_integer=not engine.has_boolean_type)

        @settings(max_examples=15, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(st.lists(_or_null(typed.values), min_size=6, max_size=10))
        def agree(values: list[str]) -> None:
            cast = [kind.cast.format(value=value, type=typed.type, collation=typed.collation) for value in values]
            rows = " UNION ALL ".join(f"SELECT {value} AS x" for value in cast)
            query = (
                f"WITH v AS ({rows}) SELECT a, b, {kind.same} AS same FROM (SELECT l.x AS a, r.x AS b FROM v l, v r) p"
            )
            found = engine.execute(query)
            assert found.result is not None, (found.failure, query)
            for one, two, same in found.result.rows:
                equal = compare(Result.of([(one,)]), Result.of([(two,)]), options).equal
                assert equal == bool(same) or is_exception(one, two), (one, two, same)

        agree()
