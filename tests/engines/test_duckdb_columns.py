"""A result that DuckDB gives as columns shows what its rows show, to the letter, wherever somebody looks."""

from __future__ import annotations

import math
import pickle
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from itertools import chain
from pathlib import Path

import duckdb
import numpy as np
import pytest
from msgspec.structs import replace
from tests.metrics.test_by_codes import scores_of

from assay.comparison.codes import coder as coder_module
from assay.comparison.codes import shared
from assay.comparison.codes.coder import DictionaryEncoder
from assay.comparison.compare import compare
from assay.engines.duckdb import columnar
from assay.engines.duckdb import engine as engine_module
from assay.engines.duckdb.arrow_stream import ArrowStream, ColumnPart, StreamError
from assay.engines.duckdb.engine import DuckdbEngine
from assay.engines.pool.cache import size_of
from assay.engines.pool.executor import Executor
from assay.model import ComparisonOptions, DatabaseUrl, Execution, Limits, Result
from assay.model.results.columns import ColumnCells, ColumnRows, DecimalCells, TimestampCells
from many_cases import each

LIMITS = Limits(timeout_s=30.0, max_memory_bytes=256 * 1024 * 1024, max_rows=200_000)
FEW = columnar._FEW_CELLS
WHOLE = [0, 1, -1, 7, 100]
KINDS: dict[str, list[str]] = {
    "BOOLEAN": ["true", "false"],
    **{kind: [*map(str, WHOLE), "127", "-128"] for kind in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")},
    **{f"U{kind}": ["0", "1", "200"] for kind in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")},
    "HUGEINT": [*map(str, WHOLE), "9223372036854775807", "-9223372036854775808"],
    "FLOAT": ["0", "-0.0", "1.5", "0.1", "'nan'", "'inf'", "'-inf'", "3.4e38", "1e-45"],
    "DOUBLE": ["0", "-0.0", "1.5", "0.1", "'nan'", "'inf'", "'-inf'", "1e308", "5e-324", "9007199254740993"],
    "VARCHAR": ["''", "'a'", "'A'", "'ab c'", "'é'", "'日本'", "'😀'", "'a' || chr(0) || 'b'", "repeat('long ', 30)"],
    "DECIMAL(4,2)": ["0", "1.50", "-0.01", "99.99", "-7"],
    "DECIMAL(9,0)": ["0", "5", "-123456789"],
    "DECIMAL(18,6)": ["0.000001", "-999999999999.999999", "0.5"],
    "DECIMAL(38,10)": ["0", "-1.5", "123456.0000000001"],
    "DATE": ["'2024-02-29'", "'0001-01-01'", "'9999-12-31'", "'1969-12-31'"],
    "TIMESTAMP": ["'2024-02-29 01:02:03.000004'", "'0001-01-01'", "'9999-12-31 23:59:59.999999'", "'1969-12-31'"],
}  # fmt: skip
AS_ROWS = [
    "'infinity'::DATE", "'20000-01-01'::DATE", "'0044-01-01 (BC)'::DATE", "'infinity'::TIMESTAMP",
    "'-infinity'::TIMESTAMP",
    "170141183460469231731687303715884105727::HUGEINT", "9999999999999999999999.5::DECIMAL(38,1)",
    "1::UHUGEINT", "NULL", "TIME '01:02:03'", "'01:02:03+01'::TIMETZ", "INTERVAL 1 MONTH", "[1, 2]", "{'a': 1}",
    "MAP {'a': 1}", "'12345678-1234-5678-1234-567812345678'::UUID", "'ab'::BLOB", "'a'::ENUM('a', 'b')", "'101'::BIT",
    "'2024-01-01'::TIMESTAMP_S", "'2024-01-01'::TIMESTAMP_NS", "TIMESTAMPTZ '2024-01-01 00:00:00+00'",
    "[1]::INTEGER[1]",
]  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("columns") / "kinds.duckdb"
    chance = random.Random(5)
    with duckdb.connect(str(path)) as connection:
        names = ", ".join(f'"{kind}" {kind}' for kind in KINDS)
        connection.execute(f"CREATE TABLE kinds({names}, place INTEGER)")
        for place in range(300):
            cells = [f"CAST({chance.choice([*cells, 'NULL'])} AS {kind})" for kind, cells in KINDS.items()]
            connection.execute(f"INSERT INTO kinds VALUES ({', '.join(cells)}, {place})")
        connection.execute(
            "CREATE TABLE many AS SELECT range AS id, range * 0.37 AS price, 'name ' || (range % 100) AS name,"
            " CASE WHEN range % 3 = 0 THEN NULL ELSE range / 7 END AS share, DATE '2020-01-01' + (range % 400)::INTEGER"
            " AS day, range % 2 = 0 AS even FROM range(30000)"
        )
    return path


@contextmanager
def opened(path: Path | str, limits: Limits = LIMITS, *, columns: bool, few: int = -1) -> Iterator[DuckdbEngine]:
    """An engine that fetches every result as columns, or none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_module, "_MANY_ROWS", 0 if columns else math.inf)
        patch.setattr(columnar, "_FEW_CELLS", few)
        engine = DuckdbEngine.open(DatabaseUrl.parse(f"duckdb:///{path}"), limits)
        try:
            yield engine
        finally:
            engine.close()


def both(path: Path, query: str, limits: Limits = LIMITS) -> tuple[Execution, Execution]:
    """The same query fetched as columns and as rows."""
    found = []
    for columns in (True, False):
        with opened(path, limits, columns=columns) as engine:
            found.append(engine.execute(query))
    return found[0], found[1]


def rows_of(execution: Execution) -> tuple[tuple[object, ...], ...]:
    assert execution.result is not None, execution.failure
    return tuple(execution.result.rows)


def same(one: Execution, two: Execution) -> None:
    """But for the time, the two say the same."""
    told = [repr(replace(execution, wall_time_s=None, result=None)) for execution in (one, two)]
    assert told[0] == told[1]
    assert repr(one.result) == repr(two.result)


@each("kind", KINDS)
def test_columns_of_each_kind_show_what_rows_show(path: Path, kind: str) -> None:
    columns, rows = both(path, f'SELECT "{kind}", place FROM kinds ORDER BY place')
    assert isinstance(columns.result.rows, ColumnRows)
    same(columns, rows)
    assert columns.result.rows.kinds == frozenset(map(type, chain.from_iterable(rows_of(rows))))
    assert columns.result.fingerprint() == Result(columns=rows.columns, rows=rows_of(rows)).fingerprint()


@each("query", [
    "SELECT * FROM kinds ORDER BY place", "SELECT * FROM kinds WHERE false", "SELECT * FROM kinds LIMIT 1",
    'SELECT "BIGINT", "BIGINT", "DOUBLE" AS "" FROM kinds', "SELECT sum(place), count(*), avg(place) FROM kinds",
    "SELECT NULL::INTEGER FROM kinds", "SELECT DISTINCT \"VARCHAR\" FROM kinds ORDER BY 1 NULLS FIRST -- a remark",
    "VALUES (1, 'a'), (2, NULL);", "FROM many LIMIT 5000 OFFSET 4090", "SELECT * FROM many ORDER BY id DESC",
    "DESCRIBE many", "SHOW TABLES", "WITH x AS (SELECT 1 AS a) SELECT a, a FROM x", "SELECT place, [place] FROM kinds",
    "PIVOT kinds ON place % 2 USING count(*)", "EXPLAIN SELECT 1", "(SELECT 1) UNION ALL SELECT 2 ORDER BY 1",
])  # fmt: skip
def test_queries_give_the_same_both_ways(path: Path, query: str) -> None:
    same(*both(path, query))


@each("value", AS_ROWS)
@each("place", [0, 9_999])
def test_what_columns_cannot_hold_comes_as_rows(path: Path, value: str, place: int) -> None:
    query = f"SELECT id, CASE WHEN id = {place} THEN {value} END FROM many WHERE id < 10000 ORDER BY id"
    columns, rows = both(path, query)
    assert columns.result is not None, columns.failure
    assert isinstance(columns.result.rows, tuple)
    same(columns, rows)


@each("query", [
    "SELECT CASE WHEN id = 29000 THEN 'x' ELSE '1' END::INTEGER FROM many", "SELECT nothing FROM many", "SELECT FROM",
    "SELECT error('told') FROM many", "SELECT ? FROM many", "SELECT $1, $2 FROM many", "SELECT * FROM absent",
    "SELECT getenv('HOME')", "SELECT * FROM read_csv('/etc/passwd')", "SELECT nextval('s')", "DELETE FROM many",
    "SELECT 1; SELECT 2", "SELECT list(a.id) FROM many a, many b",
    "SELECT a.id, b.id FROM many a, many b ORDER BY a.name || b.name || a.id || b.id",
])  # fmt: skip
def test_failures_are_the_same_both_ways(path: Path, query: str) -> None:
    columns, rows = both(path, query, replace(LIMITS, max_memory_bytes=64 * 1024 * 1024))
    assert columns.failure is not None
    assert rows.failure is not None
    assert (columns.status, columns.failure) == (rows.status, rows.failure)


@pytest.mark.parametrize("trouble", [StreamError("Invalid Input Error: Arrow Appender: too much text"), MemoryError()])
def test_a_stream_that_breaks_gives_rows(path: Path, monkeypatch: pytest.MonkeyPatch, trouble: Exception) -> None:
    of_stream = ArrowStream.batches

    def broken(stream: ArrowStream) -> Iterator[list[ColumnPart]]:
        batches = of_stream(stream)  # a batch is valid as long as somebody holds this
        yield next(batches)
        raise trouble

    monkeypatch.setattr(ArrowStream, "batches", broken)
    columns, rows = both(path, "SELECT * FROM many")
    assert columns.result is not None, columns.failure
    assert isinstance(columns.result.rows, tuple)
    same(columns, rows)


def test_after_each_way_to_end_the_next_query_runs(path: Path) -> None:
    limits = replace(LIMITS, max_rows=2_500, timeout_s=1.0)
    with opened(path, limits, columns=True) as engine:
        for query, status in [
            ("SELECT id FROM many", "truncated"),
            ("SELECT a.id FROM many a, many b, many c WHERE hash(a.id + b.id * c.id) = 1", "timeout"),
            ("SELECT CASE WHEN id = 2000 THEN 'x' ELSE '1' END::INTEGER FROM many", "error"),
            ("SELECT CASE WHEN id = 2000 THEN 'infinity' ELSE '2024-01-01' END::DATE FROM many", "truncated"),
        ]:
            assert engine.execute(query).status == status
            assert rows_of(engine.execute("SELECT 42 AS answer")) == ((42,),)


@each("rows", [2_047, 2_048, 2_049, 10_000])
def test_the_cap_on_rows_keeps_as_many_as_it_says(path: Path, rows: int) -> None:
    same(*both(path, "SELECT * FROM many ORDER BY id", replace(LIMITS, max_rows=rows)))
    same(*both(path, f"SELECT * FROM many ORDER BY id LIMIT {rows}", replace(LIMITS, max_rows=rows)))


def test_the_cap_on_bytes_counts_what_rows_would_take(path: Path) -> None:
    for query in ("SELECT * FROM many", "SELECT repeat('é', id::INTEGER % 500) FROM many"):
        with opened(path, columns=False) as engine:
            rows = rows_of(engine.execute(query))
        took = sum(map(size_of, rows[:1])) * len(rows)
        for limit, status in ((took * 20, "rows"), (took // 20, "truncated")):
            columns, plain = both(path, query, replace(LIMITS, max_result_bytes=limit))
            assert columns.status == plain.status == status
            assert (columns.failure is None) == (plain.failure is None)
        columns, plain = both(path, query, replace(LIMITS, max_result_bytes=1_000_000))
        kept, kept_there = columns.row_count or 0, plain.row_count or 0
        assert abs(kept - kept_there) <= 8_192  # the two look after portions of other sizes


def test_an_endless_result_ends_at_its_cap(path: Path) -> None:
    with opened(path, columns=True) as engine:
        found = engine.execute("SELECT a.id, b.name FROM many a, many b, many c")
    assert (found.status, found.row_count) == ("truncated", LIMITS.max_rows)


def test_variables_of_this_program_are_no_tables(path: Path) -> None:
    secrets = {"key": np.arange(3)}
    columns, rows = both(path, "SELECT * FROM secrets")
    assert secrets
    assert columns.status == "error"
    assert columns.failure == rows.failure


def test_small_databases_and_few_cells_give_tuples(path: Path) -> None:
    engine = DuckdbEngine.open(DatabaseUrl.parse(f"duckdb:///{path}"), LIMITS)
    with_few = engine.execute("SELECT * FROM many").result
    engine.close()
    assert isinstance(with_few.rows, tuple)
    with opened(path, columns=True, few=FEW) as engine:
        for count, kind in ((FEW // 6, tuple), (FEW // 6 + 1, ColumnRows)):
            found = engine.execute(f"SELECT * FROM many LIMIT {count}").result
            assert isinstance(found.rows, kind)


def test_a_client_that_changed_gives_rows(path: Path) -> None:
    class Changed:
        """A client without the methods that stream."""

        def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
            self.execute = connection.execute

    with opened(path, columns=True) as engine, duckdb.connect() as connection:
        assert columnar.fetch_columns(Changed(connection), "SELECT 1", LIMITS, lambda: None) is None  # type: ignore[arg-type]
        assert rows_of(engine.execute("SELECT 1")) == ((1,),)


def test_rows_of_columns_are_a_sequence_like_any_other(path: Path) -> None:
    columns, plain = (one.result for one in both(path, "SELECT * FROM many ORDER BY id LIMIT 9000"))
    rows, tuples = columns.rows, plain.rows
    assert isinstance(rows, ColumnRows)
    assert len(rows) == len(tuples)
    for index in (0, 1, -1, 8_191, 8_192, 8_999, -9_000):
        assert rows[index] == tuples[index]
    for part in (
        slice(0, 5),
        slice(8_190, 8_195),
        slice(-3, None),
        slice(5, 2),
        slice(None, None, 4_000),
        slice(9, 2, -3),
    ):
        assert rows[part] == tuples[part]
    with pytest.raises(IndexError):
        rows[9_000]
    assert tuple(rows) == tuples
    assert rows == tuples
    assert tuples == rows
    assert tuples[5] in rows
    assert rows.index(tuples[5]) == 5
    assert hash(rows) == hash(tuples)
    assert pickle.loads(pickle.dumps(columns)) == plain
    assert type(pickle.loads(pickle.dumps(columns)).rows) is tuple
    assert columns == plain
    assert rows != tuples[:-1]
    assert rows != list(tuples)
    assert size_of(columns) < size_of(plain)


def _moments(*texts: str) -> ColumnCells:
    values = [int((datetime.fromisoformat(text) - datetime(1970, 1, 1)).total_seconds()) * 10**6 for text in texts]  # noqa: DTZ001
    return TimestampCells(values=np.array(values, dtype=np.int64))


@pytest.mark.parametrize("boolean_is_integer", [True, False])
def test_cells_have_the_codes_that_they_have_in_rows(path: Path, *, boolean_is_integer: bool) -> None:
    for query in ("SELECT * FROM kinds", "SELECT * FROM many"):
        columns, _ = both(path, query)
        rows = columns.result.rows
        assert isinstance(rows, ColumnRows)
        for first in (rows, tuple(rows)):  # whoever comes first numbers what the dictionary holds
            coder = DictionaryEncoder(boolean_is_integer=boolean_is_integer)
            width = len(rows.columns)
            coder.columns(first, width)
            ours, theirs = coder.columns(rows, width), coder.columns(tuple(rows), width)
            for one, two in zip(ours, theirs, strict=True):
                assert np.array_equal(one.codes, two.codes)
                assert np.array_equal(
                    one.is_float() & one_is_number(one, coder), two.is_float() & one_is_number(two, coder)
                )
                assert (one.kinds, one.any_floats) == (two.kinds, two.any_floats)
                assert one.has_negative_zero == two.has_negative_zero


def one_is_number(column: object, coder: DictionaryEncoder) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    from assay.comparison.codes.layout import numbers_of

    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = ~np.isnan(numbers_of(column.codes, coder.known))  # type: ignore[attr-defined]
    return found


@each("scale", [0, 1, 2, 3, 5, 8, 15, 18, 25, 38])
def test_decimals_of_any_scale_have_the_codes_of_their_values(scale: int) -> None:
    chance = random.Random(scale)
    edges = [0, 1, -1, 5, -5, 10, 25, 2**53 - 1, 2**53, 2**53 + 1, -(2**53), 2**61, 2**62, 2**63 - 1, -(2**63)]
    edges += [sign * power for power in (10**k for k in range(19)) for sign in (1, -1)]
    edges += [5**k for k in range(27)] + [chance.randrange(-(10**k), 10**k) for k in range(1, 19) for _ in range(40)]
    edges += [chance.randrange(-(10**5), 10**5) * 10 ** chance.randrange(12) for _ in range(200)]
    rows = ColumnRows([DecimalCells(values=np.array(edges, dtype=np.int64), scale=scale)])
    coder = DictionaryEncoder(boolean_is_integer=True)
    (ours,), (theirs,) = coder.columns(rows, 1), coder.columns(tuple(rows), 1)
    assert np.array_equal(ours.codes, theirs.codes)
    cells = [cell for (cell,) in rows]
    assert len(set(ours.codes.tolist())) == len(set(cells))
    assert len({*zip(ours.codes.tolist(), cells, strict=True)}) == len(set(cells))


def test_dates_and_midnights_have_one_code() -> None:
    coder = DictionaryEncoder(boolean_is_integer=True)
    (ours,) = coder.columns(ColumnRows([_moments("2024-02-29", "0001-01-01", "9999-12-31")]), 1)
    days = [(date(2024, 2, 29),), (date(1, 1, 1),), (date(9999, 12, 31),)]
    (theirs,) = coder.columns(days, 1)
    assert np.array_equal(ours.codes, theirs.codes)


@pytest.fixture
def spilled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Every result and its codes lie in files of this folder."""
    monkeypatch.setattr(columnar, "MANY_BYTES", 0)
    monkeypatch.setattr(coder_module, "MANY_BYTES", 0)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("query", [
    "SELECT * FROM kinds ORDER BY place", "SELECT * FROM kinds WHERE false", "SELECT * FROM many ORDER BY id DESC",
    "SELECT NULL::VARCHAR, NULL::DATE FROM kinds", "SELECT '' FROM kinds",
])  # fmt: skip
def test_what_lies_in_files_is_the_same(path: Path, spilled: Path, query: str) -> None:
    columns, rows = both(path, query)
    same(columns, rows)
    assert isinstance(columns.result.rows, ColumnRows)
    held = [column.values for column in columns.result.rows.columns]
    assert all(isinstance(values, np.memmap) for values in held) is (len(held[0]) > 0)
    other = "SELECT * REPLACE (place + 1e-14 AS place) FROM kinds ORDER BY hash(place)"
    mine, theirs = both(path, "SELECT * FROM kinds"), both(path, other)
    told = set()
    for gold, predicted in zip(mine, theirs, strict=True):
        assert gold.result is not None
        assert predicted.result is not None
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(shared, "MANY", 0)
            told.add(repr(compare(predicted.result, gold.result)))
    assert len(told) == 1


def test_files_have_no_names_so_that_nothing_is_left_by_whoever_is_killed(path: Path, spilled: Path) -> None:
    with opened(path, columns=True) as engine:
        found = engine.execute("SELECT * FROM many").result
    assert isinstance(found.rows, ColumnRows)
    assert isinstance(found.rows.columns[0].values, np.memmap)
    assert list(spilled.iterdir()) == []
    assert found.rows[29_999][0] == 29_999


def test_a_full_disk_is_told_and_is_not_the_querys_fault(path: Path, spilled: Path) -> None:
    resource = pytest.importorskip("resource", reason="limits on files are POSIX's")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    database = f"duckdb:///{path}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_module, "_MANY_ROWS", 0)
        executor = Executor(engines={"duckdb": "assay.engines.duckdb:DuckdbEngine"}, limits=LIMITS)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
            failed = executor.execute(DatabaseUrl.parse(database), "SELECT * FROM many")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        again = executor.execute(DatabaseUrl.parse(database), "SELECT * FROM many ")
        executor.close()
    assert (failed.failure.kind, str(spilled) in failed.failure.message) == ("unreadable_database", True)
    assert "TMPDIR" in failed.failure.message
    assert again.row_count == 30_000


def _other(query: str, chance: random.Random) -> str:
    """The same rows in another order, with other columns' order, or not quite the same rows."""
    return chance.choice([
        f"SELECT * FROM ({query}) ORDER BY hash(place)",
        f"SELECT place, * EXCLUDE (place) FROM ({query})",
        f"SELECT * FROM ({query}) WHERE place != 17",
        f"SELECT * REPLACE (CASE WHEN place = 17 THEN NULL ELSE place END AS place) FROM ({query})",
        f"SELECT * REPLACE (place::DOUBLE + 1e-14 AS place) FROM ({query}) ORDER BY hash(place)",
        f"SELECT * REPLACE (place::DECIMAL(18, 4) AS place) FROM ({query})",
        f"SELECT * REPLACE (place::VARCHAR AS place) FROM ({query})",
        f"SELECT * FROM ({query}) UNION ALL SELECT * FROM ({query}) WHERE place < 3",
    ])  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_comparisons_and_scores_are_the_same_to_the_letter(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    names = ", ".join(f'"{kind}"' for kind in chance.sample(list(KINDS), chance.randrange(1, 5)))
    query = f"SELECT {names}, place FROM kinds"
    ours, theirs = both(path, query), both(path, _other(query, chance))
    options = ComparisonOptions(boolean_is_integer=chance.random() < 0.3, columns=chance.choice(["any", "strict"]))
    told, scored = set(), set()
    for gold in ours:
        for predicted in theirs:
            assert gold.result is not None
            assert predicted.result is not None
            for many in (math.inf, 0):
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(shared, "MANY", many)
                    told.add(repr(compare(predicted.result, gold.result, options)))
                    scored.add(repr(scores_of(gold.result, predicted.result, ignore_order=True, wanted=())))
    assert len(told) == 1
    assert len(scored) == 1
