"""One suite for all engines: what each must hold, and where one does not, whose gap that is and why."""

from __future__ import annotations

import os
import re
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from msgspec.structs import replace

from assay.engines.duckdb.engine import DuckdbEngine
from assay.engines.sqlite.engine import SqliteEngine
from assay.model import DatabaseUrl
from assay.ports import EngineClass
from assay.registry import engine_class
from assay.testing.conformance import CHECKS, Adapter, Check, Gap, conform, prepare

if TYPE_CHECKING:
    from mariadb_server import MariadbServer


def never(why: str, shows: str) -> Gap:
    return Gap(whose="never", why=why, shows=shows)


UNCHANGED = "the content has changed, and its fingerprint has not"
SQLITE_GAPS = {
    "decimals_are_exact": never(
        "SQLite has no exact decimals: DECIMAL is kept as a double", "found [12345678901.2345,"
    ),
    "dates_are_dates": never("SQLite has no dates: they are text", "found ['2024-02-29',"),
    "timestamps_are_datetimes": never("SQLite has no timestamps: they are text", "found ['2024-02-29 12:34:56',"),
}

NO_HASH = "what SQLAlchemy reaches has no common way to hash content: its URL stands for it"
SQLALCHEMY_GAPS = {"content_has_a_fingerprint": Gap(whose="ours", why=NO_HASH, shows=UNCHANGED)}


def sqlite_adapter(folder: Path, *, scheme: str = "sqlite", engine: EngineClass = SqliteEngine) -> Adapter:
    path = folder / "conformance.sqlite"

    def write(statement: str) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(statement)
            connection.commit()

    url = DatabaseUrl.parse(f"{scheme}:///{path}")
    absent = DatabaseUrl.parse(f"{scheme}:///{folder}/absent.sqlite")
    return Adapter(engine=engine, url=url, absent=absent, write=write, gaps=SQLITE_GAPS)


def duckdb_adapter(folder: Path) -> Adapter:
    path = folder / "conformance.duckdb"

    def write(statement: str) -> None:
        with closing(duckdb.connect(str(path))) as connection:
            connection.execute(statement)

    return Adapter(
        engine=DuckdbEngine,
        url=DatabaseUrl.parse(f"duckdb:///{path}"),
        absent=DatabaseUrl.parse(f"duckdb:///{folder}/absent.duckdb"),
        write=write,
        binary_literal=lambda value: "'" + "".join(f"\\x{byte:02x}" for byte in value) + "'::BLOB",
    )


def server_adapter(url: str, absent: str, write: Callable[[str], None], secret: str, **options: object) -> Adapter:
    found = DatabaseUrl.parse(url)
    return Adapter(
        engine=engine_class(found),
        url=found,
        absent=DatabaseUrl.parse(absent),
        write=write,
        secrets=(secret,),
        **options,  # type: ignore[arg-type]
    )


def mariadb_adapter(server: MariadbServer, scheme: str) -> Adapter:
    name = f"conformance_{scheme}"
    reader = f"{scheme}_reader"
    with closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        cursor.execute(f"CREATE USER {reader}@'%' IDENTIFIED BY 'pa@s:s'")
        cursor.execute(f"GRANT SELECT ON {name}.* TO {reader}@'%'")

    def write(statement: str) -> None:
        with closing(server.connect(database=name)) as connection, connection.cursor() as cursor:
            cursor.execute(statement)

    address = f"{server.host}:{server.port}"
    return server_adapter(
        f"{scheme}://{reader}:pa%40s%3As@{address}/{name}",
        f"{scheme}://{reader}:pa%40s%3As@{address}/absent",
        write,
        "pa@s:s",
        types={"timestamp": "DATETIME"},
    )


