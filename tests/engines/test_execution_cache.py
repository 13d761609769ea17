"""Executions that runs share: exact, checked, and never used where the content may be another."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta, timezone
from datetime import time as time_of_day
from decimal import Decimal
from math import inf
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import duckdb
import pytest
import pytz
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import registry
from assay.engines.execution_cache import cache
from assay.engines.execution_cache.cache import ExecutionCache, WatchedFile
from assay.engines.execution_cache.entry import decode_execution, encode_execution
from assay.engines.execution_cache.folder import CacheFolder, key_of
from assay.engines.pool.executor import Executor
from assay.errors import InputError
from assay.model import DatabaseUrl, Execution, Failure, Limits, Result, Row
from assay.model.results.cells import FrozenMap, MapEntries, settled
from assay.model.results.times import Clock, Moment, interval, moment_at

ENGINES = {"sqlite": "assay.engines.sqlite.engine:SqliteEngine", "duckdb": "assay.engines.duckdb.engine:DuckdbEngine"}
KEY = key_of("a")


def ran(*rows: Row, columns: tuple[str, ...] | None = None, status: Any = "rows") -> Execution:
    """An execution with these rows."""
    names = columns if columns is not None else tuple(f"c{place}" for place in range(len(rows[0]) if rows else 1))
    result = Result(columns=names, rows=rows)
    return Execution(query="q", status=status, result=result, wall_time_s=2.5, row_count=len(rows), columns=names)


def back(execution: Execution) -> Execution:
    """The execution after a round trip."""
    written = encode_execution(execution)
    assert written is not None
    found = decode_execution("q", written)
    assert found is not None
    return found


COUNTS = st.integers(-(2**31), 2**31)
ZONES = st.sampled_from([None, UTC, timezone(timedelta(hours=-3, minutes=-30))])
PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters()),
    st.text(st.characters(categories=["Cs", "Ll"])),
    st.binary(),
    st.decimals(),
    st.dates(),
    st.times().map(lambda time: time.replace(fold=0)),
    st.builds(Clock, nanoseconds=st.integers(0, 86_400_000_000_000), offset_s=st.integers(-86_399, 86_399)),
    st.builds(moment_at, nanoseconds=st.integers(-(10**20), 10**20), offset_s=st.sampled_from([None, 0])),
    st.sampled_from([Moment(nanoseconds=inf), Moment(nanoseconds=-inf)]),
    st.builds(interval, months=COUNTS, days=COUNTS, nanoseconds=st.integers(-(10**18), 10**18)),
    st.datetimes(timezones=ZONES).map(lambda time: time.replace(fold=0)),
    st.timedeltas(),
    st.uuids(),
)
HASHABLE = st.one_of(st.text(), st.integers(), st.decimals(allow_nan=False), st.dates())
CELLS = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(HASHABLE, inner, max_size=3),
    ),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(rows=st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[CELLS] * width), min_size=1, max_size=4)))
def test_every_kind_of_value_comes_back_with_its_type(rows: list[Row]) -> None:
    execution = ran(*rows)
    found = back(execution)
    assert found.result is not None
    assert repr(found.result) == repr(execution.result)
    assert [[type(cell) for cell in row] for row in found.result.rows] == [[type(cell) for cell in row] for row in rows]


@pytest.mark.parametrize(
    "cell",
    [
        *(2**63 - 1, -(2**63), 2**64 - 1, 2**64, -(2**63) - 1, 10**400, -0.0, float("inf")),
        *(Decimal("1.10"), Decimal("sNaN12"), Decimal("1E+400"), "", "\ud800", "\0", b""),
        datetime(1, 1, 1),  # noqa: DTZ001 - as databases have them
        datetime(2020, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")),
        pytz.timezone("Europe/Berlin").localize(datetime(2020, 7, 1, 12)),  # noqa: DTZ001
        pytz.timezone("Europe/Berlin").localize(datetime(1890, 1, 1)),  # noqa: DTZ001
        pytz.timezone("Etc/UTC").localize(datetime(2020, 7, 1)),  # noqa: DTZ001
        time_of_day(1, 2, 3, 4, tzinfo=timezone(timedelta(hours=1))),
        *(date.max, timedelta.min, UUID(int=0), [], (), {}),
        {"a": [(1, {"b": Decimal(1)})]},
        {(1, "a"): 1, 2: [MapEntries([("b", 1), ("b", 2)])]},
        {FrozenMap({"a": 1}): 1},
        MapEntries([("a", 1), ("a", [])]),
    ],
    ids=repr,
)
def test_the_edges_of_each_kind_come_back(cell: object) -> None:
    found = back(ran((cell, "beside")))
    assert repr(found.result.rows[0][0]) == repr(settled(cell))
    assert type(found.result.rows[0][0]) is type(settled(cell))


def test_an_execution_comes_back_as_one_of_an_earlier_time() -> None:
    found = back(ran((1, "x"), (2, "y"), columns=("a", "a")))
    assert (found.status, found.row_count, found.columns, found.succeeded) == ("rows", 2, ("a", "a"), True)
    assert (found.wall_time_s, found.earlier_time_s, found.took_s) == (None, 2.5, 2.5)
    assert back(ran(columns=("a", "\udcff"), status="empty")).columns == ("a", "\udcff")


class Odd(str):
    """A text of a driver's own."""

    __slots__ = ()


