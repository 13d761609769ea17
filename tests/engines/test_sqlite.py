from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

import pytest

from assay.engines.sqlite.engine import SqliteEngine
from assay.errors import DatabaseError
from assay.model import DatabaseUrl, Limits

LIMITS = Limits(timeout_s=30.0)


def url_of(path: Path | str) -> DatabaseUrl:
    return DatabaseUrl.parse(f"sqlite:///{quote(str(path))}")


def open_engine(path: Path, limits: Limits = LIMITS) -> SqliteEngine:
    return SqliteEngine.open(url_of(path), limits)


def snapshot(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.fixture
def engine(shop: Path) -> Iterator[SqliteEngine]:
    engine = open_engine(shop)
    yield engine
    engine.close()


def test_rows_and_column_names_are_those_of_the_plain_driver(engine: SqliteEngine, shop: Path) -> None:
    query = "SELECT id, total, note, id AS id FROM orders ORDER BY id DESC"
    plain = sqlite3.connect(shop)
    cursor = plain.execute(query)
    execution = engine.execute(query)
    assert execution.status == "rows"
    assert list(execution.result.rows) == cursor.fetchall()
    assert execution.columns == tuple(column[0] for column in cursor.description)
    assert execution.row_count == 3
    assert execution.wall_time_s is not None
    assert execution.wall_time_s > 0
    plain.close()


@pytest.mark.parametrize("rows", [63, 64, 65, 5000, 20_000])
def test_results_of_any_length_come_whole_and_in_order(engine: SqliteEngine, rows: int) -> None:
    execution = engine.execute(
        f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {rows}) SELECT i, 'x' || i FROM n"
    )
    assert execution.result.rows == tuple((i, f"x{i}") for i in range(1, rows + 1))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1",
        "SELECT 1;",
        " ; SELECT 1 ;; \n",
        "SELECT 1 -- ; SELECT 2",
        "SELECT ';' ;;",
        "SELECT 1;; -- it's; so",
        "; -- first\n;SELECT 1; ; /* ; */ ;",
        "SELECT ';--' AS [a;--], 1 AS `b;`;;--;",
        "SELECT 1;; /* open",
    ],
)
def test_lone_semicolons_and_comments_make_no_second_statement(engine: SqliteEngine, query: str) -> None:
    execution = engine.execute(query)
    assert execution.status == "rows"
    assert execution.query == query


@pytest.mark.parametrize(
    ("query", "kind", "words"),
    [
        ("DELETE FROM orders", "writes", "DELETE on orders"),
        ("WITH x AS (SELECT 1) INSERT INTO orders SELECT 1, 2, 3, 4", "writes", "INSERT into orders"),
        ("ALTER TABLE orders ADD COLUMN x", "writes", "ALTER TABLE orders"),
        ("CREATE TABLE x(a)", "writes", "schema"),
        ("VACUUM", "writes", "VACUUM"),
        ("VACUUM INTO 'copy.db'", "writes", "VACUUM"),
        ("ATTACH 'other.db' AS other", "refused", "other.db"),
        ("PRAGMA journal_mode = WAL", "refused", "journal_mode = WAL"),
        ("PRAGMA case_sensitive_like = 1", "refused", "case_sensitive_like"),
        ("SELECT load_extension('x')", "refused", "load_extension"),
        ("BEGIN", "refused", "transaction"),
        ("REINDEX", "refused", "no rows"),
        ("SELECT * FROM dbstat", "refused", "virtual table"),
        ("SELECT 1; DELETE FROM orders", "several_statements", "several"),
        ("SELECT 1;; -- x\nDELETE FROM orders", "several_statements", "several"),
    ],
)
def test_a_refusal_says_what_was_refused(engine: SqliteEngine, query: str, kind: str, words: str) -> None:
    execution = engine.execute(query)
    assert (execution.status, execution.failure.kind, execution.failure.stage) == ("refused", kind, "execute")
    assert words in execution.failure.message
    assert execution.result is None
    assert engine.execute("SELECT count(*) FROM orders").result == engine.execute("SELECT 3 AS 'count(*)'").result


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT value FROM json_each('[1, 2]')", 2),
        ("SELECT name FROM pragma_table_info('orders')", 4),
        ("PRAGMA table_info(orders)", 4),
        ("PRAGMA user_version", 1),
        ("SELECT name FROM sqlite_master WHERE type = 'table'", 2),
        ("SELECT sum(total) OVER (ORDER BY id) FROM orders", 3),
    ],
)
def test_reading_the_schema_and_table_functions_are_allowed(engine: SqliteEngine, query: str, rows: int) -> None:
    assert engine.execute(query).row_count == rows


