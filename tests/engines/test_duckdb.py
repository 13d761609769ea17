from __future__ import annotations

import datetime
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from assay.engines.duckdb.engine import DuckdbEngine
from assay.errors import DatabaseError
from assay.model import DatabaseUrl, Limits

LIMITS = Limits(timeout_s=30.0, max_memory_bytes=256 * 1024 * 1024, max_rows=200_000)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.duckdb"
    connection = duckdb.connect(str(path))
    connection.execute("CREATE TABLE orders(id INTEGER, total DECIMAL(10, 2), day DATE, paid BOOLEAN)")
    connection.execute("INSERT INTO orders VALUES (1, 9.50, '2024-01-31', true), (2, 20, NULL, false)")
    connection.execute("CREATE SEQUENCE numbers")
    connection.close()
    return path


def open_engine(path: Path | str, limits: Limits = LIMITS) -> DuckdbEngine:
    return DuckdbEngine.open(DatabaseUrl.parse(f"duckdb:///{path}"), limits)


@pytest.fixture
def engine(shop: Path) -> Iterator[DuckdbEngine]:
    engine = open_engine(shop)
    yield engine
    engine.close()


def test_timestamps_with_time_zone_can_be_read(engine: DuckdbEngine) -> None:
    execution = engine.execute("SELECT TIMESTAMPTZ '2020-01-01 12:00:00+00' AS at")
    assert execution.result is not None, execution.failure
    (value,) = execution.result.rows[0]
    assert value == datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.timezone.utc)  # noqa: UP017


@pytest.mark.parametrize(("shell", "read"), [("{}", 0), ("[{}]", [0]), ("{{'x': [{}]}}", {"x": [0]})])
def test_a_map_that_the_client_would_shorten_keeps_its_entries(engine: DuckdbEngine, shell: str, read: object) -> None:
    keys = "union_value(a := 1)::UNION(a INT, b BOOLEAN), union_value(b := true)"
    result = engine.execute(f"SELECT {shell.format(f'map([{keys}], [1, 2])')} AS m").result
    assert repr(result.rows[0][0]) == repr(read).replace("0", "{1: 1, True: 2}")


def test_pivot_works_twice_and_leaves_nothing_behind(engine: DuckdbEngine) -> None:
    for _ in range(2):
        execution = engine.execute("PIVOT orders ON paid USING sum(total)")
        assert execution.status == "rows", execution.failure
    assert engine.execute("SELECT * FROM duckdb_types() WHERE NOT internal").status == "empty"


@pytest.mark.parametrize(
    ("query", "status", "kind"),
    [
        (";;", "error", "no_query"),
        ("CREATE TEMP TABLE x AS SELECT 1", "refused", "writes"),
        ("WITH x AS (DELETE FROM orders RETURNING *) SELECT * FROM x", "refused", "writes"),
        ("EXPLAIN ANALYZE DELETE FROM orders", "refused", "writes"),
        ("SELECT nextval('numbers')", "refused", "writes"),
        ("COPY orders TO 'x.csv'", "refused", "writes"),
        ("SET threads = 4", "refused", "refused"),
        ("PRAGMA threads = 4", "refused", "refused"),
        ("SELECT * FROM read_csv('/etc/passwd')", "refused", "refused"),
        ("SELECT ?", "error", "error"),
    ],
)
def test_what_does_not_read_is_refused_or_an_error(engine: DuckdbEngine, query: str, status: str, kind: str) -> None:
    execution = engine.execute(query)
    assert (execution.status, execution.failure.kind) == (status, kind), execution.failure
    assert "\n" not in execution.failure.message
    assert engine.execute("SELECT count(*) FROM orders").status == "rows"


def test_a_result_that_streams_is_interrupted_while_it_is_fetched(shop: Path) -> None:
    engine = open_engine(shop, Limits(timeout_s=0.3, max_rows=10**9, max_result_bytes=10**11))
    assert engine.execute("SELECT i, i + 1 FROM range(1000000000) r(i)").status == "timeout"
    engine.close()


def test_the_caps_cut_a_result_and_say_so(shop: Path) -> None:
    engine = open_engine(shop, Limits(max_rows=100, max_result_bytes=4_000_000))
    for query in ("SELECT repeat('x', 100000) FROM range(90)", "SELECT range(50000) FROM range(90)"):
        cut = engine.execute(query)
        assert cut.status == "truncated"
        assert "bytes" in cut.failure.message
    assert engine.execute("SELECT i FROM range(100) r(i)").status == "rows"
    engine.close()


@pytest.mark.parametrize("rows", [2_047, 2_048, 2_049, 10_000])
def test_the_cap_on_rows_keeps_that_many(shop: Path, rows: int) -> None:
    engine = open_engine(shop, Limits(max_rows=rows))
    cut = engine.execute("SELECT i FROM range(20000) r(i)")
    assert (cut.status, cut.row_count, cut.result.rows[-1]) == ("truncated", rows, (rows - 1,))
    whole = engine.execute(f"SELECT i FROM range({rows}) r(i)")
    assert (whole.status, whole.row_count) == ("rows", rows)
    engine.close()