@pytest.mark.parametrize("cell", [Odd("x"), object(), 1j, {1}, range(2), bytearray(b"x")])
def test_a_value_without_an_exact_form_is_not_kept(cell: object) -> None:
    assert encode_execution(ran((cell,))) is None
    assert encode_execution(ran(([cell],))) is None


@pytest.mark.parametrize("status", ["error", "timeout", "refused", "truncated"])
def test_what_is_no_whole_result_is_not_kept(status: Any) -> None:
    failure = Failure(stage="execute", kind="timeout", blame="system", message="no")
    assert encode_execution(Execution(query="q", status=status, failure=failure)) is None
    assert encode_execution(ran((1,), status="truncated")) is None


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=200), at=st.integers(0, 10_000), flip=st.integers(1, 255))
def test_damaged_bytes_are_no_entry_and_raise_nothing(data: bytes, at: int, flip: int) -> None:
    decode_execution("q", data)
    written = bytearray(encode_execution(ran((1, "x", Decimal("1.5")))) or b"")
    written[at % len(written)] ^= flip
    decode_execution("q", bytes(written))


# The folder


@pytest.fixture
def folder(tmp_path: Path) -> CacheFolder:
    return CacheFolder(tmp_path / "cache")


def entries(tmp_path: Path) -> list[Path]:
    return sorted(path for path in (tmp_path / "cache").rglob("*") if path.is_file())


def test_an_entry_is_found_under_its_key(folder: CacheFolder, tmp_path: Path) -> None:
    assert folder.get(KEY) is None
    folder.put(KEY, b"content")
    assert folder.get(KEY) == b"content"
    folder.put(KEY, b"other")
    assert folder.get(KEY) == b"other"
    assert folder.get(key_of("b")) is None
    assert len(entries(tmp_path)) == 1
    assert (tmp_path / "cache").stat().st_mode & 0o077 == 0


SPOILED: dict[str, Callable[[Path, bytes], object]] = {
    "empty": lambda path, _: path.write_bytes(b""),
    "truncated": lambda path, whole: path.write_bytes(whole[:-1]),
    "longer": lambda path, whole: path.write_bytes(whole + b"x"),
    "flipped": lambda path, whole: path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1])),
    "flipped head": lambda path, whole: path.write_bytes(bytes([whole[0] ^ 1]) + whole[1:]),
    "foreign": lambda path, _: path.write_bytes(b"PAR1 something else"),
    "folder": lambda path, _: (path.unlink(), path.mkdir()),
    "pipe": lambda path, _: (path.unlink(), os.mkfifo(path)),
    "endless": lambda path, _: (path.unlink(), path.symlink_to("/dev/zero")),
    "dangling": lambda path, _: (path.unlink(), path.symlink_to("/nowhere")),
    "huge": lambda path, _: os.truncate(path, 1 << 40),
    "unreadable": lambda path, _: (path.unlink(), path.symlink_to(path)),
}


@pytest.mark.parametrize("how", SPOILED)
def test_whatever_stands_in_an_entrys_place_is_a_miss(folder: CacheFolder, tmp_path: Path, how: str) -> None:
    folder.put(KEY, b"content")
    (path,) = entries(tmp_path)
    SPOILED[how](path, path.read_bytes())
    assert folder.get(KEY) is None
    folder.put(KEY, b"content")
    assert folder.get(KEY) == (None if how == "folder" else b"content")


def test_an_entry_under_anothers_name_is_a_miss(folder: CacheFolder, tmp_path: Path) -> None:
    folder.put(KEY, b"content")
    (path,) = entries(tmp_path)
    other = key_of("b").hex()
    target = path.parent.parent / other[:2] / other
    target.parent.mkdir(exist_ok=True)
    shutil.copy(path, target)
    assert folder.get(key_of("b")) is None


