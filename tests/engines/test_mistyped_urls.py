"""What a person types instead of a URL: each is accepted, or answered with the URL to write; no password is printed."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import registry
from assay.cli.options.declared import by_engine
from assay.errors import DatabaseError, InputError, MissingDependency, UsageError
from assay.model import DatabaseUrl
from many_cases import each

DRIVER = "ODBC+Driver+18+for+SQL+Server"


def refusal(text: str) -> str:
    with pytest.raises(InputError) as raised:
        DatabaseUrl.parse(text)
    message = str(raised.value)
    assert "\n" not in message
    return message


@each(
    ("text", "url"),
    [
        ("jdbc:postgresql://db.example:5432/shop?user=ann&password=PW", "postgresql://ann:***@db.example:5432/shop"),
        ("jdbc:postgresql://db.example/shop?password=PW&user=a%40b", "postgresql://a%40b:***@db.example/shop"),
        ("jdbc:postgresql://ann:PW@db.example/shop", "postgresql://ann:***@db.example/shop"),
        ("jdbc:postgresql://[::1]:5433/shop?ssl=true", "postgresql://[::1]:5433/shop"),
        ("jdbc:mysql://db.example/shop?user=ann&useSSL=false", "mysql://ann@db.example/shop"),
        ("JDBC:MariaDB://db.example:3307/shop", "mariadb://db.example:3307/shop"),
        ("jdbc:sqlite:shop.sqlite", "sqlite:///shop.sqlite"),
        ("jdbc:sqlite:/data/shop.db?cache=shared", "sqlite:////data/shop.db"),
        ("jdbc:sqlite:C:\\data\\shop.db", "sqlite:///C:/data/shop.db"),
        ("jdbc:duckdb:/data/shop.duckdb", "duckdb:////data/shop.duckdb"),
        ("jdbc:duckdb:", "duckdb:///path/to/file.duckdb"),
        (
            "jdbc:snowflake://acme-eu.snowflakecomputing.com/?db=S&schema=P&warehouse=W&role=R&user=ann&password=PW",
            "snowflake://ann:***@acme-eu/S/P?warehouse=W&role=R",
        ),
        ("jdbc:snowflake://acme.snowflakecomputing.com", "snowflake://USER:PASSWORD@acme/DATABASE"),
        (
            "jdbc:denodo://vdp.example:9999/bank?user=ann&password=PW",
            "denodo+flightsql://ann:***@vdp.example:9994/bank",
        ),
        ("jdbc:vdb://vdp.example:9999/bank", "denodo+flightsql://vdp.example:9994/bank"),
        ("jdbc:denodo:", "denodo+flightsql://USER:PASSWORD@HOST:9994/DATABASE"),
        (
            "jdbc:sqlserver://h:1433;databaseName=shop;user=ann;password=PW;encrypt=true",
            f"mssql+pyodbc://ann:***@h:1433/shop?driver={DRIVER}",
        ),
        (
            "jdbc:sqlserver://h\\EXPRESS;databaseName=shop;integratedSecurity=true",
            f"mssql+pyodbc://h\\EXPRESS/shop?driver={DRIVER}",
        ),
        ("jdbc:jtds:sqlserver://h:1433/shop", f"mssql+pyodbc://h:1433/shop?driver={DRIVER}"),
        ("jdbc:oracle:thin:@h:1521:ORCL", "oracle+oracledb://h:1521/ORCL"),
        (
            "jdbc:oracle:thin:ann/PW@//h:1522/shop.example",
            "oracle+oracledb://ann:***@h:1522/?service_name=shop.example",
        ),
        (
            "jdbc:databricks://h:443/default;transportMode=http;httpPath=/sql/1.0/warehouses/x;AuthMech=3;UID=token;PWD=PW",
            "databricks://token:***@h/CATALOG/SCHEMA?http_path=/sql/1.0/warehouses/x",
        ),
        ("jdbc:ch://h:8123/shop", "clickhouse://h:8123/shop"),
        ("jdbc:trino://h:8080/hive/default", "trino://h:8080/hive/default"),
        ("jdbc:redshift://h:5439/dev", "redshift://h:5439/dev"),
        ("jdbc:bigquery://https://www.googleapis.com:443;ProjectId=p", "bigquery://PROJECT/DATASET"),
        ("jdbc:h2:mem:x", "dialect+driver://USER:PASSWORD@HOST:PORT/DATABASE, a URL of SQLAlchemy"),
        ("jdbc:", "dialect+driver://USER:PASSWORD@HOST:PORT/DATABASE, a URL of SQLAlchemy"),
    ],
)
def test_a_jdbc_url_is_told_the_url_to_write(text: str, url: str) -> None:
    message = refusal(text)
    assert "…' is the URL of a Java driver: write  " in message
    assert message.removesuffix("  with the password for ***").endswith(f"write  {url}")
    assert message.endswith("  with the password for ***") == ("***" in url)
    if "HOST" not in url and "dialect" not in url:
        assert DatabaseUrl.parse(url)


@each(
    ("text", "url"),
    [
        ("postgresql+asyncpg://u:x@h/d", "postgresql://u:x@h/d"),
        ("postgres+asyncpg://u:x@h/d", "postgres://u:x@h/d"),
        ("mysql+aiomysql://u:x@h/d", "mysql://u:x@h/d"),
        ("mariadb+asyncmy://u:x@h/d", "mariadb://u:x@h/d"),
        ("sqlite+aiosqlite:///a.db", "sqlite:///a.db"),
        ("duckdb+duckdb_engine:///a.db", "duckdb:///a.db"),
        ("clickhouse+http://u:x@h/d", "clickhouse://u:x@h/d"),
        ("clickhousedb+connect://u:x@h/d", "clickhousedb://u:x@h/d"),
        ("databricks+connector://token:x@h/", "databricks://token:x@h/"),
        ("denodo+psycopg2://u:x@h:9996/d", "denodo+psycopg2://u:x@h:9996/d"),
        ("mssql+pyodbc://u:x@h/d", "mssql+pyodbc://u:x@h/d"),
        ("oracle+cx_oracle://u:x@h/d", "oracle+cx_oracle://u:x@h/d"),
        ("mysql+pyodbc://u:x@h/d", "mysql+pyodbc://u:x@h/d"),
    ],
)
def test_a_driver_that_is_not_needed_is_ignored(text: str, url: str) -> None:
    assert DatabaseUrl.parse(text).text == url


@each("driver", ["psycopg2", "psycopg", "pg8000"])
@each("installed", [True, False])
def test_a_driver_of_sqlalchemy_is_used_only_if_it_is_installed(
    monkeypatch: pytest.MonkeyPatch, driver: str, installed: bool
) -> None:
    from assay.model.databases import mistyped

    monkeypatch.setattr(mistyped, "find_spec", lambda _: object() if installed else None)
    scheme = f"postgresql+{driver}" if installed else "postgresql"
    assert DatabaseUrl.parse(f"postgresql+{driver}://u:x@h/d").text == f"{scheme}://u:x@h/d"


@each(
    ("text", "says"),
    [
        ("shop.sqlite", "is not a database URL: write  sqlite:///shop.sqlite"),
        ("data/shop.DDB", "write  duckdb:///data/shop.DDB"),
        ("C:\\data\\x.sqlite", "write  sqlite:///C:/data/x.sqlite"),
        ("C:/data/x.db", "write  sqlite:///C:/data/x.db"),
        ("\\\\server\\share\\x.sqlite", "write  sqlite://///server/share/x.sqlite"),
        ("shop", "write  sqlite:///path/to/file.sqlite"),
        ("localhost:5432/shop", "has no scheme: write  postgresql://localhost:5432/shop"),
        ("localhost:3306/shop", "write  mysql://localhost:3306/shop"),
        ("db.example:1433", "write  mssql+pyodbc://db.example:1433"),
        ("ann:PW@localhost:5432/shop", "'***@localhost:5432/shop' has no scheme: write  postgresql://***@localhost"),
        ("postgresql//ann:PW@h/d", "has no colon after its scheme: write  postgresql://***@h/d"),
        ("postgresql:ann:PW@h/d", "has no scheme"),
        ("postgresql:/h/d", "has one slash after its scheme: write  postgresql://h/d"),
        ("postgresql://ann:PW/shop", "postgresql://ann:***: the port is not a number from 1 to 65535"),
        ("psql://h/d", "has the scheme 'psql': write  postgresql://h/d"),
        ("postgre://ann:PW@h/d", "postgre://***@h/d has the scheme 'postgre': write  postgresql://***@h/d"),
        ("sqlserver://h/d", "write  mssql+pyodbc://h/d"),
        ("sqlite3:///a.db", "write  sqlite:///a.db"),
        ("file:a.db", "write  sqlite:///a.db  or  duckdb:///a.db"),
        ("https://h/d", "write  denodo+https://h/d  for Denodo, clickhouse://h/d  for ClickHouse"),
        (
            "sqlite:///{db}.sqlite",
            "only {db_id} is filled in, with the database of each case: write  sqlite:///{db_id}.sqlite",
        ),
        (
            "postgresql://ann:PW@h/{shop}",
            "write  postgresql://***@h/{db_id}; if the database's name is in the column shop, add",
        ),
    ],
)
def test_what_is_mistyped_is_told_what_to_write(text: str, says: str) -> None:
    message = refusal(text)
    assert says in message
    assert "PW" not in message


SIGNS = {"@": "%40", "/": "%2F", "?": "%3F", "#": "%23", "[": "%5B", "]": "%5D"}
SERVERS = [
    *(
        "postgresql",
        "postgresql+psycopg2",
        "postgres",
        "mysql",
        "mariadb",
        "mysql+pymysql",
        "clickhouse",
        "clickhouses",
    ),
    *("snowflake", "databricks", "spark", "sc", "denodo+http", "denodo+https", "denodo+psycopg2", "mssql+pyodbc"),
    *("oracle+oracledb", "trino", "redshift", "bigquery"),
]


@each("scheme", SERVERS)
@each("sign", sorted(SIGNS))
def test_a_sign_in_a_password_is_told_its_code(scheme: str, sign: str) -> None:
    message = refusal(f"{scheme}://ann:hush{sign}hush@db.example/shop")
    assert f"write {SIGNS[sign]} for {sign}" in message
    assert f"{scheme}://USER:PASSWORD@db.example/shop" in message
    assert "hush" not in message
    assert DatabaseUrl.parse(f"{scheme}://ann:hush{SIGNS[sign]}hush@db.example/shop")
    assert "write %25 for %" in refusal(f"{scheme}://ann:hush%hush@db.example/shop")


@each("scheme", SERVERS)
def test_a_colon_in_a_password_needs_no_code(scheme: str) -> None:
    assert DatabaseUrl.parse(f"{scheme}://ann:a:b@db.example/shop")


@each("text", ["sqlite:///a@b#c.sqlite", "duckdb:////x/y@z.duckdb", "sqlite:///a%zz@b.sqlite", "sqlite://a@b.sqlite"])
def test_a_path_may_hold_any_sign(text: str) -> None:
    assert DatabaseUrl.parse(text).text == text


_SECRET = st.text(alphabet=st.sampled_from("@/?#%:[]&;=+ !$'\\{}~éX9"), max_size=6).map(lambda text: f"hush{text}hush")
_FORMS = st.sampled_from(
    [
        "{scheme}://ann:{secret}@db.example/shop",
        "{scheme}://ann:{secret}@db.example:1/shop?schema=S",
        "{scheme}://{secret}@db.example/shop",
        "{scheme}:ann:{secret}@db.example/shop",
        "{scheme}//ann:{secret}@db.example/shop",
        "ann:{secret}@db.example:5432/shop",
        "{scheme}://ann:{secret}/shop",
        "jdbc:{scheme}://ann:{secret}@db.example/shop",
        "jdbc:{scheme}://db.example/shop?user=ann&password={secret}",
        "jdbc:{scheme}://db.example;user=ann;password={secret}",
        "jdbc:oracle:thin:ann/{secret}@db.example:1521:X",
    ]
)


def fault(read: Callable[[], object]) -> str:
    """The message of a fault; empty if there is none."""
    message = ""
    with suppress(MissingDependency):
        try:
            read()
        except InputError as error:
            message = str(error)
    return message


@settings(max_examples=400, deadline=None)
@given(scheme=st.sampled_from([*SERVERS, "psql", "sqlserver", "nope", "http"]), secret=_SECRET, form=_FORMS)
def test_no_message_holds_a_password(scheme: str, secret: str, form: str) -> None:
    text = form.format(scheme=scheme, secret=secret)
    message = fault(lambda: DatabaseUrl.parse(text))
    if "@" not in form and "@" in secret:
        return  # what follows the @ is a host
    assert "hush" not in message
    if not message and ":{secret}@" in form:
        assert "hush" not in f"{DatabaseUrl(text=text)!r}"


_REACHED = ["postgresql", "mysql", "clickhouse", "snowflake", "databricks", "denodo+http"]


@settings(max_examples=60, deadline=None)
@given(scheme=st.sampled_from(_REACHED), secret=_SECRET)
def test_no_engine_prints_a_password_that_is_written_with_codes(scheme: str, secret: str) -> None:
    url = DatabaseUrl.parse(f"{scheme}://ann:{quote(secret, safe='')}@127.0.0.1:1/shop")
    assert "hush" not in f"{url} {url!r}"
    assert "hush" not in fault(lambda: registry.engine_class(url).check(url))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in "one", "two":
        with sqlite3.connect(tmp_path / f"{name}.sqlite") as connection:
            connection.execute("CREATE TABLE t (a)")
        connection.close()
    return tmp_path


def unreadable(url: str) -> str:
    parsed = DatabaseUrl.parse(url)
    with pytest.raises(DatabaseError) as raised:
        registry.engine_class(parsed).check(parsed)
    return str(raised.value)


def test_a_folder_is_told_the_databases_in_it(folder: Path) -> None:
    message = unreadable(f"sqlite:///{folder}")
    assert "is a folder" in message
    assert f"'{folder}/one.sqlite'" in message
    assert f"'{folder}/{{db_id}}.sqlite'" in message
    assert "there is none in it" in unreadable(f"duckdb:///{folder}")


@each(
    ("content", "says"),
    [
        (b"CREATE TABLE t (a);\n", "a SQL script: load it first, for example  sqlite3 NAME.sqlite < x.db"),
        (b"-- dump\nPRAGMA foreign_keys=OFF;\n", "a SQL script"),
        (b'{"id": 1}\n', "a text that begins with '{\"id\": 1}'"),
        (b"PK\3\4abc", "a ZIP archive"),
        (b"\x1f\x8b\x08", "compressed by gzip: unpack it first"),
        (b"PGDMP\1", "a dump of PostgreSQL: restore it with pg_restore"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS: run  git lfs pull"),
        (b"\0\1\0\0Standard Jet DB\0", "a database of Microsoft Access"),
        (b"\7\1\2\3" * 9, "a file that begins with"),
    ],
)
@each("scheme", ["sqlite", "duckdb"])
def test_a_file_that_is_no_database_is_told_what_it_is(tmp_path: Path, content: bytes, says: str, scheme: str) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(content)
    message = unreadable(f"{scheme}:///{path}")
    assert "it is " in message
    assert says in message


def test_a_database_of_another_engine_is_told_its_scheme(folder: Path) -> None:
    assert "a SQLite database: write sqlite:/// instead" in unreadable(f"duckdb:///{folder}/one.sqlite")
    import duckdb

    duckdb.connect(str(folder / "a.db")).close()
    assert "a DuckDB database: write duckdb:/// instead" in unreadable(f"sqlite:///{folder}/a.db")


@pytest.mark.skipif(os.name == "nt", reason="such a path is right there")
@each("path", ["C:\\data\\x.sqlite", "C:/data/x.sqlite", "/C:/data/x.sqlite", "\\\\server\\share\\x.sqlite"])
def test_a_path_of_windows_is_told_on_other_systems(path: str) -> None:
    assert "this is a path of Windows, and this system has others" in unreadable(f"sqlite:///{path}")


def test_a_path_in_the_home_folder_is_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    assert "write  sqlite:////home/ann/shop.sqlite" in refusal("~/shop.sqlite")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("host=h user=ann password=PW dbname=d", "postgresql://USER:PASSWORD@HOST/DATABASE"),
        ("Server=h;Database=d;User Id=ann;Password=PW;", "postgresql://USER:PASSWORD@HOST/DATABASE"),
        ("DATABASE_URL=postgresql://ann:PW@h/d", "write the URL alone, without database_url="),
        ("postgresql=postgresql://ann:PW@h/d", "write the URL alone, without postgresql="),
        ("snowflak=snowflake://h/d", "did you mean 'snowflake'?"),
    ],
)
def test_a_connection_string_is_answered_by_a_url(text: str, says: str) -> None:
    with pytest.raises((InputError, UsageError)) as caught:
        by_engine([text], "--db")
    assert says in str(caught.value)
    assert "PW" not in str(caught.value)