def test_after_each_way_to_end_the_next_query_runs(shop: Path) -> None:
    engine = open_engine(shop, Limits(max_rows=2_500, timeout_s=1.0))
    for query, status in [
        ("SELECT i FROM range(30000) r(i)", "truncated"),
        (
            "SELECT a.i FROM range(30000) a(i), range(30000) b(i), range(30000) c(i) WHERE hash(a.i + b.i * c.i) = 1",
            "timeout",
        ),
        ("SELECT CASE WHEN i = 2000 THEN 'x' ELSE '1' END::INTEGER FROM range(30000) r(i)", "error"),
    ]:
        assert engine.execute(query).status == status
        assert engine.execute("SELECT 42 AS answer").result.rows == ((42,),)
    engine.close()


def test_variables_of_this_program_are_not_tables(engine: DuckdbEngine) -> None:
    secrets = {"key": [1, 2, 3]}
    assert secrets
    assert engine.execute("SELECT * FROM secrets").status == "error"


def test_a_query_that_does_not_fit_into_memory_fails_and_spills_nothing(shop: Path) -> None:
    patient = open_engine(shop, Limits(timeout_s=250.0, max_memory_bytes=LIMITS.max_memory_bytes))
    execution = patient.execute("SELECT a.i, b.i FROM range(3000000) a(i), range(9) b(i) ORDER BY hash(a.i)")
    assert (execution.status, execution.failure.kind) == ("error", "out_of_memory")
    patient.close()
    assert [path.name for path in shop.parent.iterdir()] == [shop.name]


def test_a_write_ahead_log_beside_it_is_read_and_stays(tmp_path: Path) -> None:
    source = tmp_path / "source" / "w.duckdb"
    source.parent.mkdir()
    path = tmp_path / "w.duckdb"
    connection = duckdb.connect(str(source))
    connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    connection.execute("CHECKPOINT")
    connection.execute("INSERT INTO t VALUES (2)")
    for suffix in ("", ".wal"):
        Path(f"{path}{suffix}").write_bytes(Path(f"{source}{suffix}").read_bytes())
    connection.close()
    before = {file.name: hashlib.sha256(file.read_bytes()).digest() for file in tmp_path.glob("w.*")}
    engine = open_engine(path)
    assert engine.execute("SELECT a FROM t").row_count == 2
    engine.close()
    assert {file.name: hashlib.sha256(file.read_bytes()).digest() for file in tmp_path.glob("w.*")} == before


def test_a_database_in_memory_keeps_nothing_between_queries() -> None:
    engine = DuckdbEngine.open(DatabaseUrl.parse("duckdb://"), LIMITS)
    assert engine.execute("SELECT 1").status == "rows"
    assert engine.execute("CREATE TABLE t AS SELECT 1").status == "refused"
    assert engine.execute("SELECT * FROM duckdb_tables()").status == "empty"
    assert engine.siblings() == ()
    engine.close()
    engine.close()


def test_what_is_no_database_is_said_to_be_none(tmp_path: Path, shop: Path) -> None:
    (tmp_path / "x.duckdb").write_text("this is no database file at all")
    with pytest.raises(DatabaseError, match="not a DuckDB database"):
        open_engine(tmp_path / "x.duckdb")
    with pytest.raises(DatabaseError, match=r"did you mean .*shop\.duckdb"):
        open_engine(tmp_path / "shopp.duckdb")


@pytest.mark.parametrize(("folder", "found"), [("shop", ["a.duckdb", "b.duckdb"]), ("dbs", [])])
def test_siblings_share_the_suffix_in_a_folder_of_its_own_name(shop: Path, folder: str, found: list[str]) -> None:
    home = shop.parent / folder
    home.mkdir()
    shutil.copy(shop, home / "shop.duckdb")
    for name in ("b.duckdb", "a.duckdb", "notes.txt", "b.duckdb.wal"):
        (home / name).touch()
    engine = open_engine(home / "shop.duckdb")
    assert [Path(url.path).name for url in engine.siblings()] == found
    engine.close()


def test_a_kind_of_statement_that_the_client_does_not_know_is_refused(engine: DuckdbEngine) -> None:
    refused = engine.execute("UPDATE EXTENSIONS")
    assert refused.failure.kind in ("refused", "writes")
    assert engine.execute("SELECT 1").status == "rows"


def test_no_progress_bar_is_drawn_by_a_program_that_duckdb_takes_for_an_interactive_one(shop: Path) -> None:
    lines = (
        "import duckdb",
        "from assay.engines.duckdb.engine import DuckdbEngine",
        "from assay.model import DatabaseUrl, Limits",
        "setting = \"SELECT current_setting('enable_progress_bar')\"",
        "assert duckdb.connect().execute(setting).fetchone() == (True,)",
        f"engine = DuckdbEngine.open(DatabaseUrl(text='duckdb:///{shop}'), Limits())",
        "assert engine.execute(setting).result.rows == ((False,),)",
    )
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)