def mysql_adapter_by_url(url: str) -> Iterator[Adapter]:
    """A server that someone else runs: the URL's user may create and drop databases and users on it."""
    pymysql = pytest.importorskip("pymysql")
    sqlalchemy = pytest.importorskip("sqlalchemy")
    parsed = sqlalchemy.make_url(url)
    name = f"assay_{uuid.uuid4().hex[:12]}"

    def run(statement: str, database: str | None = None) -> None:
        options = {"host": parsed.host, "port": parsed.port or 3306, "user": parsed.username, "autocommit": True}
        connection = pymysql.connect(password=parsed.password or "", database=database, **options)
        with closing(connection), connection.cursor() as cursor:
            cursor.execute(statement)

    run(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    shown = parsed.set(drivername="mysql")
    yield server_adapter(
        shown.set(database=name).render_as_string(hide_password=False),
        shown.set(database=f"{name}_absent", username="nobody_at_all").render_as_string(hide_password=False),
        lambda statement: run(statement, name),
        parsed.password or "\0",
        types={"timestamp": "DATETIME"},
    )
    run(f"DROP DATABASE {name}")


def postgres_adapter(server: Any, *, driver: str = "", gaps: Mapping[str, Gap] | None = None) -> Adapter:
    name = f"conformance_{uuid.uuid4().hex[:12]}"
    url = server.create(name).replace("postgresql:", f"postgresql{driver}:")

    def write(statement: str) -> None:
        import psycopg

        with psycopg.connect(server.database(name), autocommit=True) as connection:
            connection.execute(statement.encode())

    return server_adapter(
        url,
        url.rpartition("/")[0] + "/absent",
        write,
        DatabaseUrl.parse(url).reveal().partition("@")[0].rpartition(":")[2],
        types={"binary": "BYTEA"},
        gaps=gaps or {},
        binary_literal=lambda value: f"'\\x{value.hex()}'::bytea",
    )


def clickhouse_adapter(server: Any) -> Adapter:
    import clickhouse_connect

    name = f"conformance_{uuid.uuid4().hex[:12]}"
    standard = {  # columns that may be NULL, and tables without a key, as in standard SQL
        "data_type_default_nullable": 1,
        "create_table_empty_primary_key_by_default": 1,
        "mutations_sync": 1,
    }
    client = clickhouse_connect.get_client(host="127.0.0.1", port=server.port, autogenerate_session_id=False)
    client.command(f"CREATE DATABASE {name}")
    client.database = name

    def write(statement: str) -> None:
        client.command(re.sub(r"^UPDATE (\w+) SET", r"ALTER TABLE \1 UPDATE", statement), settings=standard)

    url = f"clickhouse://writer:writer@127.0.0.1:{server.port}"
    return server_adapter(
        f"{url}/{name}",
        f"{url}/absent",
        write,
        "writer:writer",
        binary_literal=lambda value: f"unhex('{value.hex()}')",
    )


SNOWFLAKE_GAPS = {
    "columns_keep_their_names": never(
        "Snowflake writes names that are not in quotes in capitals", "found ('empty', ('ID', 'B')"
    ),
    "timestamps_are_datetimes": never(
        "the emulator's NULL beside other timestamps is 1970-01-01", "datetime(1970, 1, 1, 0, 0)"
    ),
    "content_has_a_fingerprint": never(
        "the emulator's tables have no bytes, and were all last changed in 1970", UNCHANGED
    ),
    "no_query_reads_files": never(
        "the emulator, which is DuckDB inside, takes the name of a table for that of a file",
        'reading: SELECT * FROM "/',
    ),
}
_NOT_ON_EMULATORS = {"what_takes_too_long_is_ended", "rows_are_capped", "bytes_are_capped"}
"""An emulator neither cancels nor streams. What the engine does where the service does both, fakes show."""


def snowflake_adapter(server: Any) -> Adapter:
    from snowflake import connector

    from assay.engines.snowflake.url import connection_arguments

    url = server.url.replace("test:test@", "test:pa%40s%3As@")
    connection = connector.connect(**connection_arguments(DatabaseUrl.parse(url)))

    def write(statement: str) -> None:
        connection.cursor().execute(statement)

    return server_adapter(
        url,
        url.replace(f"port={server.port}", "port=1"),
        write,
        "pa@s:s",
        gaps=SNOWFLAKE_GAPS,
        binary_literal=lambda value: f"TO_BINARY('{value.hex()}', 'HEX')",
    )


def _postgres_or_skip(request: pytest.FixtureRequest) -> Any:
    try:
        return request.getfixturevalue("postgres")
    except pytest.FixtureLookupError:
        pytest.skip("no fixture starts a PostgreSQL server here")


_ON_SERVERS = ("mysql", "mariadb", "mysql-by-url", "postgresql", "postgresql+psycopg2", "snowflake", "postgresql-18")
_ON_SERVERS += ("clickhouse",)


@pytest.fixture(
    scope="module",
    params=[
        *("sqlite", "duckdb", "sqlite+pysqlite"),
        *(pytest.param(name, marks=pytest.mark.server) for name in _ON_SERVERS),
    ],
)
def adapter(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adapter]:
    kind: str = request.param
    folder = tmp_path_factory.mktemp("conformance")
    rest: Iterator[Adapter] = iter(())
    match kind:
        case "sqlite":
            found = sqlite_adapter(folder)
        case "sqlite+pysqlite":
            pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed (pip install 'assay[sqlalchemy]')")
            scheme = DatabaseUrl.parse("sqlite+pysqlite://")
            found = sqlite_adapter(folder, scheme=kind, engine=engine_class(scheme))
        case "duckdb":
            found = duckdb_adapter(folder)
        case "mysql-by-url":
            url = os.environ.get("ASSAY_MYSQL_URL")
            if not url:
                pytest.skip("ASSAY_MYSQL_URL names no server")
            rest = mysql_adapter_by_url(url)
            found = next(rest)
        case "postgresql":
            found = postgres_adapter(_postgres_or_skip(request))
        case "postgresql-18":
            found = postgres_adapter(request.getfixturevalue("postgres_18"))
        case "postgresql+psycopg2":
            pytest.importorskip("psycopg2", reason="psycopg2 is not installed (pip install psycopg2-binary)")
            found = postgres_adapter(_postgres_or_skip(request), driver="+psycopg2", gaps=SQLALCHEMY_GAPS)
        case "snowflake":
            found = snowflake_adapter(request.getfixturevalue("snowflake_emulator"))
        case "clickhouse":
            found = clickhouse_adapter(request.getfixturevalue("clickhouse"))
        case _:
            found = mariadb_adapter(request.getfixturevalue("mariadb"), kind)
    prepare(found)
    yield found
    for _ in rest:
        pass


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_the_engine_holds(adapter: Adapter, check: Check) -> None:
    if adapter.url.scheme == "snowflake" and check.name in _NOT_ON_EMULATORS:
        pytest.skip("the emulator neither cancels nor streams")
    gap = conform(adapter, check)
    if gap is not None and gap.whose != "never":  # what nobody can close is held as it shows
        pytest.xfail(f"{gap.whose}: {gap.why}")


def test_every_gap_names_a_check_and_says_how_it_shows() -> None:
    gaps = {**SQLITE_GAPS, **SQLALCHEMY_GAPS, **SNOWFLAKE_GAPS}
    assert gaps.keys() <= {check.name for check in CHECKS}
    assert all(gap.shows for gap in gaps.values())


def test_a_gap_that_is_none_or_shows_otherwise_fails(tmp_path: Path) -> None:
    adapter = sqlite_adapter(tmp_path)
    prepare(adapter)
    exact, dates = (
        next(check for check in CHECKS if check.name == name) for name in ("reals_are_floats", "dates_are_dates")
    )
    assert conform(adapter, exact) is None
    with pytest.raises(AssertionError, match="the gap is closed"):
        conform(replace(adapter, gaps={exact.name: Gap(whose="ours", why="not yet")}), exact)
    assert conform(adapter, dates) == SQLITE_GAPS[dates.name]
    other = replace(adapter, gaps={dates.name: replace(SQLITE_GAPS[dates.name], shows="found [None,")})
    with pytest.raises(AssertionError, match="found \\['2024-02-29'"):
        conform(other, dates)