def test_parts_of_a_key_do_not_run_into_each_other() -> None:
    assert len({key_of("a", "bc"), key_of("ab", "c"), key_of("abc"), key_of("a", "b", "c"), key_of("a\0b", "c")}) == 5


def test_the_least_recently_used_go_first_and_the_bound_holds(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path / "cache", most_bytes=10_000)
    keys = [key_of(number) for number in range(20)]
    for place, key in enumerate(keys):
        folder.put(key, b"x" * 900)
        (path,) = [entry for entry in entries(tmp_path) if entry.name == key.hex()]
        os.utime(path, (place, place))
        assert sum(entry.stat().st_size for entry in entries(tmp_path)) <= 12_500
        if place >= 1:
            assert folder.get(keys[0]) is not None  # used all the time
    folder.make_room()
    assert sum(entry.stat().st_size for entry in entries(tmp_path)) <= 10_000
    assert folder.get(keys[0]) is not None
    assert folder.get(keys[1]) is None
    assert folder.get(keys[-1]) is not None


def test_an_entry_larger_than_its_share_is_not_kept(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path / "cache", most_bytes=1000)
    folder.put(KEY, b"x" * 300)
    assert folder.get(KEY) is None


def test_making_room_removes_what_writers_left_and_nothing_foreign(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path / "cache", most_bytes=1000)
    folder.put(KEY, b"x" * 100)
    (path,) = entries(tmp_path)
    abandoned, young, foreign = (path.parent / name for name in ("writing-1-ab", "writing-2-cd", "notes.txt"))
    for file in (abandoned, young, foreign):
        file.write_bytes(b"y" * 2000)
    os.utime(abandoned, (0, 0))
    folder.make_room()
    assert foreign.exists()
    assert not abandoned.exists()
    assert not young.exists()  # it is counted, and the bound holds


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
def test_a_folder_that_takes_nothing_costs_nothing(
    folder: CacheFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    folder.put(KEY, b"kept before")
    with monkeypatch.context() as patched:
        for name in ("replace", "utime"):
            patched.setattr(os, name, raising(OSError(number, os.strerror(number))))
        folder.put(key_of("b"), b"new")
        assert folder.get(KEY) == b"kept before"
    assert folder.get(key_of("b")) is None
    assert len(entries(tmp_path)) == 1, "nothing half-written remains"


def raising(error: Exception) -> Callable[..., Any]:
    def fail(*_: object) -> None:
        raise error

    return fail


def test_a_place_that_is_no_folder_is_told_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="name another folder"):
        CacheFolder(tmp_path / "file").check()
    CacheFolder(tmp_path / "new" / "deep").check()
    assert (tmp_path / "new" / "deep").is_dir()


_WRITER = """
import sys
from pathlib import Path
from assay.engines.execution_cache.folder import CacheFolder, key_of
folder = CacheFolder(Path(sys.argv[1]), most_bytes=400_000).shared_by(3)
print("ready", flush=True)
round = 0
while True:
    for number in range(40):
        key = key_of(number)
        found = folder.get(key)
        if found is not None and found != b"%d " % number * (5000 + number):
            print("wrong", number, flush=True)
        folder.put(key, b"%d " % number * (5000 + number))
    round += 1
    print(round, flush=True)
"""


def test_writers_at_the_same_time_and_killed_ones_leave_whole_entries(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _WRITER, str(tmp_path / "cache")]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert [writer.stdout.readline().strip() for _ in range(3)] == ["ready", "1", "2"]
        writers[0].kill()
        for writer in writers[1:]:
            assert writer.stdout.readline().strip() == "3"
    finally:
        for writer in writers:
            writer.kill()
        told = [writer.communicate()[0] for writer in writers]
    assert not any("wrong" in text for text in told)
    folder = CacheFolder(tmp_path / "cache", most_bytes=400_000)
    folder.make_room()
    found = [folder.get(key_of(number)) for number in range(40)]
    assert all(one in (None, b"%d " % number * (5000 + number)) for number, one in enumerate(found))
    assert any(found)
    assert sum(path.stat().st_size for path in entries(tmp_path)) <= 400_000


# The content of a database file


class Noted(CacheFolder):
    """A folder that keeps nothing on the disk."""

    def __init__(self) -> None:
        self.noted: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        return self.noted.get(key)

    def put(self, key: bytes, content: bytes) -> None:
        self.noted[key] = content


def digest(path: Path, folder: Noted | None = None) -> bytes | None:
    return WatchedFile(str(path), ("-wal", "-journal")).digest(folder or Noted())