def test_virtual_tables_of_the_database_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    made = []
    with closing(sqlite3.connect(path)) as connection:
        for name, sql in {"words": "fts4(text)", "boxes": "rtree(id, low, high)"}.items():
            with suppress(sqlite3.OperationalError):
                connection.execute(f"CREATE VIRTUAL TABLE {name} USING {sql}")
                made.append(name)
        connection.commit()
    if not made:
        pytest.skip("this SQLite has neither fts4 nor rtree")
    with closing(open_engine(path)) as engine:
        assert [engine.execute(f"SELECT * FROM {name}").status for name in made] == ["empty"] * len(made)
        assert engine.execute(f"DELETE FROM {made[0]}").status == "refused"


def test_text_that_is_not_utf8_comes_with_surrogate_escapes_and_a_mark(engine: SqliteEngine) -> None:
    execution = engine.execute("SELECT name FROM customer ORDER BY id")
    assert execution.result.rows == (("Ada",), ("Bob",), ("C\udcff",))
    assert execution.undecodable_text
    assert not engine.execute("SELECT name FROM customer WHERE id = 1").undecodable_text


@pytest.mark.parametrize("max_rows", [1, 10, 64, 1000])
def test_the_row_cap_keeps_the_first_rows_and_says_so(shop: Path, max_rows: int) -> None:
    engine = open_engine(shop, Limits(max_rows=max_rows))
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n {}) SELECT i FROM n"
    execution = engine.execute(endless.format(""))
    assert execution.status == "truncated"
    assert execution.result.rows == tuple((i,) for i in range(1, max_rows + 1))
    assert f"{max_rows:,} rows" in execution.failure.message
    assert engine.execute(endless.format(f"LIMIT {max_rows}")).status == "rows"
    engine.close()


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("SELECT nothing FROM nowhere", "error"),
        ("SELEC 1", "error"),
        ("SELECT ?", "error"),
        ("SELECT '\udcff'", "error"),
        ("SELECT '\0'", "error"),
        ("SELECT " + "(" * 5000 + "1" + ")" * 5000, "error"),
        ("SELECT '" + "x" * 2_000_000 + "'", "error"),
        ("SELECT zeroblob(900000000)", "out_of_memory"),
        *((query, "no_query") for query in ("", "  \n\t", ";", "-- SELECT 1", "/* SELECT 1 */ ;", "/* SELECT 1", "--")),
    ],
)
def test_a_query_that_fails_is_an_error_with_one_line(engine: SqliteEngine, query: str, kind: str) -> None:
    execution = engine.execute(query)
    assert (execution.status, execution.failure.kind, execution.failure.blame) == ("error", kind, "system")
    assert "\n" not in execution.failure.message
    assert engine.execute("SELECT 1").status == "rows"


def test_a_snapshot_is_one_state_of_the_file_and_lets_queries_do_no_more(engine: SqliteEngine, shop: Path) -> None:
    writer = sqlite3.connect(shop, timeout=0, isolation_level=None)
    with engine.snapshot():
        before = engine.execute("SELECT count(*) FROM sqlite_master").result
        assert engine.execute("SELECT no_such_column").status == "error"
        for statement in ("COMMIT", "ROLLBACK", "BEGIN", "CREATE TABLE added (a)"):
            assert engine.execute(statement).status == "refused"
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            writer.execute("CREATE TABLE added (a)")
        assert engine.execute("SELECT count(*) FROM sqlite_master").result == before
    writer.execute("CREATE TABLE added (a)")
    writer.close()
    assert engine.execute("SELECT * FROM added").status == "empty"


def test_a_missing_file_is_named_with_the_closest_one(shop: Path) -> None:
    with pytest.raises(DatabaseError, match=r"no SQLite database at .*shpo\.sqlite.*did you mean .*shop\.sqlite"):
        SqliteEngine.check(url_of(shop.with_name("shpo.sqlite")))
    with pytest.raises(DatabaseError, match=r"the folder .* does not exist"):
        SqliteEngine.check(url_of(shop.parent / "nowhere" / "shop.sqlite"))