def change_byte(path: Path, at: int) -> None:
    """Change one byte in place and set the time of modification back."""
    before = path.stat()
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 1]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize("whole", [True, False], ids=["read whole", "known by its times"])
@pytest.mark.parametrize("at", [0, 5000, 333_333, 499_999])
def test_a_changed_byte_is_another_content_though_the_time_is_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int, whole: bool
) -> None:
    if not whole:
        monkeypatch.setattr(cache, "_WHOLE_BYTES", 1000)
    path = tmp_path / "db"
    path.write_bytes(os.urandom(500_000))
    folder = Noted()
    first = digest(path, folder)
    assert first is not None
    assert digest(path, folder) == first
    assert len(folder.noted) == (0 if whole else 1)
    change_byte(path, at)
    assert digest(path, folder) not in (None, first)


def test_a_large_file_is_read_whole_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_WHOLE_BYTES", 1000)
    path = tmp_path / "db"
    path.write_bytes(os.urandom(100_000))
    folder = Noted()
    first = digest(path, folder)
    monkeypatch.setattr(cache, "_hash_whole", lambda _: pytest.fail("it is known"))
    assert digest(path, folder) == first


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_bytes(b"other"),
        lambda path: change_byte(path, 3),
        lambda path: path.unlink(),
        os.utime,
        lambda path: (path.with_name("new").write_bytes(b"x" * 100), os.replace(path.with_name("new"), path)),
        lambda path: Path(f"{path}-wal").write_bytes(b"x"),
        lambda path: Path(f"{path}-journal").write_bytes(b"x"),
        lambda path: (os.rename(path, f"{path}2"), os.rename(f"{path}2", path)),
        lambda path: (os.rename(path, f"{path}2"), path.symlink_to(shutil.copy(f"{path}2", f"{path}3"))),
    ],
    ids=["rewritten", "one byte", "gone", "touched", "replaced", "log", "journal", "away and back", "a link"],
)
def test_a_file_that_changes_after_it_was_looked_at_has_no_content_any_more(
    tmp_path: Path, change: Callable[[Path], object]
) -> None:
    path = tmp_path / "db"
    path.write_bytes(b"x" * 100)
    before, after = WatchedFile(str(path), ("-wal", "-journal")), WatchedFile(str(path), ("-wal", "-journal"))
    assert before.digest(Noted()) is not None
    change(path)
    assert before.digest(Noted()) is None
    assert after.digest(Noted()) is None
    assert not before.unchanged()


def test_a_link_that_leads_elsewhere_is_a_change(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(b"x" * 100)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "one")
    watched = WatchedFile(str(link), ("-wal",))
    assert watched.digest(Noted()) is not None
    link.unlink()
    link.symlink_to(tmp_path / "two")
    assert watched.digest(Noted()) is None
    assert digest(link) is not None
    (tmp_path / "two-wal").write_bytes(b"log")
    assert digest(link) is None, "a database's log stands beside the file that the link leads to"


def test_what_cannot_be_told_has_no_content(tmp_path: Path) -> None:
    path = tmp_path / "db"
    assert digest(path) is None
    assert digest(tmp_path) is None
    path.write_bytes(b"x")
    Path(f"{path}-wal").write_bytes(b"")
    assert digest(path) is not None
    Path(f"{path}-wal").write_bytes(b"log")
    assert digest(path) is None


def test_a_file_from_the_future_has_no_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "db"
    path.write_bytes(b"x")
    monkeypatch.setattr(time, "time", lambda: path.stat().st_ctime - 5)
    assert digest(path) is None


# Executions on real databases


class Runs:
    """Executors that share one folder of executions, each as in a run of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = CacheFolder(folder)
        self.limits = Limits(timeout_s=30.0)
        self._open: list[Executor] = []

    def executor(self, limits: Limits | None = None) -> Executor:
        limits = limits or self.limits
        executor = Executor(engines=ENGINES, limits=limits, shared=ExecutionCache(self.folder, limits))
        self._open.append(executor)
        return executor

    def ran(self, url: DatabaseUrl, query: str, limits: Limits | None = None) -> tuple[Execution, bool]:
        """The execution in a new run, and whether an engine executed it."""
        executor = self.executor(limits)
        execution = executor.execute(url, query)
        executor.close()
        return execution, bool(executor.runs)

    def close(self) -> None:
        for executor in self._open:
            executor.close()


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    runs = Runs(tmp_path / "cache")
    yield runs
    runs.close()


@pytest.fixture(params=["sqlite", "duckdb"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> DatabaseUrl:
    """A database with a table and a view."""
    return made(
        tmp_path / f"shop.{request.param}",
        "CREATE TABLE t(id INTEGER, name TEXT, born TEXT, price DOUBLE)",
        "INSERT INTO t VALUES (1, 'Ada', '1990-05-01', 1.5), (2, 'Bo', '2001-01-31', NULL)",
        "CREATE VIEW plain AS SELECT name FROM t",
    )


def made(path: Path, *statements: str) -> DatabaseUrl:
    """A database file of SQLite or DuckDB, by its ending, in which these statements were executed."""
    url = DatabaseUrl.parse(f"{path.suffix[1:]}:///{path}")
    change(url, *statements)
    return url


def change(url: DatabaseUrl, *statements: str) -> None:
    connection: Any = sqlite3.connect(url.path) if url.scheme == "sqlite" else duckdb.connect(url.path)
    with closing(connection):
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def is_kept(runs: Runs, url: DatabaseUrl, query: str) -> bool:
    """Whether the second of two runs has the query's result from the first."""
    ran = [runs.ran(url, query)[1] for _ in range(2)]
    assert ran[0]
    return not ran[1]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM t",
        "SELECT count(*), max(price), upper(name) FROM t GROUP BY name ORDER BY 3",
        "SELECT * FROM t WHERE id > 9",
        "WITH a AS (SELECT name FROM plain) SELECT * FROM a",
    ],
)
def test_a_query_runs_once_for_all_runs(runs: Runs, database: DatabaseUrl, query: str) -> None:
    first, ran_first = runs.ran(database, query)
    second, ran_second = runs.ran(database, query)
    assert (ran_first, ran_second) == (True, False)
    assert (first.result, first.status, first.row_count) == (second.result, second.status, second.row_count)
    assert first.wall_time_s is not None
    assert (first.earlier_time_s, second.wall_time_s, second.earlier_time_s) == (None, None, first.wall_time_s)


def test_another_text_and_other_limits_are_another_execution(runs: Runs, database: DatabaseUrl) -> None:
    runs.ran(database, "SELECT * FROM t")
    for other in ("SELECT * FROM t -- again", "SELECT  * FROM t", "select * from t", "SELECT * FROM T"):
        assert runs.ran(database, other)[1]
    for limits in ({"timeout_s": 31.0}, {"max_rows": 5}, {"max_memory_bytes": 2**28}):
        assert runs.ran(database, "SELECT * FROM t", Limits(**{"timeout_s": 30.0, **limits}))[1]
    assert runs.ran(database, "SELECT * FROM t", Limits(timeout_s=30.0, max_rows=1))[0].status == "truncated"


def test_a_time_is_always_measured(runs: Runs, database: DatabaseUrl) -> None:
    runs.ran(database, "SELECT * FROM t")
    executor = runs.executor()
    for _ in range(2):
        assert executor.execute_anew(database, "SELECT * FROM t").wall_time_s
    assert executor.runs == 2
    assert executor.execute(database, "SELECT * FROM t").wall_time_s is None


def test_a_failure_is_never_kept(runs: Runs, database: DatabaseUrl) -> None:
    for query in ("SELECT nothing FROM t", "SELEC", "DELETE FROM t", "SELECT 1; SELECT 2", ""):
        for _ in range(2):
            executor = runs.executor()
            execution = executor.execute(database, query)
            assert not execution.succeeded
            assert execution.earlier_time_s is None
    cut = Limits(timeout_s=30.0, max_rows=1)
    assert [runs.ran(database, "SELECT * FROM t", cut)[1] for _ in range(2)] == [True, True]


def test_a_changed_database_is_a_miss(runs: Runs, database: DatabaseUrl) -> None:
    runs.ran(database, "SELECT * FROM t")
    change(database, "UPDATE t SET name = 'Cy' WHERE id = 1")
    execution, ran_again = runs.ran(database, "SELECT * FROM t")
    assert ran_again
    assert execution.result.rows[0][1] == "Cy"
    assert not runs.ran(database, "SELECT * FROM t")[1]


def test_the_same_content_at_another_place_is_a_hit(runs: Runs, database: DatabaseUrl, tmp_path: Path) -> None:
    runs.ran(database, "SELECT * FROM t")
    copy = tmp_path / "copy" / Path(database.path).name
    copy.parent.mkdir()
    shutil.copy(database.path, copy)
    assert not runs.ran(DatabaseUrl.parse(f"{database.scheme}:///{copy}"), "SELECT * FROM t")[1]