@pytest.mark.parametrize(
    ("files", "asked", "said"),
    [
        (["shop.sqlite", "shpo.csv", "shpo.sqlite.bak"], "shpo.sqlite", "; did you mean '{}/shop.sqlite'?"),
        (["shop.db", "sales.csv"], "sales.sqlite", ": its folder has '{}/shop.db'"),
        (["a1.db", "b2.db", "c3.db", "d4.db"], "y.sqlite", ": its folder has '{0}/a1.db', '{0}/b2.db', '{0}/c3.db', …"),
        (["sales.csv", "README.md"], "sales.sqlite", ": the folder '{}' contains no SQLite database"),
    ],
)
def test_only_databases_are_offered_for_a_missing_one(
    files: list[str], asked: str, said: str, tmp_path: Path, shop: Path
) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    for name in files:
        shutil.copy(shop if name.endswith(("db", "sqlite")) else __file__, folder / name)
    with pytest.raises(DatabaseError) as caught:
        SqliteEngine.check(url_of(folder / asked))
    assert str(caught.value) == f"there is no SQLite database at {str(folder / asked)!r}{said.format(folder)}"


def test_what_is_no_database_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "text.sqlite").write_text("hello")
    (tmp_path / "empty.sqlite").touch()
    for name, words in {
        "text.sqlite": "not a SQLite database",
        "empty.sqlite": "empty file",
        "": "is a folder",
    }.items():
        with pytest.raises(DatabaseError, match=words):
            SqliteEngine.open(url_of(tmp_path / name if name else tmp_path), LIMITS)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_said_to_have_none(shop: Path) -> None:
    shop.chmod(0)
    with pytest.raises(DatabaseError, match="permission"):
        SqliteEngine.check(url_of(shop))


def test_a_path_with_odd_characters_opens(shop: Path) -> None:
    odd = shop.with_name("50% off? #1.sqlite")
    shutil.copy(shop, odd)
    home = shop.with_name("50% off? #1")
    home.mkdir()
    for name in (odd.name, "10% off? #2.sqlite"):
        shutil.copy(shop, home / name)
    siblings = open_and_list(home / odd.name)
    assert [sibling.path for sibling in siblings] == [str(home / "10% off? #2.sqlite")]
    engine = SqliteEngine.open(siblings[0], LIMITS)
    assert engine.execute("SELECT count(*) FROM orders").status == "rows"
    engine.close()


def open_and_list(path: Path) -> tuple[DatabaseUrl, ...]:
    with closing(open_engine(path)) as engine:
        return engine.siblings()


@pytest.mark.parametrize("folder", ["shop", "dbs", "Shop", "shop.sqlite.d", "shop2", "a shop"])
def test_siblings_are_the_other_sqlite_files_of_a_folder_of_its_own_name(shop: Path, folder: str) -> None:
    home = shop.parent / folder
    home.mkdir()
    shutil.copy(shop, home / shop.name)
    for name in ("b.sqlite", "a.sqlite.copy", "notes.txt", "b.sqlite-wal"):
        (home / name).touch()
    siblings = ["a.sqlite.copy", "b.sqlite"] if folder == "shop" else []
    assert [Path(url.path).name for url in open_and_list(home / shop.name)] == siblings


def test_the_folder_is_known_from_within_it_too(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = shop.parent / shop.stem
    home.mkdir()
    for name in (shop.name, "b.sqlite"):
        shutil.copy(shop, home / name)
    monkeypatch.chdir(home)
    assert [url.path for url in open_and_list(Path(shop.name))] == ["b.sqlite"]


def make_wal_database(path: Path, *, keep_log: bool) -> None:
    source = path.with_name("source.sqlite")
    with closing(sqlite3.connect(source, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
        if keep_log:
            shutil.copy(source, path)
            shutil.copy(f"{source}-wal", f"{path}-wal")
    if not keep_log:
        shutil.copy(source, path)
    for leftover in path.parent.glob("source.sqlite*"):
        leftover.unlink()


@pytest.mark.parametrize("keep_log", [False, True])
def test_reading_a_wal_database_leaves_no_file_and_changes_none(tmp_path: Path, keep_log: bool) -> None:
    path = tmp_path / "w.sqlite"
    make_wal_database(path, keep_log=keep_log)
    before = snapshot(tmp_path)
    assert len(before) == 1 + keep_log
    with closing(open_engine(path)) as engine:
        assert engine.execute("SELECT a FROM t").result.rows == ((1,),)
        assert snapshot(tmp_path) == before
    assert snapshot(tmp_path) == before


def test_the_fingerprint_is_that_of_the_content_wherever_it_is(shop: Path) -> None:
    copy = shop.with_name("copy.sqlite")
    shutil.copy(shop, copy)
    assert SqliteEngine.fingerprint(url_of(copy)) == SqliteEngine.fingerprint(url_of(shop))