def test_a_byte_changed_under_an_open_connection_keeps_nothing(runs: Runs, tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    url = made(path, "CREATE TABLE t(a)", "INSERT INTO t VALUES ('before')")
    executor = runs.executor()
    assert executor.execute(url, "SELECT 1").succeeded  # the connection is open
    change_byte(path, path.read_bytes().index(b"before"))
    executor.execute(url, "SELECT a FROM t")
    assert executor.runs == 2
    execution, ran_again = runs.ran(url, "SELECT a FROM t")
    assert (execution.result.rows, ran_again) == ((("cefore",),), True)


def test_a_file_replaced_under_an_open_connection_keeps_nothing(runs: Runs, database: DatabaseUrl) -> None:
    executor = runs.executor()
    executor.siblings(database)  # opens it
    path = Path(database.path)
    other = path.with_name("other")
    shutil.copy(path, other)
    change(DatabaseUrl.parse(f"{database.scheme}:///{other}"), "UPDATE t SET name = 'new'")
    os.replace(other, path)
    old = executor.execute(database, "SELECT name FROM t").result
    runs.ran(database, "SELECT name FROM t")  # on what the first connection opened: an engine may share it
    executor.close()
    execution, _ = runs.ran(database, "SELECT name FROM t")
    assert (old.rows[0], execution.result.rows[0]) == (("Ada",), ("new",))


def test_a_live_write_ahead_log_keeps_nothing(runs: Runs, tmp_path: Path) -> None:
    path = tmp_path / "wal.sqlite"
    url = DatabaseUrl.parse(f"sqlite:///{path}")

    def counted() -> tuple[int, bool]:
        execution, ran_it = runs.ran(url, "SELECT count(*) FROM t")
        return execution.result.rows[0][0], ran_it

    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.executescript("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE t(a)")
        for number in range(3):
            writer.execute("INSERT INTO t VALUES (?)", (number,))
            assert counted() == (number + 1, True)
    # Closing brought the log into the file, which is now all there is.
    assert [counted() for _ in range(2)] == [(3, True), (3, False)]
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("INSERT INTO t VALUES (9)")
        assert counted() == (4, True)


def test_a_database_in_memory_is_not_kept(runs: Runs) -> None:
    for scheme in ENGINES:
        assert not is_kept(runs, DatabaseUrl.parse(f"{scheme}:///:memory:"), "SELECT 1")


SERVERS = [
    text for text in sorted({*registry.engine_references().values()}) if "sqlite" not in text and "duckdb" not in text
]


@pytest.mark.parametrize("reference", SERVERS)
def test_what_no_file_holds_is_never_looked_at(tmp_path: Path, reference: str) -> None:
    """A server's content cannot be told, whatever else its engine says, and even where its URL names a file."""
    module, _, name = reference.partition(":")
    engine_class = getattr(pytest.importorskip(module, reason="an extra"), name)
    shared = ExecutionCache(CacheFolder(tmp_path / "cache"), Limits())
    url = DatabaseUrl.parse(f"sqlite:///{tmp_path / 'shop.sqlite'}")
    Path(url.path).touch()
    shared.watch(url, engine_class)
    assert not shared._files
    assert shared.get(url, engine_class, "SELECT 1") is None


SQLITE_UNSTEADY = [
    "SELECT random()",
    "SELECT abs(random()) FROM t",
    "SELECT hex(randomblob(4))",
    "SELECT id FROM t ORDER BY RANDOM()",
    "SELECT current_timestamp",
    "SELECT CURRENT_DATE, current_time",
    "SELECT date('now')",
    "SELECT date('NOW', '-1 day')",
    "SELECT date()",
    "SELECT strftime('%s')",
    "SELECT strftime('%Y', 'n' || 'ow')",
    "SELECT date(lower('Now'))",
    "SELECT date(replace('nXow', 'X', ''))",
    "SELECT date(x'6e6f77')",
    "SELECT date(char(110, 111, 119))",
    "SELECT date(substr('know', 2))",
    "SELECT /* a */ date (/**/) FROM t",
    'SELECT "date"()',
    "SELECT [date]()",
    "SELECT `date`(  )",
    "SELECT datetime(born, 'localtime') FROM t",
    "SELECT datetime(born, 'utc') FROM t",
    "SELECT julianday('now') - julianday(born) FROM t",
    "SELECT * FROM clocked",
    "SELECT * FROM lucky",
    "SELECT * FROM (SELECT * FROM through)",
    "SELECT changes(), total_changes(), last_insert_rowid()",
    "SELECT * FROM pragma_database_list",
    "PRAGMA data_version",
    "EXPLAIN QUERY PLAN SELECT * FROM t",
]


@pytest.mark.parametrize("query", SQLITE_UNSTEADY)
def test_sqlite_queries_of_chance_clock_and_session_are_never_kept(runs: Runs, tmp_path: Path, query: str) -> None:
    views = (
        "CREATE VIEW clocked AS SELECT id, strftime('%s') AS s FROM t",
        "CREATE VIEW through AS SELECT * FROM lucky",
        "CREATE VIEW lucky AS SELECT id, random() AS r FROM t",
    )
    assert not is_kept(runs, _dated(tmp_path, *(views if "FROM" in query and " t" not in query else ())), query)


def _dated(tmp_path: Path, *more: str) -> DatabaseUrl:
    rows = ("CREATE TABLE t(id, born)", "INSERT INTO t VALUES (1, '1990-05-01')")
    return made(tmp_path / "dated.sqlite", *rows, *more)


@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE TABLE now(id)",),
        ("CREATE VIEW present AS SELECT 'now' AS at",),
        ("CREATE VIEW present AS SELECT 'n' || 'ow' AS at",),
        ("CREATE TABLE u(a BLOB)", "INSERT INTO u VALUES (x'4E4F57')"),
        ("CREATE TABLE u(a TEXT, b TEXT AS (substr(a, 2)))", "INSERT INTO u(a) VALUES ('know')"),
        ("CREATE VIRTUAL TABLE f USING fts5(words)",),
    ],
)
def test_dates_are_not_kept_where_the_file_itself_may_say_now(
    runs: Runs, tmp_path: Path, statements: tuple[str, ...]
) -> None:
    url = _dated(tmp_path, *statements)
    for query in ("SELECT date(born) FROM t", "SELECT date(name) FROM sqlite_master"):
        assert not is_kept(runs, url, query)
    assert is_kept(runs, url, "SELECT born FROM t")


MOMENTS_IN_CELLS = [
    ("'now' || char(0) || 'adays'", "SELECT date(x) FROM u"),
    ("x'4e6f7700ff'", "SELECT date(x) FROM u"),
    ("'subsec'", "SELECT unixepoch(x) FROM u"),
    ("'SubSecond'", "SELECT unixepoch(x) FROM u"),
    ("'LocalTime'", "SELECT datetime(born, x) FROM t, u"),
    ("'utc'", "SELECT datetime(born, x) FROM t, u"),
    ("""'["n' || char(92) || 'u006fw"]'""", "SELECT date(value) FROM u, json_each(u.x)"),
    ("""'{"now": [1]}'""", "SELECT date(j.key) FROM u, JSON_TREE(u.x) AS j"),
    ("'plain'", "SELECT unixepoch('subsec') FROM u"),
    ("'plain'", "SELECT datetime(x, 'subsecond') FROM u"),
]


@pytest.mark.parametrize(("cell", "query"), MOMENTS_IN_CELLS)
def test_no_way_to_the_present_moment_through_a_cell_is_kept(runs: Runs, tmp_path: Path, cell: str, query: str) -> None:
    """SQLite reads a moment up to its first NUL, takes "subsec" for the present one, and unpacks JSON as tables."""
    url = _dated(tmp_path, "CREATE TABLE u(x)", f"INSERT INTO u VALUES ({cell})")
    assert not is_kept(runs, url, query)


def test_cells_that_only_look_like_a_moment_stand_in_nobodys_way(runs: Runs, tmp_path: Path) -> None:
    cells = ("'nowhere'", "'no'", "'nope' || char(0) || 'now'", "'subsection'", "NULL", "7", "x'00'", "x''")
    rows = ", ".join(f"({cell})" for cell in cells)
    url = _dated(tmp_path, "CREATE TABLE u(x)", f"INSERT INTO u VALUES {rows}")
    assert is_kept(runs, url, "SELECT date(x) FROM u")


def test_what_the_session_is_asked_does_not_hide_what_the_query_called(
    runs: Runs, database: DatabaseUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the file cannot be read while the query is looked for, and can be afterwards."""
    with monkeypatch.context() as patch:
        patch.setattr(ExecutionCache, "get", lambda *_: None)
        runs.executor().execute(database, "SELECT abs(random()) FROM t")
    assert runs.ran(database, "SELECT abs(random()) FROM t")[1]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT strftime('%Y', born) FROM t",
        "SELECT CAST(STRFTIME('%Y', T1.born) AS INTEGER), count(*) FROM t AS T1 GROUP BY 1",
        "SELECT date(born, '+1 day') FROM t WHERE julianday(born) > julianday('1980-01-01')",
    ],
)
def test_dates_of_columns_are_kept_unless_a_cell_is_the_present_moment(runs: Runs, tmp_path: Path, query: str) -> None:
    url = _dated(tmp_path, "CREATE VIEW years AS SELECT strftime('%Y', born) AS y FROM t;")
    assert is_kept(runs, url, query)
    change(url, "UPDATE t SET born = 'Now'")
    assert not is_kept(runs, url, query)


DUCKDB_UNSTEADY = [
    "SELECT random()",
    "SELECT RANDOM() FROM t",
    'SELECT "random"()',
    "SELECT uuid()",
    "SELECT now()",
    "SELECT current_date",
    "SELECT today()",
    "SELECT current_timestamp",
    "SELECT get_current_timestamp()",
    "SELECT age(TIMESTAMP '2020-01-01')",
    "SELECT (TIMESTAMP '2020-01-01').age()",
    "SELECT age /* x */ (TIMESTAMP '2020-01-01')",
    "SELECT * FROM t USING SAMPLE 1",
    "SELECT * FROM t TABLESAMPLE 50%",
    "SELECT current_setting('threads')",
    "SELECT name FROM duckdb_settings()",
    "SELECT txid_current()",
    "SELECT ago(INTERVAL 1 DAY)",
    "SELECT pg_postmaster_start_time()",
    "EXPLAIN ANALYZE SELECT 1",
    "SUMMARIZE t",
]


@pytest.mark.parametrize("query", DUCKDB_UNSTEADY)
def test_duckdb_queries_of_chance_clock_and_session_are_never_kept(runs: Runs, tmp_path: Path, query: str) -> None:
    url = made(tmp_path / "d.duckdb", "CREATE TABLE t AS SELECT range AS id, range AS age FROM range(5)")
    assert not is_kept(runs, url, query)
    assert is_kept(runs, url, "SELECT age FROM t WHERE age > 1")


@pytest.mark.parametrize(
    "definition",
    ["CREATE VIEW v AS SELECT now() AS n", "CREATE MACRO m() AS random()", "CREATE MACRO m() AS TABLE SELECT random()"],
)
def test_a_duckdb_file_with_a_view_of_the_clock_is_not_kept(runs: Runs, tmp_path: Path, definition: str) -> None:
    url = made(tmp_path / "d.duckdb", "CREATE TABLE t AS SELECT range AS id FROM range(5)", definition)
    assert not is_kept(runs, url, "SELECT * FROM t")


def test_want_of_memory_for_the_cache_is_no_fault_of_the_query(
    runs: Runs, database: DatabaseUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.ran(database, "SELECT * FROM t")
    for name in ("get", "put"):
        monkeypatch.setattr(CacheFolder, name, raising(MemoryError()))
    execution, ran_again = runs.ran(database, "SELECT * FROM t")
    assert (execution.status, ran_again) == ("rows", True)


def test_the_time_zone_is_part_of_the_session(runs: Runs, tmp_path: Path) -> None:
    path = tmp_path / "d.duckdb"
    made(path, "CREATE TABLE t AS SELECT TIMESTAMPTZ '2020-01-01 00:00:00+00' AS at")
    code = (
        "import sys; sys.path[:0] = [sys.argv[3]]\n"
        "from pathlib import Path; from test_execution_cache import Runs; from assay.model import DatabaseUrl\n"
        "runs, url = Runs(Path(sys.argv[1])), DatabaseUrl.parse('duckdb:///' + sys.argv[2])\n"
        "found, ran = runs.ran(url, 'FROM t')\n"
        "print(ran, found.result.rows[0][0].utcoffset()); runs.close()"
    )
    told = []
    for zone in ("UTC", "Asia/Tokyo", "UTC"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "cache"), str(path), str(Path(__file__).parent)],
            env={**os.environ, "TZ": zone},
            capture_output=True,
            text=True,
            check=True,
        )
        told.append(done.stdout.split())
    assert told == [["True", "0:00:00"], ["True", "9:00:00"], ["False", "0:00:00"]]


def test_a_statement_that_ran_before_is_not_judged_by_what_it_tells_now(runs: Runs, database: DatabaseUrl) -> None:
    """A driver keeps prepared statements, and then names no function a second time."""
    executor = runs.executor()
    query = "SELECT abs(random()) % 1000000007 FROM t"
    executor.execute(database, query)
    executor.cache.clear()
    executor.execute(database, query)
    assert executor.runs == 2
    assert runs.ran(database, query)[1]
